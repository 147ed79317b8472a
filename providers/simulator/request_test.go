package simulator

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestBadRequestsAreRefusedInTheWireFormatsWords(t *testing.T) {
	const user = `"messages":[{"role":"user","content":"hello"}]`
	format := func(f string) string { return `{"model":"faithful",` + user + `,"response_format":` + f + `}` }
	for name, row := range map[string]struct {
		body   string
		status int
		code   string
		param  string
	}{
		"not JSON":             {`{"model"`, 400, "", ""},
		"empty":                {``, 400, "", ""},
		"duplicate name":       {`{"model":"faithful","model":"faithful",` + user + `}`, 400, "", ""},
		"invalid UTF-8":        {`{"model":"faithful","messages":[{"role":"user","content":"` + "\xff" + `"}]}`, 400, "", ""},
		"no model":             {`{` + user + `}`, 400, "", "model"},
		"model of wrong type":  {`{"model":7,` + user + `}`, 400, "invalid_type", "model"},
		"unknown model":        {`{"model":"gpt-9",` + user + `}`, 404, "model_not_found", ""},
		"no messages":          {`{"model":"faithful"}`, 400, "missing_required_parameter", "messages"},
		"empty messages":       {`{"model":"faithful","messages":[]}`, 400, "empty_array", "messages"},
		"wrong role":           {`{"model":"faithful","messages":[{"role":"boss","content":"x"}]}`, 400, "invalid_value", "messages.role"},
		"content of a number":  {`{"model":"faithful","messages":[{"role":"user","content":3}]}`, 400, "invalid_type", "messages.0.content"},
		"content of an image":  {`{"model":"faithful","messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, 400, "invalid_type", "messages.0.content"},
		"unknown parameter":    {`{"model":"faithful","temprature":0,` + user + `}`, 400, "unknown_parameter", "temprature"},
		"temperature too high": {`{"model":"faithful","temperature":2.5,` + user + `}`, 400, "decimal_out_of_range", "temperature"},
		"two limits":           {`{"model":"faithful","max_tokens":5,"max_completion_tokens":5,` + user + `}`, 400, "invalid_parameter_combination", "max_tokens"},
		"limit of nothing":     {`{"model":"faithful","max_tokens":0,` + user + `}`, 400, "integer_below_min_value", "max_tokens"},
		"stream":               {`{"model":"faithful","stream":true,` + user + `}`, 400, "unsupported_value", "stream"},
		"many choices":         {`{"model":"faithful","n":3,` + user + `}`, 400, "unsupported_value", "n"},
		"unknown format":       {format(`{"type":"xml"}`), 400, "invalid_value", "response_format.type"},
		"JSON not mentioned":   {format(`{"type":"json_object"}`), 400, "", "messages"},
		"schema without name":  {format(`{"type":"json_schema","json_schema":{"schema":{}}}`), 400, "invalid_value", "response_format.json_schema.name"},
		"schema of wrong type": {format(`{"type":"json_schema","json_schema":{"name":"x","schema":[]}}`), 400, "invalid_type", "response_format.json_schema.schema"},
		"too large":            {strings.Repeat(" ", maxRequestBytes+1), 413, "request_too_large", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f := listen(t, Config{})
			got := f.chat([]byte(row.body), "a1")
			g.Expect(got.status).To(Equal(row.status))
			failure := got.completion(t).Error
			g.Expect(failure).NotTo(BeNil())
			g.Expect(failure.Type).To(Equal("invalid_request_error"))
			g.Expect(failure.Code).To(Equal(optional(row.code)))
			g.Expect(failure.Param).To(Equal(optional(row.param)))

			entries := f.waitAnswered(1)
			g.Expect(entries[0].AttemptID).To(Equal("a1"))
			g.Expect(entries[0].Answered.How).To(Equal("rejected"))
			g.Expect(entries[0].Answered.Status).To(Equal(row.status))
		})
	}
}

func TestOtherPathsAreRefusedAndCounted(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	g.Expect(f.control("POST", "/v1/embeddings", `{}`, nil)).To(Equal(404))
	g.Expect(f.control("GET", "/v1/embeddings", ``, nil)).To(Equal(404))
	g.Expect(f.Ledger()).To(HaveLen(2))

	var list modelList
	g.Expect(f.control("GET", "/v1/models", "", &list)).To(Equal(200))
	g.Expect(list.Data).To(ContainElement(HaveField("ID", "faithful")))
	g.Expect(f.Ledger()).To(HaveLen(2), "a list of models is no work")
}

func TestContentsInPartsAreText(t *testing.T) {
	g := NewWithT(t)
	request, refusal := parseRequest([]byte(`{"model":"m","messages":[{"role":"user","content":[` +
		`{"type":"text","text":"one "},{"type":"text","text":"two"}]},{"role":"assistant","content":null}]}`))
	g.Expect(refusal).To(BeNil())
	g.Expect(string(request.Messages[0].Content)).To(Equal("one two"))
	g.Expect(string(request.Messages[1].Content)).To(BeEmpty())
}
