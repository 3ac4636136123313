package workspace

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"mooring"
)

// eachMember reads a body that is one JSON object and hands its members to take. What take does not know is its to refuse.
func eachMember(body []byte, take func(name string, value jsontext.Value) error) error {
	dec := jsontext.NewDecoder(bytes.NewReader(body))
	if kind := dec.PeekKind(); kind != '{' && kind != jsontext.KindInvalid {
		return mooring.Errorf(mooring.CodeInvalidJSON, "The body must be a JSON object.")
	}
	if _, err := dec.ReadToken(); err != nil {
		return invalidJSON(err)
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return invalidJSON(err)
		}
		member := name.String() // a token lives until the next read
		value, err := dec.ReadValue()
		if err != nil {
			return invalidJSON(err)
		}
		if err := take(member, value); err != nil {
			return err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return invalidJSON(err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return mooring.Errorf(mooring.CodeInvalidJSON, "There is something behind the JSON object; send the object alone.")
	}
	return nil
}

// invalidJSON says where the trouble is, never what stands there.
func invalidJSON(err error) error {
	at := int64(0)
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at = syntactic.ByteOffset
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return mooring.Errorf(mooring.CodeInvalidJSON, "A member name is given twice near byte %d; give each once.", at)
	}
	return mooring.Errorf(mooring.CodeInvalidJSON, "The body is not valid JSON near byte %d.", at)
}

func textOf(name string, value jsontext.Value) (string, error) {
	if value.Kind() != '"' {
		return "", mooring.Errorf(mooring.CodeInvalidRequest, "The member %s must be text.", name)
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return "", invalidJSON(err)
	}
	return string(text), nil
}

func flagOf(name string, value jsontext.Value) (bool, error) {
	kind := value.Kind()
	if kind != 't' && kind != 'f' {
		return false, mooring.Errorf(mooring.CodeInvalidRequest, "The member %s must be true or false.", name)
	}
	return kind == 't', nil
}

// unknownMember names what the route takes instead. The name itself came from the client and is not repeated.
func unknownMember(takes string) error {
	return mooring.Errorf(mooring.CodeInvalidRequest, "The body has a member that this route does not take; it takes %s.", takes)
}
