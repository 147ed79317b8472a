package simulator

import (
	"math/big"
	"regexp/syntax"
	"slices"
	"strconv"
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

// makeNumber is the least number allowed, 0 where no least one is named.
func makeNumber(node *object) any {
	n := numberOf(node, "minimum")
	step := big.NewRat(1, 1)
	if node.has("multipleOf") {
		step = numberOf(node, "multipleOf")
	}
	if node.has("exclusiveMinimum") {
		n = new(big.Rat).Add(numberOf(node, "exclusiveMinimum"), step)
	}
	for _, keyword := range []string{"maximum", "exclusiveMaximum"} {
		if node.has(keyword) && n.Cmp(numberOf(node, keyword)) > 0 {
			n = new(big.Rat).Sub(numberOf(node, keyword), step)
		}
	}
	return jsontext.Value(decimal(n))
}

func numberOf(node *object, keyword string) *big.Rat {
	if digits, ok := node.get(keyword).(jsontext.Value); ok && isModest(string(digits)) {
		if n, ok := new(big.Rat).SetString(string(digits)); ok {
			return n
		}
	}
	return new(big.Rat)
}

// lengthOf is a keyword that counts something; never negative.
func lengthOf(node *object, keyword string) int {
	n, _ := numberOf(node, keyword).Float64()
	return max(0, int(n))
}

// isModest keeps numbers such as 1e1000000000 from being written out.
func isModest(digits string) bool {
	n, err := strconv.ParseFloat(digits, 64)
	return err == nil && n < 1e15 && n > -1e15 && len(digits) < 64 && !strings.Contains(strings.ToLower(digits), "e-")
}

var examples = map[string]string{
	"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "time": "12:00:00Z", "duration": "P1D",
	"email": "someone@example.com", "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
	"uri": "https://example.com/", "uuid": "6b1f6d1e-3c53-4d6c-9c1e-0a4f1d2b3c4d",
}

func makeString(node *object) any {
	if format, ok := node.get("format").(string); ok && examples[format] != "" {
		return examples[format]
	}
	if pattern, ok := node.get("pattern").(string); ok {
		if parsed, err := syntax.Parse(pattern, syntax.Perl); err == nil {
			return shortest(parsed.Simplify())
		}
	}
	text := "unknown"
	for len(text) < min(lengthOf(node, "minLength"), maxMade) {
		text += " unknown"
	}
	if node.has("maxLength") {
		text = text[:min(len(text), lengthOf(node, "maxLength"))]
	}
	return text
}

// shortest writes a short text that an expression matches.
func shortest(expression *syntax.Regexp) string {
	switch expression.Op {
	case syntax.OpLiteral:
		return string(expression.Rune)
	case syntax.OpCharClass:
		return string(printable(expression.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "x"
	case syntax.OpCapture, syntax.OpPlus:
		return shortest(expression.Sub[0])
	case syntax.OpAlternate:
		return shortest(expression.Sub[0])
	case syntax.OpConcat:
		text := ""
		for _, part := range expression.Sub {
			text += shortest(part)
		}
		return text
	case syntax.OpRepeat:
		return strings.Repeat(shortest(expression.Sub[0]), expression.Min)
	}
	return "" // star, quest and the anchors match nothing at all
}

// printable picks a letter, else a digit, else any visible character of a class of rune ranges.
func printable(ranges []rune) rune {
	for _, wish := range [][2]rune{{'a', 'z'}, {'A', 'Z'}, {'0', '9'}, {'!', 0x10ffff}} {
		for i := 0; i+1 < len(ranges); i += 2 {
			if low := max(ranges[i], wish[0]); low <= min(ranges[i+1], wish[1]) {
				return low
			}
		}
	}
	return ranges[0]
}
