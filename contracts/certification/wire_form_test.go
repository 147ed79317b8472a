package certification_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
)

const sentResponse = `{"model":"m","background":true,"store":true,"metadata":{"call":"1"},"temperature":0,"max_output_tokens":64,` +
	`"text":{"format":{"type":"json_schema","name":"n","strict":true,"schema":` + schema + `}},` +
	`"input":[{"role":"system","content":"s"},{"role":"user","content":"u"}]}`

// declaredResponse is what sentResponse was made from.
func declaredResponse(d *certification.Declared) {
	d.Profile.Reconcile = providers.ReconcileResponses
	d.Metadata = map[string]string{"call": "1"}
	d.Messages = []providers.Message{{Role: "system", Content: "s"}, {Role: "user", Content: "u"}}
}

// failing are the checks that failed, with their reasons.
func failing(g *WithT, body string, declared certification.Declared) map[string]string {
	reasons := map[string]string{}
	for _, c := range certification.CheckWire([]byte(body), declared) {
		g.Expect(c.Must).To(BeTrue())
		if c.Status != certification.CheckPassed {
			reasons[c.Name] = c.Reason
			g.Expect(c.Detail).NotTo(BeEmpty())
		}
	}
	return reasons
}

func TestCheckWireOfAResponse(t *testing.T) {
	const (
		notSent    = certification.FindingParameterNotSent
		notOmitted = certification.FindingParameterNotOmitted
		differs    = certification.FindingParameterDiffers
		noSchema   = certification.FindingSchemaNotSent
	)
	for _, row := range []struct {
		name     string
		from, to string // in the body
		declared func(*certification.Declared)
		want     map[string]string
	}{
		{name: "as declared"},
		{
			name:     "whatever the profile calls the limit of a completion",
			declared: func(d *certification.Declared) { d.Profile.MaxTokensField = providers.MaxTokens },
		},
		{name: "temperature 0 left out", from: `"temperature":0,`, want: map[string]string{"temperature": notSent}},
		{name: "the limit left out", from: `"max_output_tokens":64,`, want: map[string]string{"max_output_tokens": notSent}},
		{
			name: "another limit", from: `"max_output_tokens":64`, to: `"max_output_tokens":65`,
			want: map[string]string{"max_output_tokens": differs},
		},
		{
			name: "the limit under a completion's name", from: `max_output_tokens`, to: `max_completion_tokens`,
			want: map[string]string{"max_output_tokens": notSent, "max_completion_tokens": notOmitted},
		},
		{
			name:     "a limit where none is declared",
			declared: func(d *certification.Declared) { d.MaxOutputTokens = 0 },
			want:     map[string]string{"max_output_tokens": notOmitted},
		},
		{name: "the format under a completion's name", from: `"text":{"format":`, to: `"response_format":{"format":`, want: map[string]string{"text.format": noSchema}},
		{name: "text without a format", from: `"format":`, to: `"verbosity":`, want: map[string]string{"text.format": noSchema}},
		{name: "text that is no object", from: `"text":{`, to: `"text":"low","x":{`, want: map[string]string{"text.format": noSchema}},
		{name: "no schema", from: `,"schema":` + schema, want: map[string]string{"text.format": noSchema}},
		{name: "the schema where a completion has it", from: `"schema":` + schema, to: `"json_schema":{"schema":` + schema + `}`, want: map[string]string{"text.format": noSchema}},
		{name: "another schema", declared: func(d *certification.Declared) { d.Schema = []byte(`{}`) }, want: map[string]string{"text.format": noSchema}},
		{name: "not strict", from: `"strict":true`, to: `"strict":false`, want: map[string]string{"text.format": differs}},
		{
			name:     "a format where the profile has none",
			declared: func(d *certification.Declared) { d.Profile.StructuredOutput = providers.StructuredNone },
			want:     map[string]string{"text.format": notOmitted},
		},
		{
			name:     "another format",
			declared: func(d *certification.Declared) { d.Profile.StructuredOutput = providers.StructuredJSONObject },
			want:     map[string]string{"text.format": differs},
		},
		{name: "in the foreground", from: `"background":true,`, want: map[string]string{"background": notSent}},
		{name: "not stored", from: `"store":true`, to: `"store":false`, want: map[string]string{"store": differs}},
		{name: "without metadata", from: `"metadata":{"call":"1"},`, want: map[string]string{"metadata": notSent}},
		{name: "another call's metadata", from: `"call":"1"`, to: `"call":"2"`, want: map[string]string{"metadata": differs}},
		{name: "metadata besides", from: `"call":"1"`, to: `"call":"1","who":"me"`, want: map[string]string{"metadata": differs}},
		{name: "the input left out", from: `"input":`, to: `"messages":`, want: map[string]string{"input": notSent}},
		{name: "the system message left out", from: `{"role":"system","content":"s"},`, want: map[string]string{"input": differs}},
		{name: "another role", from: `"role":"system"`, to: `"role":"developer"`, want: map[string]string{"input": differs}},
		{name: "another text", from: `"content":"u"`, to: `"content":"v"`, want: map[string]string{"input": differs}},
		{name: "a content that is no text", from: `"content":"u"`, to: `"content":[{"type":"input_text","text":"u"}]`, want: map[string]string{"input": differs}},
		{
			name: "the system message as instructions, the user's as the whole input",
			from: `"input":[{"role":"system","content":"s"},{"role":"user","content":"u"}]`, to: `"instructions":"s","input":"u"`,
		},
		{
			name: "other instructions",
			from: `"input":[{"role":"system","content":"s"},{"role":"user","content":"u"}]`, to: `"instructions":"t","input":"u"`,
			want: map[string]string{"input": differs},
		},
		{name: "instructions besides", from: `"input":`, to: `"instructions":"s","input":`, want: map[string]string{"input": differs}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(sentResponse).To(ContainSubstring(row.from))
			d := declared(declaredResponse)
			if row.declared != nil {
				row.declared(&d)
			}
			want := row.want
			if want == nil {
				want = map[string]string{}
			}
			body := sentResponse
			if row.from != "" {
				body = strings.Replace(body, row.from, row.to, 1)
			}
			g.Expect(failing(g, body, d)).To(Equal(want))
		})
	}
}

// A request in the one format is none in the other, whichever was declared.
func TestCheckWireOfTheOtherFormat(t *testing.T) {
	g := NewWithT(t)
	g.Expect(failing(g, sent, declared(declaredResponse))).To(Equal(map[string]string{
		"text.format": "schema_not_sent", "max_output_tokens": "parameter_not_sent", "max_completion_tokens": "parameter_not_omitted",
		"background": "parameter_not_sent", "store": "parameter_not_sent", "metadata": "parameter_not_sent", "input": "parameter_not_sent",
	}))
	g.Expect(failing(g, sentResponse, declared(func(d *certification.Declared) { d.Messages = []providers.Message{{Role: "user", Content: "u"}} }))).
		To(Equal(map[string]string{
			"response_format": "schema_not_sent", "max_completion_tokens": "parameter_not_sent", "messages": "parameter_not_sent",
			"background": "parameter_not_omitted", "store": "parameter_not_omitted", "metadata": "parameter_not_omitted",
		}))
}

// A stored completion is a chat completion that can be found again; one that nobody is to find is not
// left with the provider.
func TestCheckWireOfAStoredCompletion(t *testing.T) {
	g := NewWithT(t)
	stored := strings.Replace(sent, `{"model":"m",`, `{"model":"m","store":true,"metadata":{"call":"1"},`, 1)
	findable := declared(func(d *certification.Declared) {
		declaredResponse(d)
		d.Profile.Reconcile = providers.ReconcileStoredCompletions
	})
	g.Expect(failing(g, stored, findable)).To(BeEmpty())
	g.Expect(failing(g, sent, findable)).To(Equal(map[string]string{"store": "parameter_not_sent", "metadata": "parameter_not_sent"}))
	g.Expect(failing(g, strings.Replace(stored, `"call":"1"`, `"call":"2"`, 1), findable)).To(Equal(map[string]string{"metadata": "parameter_differs"}))
	g.Expect(failing(g, strings.Replace(stored, `"store":true`, `"store":"true"`, 1), findable)).To(Equal(map[string]string{"store": "parameter_differs"}))
	g.Expect(failing(g, stored, declared(nil))).To(Equal(map[string]string{"store": "parameter_not_omitted", "metadata": "parameter_not_omitted"}))
}

// A finding about a message does not quote it: records hold no inputs.
func TestCheckWireDoesNotQuoteMessages(t *testing.T) {
	g := NewWithT(t)
	d := declared(declaredResponse)
	d.Messages[1].Content = "what was declared"
	for _, c := range certification.CheckWire([]byte(strings.Replace(sentResponse, `"u"`, `"what was sent"`, 1)), d) {
		if c.Name == "input" {
			g.Expect(c.Detail).To(Equal(`message 2, sent as "user", is not the contract's "user" message`))
			return
		}
	}
	t.Fatal("the messages were not compared")
}

func TestReadParametersOfAResponse(t *testing.T) {
	zero := 0.0
	for name, row := range map[string]struct {
		body string
		want certification.Parameters
	}{
		"all of them": {sentResponse, certification.Parameters{
			Temperature: &zero, MaxTokensField: "max_output_tokens", MaxTokens: 64, ResponseFormat: "json_schema", SystemRole: "system",
		}},
		"instructions are a system message": {`{"instructions":"s","input":"u","text":{"format":{"type":"json_object"}}}`, certification.Parameters{
			ResponseFormat: "json_object", SystemRole: "system",
		}},
		"developer": {`{"input":[{"role":"developer","content":"s"}]}`, certification.Parameters{SystemRole: "developer"}},
		"merged":    {`{"input":"s and u","text":{"format":"json_schema"}}`, certification.Parameters{SystemRole: "merge"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := certification.ReadParameters([]byte(row.body), providers.Profile{Reconcile: providers.ReconcileResponses})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(row.want))
		})
	}
}
