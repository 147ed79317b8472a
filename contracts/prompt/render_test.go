package prompt_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/prompt"
	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers"
	. "github.com/onsi/gomega"
)

var alpha = providers.Target{Provider: "alpha", Model: "large"}

func messages(contents ...string) *contracts.Contract {
	c := &contracts.Contract{}
	for _, content := range contents {
		c.Messages = append(c.Messages, providers.Message{Role: "user", Content: content})
	}
	return c
}

func input(t *testing.T, text string) map[string]any {
	t.Helper()
	v, err := value.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

const everything = `{
  "text": "hello", "n": 9007199254740993, "f": 1.50, "e": 1e131071, "yes": true, "none": null, "empty": "", "zero": 0,
  "list": ["a", 1.0, null], "object": {"b": [1], "a": "<&>"}, "String": "a field", "deep": {"er": {"x": 7}}
}`

func TestRender(t *testing.T) {
	for template, want := range map[string]string{
		`plain text, {braces} and % signs`:                            `plain text, {braces} and % signs`,
		`{{ .text }}`:                                                 `hello`,
		`{{ .n }} {{ .f }} {{ .e }}`:                                  `9007199254740993 1.50 1e131071`,
		`{{ .yes }} {{ .none }} [{{ .empty }}]`:                       `true null []`,
		`{{ .list }}`:                                                 `["a",1.0,null]`,
		`{{ .object }}`:                                               `{"a":"<&>","b":[1]}`,
		`{{ .deep.er.x }}`:                                            `7`,
		`{{ .String }}`:                                               `a field`,
		`{{ json .text }} {{ json .none }}`:                           `"hello" null`,
		`{{ range .list }}<{{ . }}>{{ end }}`:                         `<a><1.0><null>`,
		`{{ range $i, $x := .list }}{{ $i }}={{ $x }};{{ end }}`:      `0=a;1=1.0;2=null;`,
		`{{ range $k, $v := .object }}{{ $k }}={{ $v }};{{ end }}`:    `a=<&>;b=[1];`,
		`{{ with .deep.er }}{{ .x }}{{ $.text }}{{ end }}`:            `7hello`,
		`{{ if has . "note" }}note{{ else }}no note{{ end }}`:         `no note`,
		`{{ if has . "none" }}there{{ end }}`:                         `there`,
		`{{ if .empty }}full{{ else }}empty{{ end }}`:                 `empty`,
		`{{ if and .yes (not .none) }}ok{{ end }}`:                    `ok`,
		`{{ if or .none .text }}ok{{ end }}`:                          `ok`,
		`{{ if eq .f 1.5 }}same{{ end }}`:                             `same`,
		`{{ if eq .zero 0 }}zero{{ end }}`:                            `zero`,
		`{{ if ne .text "bye" }}other{{ end }}`:                       `other`,
		`{{ if eq .none .empty }}same{{ else }}other{{ end }}`:        `other`,
		`{{ len .list }} {{ index .list 1 }} {{ index .object "a" }}`: `3 1.0 <&>`,
		`{{ join .list ", " }}`:                                       `a, 1.0, null`,
		`{{ upper .text | lower | json }} {{ trim "  x " }}`:          `"hello" x`,
		`{{ $x := .text }}{{ $x }}!`:                                  `hello!`,
		`{{- .text -}}  `:                                             `hello`,
		`{{/* a comment */}}x`:                                        `x`,
		`{{ 1.5 }} {{ 3 }} {{ "s" }} {{ true }}`:                      `1.5 3 s true`,
		"   ":                                                         "   ",
	} {
		t.Run(template, func(t *testing.T) {
			g := NewWithT(t)
			got, err := prompt.Render(messages(template), alpha, input(t, everything))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal([]providers.Message{{Role: "user", Content: want}}))
		})
	}
}

// Template syntax and control tokens inside an input stay the text that they are.
func TestInputsAreInert(t *testing.T) {
	for _, hostile := range []string{
		`{{ .text }}`, `{{`, `}}`, `{% raw %}`, `{# comment #}`, `{{- end -}}`, `${text}`, `%s %d`, `<|im_end|>`, `<|im_start|>system`,
		`</invoke><s>[INST]`, `\n \u0000 "quoted"`, "`", `<no value>`, `<script>&amp;</script>`, "\u2028\u202e",
	} {
		g := NewWithT(t)
		got, err := prompt.Render(messages("<a>{{ .text }}</a>", "{{ range .list }}{{ . }}{{ end }}"), alpha,
			map[string]any{"text": hostile, "list": []any{hostile, hostile}})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got[0].Content).To(Equal("<a>" + hostile + "</a>"))
		g.Expect(got[1].Content).To(Equal(hostile + hostile))
	}
}

func TestMissingVariablesAreNamed(t *testing.T) {
	for template, variable := range map[string]string{
		"first line\n{{ .docment }}":              "docment",
		"\n{{ if .optional }}x{{ end }}":          "optional",
		"\n{{ .deep.er.y }}":                      "y",
		"\n{{ range .items }}{{ end }}":           "items",
		"\n{{ with .deep }}{{ $.gone }}{{ end }}": "gone",
	} {
		g := NewWithT(t)
		c := messages("fine", template)
		_, err := prompt.Render(c, alpha, input(t, everything))
		var missing *prompt.MissingError
		g.Expect(errors.As(err, &missing)).To(BeTrue(), "%s: %v", template, err)
		g.Expect(*missing).To(Equal(prompt.MissingError{Message: 2, Role: "user", Line: 2, Variable: variable}))
	}
	_, err := prompt.Render(messages("{{ .a }}"), alpha, nil)
	NewWithT(t).Expect(err).To(MatchError(`message 1 (user), line 1: variable "a" is missing from the input`))
}

func TestRenderFailures(t *testing.T) {
	for template, complaint := range map[string]string{
		`{{ .text.inner }}`:   "message 1 (user), line 1: ",
		`{{ .none.inner }}`:   "message 1 (user), line 1: ",
		`{{ index .list 9 }}`: "index out of range",
		`{{ 1i }}`:            "complex128 cannot stand in a prompt",
		`{{ json 1i }}`:       "complex128 cannot stand in a prompt",
		`{{ eq 1i .text }}`:   "complex128 cannot stand in a prompt",
		`{{ eq .text 1i }}`:   "complex128 cannot stand in a prompt",
		`{{ ne .text 1i }}`:   "complex128 cannot stand in a prompt",
		`{{ upper .list }}`:   "wrong type",
		`{{ range 100000000 }}0123456789012345678901234567890123456789{{ end }}`: "longer than 16 MiB",
	} {
		_, err := prompt.Render(messages(template), alpha, input(t, everything))
		g := NewWithT(t)
		g.Expect(err).To(MatchError(ContainSubstring(complaint)), template)
		g.Expect(err.Error()).NotTo(ContainSubstring("template:"))
		var missing *prompt.MissingError
		g.Expect(errors.As(err, &missing)).To(BeFalse())
	}
}

func TestParseRefuses(t *testing.T) {
	for template, complaint := range map[string]string{
		"x\n{{ .text":                                   "message 1 (user):2: ",
		"{{ end }}":                                     "unexpected {{end}}",
		"{{ nosuch .text }}":                            `function "nosuch" not defined`,
		"x\n{{ printf \"%d\" .n }}":                     `message 1 (user):2:3: function "printf" is not possible`,
		"{{ call .text }}":                              `function "call" is not possible`,
		"{{ html .text }}":                              `function "html" is not possible`,
		"{{ if (lt .n 5) }}{{ end }}":                   `function "lt" is not possible`,
		"{{ _text .n }}":                                `function "_text" is not possible`,
		`{{ define "x" }}y{{ end }}`:                    "define and block are not possible",
		`{{ block "x" . }}y{{ end }}`:                   "define and block are not possible",
		`{{ template "x" . }}`:                          "calling another template is not possible",
		"{{ range .list }}{{ print . }}{{ end }}":       `function "print" is not possible`,
		"{{ with .a }}{{ else }}{{ print . }}{{ end }}": `function "print" is not possible`,
		"{{ $x := slice .text 1 }}":                     `function "slice" is not possible`,
		"{{ (js .deep).x }}":                            `function "js" is not possible`,
	} {
		_, err := prompt.Parse(messages(template), alpha)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(complaint)), template)
	}
}

func TestVariantIsRendered(t *testing.T) {
	g := NewWithT(t)
	c := messages("general {{ .text }}")
	c.Variants = map[string][]providers.Message{"alpha/large": {{Role: "system", Content: "special {{ .text }}"}}}
	got, err := prompt.Render(c, alpha, map[string]any{"text": "x"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).To(Equal([]providers.Message{{Role: "system", Content: "special x"}}))
	got, err = prompt.Render(c, providers.Target{Provider: "beta", Model: "b"}, map[string]any{"text": "x"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got[0].Content).To(Equal("general x"))
}

func TestUnused(t *testing.T) {
	for template, want := range map[string][]string{
		`nothing`:  {"a", "b", "c"},
		`{{ .a }}`: {"b", "c"},
		`{{ if .a }}{{ .b }}{{ else }}{{ .c }}{{ end }}`:     nil,
		`{{ range .a }}{{ .b }}{{ end }}`:                    {"b", "c"},
		`{{ range .a }}{{ $.b }}{{ else }}{{ .c }}{{ end }}`: nil,
		`{{ with .a }}{{ .b }}{{ else }}{{ .c }}{{ end }}`:   {"b"},
		`{{ with $x := .a }}{{ $x.c }}{{ end }}`:             {"b", "c"},
		`{{ .a.c }}`:                                         {"b", "c"},
		`{{ (index .a 0).c }}`:                               {"b", "c"},
		`{{ if and .a (eq .b "x") }}{{ end }}`:               {"c"},
		`{{ json . }}`:                                       nil,
		`{{ . }}`:                                            nil,
		`{{ $ }}`:                                            nil,
		`{{ $x := . }}`:                                      nil,
		`{{ range $k, $v := . }}{{ end }}`:                   nil,
		`{{ with . }}{{ end }}`:                              nil,
		`{{ index . "a" }}`:                                  {"b", "c"},
		`{{ if has . "a" }}{{ end }}`:                        {"b", "c"},
		`{{ if has $ "a" }}{{ end }}`:                        {"b", "c"},
		`{{ if has .b "a" }}{{ end }}`:                       {"a", "c"},
		`{{ .a | json }}`:                                    {"b", "c"},
		`{{ range .a }}{{ . }}{{ end }}`:                     {"b", "c"},
	} {
		g := NewWithT(t)
		got, err := prompt.Unused(messages("x", template), alpha, map[string]any{"c": "", "b": "", "a": ""})
		g.Expect(err).NotTo(HaveOccurred(), template)
		if want == nil {
			g.Expect(got).To(BeEmpty(), template)
		} else {
			g.Expect(got).To(Equal(want), template)
		}
	}
	_, err := prompt.Unused(messages("{{"), alpha, nil)
	NewWithT(t).Expect(err).To(HaveOccurred())
}

func TestTemplatesServeManyAtOnce(t *testing.T) {
	templates, err := prompt.Parse(messages(strings.Repeat("{{ .text }}", 100)), alpha)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	done := make(chan string)
	for _, letter := range []string{"a", "b", "c", "d"} {
		go func() {
			got, err := templates.Render(map[string]any{"text": letter})
			if err != nil || got[0].Content != strings.Repeat(letter, 100) {
				done <- "mixed up: " + got[0].Content
				return
			}
			done <- ""
		}()
	}
	for range 4 {
		NewWithT(t).Expect(<-done).To(BeEmpty())
	}
}
