// Package main is the program mooring: it reads arguments, environment and signals, calls the room that does the work, and
// turns errors into one line on stderr and an exit code. It owns no goroutine but the one that drains at the end.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/alecthomas/kong"

	"mooring/internal/apiclient"
	"mooring/internal/app"
	"mooring/internal/config"
)

// Exit codes.
const (
	exitFine    = 0
	exitNotFine = 1 // a check found something, or a server did not do what it was asked
	exitRefused = 2 // wrong arguments, a wrong configuration, or a start that did not come about
)

// errNotFine ends a command whose output has already said what is wrong.
var errNotFine = errors.New("not fine")

// undone is a command that was understood and came to nothing.
type undone struct{ error }

// Unwrap gives the reason.
func (u undone) Unwrap() error { return u.error }

func main() {
	p := program{env: os.LookupEnv, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, terminal: isTerminal}
	os.Exit(p.run(os.Args[1:]))
}

// program is what a command is given of the process it runs in.
type program struct {
	env      func(string) (string, bool)
	stdin    io.Reader
	stdout   io.Writer
	stderr   io.Writer
	terminal func(stream any) bool // whether somebody sits at the other end
}

// commands is the command line.
type commands struct {
	Config string `help:"Configuration file; mooring.yaml where there is one." placeholder:"FILE"`

	Serve   serveCommand   `cmd:"" help:"Run the server."`
	Check   checkCommand   `cmd:"" help:"Say what is fine and what is not: configuration, store, upstreams."`
	Conf    configCommands `cmd:"" help:"Show the configuration or its schema."                             name:"config"`
	Keys    keysCommands   `cmd:"" help:"Make, list and revoke client keys in the configuration file."`
	Launch  runCommand     `cmd:"" help:"Start a client program with its base URL pointed at the running server: mooring run -- claude."  name:"run"`
	Backup  backupCommand  `cmd:"" help:"Copy an SQLite store into a new file, while a server uses it or without one."`
	Eval    evalCommand    `cmd:"" help:"Replay traces of client traffic and say how well their conversations were told apart."`
	Version versionCommand `cmd:"" help:"Say which version this is."`

	Sessions   sessionsCommands  `cmd:"" help:"List, show, search, export and delete the sessions of a running server."`
	Tenants    tenantsCommands   `cmd:"" help:"List, show, move and release the slots of a running server's tenant edge."`
	Explain    explainCommand    `cmd:"" help:"Say why a turn went to its session and its upstream."`
	Completion completionCommand `cmd:"" help:"Write a script by which a shell completes this command line."`
}

// overrides are the flags that beat environment and file.
type overrides struct {
	Listen string `help:"Address to listen on."    placeholder:"HOST:PORT"`
	Store  string `help:"Where sessions are kept." placeholder:"DSN"`
}

func (p program) run(args []string) int {
	var cli commands
	helped := false
	parser, err := kong.New(
		&cli,
		kong.Name("mooring"), kong.Description("Session router and gateway for LLM chat."),
		kong.Writers(p.stdout, p.stderr), kong.Exit(func(int) { helped = true }), // for --help, which has nothing to run after it
	)
	if err != nil {
		return p.refuse(err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	switch {
	case helped:
		return exitFine
	case err != nil:
		return p.refuse(fmt.Errorf("%w (see mooring --help)", err))
	}
	err = parsed.Run(p, &cli)
	switch {
	case err == nil:
		return exitFine
	case errors.Is(err, errNotFine):
		return exitNotFine
	case cameToNothing(err):
		p.note(err.Error())
		return exitNotFine
	}
	if code, ok := errors.AsType[exitError](err); ok {
		return int(code)
	}
	return p.refuse(err)
}

// cameToNothing tells a request that was refused or not answered from one that could not be made.
func cameToNothing(err error) bool {
	_, asked := errors.AsType[*apiclient.Error](err)
	_, tried := errors.AsType[undone](err)
	return asked || tried
}

// refuse puts an error on one line.
func (p program) refuse(err error) int {
	p.note(err.Error())
	return exitRefused
}

// load reads the configuration and, where it names no upstream, looks for some.
func (p program) load(ctx context.Context, file string, o overrides) (config.Config, error) {
	cfg, err := config.Load(config.Source{Path: file, Env: p.env, Listen: o.Listen, Store: o.Store})
	if err != nil {
		return config.Config{}, err
	}
	if len(cfg.Upstreams) == 0 {
		cfg.Upstreams = app.Discover(ctx, p.env, &http.Client{})
	}
	return cfg, nil
}
