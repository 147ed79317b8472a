package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/fallproof/fallproof/contracts/value"
)

// reader walks the parsed file itself instead of decoding it into structs, because every message is to
// name a line. It remembers the first fault in the order of the file, and what is missing after all others, so that sections read straight on.
type reader struct {
	file string
	err  error
	line int  // of err
	lack bool // err is a lack
}

// field is a value of the file with the place where it stands. The zero field is an absent one.
type field struct {
	name string // as messages call it, e.g. providers.alpha.timeout
	key  string
	line int
	node ast.Node
}

func (f field) present() bool { return f.line > 0 }

func (r *reader) fail(line int, format string, args ...any) {
	if r.err == nil || r.lack || line < r.line {
		r.note(false, line, format, args...)
	}
}

// lacks is a fail for what is not there. Whatever is wrong with what is there goes before it: a key that is misspelt is
// missing under its right name, too.
func (r *reader) lacks(line int, format string, args ...any) {
	if r.err == nil {
		r.note(true, line, format, args...)
	}
}

func (r *reader) note(lack bool, line int, format string, args ...any) {
	r.lack, r.line = lack, line
	r.err = &Error{File: r.file, Line: line, Message: fmt.Sprintf(format, args...)}
}

// fault is a fail that stands nowhere in the file.
func (r *reader) fault(err *Error) {
	if r.err == nil {
		r.err = err
	}
}

// document is the file's one document. An empty one is an empty mapping.
func (r *reader) document(data []byte) field {
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		r.syntax(err)
		return field{}
	}
	var bodies []ast.Node
	for _, doc := range tree.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.CommentType {
			bodies = append(bodies, doc.Body)
		}
	}
	switch len(bodies) {
	case 0:
		return field{}
	case 1:
		return field{name: "the file", line: max(1, lineOf(bodies[0])), node: bodies[0]}
	default:
		r.fail(lineOf(bodies[1]), "more than one YAML document")
		return field{}
	}
}

func (r *reader) syntax(err error) {
	line, message := value.YAMLSyntax(err)
	r.fail(max(1, line), "not YAML: %s", message)
}

func lineOf(node ast.Node) int {
	if node == nil || node.GetToken() == nil {
		return 0
	}
	return node.GetToken().Position.Line
}

// mapping reads a section whose keys are known. An absent or empty section has no fields.
func (r *reader) mapping(f field, allowed ...string) map[string]field {
	fields := map[string]field{}
	for _, entry := range r.entries(f) {
		switch {
		case slices.Contains(allowed, entry.key):
			fields[entry.key] = entry
		case entry.key == "api_key":
			r.fail(entry.line, "%s: a key itself never stands in this file: name a variable with api_key_env or a file with api_key_file", entry.name)
		default:
			r.fail(entry.line, "unknown key %q; possible here: %s", entry.key, strings.Join(allowed, ", "))
		}
	}
	return fields
}

// entries reads a section whose keys are names, in the order of the file.
func (r *reader) entries(f field) []field {
	var pairs []*ast.MappingValueNode
	switch node := f.node.(type) {
	case nil, *ast.NullNode:
		return nil
	case *ast.MappingNode:
		pairs = node.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{node}
	default:
		r.fail(f.line, "%s: want a mapping of keys to values", f.name)
		return nil
	}
	var entries []field
	seen := map[string]bool{}
	for _, pair := range pairs {
		key, ok := pair.Key.(*ast.StringNode)
		if !ok {
			r.fail(lineOf(pair.Key), "%s: key %s is not a text: write it in quotes", f.name, pair.Key)
			continue
		}
		entry := field{name: key.Value, key: key.Value, line: lineOf(key), node: pair.Value}
		if f.name != "the file" {
			entry.name = f.name + "." + key.Value
		}
		if seen[entry.key] {
			r.fail(entry.line, "%s stands here twice", entry.name)
			continue
		}
		seen[entry.key] = true
		entries = append(entries, entry)
	}
	return entries
}

func (r *reader) list(f field) []field {
	node, ok := f.node.(*ast.SequenceNode)
	if !ok {
		r.fail(f.line, "%s: want a list", f.name)
		return nil
	}
	items := make([]field, len(node.Values))
	for i, each := range node.Values {
		items[i] = field{name: f.name, line: max(f.line, lineOf(each)), node: each}
	}
	return items
}
