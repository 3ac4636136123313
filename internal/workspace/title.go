package workspace

import (
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mooring"
)

// longestTitle is what a line of a list can show, and then some.
const longestTitle = 200

func titleOf(value jsontext.Value) (string, error) {
	text, err := textOf("title", value)
	if err != nil {
		return "", err
	}
	title := strings.Trim(text, " \t\r\n")
	if n := utf8.RuneCountInString(title); n > longestTitle {
		return "", mooring.Errorf(mooring.CodeInvalidRequest, "The title has %d characters; use at most %d.", n, longestTitle)
	}
	return title, nil
}
