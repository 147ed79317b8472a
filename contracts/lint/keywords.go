package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/fallproof/fallproof/contracts/value"
)

// holds says what stands under a keyword of JSON Schema.
type holds int

const (
	aValue   holds = iota
	aSchema        // or, as under items once, a list of them
	schemas        // a list
	byName         // a schema for each key
	unknown        // no keyword
	annotate       // of somebody else, who knows what it means
)

// keywords are those of the drafts from 4 to 2020-12 (json-schema.org/specification).
var keywords = func() map[string]holds {
	known := map[string]holds{}
	for kind, names := range map[holds]string{
		aValue: "$schema $id id $ref $anchor $dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor $vocabulary $comment " +
			"type enum const multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern format " +
			"maxItems minItems uniqueItems maxContains minContains maxProperties minProperties required dependentRequired " +
			"title description default deprecated readOnly writeOnly examples contentEncoding contentMediaType",
		aSchema: "items additionalItems unevaluatedItems contains additionalProperties unevaluatedProperties propertyNames not if then else contentSchema",
		schemas: "prefixItems allOf anyOf oneOf",
		byName:  "properties patternProperties dependentSchemas dependencies $defs definitions",
	} {
		for _, name := range strings.Fields(names) {
			known[name] = kind
		}
	}
	return known
}()

func kindOf(keyword string) holds {
	if kind, known := keywords[keyword]; known {
		return kind
	}
	if strings.HasPrefix(keyword, "x-") {
		return annotate
	}
	return unknown
}

// keywords warns of what in a schema does nothing, because JSON Schema does not know it: most often it is misspelt.
func (l *linter) keywords(at string, schema any) {
	switch schema := schema.(type) {
	case []any:
		for i, each := range schema {
			l.keywords(value.Pointer(at, fmt.Sprint(i)), each)
		}
	case map[string]any:
		for _, keyword := range slices.Sorted(maps.Keys(schema)) {
			l.keyword(at, keyword, schema[keyword])
		}
	}
}

func (l *linter) keyword(at, keyword string, of any) {
	inner := value.Pointer(at, keyword)
	switch kindOf(keyword) {
	case unknown:
		l.report(l.c.SchemaFile, 0, Warning, "%s: JSON Schema has no such keyword, so it asks for nothing: see whether it is misspelt", inner)
	case aSchema, schemas:
		l.keywords(inner, of)
	case byName:
		named, _ := of.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(named)) {
			l.keywords(value.Pointer(inner, name), named[name])
		}
	case aValue:
		format, _ := of.(string)
		if _, known := jsonschema.Formats[format]; keyword == "format" && !known {
			l.report(l.c.SchemaFile, 0, Warning, "%s: no format %q is known, so it asks for nothing", inner, format)
		}
	case annotate:
	}
}
