package value

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// YAMLError says what in a YAML document cannot be a JSON value, and where.
type YAMLError struct {
	Line, Column int
	Detail       string
}

func (e *YAMLError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Detail) }

// FromYAML turns a parsed YAML node into the same kind of value that [Decode] yields, numbers with
// their literal. It takes the parser's node and not a decoded tree, because decoding already rounds.
// What JSON cannot say, or what YAML readers disagree about (hexadecimal and octal numbers, .nan,
// keys that are no strings, anchors, aliases, tags), is a *[YAMLError].
func FromYAML(node ast.Node) (any, error) {
	v, err := fromYAML(node, 0)
	if err != nil {
		return nil, err
	}
	// Once through the decoder of a job's input: what is refused there is refused here.
	v, err = Decode(Encode(v))
	if err != nil {
		return nil, yamlFault(node, err.Error())
	}
	return v, nil
}

func fromYAML(node ast.Node, depth int) (any, error) {
	if depth > MaxDepth {
		return nil, yamlFault(node, fmt.Sprintf("nested deeper than %d", MaxDepth))
	}
	switch n := node.(type) {
	case nil, *ast.NullNode:
		return nil, nil
	case *ast.BoolNode:
		return n.Value, nil
	case *ast.StringNode:
		if n.Token.Type == token.StringType && IsNumber(n.Value) {
			return Number(n.Value), nil // not quoted: a number that the parser found too large
		}
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.IntegerNode:
		return yamlNumber(n, n.Token.Value)
	case *ast.FloatNode:
		return yamlNumber(n, n.Token.Value)
	case *ast.SequenceNode:
		return yamlSequence(n, depth)
	case *ast.MappingNode:
		return yamlMapping(n.Values, depth)
	case *ast.MappingValueNode:
		return yamlMapping([]*ast.MappingValueNode{n}, depth)
	default:
		return nil, yamlFault(node, fmt.Sprintf("%s is not possible in a JSON value", node.Type()))
	}
}

func yamlNumber(node ast.Node, literal string) (any, error) {
	if !IsNumber(literal) {
		return nil, yamlFault(node, fmt.Sprintf("%s is not a JSON number: write it in plain decimals, or in quotes", shorten(literal)))
	}
	return Number(literal), nil
}

func yamlSequence(n *ast.SequenceNode, depth int) (any, error) {
	array := []any{}
	for _, element := range n.Values {
		v, err := fromYAML(element, depth+1)
		if err != nil {
			return nil, err
		}
		array = append(array, v)
	}
	return array, nil
}

func yamlMapping(entries []*ast.MappingValueNode, depth int) (any, error) {
	object := map[string]any{}
	for _, entry := range entries {
		key, ok := entry.Key.(*ast.StringNode)
		if !ok {
			return nil, yamlFault(entry.Key, fmt.Sprintf("key %s is not a string: write it in quotes", entry.Key))
		}
		if _, again := object[key.Value]; again {
			return nil, yamlFault(entry.Key, fmt.Sprintf("duplicate key %q", key.Value))
		}
		v, err := fromYAML(entry.Value, depth+1)
		if err != nil {
			return nil, err
		}
		object[key.Value] = v
	}
	return object, nil
}

func yamlFault(node ast.Node, detail string) error {
	fault := &YAMLError{Detail: detail}
	if node != nil && node.GetToken() != nil {
		position := node.GetToken().Position
		fault.Line, fault.Column = position.Line, position.Column
	}
	return fault
}
