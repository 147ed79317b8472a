package contracts_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers"
	. "github.com/onsi/gomega"
)

func TestLoad(t *testing.T) {
	g := NewWithT(t)
	c := load(t, nil)
	g.Expect(c.Name).To(Equal("greeting"))
	g.Expect(c.SchemaName).To(Equal("greeting"))
	g.Expect(c.Effects).To(Equal(contracts.EffectsExternal), "the default")
	g.Expect(c.ReleaseAfter).To(BeZero())
	g.Expect(c.Messages).To(Equal([]providers.Message{{Role: "system", Content: "Answer in JSON."}, {Role: "user", Content: "{{ .text }}"}}))
	g.Expect(c.Sampling).To(Equal(contracts.Sampling{Temperature: 0.5, Samples: 3, MaxOutputTokens: 64}))
	g.Expect(c.Checks).To(Equal([]contracts.Check{{Name: "reply is polite", Expr: `output.reply != ""`}}))
	g.Expect(c.Thresholds).To(Equal(contracts.Thresholds{Prompt: 1, Structure: 0.5, Business: 0.6, RoundTrip: 0.7}))
	g.Expect(c.ValidFor).To(Equal(24 * time.Hour))
	g.Expect(c.SchemaFile).To(Equal("schema.json"))
	g.Expect(string(c.Schema)).To(Equal(minimal()["schema.json"]), "byte for byte")
	g.Expect(c.Cases).To(Equal([]contracts.Case{
		{
			Name: "one", File: "cases/1-one.yaml",
			Input:    map[string]any{"text": "hello", "id": value.Number("9007199254740993")},
			Expected: map[string]any{"reply": "hi"},
		},
		{Name: "two", File: "cases/2-two.yaml", Input: map[string]any{"text": "שלום\n"}},
	}))
	g.Expect(c.Line("$.checks[0]")).To(Equal(12))
	g.Expect(c.Line("$.nothing")).To(BeZero())

	g.Expect(c.CaseNames()).To(HaveExactElements("one", "two"))
	found, ok := c.CaseNamed("two")
	g.Expect(ok).To(BeTrue())
	g.Expect(found.File).To(Equal("cases/2-two.yaml"))
	_, ok = c.CaseNamed("three")
	g.Expect(ok).To(BeFalse())
}

func TestVariantReplacesTheMessagesOfItsTarget(t *testing.T) {
	g := NewWithT(t)
	c := load(t, nil)
	g.Expect(c.MessagesFor(target("gamma/org/model-7b"))).To(Equal([]providers.Message{{Role: "user", Content: "JSON only: {{ .text }}"}}))
	g.Expect(c.MessagesFor(target("gamma/org/model-70b"))).To(Equal(c.Messages))
}

func TestEffectsAndDefaults(t *testing.T) {
	g := NewWithT(t)
	c := load(t, map[string]string{"contract.yaml": strings.Replace(minimalYAML, "sampling: {temperature: 0.5, samples: 3, max_output_tokens: 64}", "effects: none\nrelease_after: 20s", 1)})
	g.Expect(c.Effects).To(Equal(contracts.EffectsNone))
	g.Expect(c.ReleaseAfter).To(Equal(20 * time.Second))
	g.Expect(c.Sampling).To(Equal(contracts.Sampling{Samples: 5}))
	c = load(t, map[string]string{"contract.yaml": minimalYAML + "effects: idempotent\n"})
	g.Expect(c.Effects).To(Equal(contracts.EffectsIdempotent))
}

func TestRequire(t *testing.T) {
	g := NewWithT(t)
	c := load(t, nil)
	g.Expect(c.Requires(contracts.RequireTokens)).To(BeFalse())
	g.Expect(c.Requires(contracts.RequireEnforcement)).To(BeFalse())
	c = load(t, map[string]string{"contract.yaml": minimalYAML + "require: [enforcement, tokens]\n"})
	g.Expect(c.Require).To(Equal([]string{"enforcement", "tokens"}))
	g.Expect(c.Requires(contracts.RequireTokens)).To(BeTrue())
	g.Expect(c.Requires(contracts.RequireEnforcement)).To(BeTrue())
	other := load(t, map[string]string{"contract.yaml": minimalYAML + "require: [tokens, enforcement]\n"})
	g.Expect(other.EffectiveDigest(target("alpha/large"))).To(Equal(c.EffectiveDigest(target("alpha/large"))), "a set, whatever its order")
}

// Every broken folder gives one line that says which file, which line, and what to do.
func TestLoadNamesFileAndLine(t *testing.T) {
	edit := func(old, new string) map[string]string {
		if !strings.Contains(minimalYAML, old) {
			t.Fatalf("%q is not in the minimal contract", old)
		}
		return map[string]string{"contract.yaml": strings.Replace(minimalYAML, old, new, 1)}
	}
	one := func(content string) map[string]string { return map[string]string{"cases/1-one.yaml": content} }
	for _, row := range []struct {
		name    string
		changes map[string]string
		want    string
	}{
		{"no contract.yaml", map[string]string{"contract.yaml": ""}, "greeting/contract.yaml: missing"},
		{"empty contract.yaml", map[string]string{"contract.yaml": "# nothing\n"}, "greeting/contract.yaml: want exactly one YAML document, and nothing stands in this file"},
		{"two documents", map[string]string{"contract.yaml": minimalYAML + "---\na: b\n"}, "greeting/contract.yaml: want exactly one YAML document, and here are 2, divided by ---"},
		{"not UTF-8", map[string]string{"contract.yaml": "name: \xff\n"}, "greeting/contract.yaml: not UTF-8"},
		{"not YAML", edit("valid_for: 24h", "valid_for: [24h"), "greeting/contract.yaml:1"},
		{"unknown key", edit("valid_for: 24h", "valid_fro: 24h"), `greeting/contract.yaml:14: unknown key "valid_fro"; possible here: name, effects, release_after, messages, `},
		{"unknown key inside", edit("samples: 3", "sample: 3"), `greeting/contract.yaml:10: unknown key "sample"; possible here: temperature, samples, max_output_tokens`},
		{"repeated key", edit("valid_for: 24h", "valid_for: 24h\nname: other"), `greeting/contract.yaml:15: key "name" stands here twice, first in line 1`},
		{"wrong type", edit("samples: 3", "samples: many"), `greeting/contract.yaml:10: samples: want a number, and here stands the text "many"`},
		{"fraction of a sample", edit("samples: 3", "samples: 2.5"), "greeting/contract.yaml:10: "},
		{"name", edit("name: greeting", "name: Greet Ing"), `greeting/contract.yaml:1: name "Greet Ing"`},
		{"no name", edit("name: greeting\n", ""), `greeting/contract.yaml: name ""`},
		{"effects", edit("valid_for", "effects: some\nvalid_for"), `greeting/contract.yaml:14: effects "some": want external, idempotent or none`},
		{"release_after without effects none", edit("valid_for", "release_after: 5s\nvalid_for"), "greeting/contract.yaml:14: release_after is only possible with effects: none"},
		{"release_after is no duration", edit("valid_for", "effects: none\nrelease_after: soon\nvalid_for"), `greeting/contract.yaml:15: "soon": want a positive duration`},
		{"valid_for negative", edit("24h", "-24h"), `greeting/contract.yaml:14: "-24h": want a positive duration`},
		{"valid_for beyond all", edit("24h", "99999999h"), `greeting/contract.yaml:14: "99999999h": too long; the longest duration is 2562047h`},
		{"release_after beyond all", edit("valid_for", "effects: none\nrelease_after: 9999999999999s\nvalid_for"), `greeting/contract.yaml:15: "9999999999999s": too long; the longest duration is`},
		{"valid_for absent", edit("valid_for: 24h\n", ""), "greeting/contract.yaml: valid_for is missing"},
		{"floor beyond all", edit("valid_for", "mutation_floor: 1.01\nvalid_for"), "greeting/contract.yaml:14: mutation_floor 1.01: want 0 to 1"},
		{"floor that is none", edit("valid_for", "mutation_floor: .nan\nvalid_for"), "greeting/contract.yaml:14: mutation_floor NaN: want 0 to 1"},
		{"unordered is no pointer", edit("valid_for", "unordered: [items]\nvalid_for"), `greeting/contract.yaml:14: unordered "items": want a JSON pointer into the answer`},
		{"free text twice", edit("valid_for", "free_text: [/a, /a]\nvalid_for"), `greeting/contract.yaml:14: free_text "/a" stands here twice`},
		{"required word", edit("valid_for", "require: [tokens, enforcment]\nvalid_for"), `greeting/contract.yaml:14: require "enforcment": want tokens or enforcement`},
		{"required twice", edit("valid_for", "require:\n  - tokens\n  - tokens\nvalid_for"), `greeting/contract.yaml:16: require "tokens" stands here twice`},
		{"required is no list", edit("valid_for", "require: tokens\nvalid_for"), `greeting/contract.yaml:14: require: want a list, and here stands the text "tokens"`},
		{"role", edit("role: system", "role: developer"), `greeting/contract.yaml:3: role "developer": want system, user or assistant`},
		{"empty message", edit(`"Answer in JSON."`, `""`), "greeting/contract.yaml:3: message without content"},
		{"variant for no target", edit("gamma/org/model-7b", "gamma"), `greeting/contract.yaml:7: variants: target "gamma"`},
		{"variant without messages", edit("    messages:\n      - {role: user, content: \"JSON only: {{ .text }}\"}", "    messages: []"), "greeting/contract.yaml:7: messages are missing"},
		{"temperature", edit("temperature: 0.5", "temperature: 2.5"), "greeting/contract.yaml:10: temperature 2.5"},
		{"temperature nan", edit("temperature: 0.5", "temperature: .nan"), "greeting/contract.yaml:10: temperature NaN"},
		{"no samples", edit("samples: 3", "samples: 0"), "greeting/contract.yaml:10: samples 0"},
		{"too many samples", edit("samples: 3", "samples: 10001"), "greeting/contract.yaml:10: samples 10001: want a whole number from 1 to 10000"},
		{"tokens", edit("max_output_tokens: 64", "max_output_tokens: -1"), "greeting/contract.yaml:10: max_output_tokens -1"},
		{"check without expr", edit(`{name: reply is polite, expr: 'output.reply != ""'}`, `{name: reply is polite}`), `greeting/contract.yaml:12: check "reply is polite" without an expr`},
		{"check without name", edit(`name: reply is polite, `, ``), "greeting/contract.yaml:12: check without a name"},
		{"check twice", edit("thresholds:", "  - {name: reply is polite, expr: 'true'}\nthresholds:"), `greeting/contract.yaml:13: check "reply is polite" stands here twice`},
		{"unknown threshold", edit("prompt: 1.0", "promt: 1.0"), `greeting/contract.yaml:13: threshold "promt"`},
		{"threshold absent", edit("prompt: 1.0, ", ""), "greeting/contract.yaml:13: threshold prompt is missing"},
		{"threshold above one", edit("structure: 0.5", "structure: 90"), "greeting/contract.yaml:13: threshold structure is 90"},
		{"threshold zero", edit("structure: 0.5", "structure: 0"), "greeting/contract.yaml:13: threshold structure is 0"},
		{"schema outside", edit("schema: schema.json", "schema: ../schema.json"), `greeting/contract.yaml:9: schema "../schema.json": want the path`},
		{"schema absent", map[string]string{"schema.json": ""}, `greeting/contract.yaml:9: schema "schema.json": no such file`},
		{"cases outside", edit("cases: cases/", "cases: /etc"), `greeting/contract.yaml:15: cases "/etc": want the path`},
		{"no cases", edit("cases: cases/", "cases: examples"), "greeting/contract.yaml:15: no case in examples/"},
		{"file that is no case", map[string]string{"cases/three.yml": "name: three"}, "greeting/cases/three.yml: only case files"},
		{"folder in cases", map[string]string{"cases/more/three.yaml": "name: three"}, "greeting/cases/more/three.yaml: only case files"},
		{"case is no mapping", one("- name: one"), "greeting/cases/1-one.yaml:1: a case is a mapping"},
		{"case without a name", one("input: {}"), "greeting/cases/1-one.yaml:1: a case needs a name"},
		{"case without an input", one("name: one"), "greeting/cases/1-one.yaml:1: a case needs an input"},
		{"case with an unknown key", one("name: one\ninput: {}\nexpect: {}"), `greeting/cases/1-one.yaml:3: unknown key "expect"`},
		{"name is no text", one("name: 1\ninput: {}"), "greeting/cases/1-one.yaml:1: name: want a text"},
		{"input is no mapping", one("name: one\ninput: [1]"), "greeting/cases/1-one.yaml:2: input: want a mapping"},
		{"expected is null", one("name: one\ninput: {}\nexpected:"), "greeting/cases/1-one.yaml:3: expected: want a mapping, or leave it out where no answer is known to be the right one"},
		{"repeated key in a case", one("name: one\ninput:\n  a: 1\n  a: 2"), `greeting/cases/1-one.yaml:4: key "a" stands here twice, first in line 3`},
		{"hexadecimal", one("name: one\ninput:\n  a: 0xFF"), "greeting/cases/1-one.yaml:3: 0xFF is not a JSON number"},
		{"NUL", one("name: one\ninput:\n  a: \"\\0\""), "greeting/cases/1-one.yaml:"},
		{"case name twice", map[string]string{"cases/3.yaml": "name: one\ninput: {}"}, `greeting/cases/3.yaml: case "one" stands in cases/1-one.yaml already`},
		{"broken case", one("name: \"one\ninput: {}"), "greeting/cases/1-one.yaml:1: a quotation mark is opened here and not closed"},
		{"empty case", one("# nothing\n"), "greeting/cases/1-one.yaml: want exactly one YAML document, and nothing stands in this file"},
		{"tab in a case", one("name: one\ninput:\n\ttext: x"), "greeting/cases/1-one.yaml:3: a tab stands here: YAML is indented with spaces"},
		{"tab", edit("checks:\n  -", "checks:\n\t-"), "greeting/contract.yaml:12: a tab stands here: YAML is indented with spaces"},
		{"no colon", edit("schema: schema.json", "schema schema.json"), `greeting/contract.yaml:9: this is no "key: value": a colon is missing, or the space after it`},
		{"no space after the colon", edit("schema: schema.json", "schema:schema.json"), `greeting/contract.yaml:9: this is no "key: value"`},
		{"no colon before deeper lines", edit("checks:", "checks"), `greeting/contract.yaml:11: this is no "key: value"`},
		{"indentation", edit("schema: schema.json", " schema: schema.json"), "greeting/contract.yaml:9: this does not fit what stands above: look at the indentation"},
		{"bracket not closed", edit("max_output_tokens: 64}", "max_output_tokens: 64"), "greeting/contract.yaml:11: a comma is missing, or the bracket before it is not closed"},
		{"alias of nothing", edit("name: greeting", "name: *greeting"), "greeting/contract.yaml:1: a text that begins with * refers to something named with &"},
		{"a list in place of all", map[string]string{"contract.yaml": "- name: greeting\n"}, `greeting/contract.yaml:1: a contract: want keys with values, each as "key: value", and here stands a list`},
		{"number for a text", edit("name: greeting", "name: 12"), "greeting/contract.yaml:1: name: want a text, and here stands 12: put it in quotes"},
		{"number for an expression", edit(`expr: 'output.reply != ""'`, `expr: 5`), "greeting/contract.yaml:12: expr: want a text, and here stands 5: put it in quotes"},
		{"number for a duration", edit("24h", "24"), `greeting/contract.yaml:14: "24": want a positive duration such as 20s or 168h`},
		{"list for a text", edit("name: greeting", "name: [greeting]"), "greeting/contract.yaml:1: name: want a text, and here stands a list"},
		{"number in quotes", edit("samples: 3", `samples: "3"`), `greeting/contract.yaml:10: samples: want a number, and here stands the text "3" in quotes`},
		{"text for a truth value", edit("valid_for", "unwrap_fence: maybe\nvalid_for"), `greeting/contract.yaml:14: unwrap_fence: want true or false, and here stands the text "maybe"`},
		{"text for messages of a variant", edit("    messages:\n      - {role: user, content: \"JSON only: {{ .text }}\"}", "    messages: JSON only"), `greeting/contract.yaml:7: messages: want a list`},
		{"text among checks", edit("checks:", "checks:\n  - reply is polite"), `greeting/contract.yaml:12: an entry of checks: want keys with values, each as "key: value", and here stands the text "reply is polite"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			c, err := contracts.Load(folder("greeting", minimal(), row.changes), "greeting")
			g.Expect(c).To(BeNil())
			var fault *contracts.FileError
			g.Expect(errors.As(err, &fault)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(HavePrefix(row.want))
			g.Expect(err.Error()).NotTo(ContainSubstring("\n"))
		})
	}
}

func TestLoadOfAMissingFolder(t *testing.T) {
	_, err := contracts.Load(os.DirFS(t.TempDir()), "nowhere")
	NewWithT(t).Expect(err).To(MatchError("nowhere: no such file or directory"))
}

func TestLoadRefusesOddFilesRatherThanLeavingThemOut(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	for name, file := range folder("greeting", minimal(), nil) {
		g.Expect(os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(root, name), file.Data, 0o600)).To(Succeed())
	}
	_, err := contracts.Load(os.DirFS(root), "greeting")
	g.Expect(err).NotTo(HaveOccurred())
	odd := filepath.Join(root, "greeting", "caf\xe9.txt") //nolint:gocritic // no separator: a name that is not UTF-8 is the point
	g.Expect(os.WriteFile(odd, nil, 0o600)).To(Succeed())
	_, err = contracts.Load(os.DirFS(root), "greeting")
	g.Expect(err).To(MatchError(`"greeting/caf\xe9.txt": the name is not UTF-8`))
	g.Expect(os.Remove(odd)).To(Succeed())
	g.Expect(os.Symlink("schema.json", filepath.Join(root, "greeting", "other.json"))).To(Succeed())
	_, err = contracts.Load(os.DirFS(root), "greeting")
	g.Expect(err).To(MatchError(ContainSubstring("greeting/other.json: neither a file nor a folder")))
}

func TestLoadRefusesAHugeFolder(t *testing.T) {
	fsys := folder("greeting", minimal(), nil)
	fsys["greeting/video"] = &fstest.MapFile{Data: make([]byte, 16<<20)}
	_, err := contracts.Load(fsys, "greeting")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("greeting/video: a contract folder may hold 16 MiB at most")))
}

func TestLoadSaysWhichFileCannotBeRead(t *testing.T) {
	_, err := contracts.Load(unreadable{folder("greeting", minimal(), nil), "greeting/schema.json"}, "greeting")
	NewWithT(t).Expect(err).To(MatchError("greeting/schema.json: permission denied"))
}

// unreadable is a file system in which one file cannot be opened.
type unreadable struct {
	fs.FS
	name string
}

func (u unreadable) Open(name string) (fs.File, error) {
	if name == u.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return u.FS.Open(name)
}

func target(s string) providers.Target {
	t, err := providers.ParseTarget(s)
	if err != nil {
		panic(err)
	}
	return t
}
