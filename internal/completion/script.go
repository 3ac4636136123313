package completion

import (
	"bytes"
	"embed"
	"fmt"
	"io"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"
)

//go:embed bash.tmpl zsh.tmpl fish.tmpl
var templates embed.FS

// Write writes the script for a shell: bash, zsh or fish.
func Write(w io.Writer, shell string, app *kong.Application) error {
	script, err := template.New(shell+".tmpl").Funcs(template.FuncMap{
		"quote": quote,
		"fish":  quoteFish,
		"words": func(words []string) string { return strings.Join(words, " ") },
	}).ParseFS(templates, shell+".tmpl")
	if err != nil {
		return fmt.Errorf("completion for %s: %w", shell, err)
	}
	var out bytes.Buffer
	if err = script.Execute(&out, commandsOf(app.Node, "")); err != nil {
		return fmt.Errorf("completion for %s: %w", shell, err)
	}
	_, err = w.Write(out.Bytes())
	return err
}

// quote makes a text one word of a POSIX shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// quoteFish makes a text one word of fish, where a backslash counts within quotes too.
func quoteFish(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}
