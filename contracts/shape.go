package contracts

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// shape compares what is written with what is read of it, and says in plain words what does not fit. The
// library that decodes afterwards does most of that too, but speaks of Go's types. What only the library
// understands (aliases, merges, tags) is left to it. A number that it takes for a text is only noted
// (unquoted), since whoever reads the text may have more to say about it.
func (s *yamlSource) shape(node ast.Node, name string, want reflect.Type) error {
	if want.Kind() == reflect.Pointer {
		want = want.Elem()
	}
	switch n := node.(type) {
	case nil, *ast.NullNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		return nil
	case *ast.AnchorNode:
		return s.shape(n.Value, name, want)
	}
	switch want.Kind() {
	case reflect.Struct, reflect.Map:
		return s.mappingShape(node, name, want)
	case reflect.Slice:
		items, ok := node.(*ast.SequenceNode)
		if !ok {
			return s.misfit(node, name, "a list")
		}
		for _, item := range items.Values {
			if err := s.shape(item, "an entry of "+name, want.Elem()); err != nil {
				return err
			}
		}
		return nil
	case reflect.String:
		return s.scalarShape(node, name, "a text", ast.StringType, ast.LiteralType)
	case reflect.Bool:
		return s.scalarShape(node, name, "true or false", ast.BoolType)
	default:
		return s.scalarShape(node, name, "a number", ast.IntegerType, ast.FloatType, ast.InfinityType, ast.NanType)
	}
}

func (s *yamlSource) mappingShape(node ast.Node, name string, want reflect.Type) error {
	var pairs []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		return s.misfit(node, name, "keys with values, each as \"key: value\"")
	}
	for _, pair := range pairs {
		key, ok := pair.Key.(*ast.StringNode)
		if !ok {
			continue // a merge, or what the library refuses
		}
		inner := keyed(want, key.Value)
		if inner == nil {
			return s.at(key, "unknown key %q; possible here: %s", key.Value, strings.Join(keysOf(want), ", "))
		}
		if err := s.shape(pair.Value, key.Value, inner); err != nil {
			return err
		}
	}
	return nil
}

func (s *yamlSource) scalarShape(node ast.Node, name, want string, fitting ...ast.NodeType) error {
	for _, fits := range fitting {
		if node.Type() == fits {
			return nil
		}
	}
	if want != "a text" || node.Type() == ast.MappingType || node.Type() == ast.MappingValueType || node.Type() == ast.SequenceType {
		return s.misfit(node, name, want)
	}
	if s.unquoted == nil {
		s.unquoted = s.misfit(node, name, want)
	}
	return nil
}

// misfit says what is wanted and what stands there.
func (s *yamlSource) misfit(node ast.Node, name, want string) error {
	var found, more string
	switch n := node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		found = "keys with values"
	case *ast.SequenceNode:
		found = "a list"
	case *ast.LiteralNode:
		found = "a text"
	case *ast.StringNode:
		found = fmt.Sprintf("the text %q", shortened(n.Value))
		if n.Token.Type != token.StringType && want != "a text" {
			more = " in quotes"
		}
	default:
		found = shortened(node.GetToken().Value)
		if want == "a text" {
			more = ": put it in quotes"
		}
	}
	return s.at(node, "%s: want %s, and here stands %s%s", name, want, found, more)
}

func (s *yamlSource) at(node ast.Node, format string, args ...any) error {
	return &FileError{File: s.file, Line: node.GetToken().Position.Line, Message: fmt.Sprintf(format, args...)}
}

// shortened keeps a message on a line.
func shortened(text string) string {
	const most = 40
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most]) + "…"
	}
	return text
}

// keyed is the type of a struct's field by its key; nil where it has none.
func keyed(of reflect.Type, key string) reflect.Type {
	if of.Kind() == reflect.Map {
		return of.Elem()
	}
	for i := range of.NumField() {
		if field := of.Field(i); field.Tag.Get("yaml") == key {
			return field.Type
		}
	}
	return nil
}

func keysOf(of reflect.Type) []string {
	var keys []string
	for i := range of.NumField() {
		keys = append(keys, of.Field(i).Tag.Get("yaml"))
	}
	return keys
}
