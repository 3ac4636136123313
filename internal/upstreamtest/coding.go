package upstreamtest

import (
	"compress/gzip"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// coder writes a body in a content coding; Flush lets out what has been written so far.
type coder interface {
	io.WriteCloser
	Flush() error
}

func newCoder(w io.Writer, coding string) coder { //nolint:ireturn // the coding decides which
	switch coding {
	case "":
		return plain{w}
	case "gzip":
		return gzip.NewWriter(w)
	case "br":
		return brotli.NewWriter(w)
	case "zstd":
		z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic("upstreamtest: zstd: " + err.Error()) // its options are constants
		}
		return z
	}
	panic(fmt.Sprintf("upstreamtest: no content coding %q", coding))
}

type plain struct{ io.Writer }

func (plain) Flush() error { return nil }
func (plain) Close() error { return nil }
