package main

import (
	"bytes"
	"os"
	"testing"

	"mooring/test/product"
)

var built product.Binary

func TestMain(m *testing.M) { os.Exit(product.Run(m, &built)) }

// Each fault once: `make fault` is what proves something.
func TestFaultsOnce(t *testing.T) {
	t.Parallel()
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			dsn := os.Getenv("MOORING_TEST_POSTGRES")
			switch s.name {
			case "kill-sqlite", "disk-full":
			case "queue":
				t.Skip("a session's turns at two replicas run side by side: see docs/limits.md")
			default:
				if dsn == "" {
					t.Skip("MOORING_TEST_POSTGRES is not set")
				}
			}
			var said bytes.Buffer
			o := options{repetitions: 1, only: s.name, mooring: string(built), postgres: dsn, brief: true}
			if err := run(t.Context(), o, &said); err != nil {
				t.Errorf("%v\n%s", err, said.String())
			}
		})
	}
}
