package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mooring"
)

// The commands about keys work on the file alone, also in a shell that lacks the server's environment: a variable that
// is not set counts as some text.

// ListKeys gives the keys of the configuration file.
func ListKeys(src Source) ([]Key, error) {
	cfg, err := Load(offline(src))
	return cfg.Keys, err
}

// AddKey puts a key into the configuration file, which is made where there is none. Comments and mode stay.
func AddKey(src Source, key Key) error {
	src = offline(src)
	path, text, err := read(src.Path)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = nil, nil
	}
	if err != nil {
		return err
	}
	changed, err := insertKey(text, key)
	if err != nil {
		return err
	}
	cfg, err := Parse(path, changed, src)
	if err != nil {
		return fmt.Errorf("nothing written, the file would be refused: %w", err)
	}
	if !slices.ContainsFunc(cfg.Keys, func(k Key) bool { return k.Hash == key.Hash }) {
		return wrong("keys", "could not be changed; add the line by hand: %s", KeyLine(key))
	}
	return replaceFile(path, changed)
}

// RemoveKey takes a key out of the configuration file and says how many are left.
func RemoveKey(src Source, name mooring.KeyName) (left int, err error) {
	src = offline(src)
	path, text, err := read(src.Path)
	if err != nil {
		return 0, err
	}
	changed, err := cutKey(text, name)
	if err != nil {
		return 0, err
	}
	cfg, err := Parse(path, changed, src)
	if err != nil {
		return 0, fmt.Errorf("nothing written, the file would be refused: %w", err)
	}
	if slices.ContainsFunc(cfg.Keys, func(k Key) bool { return k.Name == name }) {
		return 0, wrong("keys", "could not be changed; take %q out by hand", name)
	}
	return len(cfg.Keys), replaceFile(path, changed)
}

// KeyLine gives a key's entry as it stands in the file, without the dash before it.
func KeyLine(k Key) string {
	parts := []string{"name: " + scalarText(string(k.Name))}
	if k.Tenant != "" {
		parts = append(parts, "tenant: "+scalarText(string(k.Tenant)))
	}
	if k.Role != "" && k.Role != mooring.RoleUser {
		parts = append(parts, "role: "+string(k.Role))
	}
	return "{" + strings.Join(append(parts, `hash: "`+k.Hash+`"`), ", ") + "}"
}

// offline stands in for variables that are not set; flags and environment have no say over what the file holds.
func offline(src Source) Source {
	env := src.Env
	return Source{Path: src.Path, Env: func(name string) (string, bool) {
		if strings.HasPrefix(name, "MOORING_") {
			return standIn, name == "MOORING_SECRET"
		}
		if env != nil {
			if value, ok := env(name); ok {
				return value, true
			}
		}
		return standIn, true
	}}
}

// standIn is long enough for a secret.
const standIn = "stands-in-for-a-variable-that-is-not-set"

// replaceFile writes beside the file and renames, so that a reader sees the old text or the new one.
func replaceFile(path string, text []byte) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		target = path
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(target); err == nil {
		mode = info.Mode().Perm()
	}
	if err := writeBeside(target, text, mode); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func writeBeside(target string, text []byte, mode fs.FileMode) error {
	temp, err := os.CreateTemp(filepath.Dir(target), ".mooring-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) //nolint:errcheck // gone after the rename
	_, err = temp.Write(text)
	err = errors.Join(err, temp.Chmod(mode), temp.Sync(), temp.Close())
	if err != nil {
		return err
	}
	return os.Rename(temp.Name(), target)
}
