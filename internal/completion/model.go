// Package completion writes the scripts by which a shell completes the command line: what there is stands in them, so that
// pressing a key starts no program and asks no server. It has no goroutines.
package completion

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// A command is a place on the command line: the program itself, a group, or what can be run.
type command struct {
	Path     string // the words that lead here, without the program's name
	Commands []choice
	Flags    []flag
	Values   []string // what its first argument may be
	Files    bool     // its arguments are files, or nobody knows what
}

type choice struct{ Name, Help string }

type flag struct {
	Name   string // as it is typed: --state
	Long   string // state
	Short  string // o, or nothing
	Help   string
	Takes  bool // a value follows
	Values []string
	Files  bool
}

// Typed gives what a reader may type for it.
func (f flag) Typed() []string {
	if f.Short == "" {
		return []string{f.Name}
	}
	return []string{f.Name, "-" + f.Short}
}

// NoFiles is the tag, completion:"none", of an argument that names no file.
const (
	tagName = "completion"
	noFiles = "none"
)

// commandsOf flattens the tree below a node.
func commandsOf(node *kong.Node, path string) []command {
	here := command{Path: path, Flags: flagsOf(node)}
	for _, arg := range node.Positional {
		here.Values = append(here.Values, values(arg)...)
		here.Files = here.Files || len(here.Values) == 0 && arg.Tag.Get(tagName) != noFiles
	}
	all := []command{here}
	for _, child := range node.Children {
		if child.Hidden || child.Type != kong.CommandNode {
			continue
		}
		all[0].Commands = append(all[0].Commands, choice{child.Name, sentence(child.Help)})
		all = append(all, commandsOf(child, strings.TrimSpace(path+" "+child.Name))...)
	}
	return all
}

func flagsOf(node *kong.Node) []flag {
	var out []flag
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			made := flag{Name: "--" + f.Name, Long: f.Name, Help: sentence(f.Help), Takes: !f.IsBool() && !f.IsCounter(), Values: values(f.Value)}
			if f.Short != 0 {
				made.Short = string(f.Short)
			}
			made.Files = f.PlaceHolder == "FILE"
			out = append(out, made)
		}
	}
	return out
}

// values gives the words of an enumeration, less the empty one that stands for none.
func values(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	return slices.DeleteFunc(v.EnumSlice(), func(word string) bool { return word == "" })
}

// sentence is a help text as far as its first stop: what fits beside a word.
func sentence(help string) string {
	first, _, _ := strings.Cut(help, ";")
	return strings.TrimSuffix(first, ".")
}
