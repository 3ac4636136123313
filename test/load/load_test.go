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

// The programs on a small scale: what they show there is that everything is answered; `make load` measures.
func TestLoadOnASmallScale(t *testing.T) {
	t.Parallel()
	for _, part := range names() {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			dsn := os.Getenv("MOORING_TEST_POSTGRES")
			if part == "postgres" && dsn == "" {
				t.Skip("MOORING_TEST_POSTGRES is not set")
			}
			var said bytes.Buffer
			o := options{
				rounds: 1, only: part, mooring: string(built), postgres: dsn, streams: 50, chunkGap: 200 * time.Millisecond, hold: time.Second,
				sessions: 90, few: 30, turns: 2, questions: 3, slower: 1000,
			}
			if err := run(t.Context(), o, &said); err != nil {
				t.Errorf("%v\n%s", err, said.String())
			}
		})
	}
}
