package openai

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fallproof/fallproof/providers"
)

// AttemptMetadata is the key under which the attempt's id stands in the metadata of what a provider is
// asked to store.
const AttemptMetadata = "fallproof_attempt"

// schemaName is what OpenAI accepts as the name of a response format.
var schemaName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// declaredMembers are the members that the profile decides, in the order of the wire.
func declaredMembers(request providers.Request) ([]member, error) {
	profile := request.Profile.WithDefaults()
	model, err := modelName(profile, request.Target)
	if err != nil {
		return nil, err
	}
	members := []member{{"model", model}}
	for _, add := range []func(providers.Profile, providers.Request) ([]member, error){
		stored, temperature, maxTokens, outputFormat,
	} {
		more, err := add(profile, request)
		if err != nil {
			return nil, err
		}
		members = append(members, more...)
	}
	return members, nil
}

func modelName(profile providers.Profile, target providers.Target) (jsontext.Value, error) {
	model := profile.Model
	if model == "" {
		model = target.Model
	}
	if model == "" {
		return nil, errors.New("no model: neither the profile nor the target names one")
	}
	quoted, err := jsontext.AppendQuote(nil, model)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	return quoted, nil
}

// stored is what lets the provider be asked later what became of the attempt.
func stored(profile providers.Profile, request providers.Request) ([]member, error) {
	var members []member
	switch profile.Reconcile {
	case providers.ReconcileNone:
		return nil, nil
	case providers.ReconcileResponses:
		members = append(members, member{"background", jsontext.Value("true")})
	case providers.ReconcileStoredCompletions:
	default:
		return nil, fmt.Errorf("reconcile: profile says %q", profile.Reconcile)
	}
	metadata := append([]byte(`{"`+AttemptMetadata+`":`), strconv.Quote(request.AttemptID)...) // visible ASCII
	return append(members,
		member{"store", jsontext.Value("true")}, member{"metadata", append(metadata, '}')}), nil
}

func temperature(profile providers.Profile, request providers.Request) ([]member, error) {
	switch t := request.Temperature; {
	case profile.Temperature == providers.TemperatureOmit:
		return nil, nil
	case profile.Temperature != providers.TemperatureFree:
		return nil, fmt.Errorf("temperature: profile says %q", profile.Temperature)
	case math.IsNaN(t) || math.IsInf(t, 0):
		return nil, errors.New("temperature: not a number that JSON can carry")
	default:
		return []member{{"temperature", jsontext.AppendFloat(nil, t, 64)}}, nil
	}
}

// maxTokens names the limit as the profile does; responses have one name for it.
func maxTokens(profile providers.Profile, request providers.Request) ([]member, error) {
	name := profile.MaxTokensField
	switch n := request.MaxOutputTokens; {
	case n < 0:
		return nil, fmt.Errorf("max output tokens: %d is negative", n)
	case name != providers.MaxTokens && name != providers.MaxCompletionTokens:
		return nil, fmt.Errorf("max_tokens_field: profile says %q", name)
	case n == 0:
		return nil, nil
	case profile.Reconcile == providers.ReconcileResponses:
		name = "max_output_tokens"
	}
	return []member{{name, jsontext.Value(strconv.Itoa(request.MaxOutputTokens))}}, nil
}

// outputFormat spells response_format, or text.format of a response, which says the same with one brace
// less. The schema's bytes go out as they are: no encoder touches them.
func outputFormat(profile providers.Profile, request providers.Request) ([]member, error) {
	var format bytes.Buffer
	responses := profile.Reconcile == providers.ReconcileResponses
	switch profile.StructuredOutput {
	case providers.StructuredNone:
		return nil, nil
	case providers.StructuredJSONObject:
		format.WriteString(`{"type":"json_object"}`)
	case providers.StructuredJSONSchema:
		schema := bytes.TrimSpace(request.Schema)
		if !jsontext.Value(schema).IsValid() {
			return nil, errors.New("structured_output json_schema: the schema is absent or not valid JSON")
		}
		if !schemaName.MatchString(request.SchemaName) {
			return nil, fmt.Errorf("schema name %q: want 1 to 64 letters, digits, - or _", request.SchemaName)
		}
		open, end := `{"type":"json_schema","json_schema":{`, `}}`
		if responses {
			open, end = `{"type":"json_schema",`, `}`
		}
		format.WriteString(open + `"name":"` + request.SchemaName + `","strict":true,"schema":`)
		format.Write(schema)
		format.WriteString(end)
	default:
		return nil, fmt.Errorf("structured_output: profile says %q", profile.StructuredOutput)
	}
	if responses {
		return []member{{"text", jsontext.Value(`{"format":` + format.String() + `}`)}}, nil
	}
	return []member{{"response_format", format.Bytes()}}, nil
}
