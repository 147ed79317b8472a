package structure

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

// Idle is what in a schema asks for nothing, because JSON Schema does not know it: most often it is misspelt.
type Idle struct {
	Pointer string // of the keyword, inside the schema
	Format  string // where it is a format that is not known; "" = the keyword
}

// Idles lists what asks for nothing in a schema that compiles, in an order that does not change.
func Idles(schema []byte) []Idle {
	document, err := value.Decode(schema)
	if err != nil {
		return nil
	}
	var found idles
	found.schema("", document)
	return found
}

type idles []Idle

func (found *idles) schema(at string, schema any) {
	switch schema := schema.(type) {
	case []any:
		for i, each := range schema {
			found.schema(value.Pointer(at, fmt.Sprint(i)), each)
		}
	case map[string]any:
		for _, keyword := range slices.Sorted(maps.Keys(schema)) {
			found.keyword(value.Pointer(at, keyword), keyword, schema[keyword])
		}
	}
}

func (found *idles) keyword(at, keyword string, of any) {
	switch kindOf(keyword) {
	case unknown:
		*found = append(*found, Idle{Pointer: at})
	case aSchema, schemas:
		found.schema(at, of)
	case byName:
		named, _ := of.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(named)) {
			found.schema(value.Pointer(at, name), named[name])
		}
	case aValue:
		format, _ := of.(string)
		if _, known := jsonschema.Formats[format]; keyword == "format" && !known {
			*found = append(*found, Idle{at, format})
		}
	case annotate:
	}
}
