package config

import (
	"fmt"
	"path/filepath"
)

// Address gives `listen` as the file, or else the default, has it, and where that stands, for a command that talks to the
// running server. The rest of the file is read but not checked, and a variable that is not set counts as some text: the
// shell need not have the server's environment.
func Address(src Source) (listen, from string, err error) {
	path, text, err := read(src.Path)
	if err != nil {
		return "", "", err
	}
	cfg := Default()
	if text == nil {
		return cfg.Listen, "the default", nil
	}
	env := func(name string) (string, bool) {
		if src.Env != nil {
			if value, set := src.Env(name); set {
				return value, true
			}
		}
		return standIn, true
	}
	lines, err := decode(text, env, &cfg)
	if err != nil {
		return "", "", fmt.Errorf("find the server's address in %s: %w", filepath.Base(path), err)
	}
	if lines["listen"] == 0 {
		return cfg.Listen, "the default: " + filepath.Base(path) + " has no listen", nil
	}
	return cfg.Listen, "listen in " + filepath.Base(path), nil
}
