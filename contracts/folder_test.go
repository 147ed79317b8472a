package contracts_test

import (
	"maps"
	"testing"
	"testing/fstest"

	"github.com/fallproof/fallproof/contracts"
)

const minimalYAML = `name: greeting
messages:
  - {role: system, content: "Answer in JSON."}
  - {role: user, content: "{{ .text }}"}
variants:
  gamma/org/model-7b:
    messages:
      - {role: user, content: "JSON only: {{ .text }}"}
schema: schema.json
sampling: {temperature: 0.5, samples: 3, max_output_tokens: 64}
checks:
  - {name: reply is polite, expr: 'output.reply != ""'}
thresholds: {prompt: 1.0, structure: 0.5, business: 0.6, round_trip: 0.7}
valid_for: 24h
cases: cases/
`

// minimal is a contract folder that is right in every respect.
func minimal() map[string]string {
	return map[string]string{
		"contract.yaml":    minimalYAML,
		"schema.json":      `{"type": "object", "properties": {"reply": {"type": "string"}}, "required": ["reply"], "additionalProperties": false}`,
		"cases/1-one.yaml": "name: one\ninput: {text: hello, id: 9007199254740993}\nexpected: {reply: hi}\n",
		"cases/2-two.yaml": "name: two\ninput:\n  text: |\n    שלום\n",
	}
}

// folder writes files below dir, changes laid over them; an empty content takes the file away.
func folder(dir string, files, changes map[string]string) fstest.MapFS {
	all := maps.Clone(files)
	maps.Copy(all, changes)
	fsys := fstest.MapFS{}
	for name, content := range all {
		if content != "" {
			fsys[dir+"/"+name] = &fstest.MapFile{Data: []byte(content)}
		}
	}
	return fsys
}

func load(t *testing.T, changes map[string]string) *contracts.Contract {
	t.Helper()
	c, err := contracts.Load(folder("greeting", minimal(), changes), "greeting")
	if err != nil {
		t.Fatal(err)
	}
	return c
}
