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
	FindingSchemaNotSent       = "schema_not_sent"       // the output format lost the contract's schema
	FindingWireUnreadable      = "wire_unreadable"       // the body sent is no JSON object
)

// Declared is what a request should look like on the wire. Its profile says in which wire format.
type Declared struct {
	Profile         providers.Profile
	Temperature     float64
	MaxOutputTokens int // 0 = not sent
	Schema          []byte
	Messages        []providers.Message // with the profile's roles; nil = not compared
	Metadata        map[string]string   // sent where the profile has requests stored, to be found again by
}

// CheckWire compares the bytes really sent with what is declared, whatever library wrote them: a
// parameter that a client left out was never certified. Every check is exact, and bears the name that the
// parameter has on the wire.
func CheckWire(body []byte, declared Declared) []Check {
	sent, err := readObject(body)
	if err != nil {
		return []Check{wireCheck("wire", FindingWireUnreadable, "the body sent is no JSON object: "+err.Error())}
	}
	form := formOf(declared.Profile)
	checks := []Check{
		checkTemperature(sent, declared),
		checkFormat(sent, form, declared),
		checkText(sent, "model", declared.Profile.Model),
	}
	checks = append(checks, checkLimit(sent, form, declared)...)
	checks = append(checks, checkStored(sent, declared)...)
	if declared.Messages != nil {
		checks = append(checks, checkMessages(sent, form, declared.Messages))
	}
	return checks
}

// ReadParameters reads off the wire bytes what really left the machine. TokenChecks is the caller's.
func ReadParameters(body []byte, profile providers.Profile) (Parameters, error) {
	sent, err := readObject(body)
	if err != nil {
		return Parameters{}, err
	}
	form := formOf(profile)
	read := Parameters{SystemRole: systemRole(form.messagesIn(sent))}
	if t, ok := sent["temperature"].(value.Number); ok {
		f, err := strconv.ParseFloat(t.String(), 64)
		if err != nil {
			return Parameters{}, fmt.Errorf("temperature %s: %w", t, err)
		}
		read.Temperature = &f
	} else if profile.Temperature == providers.TemperatureOmit {
		read.Unavailable = append(read.Unavailable, "temperature")
	}
	for _, field := range form.limits {
		if n, ok := sent[field].(value.Number); ok {
			read.MaxTokensField = field
			read.MaxTokens, _ = strconv.Atoi(n.Canonical())
		}
	}
	if format, ok := form.formatIn(sent); ok {
		object, _ := format.(map[string]any)
		read.ResponseFormat, _ = object["type"].(string)
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
func systemRole(messages []providers.Message) string {
	for _, m := range messages {
		if m.Role == providers.RoleSystem || m.Role == providers.RoleDeveloper {
			return m.Role
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

// checkLimit also sees that the limit is sent under no other name.
func checkLimit(sent map[string]any, form wireForm, declared Declared) []Check {
	var checks []Check
	for _, field := range form.limits {
		got, present := sent[field]
		if field == form.limit && declared.MaxOutputTokens > 0 {
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

// checkFormat tells a lost schema from an output format that is merely another one.
func checkFormat(sent map[string]any, form wireForm, declared Declared) Check {
	got, present := form.formatIn(sent)
	want := declared.Profile.StructuredOutput
	if want == providers.StructuredNone {
		return checkAbsent(form.format, got, present)
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
		return wireCheck(form.format, reason, fmt.Sprintf("%s %s is declared, %s was sent", form.format, want, spell(kind)))
	}
	if want == providers.StructuredJSONSchema {
		return checkSchema(form.format, form.schemaIn(format), declared.Schema)
	}
	return wireCheck(form.format, "", "")
}

func checkSchema(name string, sent map[string]any, declared []byte) Check {
	schema, present := sent["schema"]
	want, err := value.Decode(bytes.TrimSpace(declared))
	switch {
	case !present:
		return wireCheck(name, FindingSchemaNotSent, name+" json_schema was sent without a schema")
	case err != nil || !value.Equal(schema, want):
		return wireCheck(name, FindingSchemaNotSent, "the schema sent is not the contract's")
	case sent["strict"] != true:
		return wireCheck(name, FindingParameterDiffers, name+" json_schema was sent without strict")
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
