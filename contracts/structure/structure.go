package structure

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/value"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Reason is why an answer's structure fails, in one word.
type Reason string

// The reasons of [Finding].
const (
	Fenced          Reason = "fenced"           // the value stands in a code fence
	TextAround      Reason = "text_around"      // text before the value
	TrailingBytes   Reason = "trailing_bytes"   // a whole value, then something else
	Empty           Reason = "empty"            // nothing, or nothing but a little white space
	NotJSON         Reason = "not_json"         // no JSON value by RFC 8259; Detail says what
	NotFinite       Reason = "not_finite"       // NaN or Infinity, which JSON does not have
	RawControl      Reason = "raw_control"      // an unescaped newline, tab … inside a string
	LoneSurrogate   Reason = "lone_surrogate"   // half of a surrogate pair
	InvalidUTF8     Reason = "invalid_utf8"     // bytes that are not UTF-8
	ByteOrderMark   Reason = "byte_order_mark"  // before the value, which RFC 8259 section 8.1 forbids
	DuplicateKey    Reason = "duplicate_key"    // parsers disagree about its meaning
	UnknownKey      Reason = "unknown_key"      // a top-level key that the contract does not know
	SchemaViolation Reason = "schema_violation" // the value breaks the schema
	WhiteSpaceLoop  Reason = "white_space_loop" // white space without end, whether or not a value came first
	Runaway         Reason = "runaway"          // the same text over and over
	TooManyValues   Reason = "too_many_values"  // more than [MaxValues]
)

// MaxValues is how many values an answer may hold, those within others included: more than the output tokens of
// any model there is can spell, and few enough that each may break the schema.
const MaxValues = 100_000

// maxFindings is how many findings are listed of one answer; the last one tells of the others.
const maxFindings = 100

// Finding is one way in which an answer fails.
type Finding struct {
	Reason       Reason
	InstancePath string // JSON pointer into the answer; "" is the whole
	Detail       string
}

// draft is the only one that contracts are written in.
const draft = "https://json-schema.org/draft/2020-12/schema"

// location names the schema to the library; nothing is ever fetched from there.
const (
	base     = "contract:///"
	location = base + "schema.json"
)

// Checker is a contract's schema, compiled. It is safe for concurrent use.
type Checker struct {
	schema   *jsonschema.Schema
	document any // the schema as a value, for hints
	known    knownKeys
	unwrap   bool
}

// Compile compiles the contract's schema. It refuses what is not JSON, another draft than 2020-12, and
// references to anything outside the schema.
func Compile(c *contracts.Contract) (*Checker, error) {
	document, err := value.Decode(c.Schema)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if fault := calculable(document); fault != nil {
		return nil, fmt.Errorf("schema: %s: %s", orRoot(fault.InstancePath), fault.Detail)
	}
	if object, ok := document.(map[string]any); ok {
		if named, ok := object["$schema"]; ok && named != draft {
			return nil, fmt.Errorf("schema: $schema is %s: contracts are written in draft 2020-12, %q", value.Encode(named), draft)
		}
	}
	compiler := jsonschema.NewCompiler()
	compiler.Draft = jsonschema.Draft2020
	compiler.AssertFormat = true
	compiler.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("reference to %s, which is outside the schema", strings.TrimPrefix(url, base))
	}
	if err := compiler.AddResource(location, bytes.NewReader(c.Schema)); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	schema, err := compiler.Compile(location)
	if err != nil {
		return nil, compileError(err)
	}
	return &Checker{schema: schema, document: document, known: keysOf(schema), unwrap: c.UnwrapFence}, nil
}

// DescribesObject reports whether the schema names top-level keys, without which no answer can pass.
func (c *Checker) DescribesObject() bool {
	return len(c.known.names) > 0 || len(c.known.patterns) > 0
}

// Judge reads content and says in what it fails; no findings means that it holds. The value is nil
// where the content is not one JSON value. Findings are in the order reading, unknown keys, schema.
func (c *Checker) Judge(content string) (any, []Finding) {
	if fault, found := Loop(content); found {
		return nil, []Finding{fault}
	}
	content = c.Unwrap(content)
	answer, err := value.DecodeLenientNUL([]byte(content))
	if err != nil {
		return nil, []Finding{unreadable(content, err)}
	}
	return answer, c.JudgeValue(answer)
}

// JudgeValue judges a value that has been read already, such as an expected answer.
func (c *Checker) JudgeValue(answer any) []Finding {
	if left := fewer(answer, MaxValues); left < 0 {
		return []Finding{{TooManyValues, "", fmt.Sprintf("more than %d values", MaxValues)}}
	}
	if fault := calculable(answer); fault != nil {
		return []Finding{*fault}
	}
	findings := c.unknownKeys(answer)
	return first(append(findings, c.violations(answer, len(findings) > 0)...))
}

// fewer is how many of left values are left when v is taken off them; below 0 where there are not so many.
func fewer(v any, left int) int {
	left--
	switch v := v.(type) {
	case []any:
		for i := 0; i < len(v) && left >= 0; i++ {
			left = fewer(v[i], left)
		}
	case map[string]any:
		for _, element := range v {
			if left < 0 {
				break
			}
			left = fewer(element, left)
		}
	}
	return left
}

// first are the findings that are listed.
func first(findings []Finding) []Finding {
	more := len(findings) - maxFindings
	if more <= 0 {
		return findings
	}
	listed := findings[:maxFindings:maxFindings]
	return append(listed, Finding{listed[maxFindings-1].Reason, "", fmt.Sprintf("and %d more", more)})
}

// calculable refuses numbers that the schema library would turn into gigabytes of digits.
func calculable(v any) *Finding {
	inside := func(fault *Finding, name string) *Finding {
		fault.InstancePath = value.Pointer("", name) + fault.InstancePath
		return fault
	}
	switch v := v.(type) {
	case value.Number:
		if err := v.Calculable(); err != nil {
			return &Finding{SchemaViolation, "", err.Error()}
		}
	case []any:
		for i, element := range v {
			if fault := calculable(element); fault != nil {
				return inside(fault, strconv.Itoa(i))
			}
		}
	case map[string]any:
		for _, key := range sortedKeys(v) {
			if fault := calculable(v[key]); fault != nil {
				return inside(fault, key)
			}
		}
	}
	return nil
}

// forSchema gives the library its own kind of number.
func forSchema(v any) any {
	switch v := v.(type) {
	case value.Number:
		return json.Number(v)
	case []any:
		array := make([]any, len(v))
		for i, element := range v {
			array[i] = forSchema(element)
		}
		return array
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, element := range v {
			object[key] = forSchema(element)
		}
		return object
	}
	return v
}

// compileError takes the deepest cause, which says what is wrong, out of the library's error.
func compileError(err error) error {
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		leaf := leaves(invalid)[0]
		return fmt.Errorf("schema: %s: %s", orRoot(leaf.path), leaf.message)
	}
	var schemaError *jsonschema.SchemaError
	if errors.As(err, &schemaError) && schemaError.Err != nil {
		err = schemaError.Err
	}
	return errors.New("schema: " + strings.ReplaceAll(strings.TrimPrefix(err.Error(), "jsonschema: "), location, ""))
}

func orRoot(pointer string) string {
	if pointer == "" {
		return "the whole"
	}
	return pointer
}
