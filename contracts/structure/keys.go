package structure

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/fallproof/fallproof/contracts/value"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// knownKeys are the top-level keys that a contract knows: those that its schema names anywhere for the
// whole answer. additionalProperties makes no key known.
type knownKeys struct {
	names    map[string]bool
	patterns []*regexp.Regexp
}

func keysOf(schema *jsonschema.Schema) knownKeys {
	known := knownKeys{names: map[string]bool{}}
	known.collect(schema, map[*jsonschema.Schema]bool{})
	return known
}

func (k *knownKeys) collect(s *jsonschema.Schema, seen map[*jsonschema.Schema]bool) {
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	for name := range s.Properties {
		k.names[name] = true
	}
	for pattern := range s.PatternProperties {
		k.patterns = append(k.patterns, pattern)
	}
	applied := slices.Concat(s.AllOf, s.AnyOf, s.OneOf, slices.Collect(maps.Values(s.DependentSchemas)))
	for _, inner := range append(applied, s.Ref, s.DynamicRef, s.If, s.Then, s.Else) {
		k.collect(inner, seen)
	}
}

func (k *knownKeys) knows(key string) bool {
	return k.names[key] || slices.ContainsFunc(k.patterns, func(p *regexp.Regexp) bool { return p.MatchString(key) })
}

func (c *Checker) unknownKeys(answer any) []Finding {
	object, ok := answer.(map[string]any)
	if !ok {
		return nil
	}
	var findings []Finding
	for _, key := range sortedKeys(object) {
		if !c.known.knows(key) {
			findings = append(findings, Finding{
				UnknownKey, value.Pointer("", key), fmt.Sprintf("key %q is not known to the contract", key),
			})
		}
	}
	return findings
}

func sortedKeys(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }
