package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mooring"
)

// minSecret is how many bytes a secret must have at least.
const minSecret = 32

var (
	upstreamName = regexp.MustCompile(`^[a-z0-9-]+$`)
	keyHash      = regexp.MustCompile(`^sha256:[0-9a-fA-F]{64}$`)
	headerName   = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
)

// validate gives the first rule that the configuration breaks.
func (c *Config) validate() error {
	checks := []func() error{
		c.checkSecret, c.checkEdge, func() error { return checkWords("", reflect.ValueOf(*c)) },
		c.checkListen, c.checkHosts, c.checkStore, c.checkUpstreams, c.checkRouting, c.checkKeys,
		c.checkModels, c.checkPrices, c.checkSessions, c.checkLimits, c.checkOrigins, c.checkTelemetry,
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkWords holds every key with a list of allowed words against it; the list stands in the field's tag, where the
// schema finds it too.
func checkWords(path string, v reflect.Value) error {
	switch kind := v.Kind(); {
	case kind == reflect.Pointer && !v.IsNil():
		return checkWords(path, v.Elem())
	case kind == reflect.Slice:
		for i := range v.Len() {
			if err := checkWords(path+"["+strconv.Itoa(i)+"]", v.Index(i)); err != nil {
				return err
			}
		}
	case kind == reflect.Struct:
		return checkFields(path, v)
	}
	return nil
}

func checkFields(path string, v reflect.Value) error {
	for i := range v.NumField() {
		name := yamlName(v.Type().Field(i))
		at, field := join(path, name), v.Field(i)
		words := allowedWords(v.Type().Field(i))
		optional := name == "builtin" && field.IsZero()
		if len(words) > 0 && !optional && !slices.Contains(words, field.String()) {
			return wrong(at, "%q is not one of %s", field.String(), strings.Join(shown(words), ", "))
		}
		if err := checkWords(at, field); err != nil {
			return err
		}
	}
	return nil
}

// allowedWords reads `enum=a,enum=b` from a field's tag.
func allowedWords(field reflect.StructField) []string {
	var words []string
	for part := range strings.SplitSeq(field.Tag.Get("jsonschema"), ",") {
		if word, ok := strings.CutPrefix(part, "enum="); ok {
			words = append(words, word)
		}
	}
	return words
}

// shown leaves out the empty word, which stands for "not set".
func shown(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "" })
}

func (c *Config) checkListen() error { return c.CheckReach(c.Listen) }

// CheckReach refuses to listen on an address where others would use the server without a key.
func (c *Config) CheckReach(address string) error {
	host, err := checkAddress("listen", address)
	switch {
	case err != nil:
		return err
	case c.Open() && !loopback(host):
		return wrong("listen", "%s can be reached from outside, which needs `keys`; configure one with `mooring keys create`, "+
			"or listen on 127.0.0.1", address)
	}
	return nil
}

func checkAddress(key, address string) (host string, err error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", wrong(key, "%q is no address; write HOST:PORT as in 127.0.0.1:4747", address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", wrong(key, "%q is no port number", port)
	}
	return host, nil
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return strings.EqualFold(host, "localhost")
	}
	return addr.IsLoopback()
}

func (c *Config) checkHosts() error {
	for i, host := range c.Hosts {
		at := fmt.Sprintf("hosts[%d]", i)
		switch {
		case host == "*" && c.Open():
			return wrong("hosts", `"*" needs keys: without them a page anywhere could reach this server by a name of its own`)
		case host == "*":
		case host == "" || strings.ContainsAny(host, "/ *@?#"):
			return wrong(at, "%q is no host name; write it without scheme and path, as in mooring.example.org", host)
		}
	}
	return nil
}

func (c *Config) checkStore() error {
	switch {
	case !c.Store.Postgres() && c.Store.File() == "":
		return wrong("store", "must be sqlite:FILE or postgres://…")
	case c.Secret == "" && c.Store.Postgres():
		return wrong("secret", "is required with PostgreSQL: every replica needs the same one (%d bytes or more)", minSecret)
	}
	return nil
}

func (c *Config) checkRouting() error {
	if err := positive("routing.pin_idle", c.Routing.PinIdle); err != nil {
		return err
	}
	for i, what := range c.Routing.FailoverOn {
		if what == FailUnreachable || what == Fail5xx {
			continue
		}
		if status, err := strconv.Atoi(what); err != nil || status < 400 || status > 599 {
			return wrong(fmt.Sprintf("routing.failover_on[%d]", i), "%q is neither unreachable nor 5xx nor an error status as in 429", what)
		}
	}
	return nil
}

func (c *Config) checkKeys() error {
	names, hashes := map[mooring.KeyName]bool{}, map[string]bool{}
	for i, k := range c.Keys {
		at := fmt.Sprintf("keys[%d]", i)
		hash := strings.ToLower(k.Hash)
		switch {
		case k.Name == "":
			return wrong(at+".name", "is missing")
		case names[k.Name]:
			return wrong(at+".name", "%q is there twice", k.Name)
		case !keyHash.MatchString(k.Hash):
			return wrong(at+".hash", "key %q needs `sha256:` and 64 hex digits; `mooring keys create` makes them", k.Name)
		case hashes[hash]:
			return wrong(at+".hash", "key %q has the hash of another key", k.Name)
		case k.Tenant == "" && k.Role == mooring.RoleUser:
			return wrong(at+".tenant", "key %q needs a tenant; only an operator may have none", k.Name)
		case k.RequestsPerMinute < 0 || k.Streams < 0 || k.BudgetUSD < 0:
			return wrong(at, "key %q has a negative limit", k.Name)
		}
		if err := checkGlobs(at+".models", k.Models); err != nil {
			return err
		}
		names[k.Name], hashes[hash] = true, true
	}
	return nil
}

func (c *Config) checkOrigins() error {
	for i, origin := range c.CORS.Origins {
		if origin == "*" {
			if c.Open() {
				return wrong("cors.origins", `"*" needs keys: without them any page could use this server`)
			}
			continue
		}
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || origin != u.Scheme+"://"+u.Host || strings.Contains(u.Host, "*") {
			return wrong(fmt.Sprintf("cors.origins[%d]", i), "%q is no exact origin; write scheme://host[:port] as in https://chat.example.org", origin)
		}
	}
	return nil
}

// checkSecret refuses one that is too short, wherever it stands: one in the file is wrong also where the environment has another.
func (c *Config) checkSecret() error {
	if c.Secret != "" && len(c.Secret) < minSecret {
		return wrong("secret", "has %d bytes; it needs %d or more", len(c.Secret), minSecret)
	}
	return nil
}
