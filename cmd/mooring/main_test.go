package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The test binary is the program: scripts run it as `mooring`.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mooring": main})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "../../test/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("NO_PROXY", "*")
			return os.MkdirAll(env.Getenv("HOME"), 0o700)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"waitfor": waitFor,
			"signal":  sendSignal,
			"mode":    checkMode,
		},
	})
}
