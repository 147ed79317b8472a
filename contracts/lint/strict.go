package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/value"
)

// strictKeywords are what the strict mode of OpenAI's structured outputs documents as supported; other
// providers' strict modes take about the same. Anything else makes a target refuse the schema or, worse,
// ignore it.
var strictKeywords = map[string]bool{
	"$schema": true, "$id": true, "$ref": true, "$defs": true, "definitions": true, "title": true, "description": true,
	"type": true, "properties": true, "required": true, "additionalProperties": true, "items": true,
	"enum": true, "const": true, "anyOf": true, "pattern": true, "format": true,
	"multipleOf": true, "minimum": true, "maximum": true, "exclusiveMinimum": true, "exclusiveMaximum": true,
	"minItems": true, "maxItems": true,
}

var strictFormats = map[string]bool{
	"date-time": true, "time": true, "date": true, "duration": true, "email": true,
	"hostname": true, "ipv4": true, "ipv6": true, "uuid": true,
}

const strictDepth = 10

// Strict lists what of a contract's schema strict modes do not take, for who is not known to send it otherwise.
func Strict(c *contracts.Contract) []Problem {
	l := &linter{c: c}
	for _, warning := range strictWarnings(c.Schema) {
		l.report(c.SchemaFile, 0, Warning, "%s", warning)
	}
	return l.problems
}

// strictWarnings lists what in a schema strict modes do not take. The schema is sent unchanged all the
// same: a warning is for the author.
func strictWarnings(schema []byte) []string {
	document, err := value.Decode(schema)
	if err != nil {
		return nil // compiling has said so
	}
	s := &strict{}
	if root, ok := document.(map[string]any); ok {
		if _, union := root["anyOf"]; union {
			s.warn("", "anyOf at the root")
		}
	}
	s.schema("", document, 0)
	return s.warnings
}

type strict struct{ warnings []string }

func (s *strict) warn(at, format string, args ...any) {
	if at == "" {
		at = "/"
	}
	s.warnings = append(s.warnings, fmt.Sprintf("strict mode: %s: %s", at, fmt.Sprintf(format, args...)))
}

func (s *strict) schema(at string, v any, depth int) {
	object, ok := v.(map[string]any)
	if !ok {
		s.warn(at, "a boolean schema")
		return
	}
	for _, keyword := range slices.Sorted(maps.Keys(object)) {
		if !strictKeywords[keyword] {
			s.warn(at, "keyword %s is not supported", keyword)
		}
	}
	if format, ok := object["format"].(string); ok && !strictFormats[format] {
		s.warn(at, "format %s is not supported", format)
	}
	if isObjectSchema(object) {
		depth++
		s.object(at, object, depth)
	}
	s.inner(at, object, depth)
}

func isObjectSchema(object map[string]any) bool {
	_, named := object["properties"]
	types, _ := object["type"].([]any)
	return named || object["type"] == "object" || slices.Contains(types, any("object"))
}

func (s *strict) object(at string, object map[string]any, depth int) {
	if depth == strictDepth+1 {
		s.warn(at, "objects nested deeper than %d", strictDepth)
	}
	if object["additionalProperties"] != false {
		s.warn(at, "additionalProperties must be false")
	}
	required, _ := object["required"].([]any)
	properties, _ := object["properties"].(map[string]any)
	var optional []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if !slices.Contains(required, any(name)) {
			optional = append(optional, name)
		}
	}
	if len(optional) > 0 {
		s.warn(at, "not required: %s (write optional values as required and nullable)", strings.Join(optional, ", "))
	}
}

// inner goes where the supported keywords hold schemas; below the others one warning is enough.
func (s *strict) inner(at string, object map[string]any, depth int) {
	for _, keyword := range []string{"properties", "$defs", "definitions"} {
		schemas, _ := object[keyword].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(schemas)) {
			s.schema(value.Pointer(value.Pointer(at, keyword), name), schemas[name], depth)
		}
	}
	if items, ok := object["items"]; ok {
		s.schema(value.Pointer(at, "items"), items, depth)
	}
	options, _ := object["anyOf"].([]any)
	for i, option := range options {
		s.schema(value.Pointer(value.Pointer(at, "anyOf"), fmt.Sprint(i)), option, depth)
	}
}
