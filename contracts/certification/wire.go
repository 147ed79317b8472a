package certification

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers"
)

// Reasons that the wire bytes give.
const (
	FindingParameterNotSent    = "parameter_not_sent"    // declared, but absent on the wire
	FindingParameterNotOmitted = "parameter_not_omitted" // declared as omitted, but on the wire
	FindingParameterDiffers    = "parameter_differs"     // on the wire with another value
	FindingSchemaNotSent       = "schema_not_sent"       // the response format lost the contract's schema
	FindingWireUnreadable      = "wire_unreadable"       // the body sent is no JSON object
)

// Declared is what a request should look like on the wire.
type Declared struct {
	Profile         providers.Profile
	Temperature     float64
	MaxOutputTokens int // 0 = not sent
	Schema          []byte
}

// CheckWire compares the bytes really sent with what is declared, whatever library wrote them: a
// parameter that a client left out was never certified. Every check is exact.
func CheckWire(body []byte, declared Declared) []Check {
	sent, err := readObject(body)
	if err != nil {
		return []Check{wireCheck("wire", FindingWireUnreadable, "the body sent is no JSON object: "+err.Error())}
	}
	checks := []Check{
		checkTemperature(sent, declared),
		checkResponseFormat(sent, declared),
		checkText(sent, "model", declared.Profile.Model),
	}
	return append(checks, checkMaxTokens(sent, declared)...)
}

// ReadParameters reads off the wire bytes what really left the machine. TokenChecks is the caller's.
func ReadParameters(body []byte, profile providers.Profile) (Parameters, error) {
	sent, err := readObject(body)
	if err != nil {
		return Parameters{}, err
	}
	read := Parameters{SystemRole: systemRole(sent)}
	if t, ok := sent["temperature"].(value.Number); ok {
		f, err := strconv.ParseFloat(t.String(), 64)
		if err != nil {
			return Parameters{}, fmt.Errorf("temperature %s: %w", t, err)
		}
		read.Temperature = &f
	} else if profile.Temperature == providers.TemperatureOmit {
		read.Unavailable = append(read.Unavailable, "temperature")
	}
	for _, field := range []string{providers.MaxCompletionTokens, providers.MaxTokens} {
		if n, ok := sent[field].(value.Number); ok {
			read.MaxTokensField = field
			read.MaxTokens, _ = strconv.Atoi(n.Canonical())
		}
	}
	if format, ok := sent["response_format"].(map[string]any); ok {
		read.ResponseFormat, _ = format["type"].(string)
	}
	return read, nil
}

func readObject(body []byte) (map[string]any, error) {
	decoded, err := value.DecodeLenientNUL(body)
	if err != nil {
		return nil, err
	}
	object, ok := decoded.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("it is a %T", decoded)
	}
	return object, nil
}

// systemRole is the role that carried the instructions: system or developer, else merge.
func systemRole(sent map[string]any) string {
	messages, _ := sent["messages"].([]any)
	for _, m := range messages {
		message, _ := m.(map[string]any)
		if role := message["role"]; role == providers.RoleSystem || role == providers.RoleDeveloper {
			return role.(string)
		}
	}
	return providers.RoleMerge
}

func wireCheck(name, reason, detail string) Check {
	check := Check{Name: name, Status: CheckPassed, Must: true}
	if reason != "" {
		check.Status, check.Reason, check.Detail = CheckFailed, reason, detail
	}
	return check
}

func checkTemperature(sent map[string]any, declared Declared) Check {
	const name = "temperature"
	got, present := sent[name]
	if declared.Profile.Temperature == providers.TemperatureOmit {
		return checkAbsent(name, got, present)
	}
	want := value.Number(strconv.FormatFloat(declared.Temperature, 'g', -1, 64))
	return checkNumber(name, got, present, want)
}

func checkMaxTokens(sent map[string]any, declared Declared) []Check {
	var checks []Check
	for _, field := range []string{providers.MaxCompletionTokens, providers.MaxTokens} {
		got, present := sent[field]
		if field == declared.Profile.MaxTokensField && declared.MaxOutputTokens > 0 {
			checks = append(checks, checkNumber(field, got, present, value.FromInt(declared.MaxOutputTokens)))
			continue
		}
		checks = append(checks, checkAbsent(field, got, present))
	}
	return checks
}

func checkNumber(name string, got any, present bool, want value.Number) Check {
	switch {
	case !present:
		return wireCheck(name, FindingParameterNotSent, fmt.Sprintf("%s %s is declared and was not sent", name, want))
	case !value.Equal(got, want):
		return wireCheck(name, FindingParameterDiffers, fmt.Sprintf("%s: %s was sent, %s is declared", name, spell(got), want))
	}
	return wireCheck(name, "", "")
}

func checkText(sent map[string]any, name, want string) Check {
	got, present := sent[name]
	switch {
	case !present:
		return wireCheck(name, FindingParameterNotSent, fmt.Sprintf("%s %q is declared and was not sent", name, want))
	case got != want:
		return wireCheck(name, FindingParameterDiffers, fmt.Sprintf("%s: %s was sent, %q is declared", name, spell(got), want))
	}
	return wireCheck(name, "", "")
}

func checkAbsent(name string, got any, present bool) Check {
	if present {
		return wireCheck(name, FindingParameterNotOmitted, fmt.Sprintf("%s %s was sent although the profile omits it", name, spell(got)))
	}
	return wireCheck(name, "", "")
}

// checkResponseFormat tells a lost schema from a response format that is merely another one.
func checkResponseFormat(sent map[string]any, declared Declared) Check {
	const name = "response_format"
	got, present := sent[name]
	want := declared.Profile.StructuredOutput
	if want == providers.StructuredNone {
		return checkAbsent(name, got, present)
	}
	format, _ := got.(map[string]any)
	if kind := format["type"]; kind != want {
		reason := FindingParameterDiffers
		switch {
		case want == providers.StructuredJSONSchema:
			reason = FindingSchemaNotSent
		case !present:
			reason = FindingParameterNotSent
		}
		return wireCheck(name, reason, fmt.Sprintf("response_format %s is declared, %s was sent", want, spell(kind)))
	}
	if want == providers.StructuredJSONSchema {
		return checkSchema(format, declared.Schema)
	}
	return wireCheck(name, "", "")
}

func checkSchema(format map[string]any, declared []byte) Check {
	const name = "response_format"
	wrapper, _ := format["json_schema"].(map[string]any)
	schema, present := wrapper["schema"]
	want, err := value.Decode(bytes.TrimSpace(declared))
	switch {
	case !present:
		return wireCheck(name, FindingSchemaNotSent, "response_format json_schema was sent without a schema")
	case err != nil || !value.Equal(schema, want):
		return wireCheck(name, FindingSchemaNotSent, "the schema sent is not the contract's")
	case wrapper["strict"] != true:
		return wireCheck(name, FindingParameterDiffers, "response_format json_schema was sent without strict")
	}
	return wireCheck(name, "", "")
}

func spell(v any) string {
	text := string(value.Encode(v))
	if len(text) > 60 {
		return text[:60] + "…"
	}
	return text
}
