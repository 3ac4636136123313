package completion_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"mooring/internal/completion"
)

type line struct {
	Config string `help:"It's a file." placeholder:"FILE"`

	Serve struct{} `cmd:"" help:"Run."`
	Group struct {
		List struct {
			State string `default:"" enum:",running,done" short:"s"`
			JSON  bool
		} `cmd:"" help:"List $(touch evil) \\ 'all'."`
		Show struct {
			ID string `arg:"" completion:"none"`
		} `cmd:""`
	} `cmd:""`
	Play struct {
		File string `arg:""`
	} `cmd:""`
	Shell struct {
		Name string `arg:"" enum:"bash,zsh"`
	} `cmd:""`
	Secret struct{} `cmd:"" hidden:""`
}

func script(t *testing.T, shell string) string {
	t.Helper()
	parser, err := kong.New(&line{}, kong.Name("mooring"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := completion.Write(&out, shell, parser.Model); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// run runs a shell in a folder with one file in it.
func run(t *testing.T, shell, flag, text string, args ...string) string {
	t.Helper()
	program, err := exec.LookPath(shell)
	if err != nil {
		t.Skipf("no %s here", shell)
	}
	dir := t.TempDir()
	if err = os.WriteFile(filepath.Join(dir, "a file.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, append([]string{flag, text}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil || complaints.Len() > 0 {
		t.Fatalf("%s: %v\n%s", shell, err, &complaints)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "evil")); left != nil {
		t.Error("a help text was run as a command")
	}
	return strings.TrimSpace(string(out))
}

func TestBash(t *testing.T) {
	t.Parallel()
	ask := script(t, "bash") + `
COMP_WORDS=(mooring "$@"); COMP_CWORD=$#; _mooring; printf '%s,' "${COMPREPLY[@]}"`
	for _, row := range []struct {
		rule, want string
		words      []string
	}{
		{"commands, less the hidden one", "serve,group,play,shell,", []string{""}},
		{"a command that has begun", "serve,shell,", []string{"s"}},
		{"commands of a group", "list,show,", []string{"group", ""}},
		{"flags, those above included", "--help,--config,--state,--json,", []string{"group", "list", "--"}},
		{"values of a flag", "running,done,", []string{"group", "list", "--state", ""}},
		{"values of its short form", "running,", []string{"group", "list", "-s", "r"}},
		{"values after an equals sign", "done,", []string{"group", "list", "--state", "=", "d"}},
		{"values right at an equals sign", "running,done,", []string{"group", "list", "--state", "="}},
		{"a file for a flag", "a file.yaml,", []string{"--config", "a"}},
		{"a flag's value is no command", "serve,", []string{"--config", "group", "serv"}},
		{"nor after an equals sign", "serve,", []string{"--config", "=", "group", "serv"}},
		{"values of an argument", "bash,zsh,", []string{"shell", ""}},
		{"a file for an argument", "a file.yaml,", []string{"play", ""}},
		{"no file where none is meant", ",", []string{"group", "show", ""}},
		{"files after the end of the flags", "a file.yaml,", []string{"group", "--", ""}},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			if got := run(t, "bash", "-c", ask, append([]string{"bash"}, row.words...)...); got != row.want {
				t.Errorf("mooring %q completes to %q, want %q", row.words, got, row.want)
			}
		})
	}
}

func TestZshReadsItsScript(t *testing.T) {
	t.Parallel()
	run(t, "zsh", "-fnc", script(t, "zsh"))
}

func TestFish(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"mooring ":                    "group\nplay\nserve\nshell",
		"mooring group list --state ": "done\nrunning",
		"mooring --config group serv": "serve",
		"mooring shell ":              "bash\nzsh",
	} {
		got := run(t, "fish", "-c", script(t, "fish")+"\ncomplete -C '"+words+"' | string replace -r '\t.*' ''")
		if got != want {
			t.Errorf("%q completes to %q, want %q", words, got, want)
		}
	}
}
