package main

import (
	"bytes"
	"os"
	"testing"
	"time"

	"mooring/test/product"
)

var built product.Binary

func TestMain(m *testing.M) { os.Exit(product.Run(m, &built)) }

// A few seconds of it, which find what is left behind by each turn; `make soak` finds what grows slowly.
func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	for _, store := range stores() {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			dsn := os.Getenv("MOORING_TEST_POSTGRES")
			if store == "postgres" && dsn == "" {
				t.Skip("MOORING_TEST_POSTGRES is not set")
			}
			var said bytes.Buffer
			o := options{
				length: 12 * time.Second, full: 2 * time.Second, idle: 2 * time.Second, runs: 1, only: store, mooring: string(built), postgres: dsn,
			}
			if err := run(t.Context(), o, &said); err != nil {
				t.Errorf("%v\n%s", err, said.String())
			}
		})
	}
}
