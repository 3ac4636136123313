package wire

import (
	"bytes"
	"encoding/base64"
)

// image appends an image that is given by its address, raw, or by an object that has one. A data URL stands for its bytes.
func (n *normal) image(address []byte) {
	if kindOf(address) == '{' {
		address = member(address, "url")
	}
	url := plain(address)
	head, data, ok := bytes.Cut(url, []byte{','})
	if ok && hasPrefixFold(head, "data:") && hasSuffixFold(head, ";base64") {
		n.encoded(data)
		return
	}
	n.put('i', url)
}

// encoded appends an image by its bytes, however they are written: with or without padding and line breaks, in either alphabet. Its
// media type is what a client takes it for, and no part of it.
func (n *normal) encoded(data []byte) {
	n.scratch = n.scratch[:0]
	for _, c := range data {
		switch c {
		case '-':
			c = '+'
		case '_':
			c = '/'
		case '\r', '\n', '\t', ' ':
			continue
		}
		n.scratch = append(n.scratch, c)
	}
	text := bytes.TrimRight(n.scratch, "=")
	size, err := base64.RawStdEncoding.Decode(text, text) // each group of four is read before its three bytes are written
	if err != nil {
		n.put('I', data)
		return
	}
	n.put('b', text[:size])
}

func hasPrefixFold(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && bytes.EqualFold(b[:len(prefix)], []byte(prefix))
}

func hasSuffixFold(b []byte, suffix string) bool {
	return len(b) >= len(suffix) && bytes.EqualFold(b[len(b)-len(suffix):], []byte(suffix))
}
