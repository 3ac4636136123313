package forward

import (
	"bufio"
	"compress/zlib"
	"errors"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// acceptEncoding narrows what a client can decode to what Mooring can: answers are read on their way.
func acceptEncoding(values []string) []string {
	var keep []string
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			part = strings.TrimSpace(part)
			name, _, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "gzip", "x-gzip", "br", "zstd", "deflate", "identity":
				keep = append(keep, part)
			}
		}
	}
	if len(keep) == 0 {
		return []string{"identity"}
	}
	return []string{strings.Join(keep, ", ")}
}

var errEncoding = errors.New("the answer's content encoding is unknown")

// maxWindow bounds the memory that a compressed answer may claim (RFC 8878 recommends decoders to support 8 MiB).
const maxWindow = 8 << 20

// decoder gives the bytes behind a content encoding. Its Close leaves the body open.
func decoder(body io.Reader, encodings []string) (io.ReadCloser, error) {
	var names []string
	for _, v := range encodings {
		for name := range strings.SplitSeq(v, ",") {
			if name = strings.ToLower(strings.TrimSpace(name)); name != "" && name != "identity" {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return io.NopCloser(body), nil
	}
	if len(names) > 1 {
		return nil, errEncoding
	}
	switch names[0] {
	case "gzip", "x-gzip", "deflate", "br", "zstd":
		return &lazyDecoder{body: body, encoding: names[0]}, nil
	}
	return nil, errEncoding
}

// lazyDecoder begins to decode with the first read: a decoder's constructor may wait for bytes.
type lazyDecoder struct {
	body     io.Reader
	encoding string
	r        io.Reader
	end      func()
}

// Read decodes.
func (d *lazyDecoder) Read(p []byte) (int, error) {
	if d.r == nil {
		if err := d.open(); err != nil {
			return 0, err
		}
	}
	return d.r.Read(p)
}

func (d *lazyDecoder) open() error {
	switch d.encoding {
	case "br":
		d.r = brotli.NewReader(d.body)
	case "zstd":
		z, err := zstd.NewReader(d.body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return err
		}
		d.r, d.end = z, z.Close
	case "deflate":
		z, err := zlib.NewReader(bufio.NewReader(d.body))
		if err != nil {
			return err
		}
		d.r = z
	default:
		z, err := gzip.NewReader(d.body)
		if err != nil {
			return err
		}
		d.r = z
	}
	return nil
}

// Close frees what the decoder holds. No read may be under way.
func (d *lazyDecoder) Close() error {
	if d.end != nil {
		d.end()
	}
	return nil
}
