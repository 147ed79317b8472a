package structure

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/fallproof/fallproof/contracts/value"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// violation is one leaf of the library's tree of errors.
type violation struct {
	path    string // into the answer, RFC 6901
	keyword string // into the schema, RFC 6901
	message string
}

// violations lists what breaks the schema, sorted, because the library goes through maps. With
// unknownKeys set, a refusal of those keys by the schema is not said a second time.
func (c *Checker) violations(answer any, unknownKeys bool) []Finding {
	err := c.schema.Validate(forSchema(answer))
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return []Finding{{SchemaViolation, "", err.Error()}}
	}
	var findings []Finding
	for _, v := range leaves(invalid) {
		if unknownKeys && refusesTopLevelKey(v) {
			continue
		}
		findings = append(findings, Finding{SchemaViolation, v.path, v.message + c.hint(answer, v)})
	}
	return slices.Compact(findings)
}

func refusesTopLevelKey(v violation) bool {
	if strings.HasSuffix(v.keyword, "/additionalProperties") {
		return v.path == ""
	}
	return strings.HasSuffix(v.keyword, "/unevaluatedProperties") && strings.Count(v.path, "/") == 1
}

// leaves are the innermost errors, sorted; there is at least one.
func leaves(invalid *jsonschema.ValidationError) []violation {
	var found []violation
	var collect func(e *jsonschema.ValidationError)
	collect = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			_, fragment, _ := strings.Cut(e.AbsoluteKeywordLocation, "#")
			found = append(found, violation{unescape(e.InstanceLocation), unescape(fragment), sortedNames(e.Message)})
		}
		for _, cause := range e.Causes {
			collect(cause)
		}
	}
	collect(invalid)
	slices.SortFunc(found, func(a, b violation) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.keyword, b.keyword), cmp.Compare(a.message, b.message))
	})
	return found
}

// unescape undoes the percent signs that the library adds to its pointers.
func unescape(pointer string) string {
	if plain, err := url.PathUnescape(pointer); err == nil {
		return plain
	}
	return pointer
}

// sortedNames orders the names in "additionalProperties 'b', 'a' not allowed", which come out of a map.
func sortedNames(message string) string {
	const before, after = "additionalProperties '", "' not allowed"
	if !strings.HasPrefix(message, before) || !strings.HasSuffix(message, after) {
		return message
	}
	names := strings.Split(strings.TrimSuffix(strings.TrimPrefix(message, before), after), "', '")
	slices.Sort(names)
	return before + strings.Join(names, "', '") + after
}

// hint names an enum value that differs from the answer's only in case, the commonest slip there is.
func (c *Checker) hint(answer any, v violation) string {
	if !strings.HasSuffix(v.keyword, "/enum") && !strings.HasSuffix(v.keyword, "/const") {
		return ""
	}
	given, ok := value.At(answer, v.path)
	written, isText := given.(string)
	if !ok || !isText {
		return ""
	}
	wanted, _ := value.At(c.document, v.keyword)
	options, ok := wanted.([]any)
	if !ok {
		options = []any{wanted}
	}
	for _, option := range options {
		if text, ok := option.(string); ok && strings.EqualFold(text, written) {
			return fmt.Sprintf(" (%q differs from %q only in case)", written, text)
		}
	}
	return ""
}
