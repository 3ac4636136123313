package web

import (
	"path"
	"strconv"
	"strings"
)

// coding is how a variant of a file is compressed, as the end of its name says it.
type coding string

const (
	brotli   coding = ".br"
	gzip     coding = ".gz"
	identity coding = ""
)

// codings lists them all, smallest result first.
var codings = [...]coding{brotli, gzip, identity} //nolint:gochecknoglobals // a constant but for Go's lack of constant arrays

// name is what Accept-Encoding and Content-Encoding call it.
func (c coding) name() string {
	if c == brotli {
		return "br"
	}
	return "gzip"
}

// codingOf says whether a built file is a compressed variant of another.
func codingOf(name string) coding {
	if c := coding(path.Ext(name)); c == brotli || c == gzip {
		return c
	}
	return identity
}

// choose gives the smallest variant that is there and that the client takes. A client that refuses them all gets the file
// as it is, which any can read.
func choose(accept []string, there map[coding]string) coding {
	for _, c := range codings {
		if _, ok := there[c]; ok && c != identity && takes(accept, c.name()) {
			return c
		}
	}
	return identity
}

// takes reads Accept-Encoding or Accept: a name counts before "*", and a weight of 0 is a refusal.
func takes(accept []string, name string) bool {
	others := false
	for entry := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		of, parameters, _ := strings.Cut(entry, ";")
		switch of = strings.TrimSpace(of); {
		case strings.EqualFold(of, name):
			return wanted(parameters)
		case of == "*":
			others = wanted(parameters)
		}
	}
	return others
}

// wanted says that the weight among an entry's parameters is not 0.
func wanted(parameters string) bool {
	for parameter := range strings.SplitSeq(parameters, ";") {
		key, value, _ := strings.Cut(parameter, "=")
		if strings.EqualFold(strings.TrimSpace(key), "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return err == nil && q > 0
		}
	}
	return true
}

// mediaType names the type of a built file, so that no table of the machine it runs on decides.
func mediaType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".json", ".map":
		return "application/json"
	case ".svg":
		return "image/svg+xml"
	case ".png":
		return "image/png"
	case ".ico":
		return "image/x-icon"
	case ".woff2":
		return "font/woff2"
	case ".txt":
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}
