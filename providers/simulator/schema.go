package simulator

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxSchemaDepth ends schemas that refer to themselves without an end of their own.
const maxSchemaDepth = 16

// maxMade bounds what a schema can demand: values of an answer, items of an array, letters of a text.
const maxMade = 1024

// schema is a JSON Schema that came with a request, for making up answers that conform to it. It follows
// what strict structured output allows; beyond that it does its best.
type schema struct {
	root *object
	made int // values made up so far: schemas can demand more than any memory holds
}

// schemaOf reads a schema; nil where it is not an object.
func schemaOf(data jsontext.Value) *schema {
	value, err := decodeOrdered(data)
	root, ok := value.(*object)
	if err != nil || !ok {
		return nil
	}
	return &schema{root: root}
}

// properties are those of the answer's top level.
func (s *schema) properties() *object {
	properties, ok := s.resolve(s.root, 0).get("properties").(*object)
	if !ok {
		return &object{}
	}
	return properties
}

func (s *schema) has(name string) bool { return s.properties().has(name) }

func (s *schema) names() []string {
	var names []string
	for _, m := range s.properties().members {
		names = append(names, m.name)
	}
	return names
}

// example makes up a value for a property of the top level.
func (s *schema) example(name string) any { return s.make(s.properties().get(name), 0) }

// allows says whether a property may have a value, as far as an enumeration tells.
func (s *schema) allows(name string, value any) bool {
	node, ok := s.properties().get(name).(*object)
	if !ok {
		return false
	}
	options, ok := s.resolve(node, 0).get("enum").([]any)
	text, isText := value.(string)
	return !ok || (isText && slices.Contains(options, any(text)))
}

// resolve follows references within the schema and takes the first of several alternatives.
func (s *schema) resolve(node *object, depth int) *object {
	if depth > maxSchemaDepth {
		return node
	}
	if pointer, ok := node.get("$ref").(string); ok {
		if target, ok := s.lookup(pointer).(*object); ok {
			return s.resolve(target, depth+1)
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		if choices, ok := node.get(keyword).([]any); ok && len(choices) > 0 {
			if first, ok := choices[0].(*object); ok {
				return s.resolve(first, depth+1)
			}
		}
	}
	return node
}

func (s *schema) lookup(pointer string) any {
	var at any = s.root
	rest, _ := strings.CutPrefix(pointer, "#")
	for token := range jsontext.Pointer(rest).Tokens() {
		node, ok := at.(*object)
		if !ok {
			return nil
		}
		at = node.get(token)
	}
	return at
}

// make builds the smallest value that a node allows.
func (s *schema) make(value any, depth int) any {
	node, ok := value.(*object)
	if s.made++; !ok || depth > maxSchemaDepth || s.made > maxMade {
		return nil
	}
	node = s.resolve(node, depth)
	if node.has("const") {
		return node.get("const")
	}
	if options, ok := node.get("enum").([]any); ok && len(options) > 0 {
		return options[0]
	}
	switch typeOf(node) {
	case "object":
		return s.makeObject(node, depth)
	case "array":
		return s.makeArray(node, depth)
	case "string":
		return makeString(node)
	case "integer", "number":
		return makeNumber(node)
	case "boolean":
		return false
	}
	return nil
}

// typeOf is the type a node names; of several, the first that is not null.
func typeOf(node *object) string {
	switch named := node.get("type").(type) {
	case string:
		return named
	case []any:
		for _, one := range named {
			if text, ok := one.(string); ok && text != "null" {
				return text
			}
		}
	}
	if node.has("properties") {
		return "object"
	}
	return ""
}

func (s *schema) makeObject(node *object, depth int) any {
	made := &object{}
	properties, ok := node.get("properties").(*object)
	if !ok {
		return made
	}
	for _, m := range properties.members {
		made.set(m.name, s.make(m.value, depth+1))
	}
	return made
}

func (s *schema) makeArray(node *object, depth int) any {
	made := []any{}
	for range min(lengthOf(node, "minItems"), maxMade) {
		made = append(made, s.make(node.get("items"), depth+1))
	}
	return made
}
