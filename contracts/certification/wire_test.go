package certification_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
)

const (
	schema = `{"type": "object", "required": ["a"]}`
	sent   = `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}],"temperature":0,` +
		`"max_completion_tokens":64,"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":` + schema + `}}}`
)

func declared(change func(*certification.Declared)) certification.Declared {
	d := certification.Declared{Profile: providers.Profile{Model: "m"}.WithDefaults(), MaxOutputTokens: 64, Schema: []byte(schema + "\n")}
	if change != nil {
		change(&d)
	}
	return d
}

func TestCheckWire(t *testing.T) {
	for _, row := range []struct {
		name     string
		body     string
		declared func(*certification.Declared)
		check    string // the one that fails; "" = none
		reason   string
	}{
		{name: "as declared", body: sent},
		{
			name: "temperature 0 left out by the client", body: `{"model":"m","max_completion_tokens":64,"response_format":{"type":"json_object"}}`,
			declared: func(d *certification.Declared) { d.Profile.StructuredOutput = providers.StructuredJSONObject },
			check:    "temperature", reason: certification.FindingParameterNotSent,
		},
		{
			name: "temperature sent although the profile omits it", body: sent,
			declared: func(d *certification.Declared) { d.Profile.Temperature = providers.TemperatureOmit },
			check:    "temperature", reason: certification.FindingParameterNotOmitted,
		},
		{
			name: "another temperature", body: sent,
			declared: func(d *certification.Declared) { d.Temperature = 0.7 },
			check:    "temperature", reason: certification.FindingParameterDiffers,
		},
		{
			name: "another token limit", body: sent,
			declared: func(d *certification.Declared) { d.MaxOutputTokens = 65 },
			check:    "max_completion_tokens", reason: certification.FindingParameterDiffers,
		},
		{
			name: "a limit where none is declared", body: sent,
			declared: func(d *certification.Declared) { d.MaxOutputTokens = 0 },
			check:    "max_completion_tokens", reason: certification.FindingParameterNotOmitted,
		},
		{
			name:  "response_format dropped",
			body:  `{"model":"m","temperature":0.0,"max_completion_tokens":64}`,
			check: "response_format", reason: certification.FindingSchemaNotSent,
		},
		{
			name:  "response_format without its schema",
			body:  `{"model":"m","temperature":0,"max_completion_tokens":64,"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true}}}`,
			check: "response_format", reason: certification.FindingSchemaNotSent,
		},
		{
			name: "another schema", body: sent,
			declared: func(d *certification.Declared) { d.Schema = []byte(`{"type":"object"}`) },
			check:    "response_format", reason: certification.FindingSchemaNotSent,
		},
		{
			name:  "response_format without strict",
			body:  `{"model":"m","temperature":0,"max_completion_tokens":64,"response_format":{"type":"json_schema","json_schema":{"schema":` + schema + `}}}`,
			check: "response_format", reason: certification.FindingParameterDiffers,
		},
		{
			name: "response_format where the profile has none", body: sent,
			declared: func(d *certification.Declared) { d.Profile.StructuredOutput = providers.StructuredNone },
			check:    "response_format", reason: certification.FindingParameterNotOmitted,
		},
		{
			name: "json_object dropped", body: `{"model":"m","temperature":0,"max_completion_tokens":64}`,
			declared: func(d *certification.Declared) { d.Profile.StructuredOutput = providers.StructuredJSONObject },
			check:    "response_format", reason: certification.FindingParameterNotSent,
		},
		{
			name: "another model", body: sent,
			declared: func(d *certification.Declared) { d.Profile.Model = "m2" },
			check:    "model", reason: certification.FindingParameterDiffers,
		},
		{name: "no JSON at all", body: `model=m`, check: "wire", reason: certification.FindingWireUnreadable},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			reasons := map[string]string{}
			for _, c := range certification.CheckWire([]byte(row.body), declared(row.declared)) {
				g.Expect(c.Must).To(BeTrue())
				if c.Status != certification.CheckPassed {
					reasons[c.Name] = c.Reason
				}
			}
			if row.check == "" {
				g.Expect(reasons).To(BeEmpty())
				return
			}
			g.Expect(reasons).To(Equal(map[string]string{row.check: row.reason}))
		})
	}
}

// The wrong one of the two fields for the limit is two findings: the declared one is absent, the other
// one is there.
func TestCheckWireMaxTokensField(t *testing.T) {
	reasons := map[string]string{}
	declared := declared(func(d *certification.Declared) { d.Profile.MaxTokensField = providers.MaxTokens })
	for _, c := range certification.CheckWire([]byte(sent), declared) {
		if c.Status != certification.CheckPassed {
			reasons[c.Name] = c.Reason
		}
	}
	NewWithT(t).Expect(reasons).To(Equal(map[string]string{
		"max_tokens": certification.FindingParameterNotSent, "max_completion_tokens": certification.FindingParameterNotOmitted,
	}))
}

func TestReadParameters(t *testing.T) {
	zero := 0.0
	for _, row := range []struct {
		name    string
		body    string
		profile providers.Profile
		want    certification.Parameters
	}{
		{
			name: "zero is not absence", body: sent,
			want: certification.Parameters{
				Temperature: &zero, MaxTokensField: "max_completion_tokens", MaxTokens: 64, ResponseFormat: "json_schema", SystemRole: "system",
			},
		},
		{
			name:    "omitted, developer, the other field",
			body:    `{"messages":[{"role":"developer","content":"s"}],"max_tokens":9,"response_format":{"type":"json_object"}}`,
			profile: providers.Profile{Temperature: providers.TemperatureOmit},
			want: certification.Parameters{
				MaxTokensField: "max_tokens", MaxTokens: 9, ResponseFormat: "json_object", SystemRole: "developer", Unavailable: []string{"temperature"},
			},
		},
		{
			name: "merged into the user's message", body: `{"messages":[{"role":"user","content":"s"}]}`,
			want: certification.Parameters{SystemRole: "merge"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := certification.ReadParameters([]byte(row.body), row.profile)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(row.want))
		})
	}
	_, err := certification.ReadParameters([]byte("[]"), providers.Profile{})
	NewWithT(t).Expect(err).To(HaveOccurred())
}
