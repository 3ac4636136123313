package config

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"mooring"
)

func (c *Config) checkUpstreams() error {
	names := map[mooring.UpstreamName]bool{}
	for i, u := range c.Upstreams {
		at := fmt.Sprintf("upstreams[%d]", i)
		switch {
		case u.Name == "":
			return wrong(at+".name", "is missing")
		case !upstreamName.MatchString(string(u.Name)):
			return wrong(at+".name", "%q may hold lower-case letters, digits and hyphens only", u.Name)
		case names[u.Name]:
			return wrong(at+".name", "%q is there twice", u.Name)
		}
		names[u.Name] = true
		for _, check := range []func(string, Upstream) error{checkURL, c.checkCredential, checkAccounts, checkShape, checkHeaders} {
			if err := check(at, u); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkURL(at string, u Upstream) error {
	switch {
	case u.Builtin != "" && u.URL != "":
		return wrong(at+".url", "upstream %q is built in and has no url", u.Name)
	case u.Builtin != "":
		return nil
	case u.URL == "":
		return wrong(at+".url", "upstream %q needs a url (or `builtin: echo`)", u.Name)
	}
	parsed, err := url.Parse(u.URL)
	switch {
	case err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https":
		return wrong(at+".url", "upstream %q needs an address as in http://127.0.0.1:8642", u.Name)
	case parsed.User != nil:
		return wrong(at+".url", "upstream %q has a credential in its url; put it into `key`", u.Name)
	case parsed.RawQuery != "" || parsed.Fragment != "":
		return wrong(at+".url", "upstream %q has a query in its url; give the address alone", u.Name)
	case strings.HasSuffix(parsed.Path, "/v1"):
		return wrong(at+".url", "upstream %q: write it without /v1, as in %s", u.Name, strings.TrimSuffix(u.URL, "/v1"))
	}
	return nil
}

func checkAccounts(at string, u Upstream) error {
	names := map[mooring.AccountName]bool{}
	for i, a := range u.Keys {
		here := fmt.Sprintf("%s.keys[%d]", at, i)
		switch {
		case a.Name == "":
			return wrong(here+".name", "is missing")
		case names[a.Name]:
			return wrong(here+".name", "%q is there twice", a.Name)
		case a.Key == "" || a.Key == KeyClient || a.Key == KeyNone:
			return wrong(here+".key", "account %q needs a credential of its own", a.Name)
		case a.Weight < 1:
			return wrong(here+".weight", "must be 1 or more")
		}
		names[a.Name] = true
	}
	return nil
}

func checkShape(at string, u Upstream) error {
	switch {
	case u.Weight < 1:
		return wrong(at+".weight", "must be 1 or more")
	case u.MaxInFlight < 0:
		return wrong(at+".max_in_flight", "must be 0 (no limit) or more")
	case u.Health != "" && !strings.HasPrefix(u.Health, "/"):
		return wrong(at+".health", "%q is no path; it starts with /", u.Health)
	case len(u.Models) == 0:
		return wrong(at+".models", "upstream %q would never be asked; `[\"*\"]` stands for any model", u.Name)
	}
	for i, prefix := range u.Passthrough {
		if !strings.HasPrefix(prefix, "/v1/") || strings.Contains(prefix, "..") {
			return wrong(fmt.Sprintf("%s.passthrough[%d]", at, i), "%q is no path below /v1/", prefix)
		}
	}
	if err := positive(at+".timeout", u.Timeout); err != nil {
		return err
	}
	return checkGlobs(at+".models", u.Models)
}

func checkGlobs(key string, globs []string) error {
	for i, glob := range globs {
		if _, err := path.Match(glob, ""); err != nil || glob == "" {
			return wrong(fmt.Sprintf("%s[%d]", key, i), "%q is no model name or glob", glob)
		}
	}
	return nil
}

// variable proposes a name for the environment variable that holds an upstream's credential.
func variable(u Upstream) string {
	return strings.ToUpper(strings.ReplaceAll(string(u.Name), "-", "_")) + "_KEY"
}
