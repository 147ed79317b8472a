package contracts

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/fallproof/fallproof/contracts/value"
)

// yamlSource is a YAML file with what is needed to say where in it a fault lies.
type yamlSource struct {
	file    string
	content []byte
	tree    *ast.File
	body    ast.Node

	unquoted error // the first number, or truth value, where a text should stand; see shape
}

func parseYAML(file string, content []byte) (*yamlSource, error) {
	if !utf8.Valid(content) {
		return nil, &FileError{File: file, Message: "not UTF-8"}
	}
	tree, err := parser.ParseBytes(content, 0)
	if err != nil {
		return nil, yamlFault(file, err)
	}
	if len(tree.Docs) != 1 || nothing(tree.Docs[0].Body) {
		why := fmt.Sprintf("here are %d, divided by ---", len(tree.Docs))
		if len(tree.Docs) < 2 {
			why = "nothing stands in this file"
		}
		return nil, &FileError{File: file, Message: "want exactly one YAML document, and " + why}
	}
	return &yamlSource{file: file, content: content, tree: tree, body: tree.Docs[0].Body}, nil
}

func nothing(body ast.Node) bool { return body == nil || body.Type() == ast.CommentType }

// decode is strict: a key that into does not have is an error.
func (s *yamlSource) decode(into any) error {
	if err := yaml.NewDecoder(bytes.NewReader(s.content), yaml.Strict()).Decode(into); err != nil {
		return yamlFault(s.file, err)
	}
	return nil
}

// fault is an error at the line of a YAML path, or of its nearest ancestor where the path itself is
// absent.
func (s *yamlSource) fault(at, format string, args ...any) error {
	return &FileError{File: s.file, Line: s.line(at), Message: fmt.Sprintf(format, args...)}
}

func (s *yamlSource) line(at string) int {
	path, err := yaml.PathString(at)
	if err != nil {
		return 0
	}
	node, err := path.FilterFile(s.tree)
	if err != nil || node == nil || node.GetToken() == nil {
		return 0
	}
	return node.GetToken().Position.Line
}

func yamlFault(file string, err error) error {
	line, message := value.YAMLSyntax(err)
	return &FileError{File: file, Line: line, Message: message}
}
