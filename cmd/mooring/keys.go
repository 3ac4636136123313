package main

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"

	"mooring"
	"mooring/internal/config"
)

// keyBytes makes a key of 160 random bits.
const keyBytes = 20

// keyName is what fits into a key's text, which clients send as a header.
var keyName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

type keysCommands struct {
	Create keysCreate `cmd:"" help:"Make a key; it is printed once, and the line for the configuration with it."`
	List   keysList   `cmd:"" help:"List the configured keys."`
	Revoke keysRevoke `cmd:"" help:"Take a key out of the configuration."`
}

type keysCreate struct {
	Name   string `help:"Name of the key."                                       required:""`
	Tenant string `help:"Tenant that owns the key's sessions; needed for a user."`
	Role   string `default:"user"                                                enum:"user,operator" help:"What the key may do: user or operator."`
	Write  bool   `help:"Put the key into the configuration file."`
}

// Run prints the key, which is kept nowhere, and the line that lets it in.
func (c *keysCreate) Run(p program, cli *commands) error {
	if !keyName.MatchString(c.Name) {
		return fmt.Errorf("key name %q may hold letters, digits and . _ - only", c.Name)
	}
	if c.Tenant == "" && c.Role == string(mooring.RoleUser) {
		return fmt.Errorf("key %q needs --tenant; only --role operator may have none", c.Name)
	}
	random := make([]byte, keyBytes)
	_, _ = rand.Read(random) // never fails
	secret := "mk-" + c.Name + "-" + strings.ToLower(base32.StdEncoding.EncodeToString(random))
	key := config.Key{
		Name: mooring.KeyName(c.Name), Tenant: mooring.Tenant(c.Tenant), Role: mooring.Role(c.Role), Hash: config.HashOf(secret),
	}
	if c.Write {
		if err := config.AddKey(p.source(cli), key); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(p.stdout, "key (shown once): %s\nconfiguration:    - %s\n", secret, config.KeyLine(key))
	if err == nil && c.Write {
		_, err = fmt.Fprintln(p.stdout, afterwards)
	}
	return err
}

// afterwards follows a change of the file.
const afterwards = "written; a running server takes it over on SIGHUP or at its next start"

type keysList struct {
	JSON bool `help:"As JSON."`
}

// listedKey is what a list shows of a key.
type listedKey struct {
	Name    mooring.KeyName `json:"name"`
	Tenant  mooring.Tenant  `json:"tenant"`
	Role    mooring.Role    `json:"role"`
	Expires *time.Time      `json:"expires"`
	Hash    string          `json:"hash"` // its beginning
}

// Run lists the keys of the configuration file.
func (c *keysList) Run(p program, cli *commands) error {
	keys, err := config.ListKeys(p.source(cli))
	if err != nil {
		return err
	}
	listed := make([]listedKey, len(keys))
	for i, k := range keys {
		listed[i] = listedKey{Name: k.Name, Tenant: k.Tenant, Role: k.Role, Hash: k.Hash[:min(15, len(k.Hash))]}
		if !k.Expires.IsZero() {
			listed[i].Expires = &k.Expires
		}
	}
	if c.JSON {
		return json.NewEncoder(p.stdout).Encode(map[string]any{"keys": listed})
	}
	table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "NAME\tTENANT\tROLE\tEXPIRES\tHASH")
	for _, k := range listed {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s…\n", k.Name, dash(string(k.Tenant)), k.Role, expiry(k.Expires), k.Hash)
	}
	return table.Flush()
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func expiry(at *time.Time) string {
	if at == nil {
		return "never"
	}
	return at.UTC().Format(time.RFC3339)
}

type keysRevoke struct {
	Name string `arg:"" help:"Name of the key."`
}

// Run takes the key out of the file.
func (c *keysRevoke) Run(p program, cli *commands) error {
	left, err := config.RemoveKey(p.source(cli), mooring.KeyName(c.Name))
	if err != nil {
		return err
	}
	if left == 0 {
		_, _ = fmt.Fprintln(p.stdout, "no key is left: the server will be open to whoever reaches it on loopback")
	}
	_, err = fmt.Fprintln(p.stdout, afterwards)
	return err
}

func (p program) source(cli *commands) config.Source {
	return config.Source{Path: cli.Config, Env: p.env}
}
