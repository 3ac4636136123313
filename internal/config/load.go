package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"mooring"
)

// DefaultPath is the file that is read where none is named.
const DefaultPath = "mooring.yaml"

// Source is where a configuration comes from. Flags beat environment beats file.
type Source struct {
	Path   string                      // of the file; empty for DefaultPath, which may be missing
	Env    func(string) (string, bool) // looks up an environment variable; nil for none
	Listen string                      // flag; empty where not given
	Store  string                      // flag; empty where not given
}

// Load reads, completes and checks the configuration. Its error is an *Error but where the file cannot be read.
func Load(src Source) (Config, error) {
	path, text, err := read(src.Path)
	if err != nil {
		return Config{}, err
	}
	cfg, err := Parse(path, text, src)
	if err != nil {
		return Config{}, err
	}
	if text == nil {
		cfg.Path = ""
		return cfg, nil
	}
	cfg.Found = true
	return cfg, nil
}

// Parse is Load for a file that is already read; path names it in errors.
func Parse(path string, text []byte, src Source) (Config, error) {
	if src.Env == nil {
		src.Env = func(string) (string, bool) { return "", false }
	}
	cfg := Default()
	cfg.Path = path
	lines, err := decode(text, src.Env, &cfg)
	if err == nil {
		err = cfg.checkSecret()
	}
	if err == nil {
		for _, key := range overlay(&cfg, src) {
			delete(lines, key)
		}
		cfg.complete()
		err = cfg.validate()
	}
	if named, ok := errors.AsType[*Error](err); ok {
		if named.Line == 0 {
			named.Line = nearest(lines, named.Key)
		}
		if named.Line > 0 || named.Key == "" {
			named.File = filepath.Base(path)
		}
		return Config{}, named
	}
	return cfg, err
}

// nearest gives the line of a key, or of the list entry that lacks it.
func nearest(lines map[string]int, key string) int {
	if line := lines[key]; line > 0 {
		return line
	}
	end := strings.LastIndex(key, "]")
	return lines[key[:end+1]]
}

func read(path string) (string, []byte, error) {
	name := path
	if name == "" {
		name = DefaultPath
	}
	text, err := os.ReadFile(name) //nolint:gosec // the operator names the file
	switch {
	case errors.Is(err, fs.ErrNotExist) && path == "":
		return name, nil, nil
	case err != nil:
		return name, nil, fmt.Errorf("read configuration: %w", err)
	case text == nil:
		return name, []byte{}, nil
	}
	return name, text, nil
}

func decode(text []byte, env func(string) (string, bool), cfg *Config) (map[string]int, error) {
	d := decoder{env: env, anchors: map[string]ast.Node{}, lines: map[string]int{}}
	body, err := tree(text)
	if err != nil || isNull(body) {
		return d.lines, err
	}
	return d.lines, d.structure("", d.resolve(body), reflect.ValueOf(cfg).Elem())
}

// overlay puts environment and flags over the file and gives the keys that it set.
func overlay(cfg *Config, src Source) []string {
	var set []string
	put := func(key, flag, variable string, assign func(string)) {
		value, ok := flag, flag != ""
		if !ok {
			value, ok = src.Env(variable)
		}
		if ok && value != "" {
			assign(value)
			set = append(set, key)
		}
	}
	put("listen", src.Listen, "MOORING_LISTEN", func(v string) { cfg.Listen = v })
	put("store", src.Store, "MOORING_STORE", func(v string) { cfg.Store = DSN(v) })
	put("secret", "", "MOORING_SECRET", func(v string) { cfg.Secret = mooring.Secret(v) })
	put("durability", "", "MOORING_DURABILITY", func(v string) { cfg.Durability = v })
	put("telemetry.log", "", "MOORING_LOG", func(v string) { cfg.Telemetry.Log = v })
	put("telemetry.format", "", "MOORING_LOG_FORMAT", func(v string) { cfg.Telemetry.Format = v })
	return set
}

// complete fills in what depends on other keys, so that readers find every upstream whole.
func (c *Config) complete() {
	for i := range c.Upstreams {
		c.Upstreams[i].complete()
	}
	for i := range c.Upstreams { // only now is known who speaks what
		u := &c.Upstreams[i]
		if u.Builtin == "" && u.Key == "" && len(u.Keys) == 0 && c.countsAsClient(*u) {
			u.Key = KeyClient
		}
	}
}
