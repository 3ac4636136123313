package config

import (
	"errors"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// A preset is a list entry with defaults of its own.
type preset interface{ preset() }

// decoder lays a YAML tree over a Config. It knows the path of every key, so that each error can name one.
type decoder struct {
	env     func(string) (string, bool)
	anchors map[string]ast.Node
	lines   map[string]int // where each key's value stands
}

// tree gives the body of the only document in a file, nil where there is none.
func tree(src []byte) (ast.Node, error) { //nolint:ireturn // the library has an interface for the nodes of a tree
	file, err := parser.ParseBytes(src, 0)
	if err != nil {
		return nil, syntaxError(err)
	}
	var body ast.Node
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil:
		case body != nil:
			return nil, &Error{Msg: "holds more than one YAML document", Line: lineOf(doc.Body)}
		default:
			body = doc.Body
		}
	}
	return body, nil
}

func syntaxError(err error) *Error {
	out := &Error{Msg: "is no YAML: " + err.Error()}
	if bad, ok := errors.AsType[yaml.Error](err); ok {
		out.Msg = "is no YAML: " + bad.GetMessage()
		if token := bad.GetToken(); token != nil && token.Position != nil {
			out.Line = token.Position.Line
		}
	}
	return out
}

// value decodes a node into what stands at a path.
func (d *decoder) value(path string, node ast.Node, dst reflect.Value) error {
	node = d.resolve(node)
	d.lines[path] = lineOf(node)
	if reader := quantity(dst); reader != nil {
		return d.scalar(path, node, reader)
	}
	switch dst.Kind() { //nolint:exhaustive // what follows takes all other kinds
	case reflect.Pointer:
		dst.Set(reflect.New(dst.Type().Elem()))
		return d.value(path, node, dst.Elem())
	case reflect.Struct:
		return d.structure(path, node, dst)
	case reflect.Map:
		return d.mapping(path, node, dst)
	case reflect.Slice:
		return d.list(path, node, dst)
	default:
		return d.scalar(path, node, func(text string) error { return setScalar(dst, text) })
	}
}

// resolve takes anchors, aliases and tags away.
func (d *decoder) resolve(node ast.Node) ast.Node { //nolint:ireturn // the library has an interface for the nodes of a tree
	switch n := node.(type) {
	case *ast.AnchorNode:
		d.anchors[n.Name.GetToken().Value] = n.Value
		return d.resolve(n.Value)
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		target := d.anchors[name]
		if target == nil {
			return node
		}
		delete(d.anchors, name) // an alias inside its own anchor would never end
		defer func() { d.anchors[name] = target }()
		return d.resolve(target)
	case *ast.TagNode:
		return d.resolve(n.Value)
	}
	return node
}

func (d *decoder) structure(path string, node ast.Node, dst reflect.Value) error {
	entries, ok := entriesOf(node)
	if !ok {
		return d.mismatch(path, node, "needs keys of its own")
	}
	if p, has := reflect.TypeAssert[preset](dst.Addr()); has {
		p.preset()
	}
	fields := fieldsOf(dst.Type())
	for _, entry := range entries {
		name := entry.Key.GetToken().Value
		at := join(path, name)
		field, known := fields[name]
		if !known {
			return &Error{Key: at, Msg: "unknown key" + suggest(name, fields), Line: lineOf(entry.Key)}
		}
		if isNull(entry.Value) {
			continue // `sessions:` with everything below it commented out
		}
		if err := d.value(at, entry.Value, dst.Field(field)); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) mapping(path string, node ast.Node, dst reflect.Value) error {
	entries, ok := entriesOf(node)
	if !ok {
		return d.mismatch(path, node, "needs names with values")
	}
	dst.Set(reflect.MakeMap(dst.Type()))
	for _, entry := range entries {
		name := entry.Key.GetToken().Value
		item := reflect.New(dst.Type().Elem()).Elem()
		if err := d.value(join(path, name), entry.Value, item); err != nil {
			return err
		}
		dst.SetMapIndex(reflect.ValueOf(name).Convert(dst.Type().Key()), item)
	}
	return nil
}

func (d *decoder) list(path string, node ast.Node, dst reflect.Value) error {
	items, ok := node.(*ast.SequenceNode)
	if !ok {
		return d.mismatch(path, node, "needs a list, as in [a, b]")
	}
	out := reflect.MakeSlice(dst.Type(), len(items.Values), len(items.Values))
	for i, item := range items.Values {
		if err := d.value(path+"["+strconv.Itoa(i)+"]", item, out.Index(i)); err != nil {
			return err
		}
	}
	dst.Set(out)
	return nil
}

// scalar hands a node's text, with its variables filled in, to the one who understands it.
func (d *decoder) scalar(path string, node ast.Node, read func(string) error) error {
	if node.Type() == ast.AliasType {
		return d.mismatch(path, node, "names an anchor that does not stand above it")
	}
	text, ok := textOf(node)
	if !ok {
		return d.mismatch(path, node, "needs a single value")
	}
	text, err := d.expand(path, text)
	if err == nil {
		err = read(text)
	}
	if err == nil {
		return nil
	}
	if named, ok := errors.AsType[*Error](err); ok {
		named.Line = lineOf(node)
		return named
	}
	return &Error{Key: path, Msg: err.Error(), Line: lineOf(node)}
}

// expand fills ${VAR} from the environment; $${ stands for ${ itself.
func (d *decoder) expand(path, text string) (string, error) {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "${")
		if !found {
			out.WriteString(text)
			return out.String(), nil
		}
		if strings.HasSuffix(before, "$") {
			out.WriteString(before + "{")
			text = after
			continue
		}
		name, rest, closed := strings.Cut(after, "}")
		if !closed {
			return "", wrong(path, "holds ${ without a closing }")
		}
		value, set := d.env(name)
		if !set {
			return "", wrong(path, "environment variable %s is not set", strconv.Quote(name))
		}
		out.WriteString(before + value)
		text = rest
	}
}

func (d *decoder) mismatch(path string, node ast.Node, needs string) error {
	return &Error{Key: path, Msg: needs, Line: lineOf(node)}
}

// quantity gives the reader of a type that is written in words of its own, nil for others.
func quantity(dst reflect.Value) func(string) error {
	switch p := dst.Addr().Interface().(type) {
	case *time.Duration:
		return reading(p, parseDuration)
	case *time.Time:
		return reading(p, parseTime)
	case *Bytes:
		return reading(p, parseBytes)
	}
	return nil
}

func reading[T any](dst *T, parse func(string) (T, error)) func(string) error {
	return func(text string) (err error) {
		*dst, err = parse(text)
		return err
	}
}

func setScalar(dst reflect.Value, text string) error {
	switch dst.Kind() { //nolint:exhaustive // what follows takes all other kinds
	case reflect.String:
		dst.SetString(text)
	case reflect.Bool:
		if text != "true" && text != "false" {
			return errors.New("must be true or false")
		}
		dst.SetBool(text == "true")
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return errors.New("must be a whole number")
		}
		dst.SetInt(int64(n))
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return errors.New("must be a number")
		}
		dst.SetFloat(f)
	default:
		panic("config: no reader for " + dst.Type().String())
	}
	return nil
}
