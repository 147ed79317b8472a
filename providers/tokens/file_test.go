package tokens_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	. "github.com/onsi/gomega"
	"github.com/tiktoken-go/tokenizer"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/tokens"
)

// corpus is text of many kinds, with what tokenizers stumble over.
var corpus = []string{
	"", " ", "a", "Hello, world!", "don't I'LL we've", "  two  spaces\n\n\nthree\r\nlines \t tab ", "1234567 89 0.125 10,000",
	"Grüße aus Köln, naïve façade", "請求書番号 2026-117 合計 ¥12,300", "מספר חשבונית 4417, סך הכול 1,250 ש״ח", "🙂🙂👩‍👩‍👧 e\u0301 \u00a0 \u2028",
	"<|im_end|> <|im_start|>system </s> [INST] <start_of_turn>", `{"a": [1, 2.5e-3, null], "b": "\u00e9"}`, "func main() {\n\tfmt.Println(\"x\")\n}\n",
	strings.Repeat("the quick brown fox jumps over the lazy dog ", 40), strings.Repeat("a", 300), strings.Repeat("!", 77) + strings.Repeat(" ", 50) + "x",
}

// pattern100k is how cl100k_base, and Llama 3 after it, cut text, from OpenAI's tiktoken.
const pattern100k = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`

// converted writes an embedded encoding as the tokenizer.json that the same tokenizer would have: the
// vocabulary spelt as ByteLevel does, and as merges what each token falls into when only earlier tokens exist.
func converted(t *testing.T, encoding tokenizer.Encoding, size int) map[string]any {
	t.Helper()
	codec, err := tokenizer.Get(encoding)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	spelt := byteSpelling()
	vocab, ranks, merges := map[string]int{}, map[string]int{}, [][2]string{}
	for id := range size {
		text, err := codec.Decode([]uint{uint(id)})
		if err != nil {
			continue // a hole in the numbering
		}
		if len(text) > 1 {
			left, right := halves(text, ranks)
			merges = append(merges, [2]string{spelt(left), spelt(right)})
		}
		vocab[spelt(text)], ranks[text] = id, id
	}
	return map[string]any{
		"version": "1.0", "normalizer": nil,
		"added_tokens": []any{
			map[string]any{"id": size, "content": "<|im_start|>", "special": true, "normalized": false},
			map[string]any{"id": size + 1, "content": "<|im_end|>", "special": true, "normalized": false},
		},
		"pre_tokenizer": map[string]any{"type": "Sequence", "pretokenizers": []any{
			map[string]any{"type": "Split", "pattern": map[string]any{"Regex": pattern100k}, "behavior": "Isolated", "invert": false},
			map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
		}},
		"model": map[string]any{"type": "BPE", "dropout": nil, "unk_token": nil, "vocab": vocab, "merges": merges},
	}
}

// halves merges a token's bytes by the tokens that exist already, until two parts are left.
func halves(text string, ranks map[string]int) (left, right string) {
	var parts []string
	for i := range len(text) {
		parts = append(parts, text[i:i+1])
	}
	for len(parts) > 2 {
		best, at := -1, -1
		for i := range len(parts) - 1 {
			if rank, ok := ranks[parts[i]+parts[i+1]]; ok && (best < 0 || rank < best) {
				best, at = rank, i
			}
		}
		if at < 0 {
			panic("a token that no merges make: " + text)
		}
		parts = append(parts[:at], append([]string{parts[at] + parts[at+1]}, parts[at+2:]...)...)
	}
	return parts[0], parts[1]
}

func byteSpelling() func(string) string {
	table, next := map[byte]string{}, rune(256)
	for b := range 256 {
		if c := rune(b); c >= 33 && c <= 126 || c >= 161 && c <= 172 || c >= 174 {
			table[byte(b)] = string(c)
			continue
		}
		table[byte(b)] = string(next)
		next++
	}
	return func(text string) string {
		var spelt strings.Builder
		for i := range len(text) {
			spelt.WriteString(table[text[i]])
		}
		return spelt.String()
	}
}

func document(t *testing.T, of map[string]any) string {
	t.Helper()
	text, err := json.Marshal(of)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// A tokenizer.json of an encoding that is embedded as well counts as that does, token for token.
func TestFileCountsAsTheEmbeddedEncoding(t *testing.T) {
	g := NewWithT(t)
	codec, err := tokenizer.Get(tokenizer.Cl100kBase)
	g.Expect(err).NotTo(HaveOccurred())
	own, err := tokens.ParseFile(document(t, converted(t, tokenizer.Cl100kBase, 100256)))
	g.Expect(err).NotTo(HaveOccurred())
	for _, text := range corpus {
		want, err := codec.Count(text)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(own.Count(text)).To(Equal(want), text)
	}

	g.Expect(own.Controls()).To(Equal([]string{"<|im_start|>", "<|im_end|>"}))
	id, ok := own.ID("<|im_end|>")
	g.Expect(id).To(Equal(100257))
	g.Expect(ok).To(BeTrue())
	prompt := "<|im_start|>user\nHello, world!<|im_end|>\n"
	g.Expect(own.CountPrompt(prompt, nil)).To(Equal(1+6+1+1), "control tokens are one token each")
	g.Expect(own.Count(prompt)).To(Equal(must(codec.Count(prompt))), "and in a text they are text")
	_, err = own.Count("a\xff")
	g.Expect(err).To(MatchError(ContainSubstring("not valid UTF-8")))
	_, err = own.CountPrompt("a\xff", nil)
	g.Expect(err).To(MatchError(ContainSubstring("not valid UTF-8")))
}

func must(n int, err error) int {
	if err != nil {
		panic(err)
	}
	return n
}

// small is a tokenizer of a few tokens, in which each rule can be seen alone.
func small(change func(doc, model map[string]any)) map[string]any {
	vocab := map[string]any{}
	for i, token := range []string{"<unk>", "a", "b", "c", "▁", "ab", "abc", "▁a", "bc", "▁abc", "<0xC3>", "<0xA9>", "Ġ", "cc"} {
		vocab[token] = i
	}
	model := map[string]any{"type": "BPE", "unk_token": "<unk>", "vocab": vocab, "merges": []any{"a b", "ab c", "▁ a", "b c", "▁ abc"}}
	doc := map[string]any{"added_tokens": []any{}, "model": model}
	if change != nil {
		change(doc, model)
	}
	return doc
}

func added(content string, more ...string) map[string]any {
	token := map[string]any{"id": 100, "content": content, "special": true}
	for _, flag := range more {
		token[flag] = true
	}
	return token
}

func TestFileSteps(t *testing.T) {
	replace := map[string]any{"type": "Replace", "pattern": map[string]any{"String": " "}, "content": "▁"}
	prepend := map[string]any{"type": "Prepend", "prepend": "▁"}
	for _, row := range []struct {
		name   string
		change func(doc, model map[string]any)
		text   string
		want   int
	}{
		{"merges by rank", nil, "abc", 1},
		{"leftmost first", nil, "abab", 2},
		{"what is left alone", nil, "acb", 3},
		{"unknown, one each", nil, "axyb", 4},
		{"unknown, fused", func(_, m map[string]any) { m["fuse_unk"] = true }, "axyb", 3},
		{"byte fallback", func(_, m map[string]any) { m["byte_fallback"] = true }, "aé", 3},
		{"byte fallback without the bytes", func(_, m map[string]any) { m["byte_fallback"] = true }, "aö", 2},
		{"a token that no merge makes", nil, "cc", 2},
		{"taken as it is", func(_, m map[string]any) { m["ignore_merges"] = true }, "cc", 1},
		{"merges as pairs", func(_, m map[string]any) { m["merges"] = []any{[]any{"a", "b"}} }, "abc", 2},
		{"replace", func(d, _ map[string]any) { d["normalizer"] = replace }, "b abc", 2},
		{"prepend and replace", func(d, _ map[string]any) {
			d["normalizer"] = map[string]any{"type": "Sequence", "normalizers": []any{prepend, replace}}
		}, "abc abc", 2},
		{"prepend nothing to nothing", func(d, _ map[string]any) { d["normalizer"] = prepend }, "", 0},
		{"composed", func(d, m map[string]any) {
			d["normalizer"], m["byte_fallback"] = map[string]any{"type": "NFC"}, true
		}, "e\u0301", 2},
		{"metaspace", func(d, _ map[string]any) {
			d["pre_tokenizer"] = map[string]any{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}
		}, "abc abc", 2},
		{"metaspace of old", func(d, _ map[string]any) {
			d["pre_tokenizer"] = map[string]any{"type": "Metaspace", "add_prefix_space": true, "split": false}
		}, "abc", 1},
		{"metaspace at the beginning alone", func(d, _ map[string]any) {
			d["pre_tokenizer"] = map[string]any{"type": "Metaspace", "prepend_scheme": "first"}
			d["added_tokens"] = []any{added("<s>")}
		}, "abc<s>abc", 3},
		{"metaspace never", func(d, _ map[string]any) {
			d["pre_tokenizer"] = map[string]any{"type": "Metaspace", "prepend_scheme": "never"}
		}, "abc", 1},
		{"split, merged with previous", func(d, _ map[string]any) {
			d["normalizer"] = replace
			d["pre_tokenizer"] = map[string]any{"type": "Split", "pattern": map[string]any{"String": "▁"}, "behavior": "MergedWithPrevious"}
		}, "abc abc", 3},
		{"split, merged with next", func(d, _ map[string]any) {
			d["normalizer"] = replace
			d["pre_tokenizer"] = map[string]any{"type": "Split", "pattern": map[string]any{"String": "▁"}, "behavior": "MergedWithNext"}
		}, "abc abc", 2},
		{"split, removed", func(d, _ map[string]any) {
			d["pre_tokenizer"] = map[string]any{"type": "Split", "pattern": map[string]any{"Regex": `\s+`}, "behavior": "Removed"}
		}, "abc  abc", 2},
		{"split, isolated", func(d, _ map[string]any) {
			d["pre_tokenizer"] = map[string]any{"type": "Split", "pattern": map[string]any{"String": "b"}, "behavior": "Isolated"}
		}, "abc", 3},
		{"byte level by itself", func(d, _ map[string]any) { d["pre_tokenizer"] = map[string]any{"type": "ByteLevel"} }, "abc abc", 3},
		{"byte level with a space before", func(d, _ map[string]any) {
			d["pre_tokenizer"] = map[string]any{"type": "ByteLevel", "add_prefix_space": true}
		}, "abc", 2},
		{"added, one token", func(d, _ map[string]any) { d["added_tokens"] = []any{added("[INST]")} }, "[INST]abc", 2},
		{"added, the longest", func(d, _ map[string]any) { d["added_tokens"] = []any{added("<a>"), added("<a>b")} }, "<a>bc", 2},
		{"added, with the space before", func(d, _ map[string]any) { d["added_tokens"] = []any{added("<m>", "lstrip")} }, "abc  <m>", 2},
		{"added, with the space behind", func(d, _ map[string]any) { d["added_tokens"] = []any{added("<m>", "rstrip")} }, "<m> \nabc", 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			own, err := tokens.ParseFile(document(t, small(row.change)))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(own.CountPrompt(row.text, nil)).To(Equal(row.want))
		})
	}
}

func TestFileRefusesWhatItWouldCountWrongly(t *testing.T) {
	step := func(kind string, more map[string]any) map[string]any {
		all := map[string]any{"type": kind}
		for k, v := range more {
			all[k] = v
		}
		return all
	}
	for want, change := range map[string]func(doc, model map[string]any){
		`model "Unigram" is not supported: only BPE`:  func(_, m map[string]any) { m["type"], m["vocab"] = "Unigram", []any{[]any{"a", -1.5}} },
		`model "WordPiece" is not supported`:          func(_, m map[string]any) { m["type"] = "WordPiece" },
		`dropout is not supported`:                    func(_, m map[string]any) { m["dropout"] = 0.1 },
		`continuing_subword_prefix is not supported`:  func(_, m map[string]any) { m["continuing_subword_prefix"] = "##" },
		`end_of_word_suffix is not supported`:         func(_, m map[string]any) { m["end_of_word_suffix"] = "</w>" },
		`unk_token "<none>" is not in the vocabulary`: func(_, m map[string]any) { m["unk_token"] = "<none>" },
		`model.vocab: `:                                  func(_, m map[string]any) { m["vocab"] = []any{1} },
		`model.merges: neither pairs nor lines`:          func(_, m map[string]any) { m["merges"] = 1 },
		`model.merges[0]: "a b c" is not two tokens`:     func(_, m map[string]any) { m["merges"] = []any{"a b c"} },
		`model.merges[0]: "a" and "x", or both together`: func(_, m map[string]any) { m["merges"] = []any{"a x"} },
		`normalizer "Lowercase" is not supported`:        func(d, _ map[string]any) { d["normalizer"] = step("Lowercase", nil) },
		`normalizer "Precompiled" is not supported`: func(d, _ map[string]any) {
			d["normalizer"] = step("Sequence", map[string]any{"normalizers": []any{step("Precompiled", nil)}})
		},
		`normalizer "Replace" is not supported`: func(d, _ map[string]any) {
			d["normalizer"] = step("Replace", map[string]any{"pattern": map[string]any{"Regex": "a"}})
		},
		`normalizer: `: func(d, _ map[string]any) { d["normalizer"] = "NFC" },
		`pre_tokenizer "Whitespace" is not supported`: func(d, _ map[string]any) { d["pre_tokenizer"] = step("Whitespace", nil) },
		`pre_tokenizer "Digits" is not supported`: func(d, _ map[string]any) {
			d["pre_tokenizer"] = step("Sequence", map[string]any{"pretokenizers": []any{step("Digits", nil)}})
		},
		`pre_tokenizer Split with behavior "Contiguous", invert false`: func(d, _ map[string]any) {
			d["pre_tokenizer"] = step("Split", map[string]any{"behavior": "Contiguous"})
		},
		`pre_tokenizer Split with behavior "Isolated", invert true`: func(d, _ map[string]any) {
			d["pre_tokenizer"] = step("Split", map[string]any{"behavior": "Isolated", "invert": true})
		},
		`pre_tokenizer Split without a pattern`: func(d, _ map[string]any) { d["pre_tokenizer"] = step("Split", map[string]any{"behavior": "Isolated"}) },
		`pre_tokenizer Split: error parsing regexp`: func(d, _ map[string]any) {
			d["pre_tokenizer"] = step("Split", map[string]any{"behavior": "Isolated", "pattern": map[string]any{"Regex": "("}})
		},
		`pre_tokenizer Metaspace with prepend_scheme "last"`: func(d, _ map[string]any) {
			d["pre_tokenizer"] = step("Metaspace", map[string]any{"prepend_scheme": "last"})
		},
		`added_tokens: token 100 is empty`:                         func(d, _ map[string]any) { d["added_tokens"] = []any{added("")} },
		`added_tokens: "[MASK]" with single_word is not supported`: func(d, _ map[string]any) { d["added_tokens"] = []any{added("[MASK]", "single_word")} },
	} {
		own, err := tokens.ParseFile(document(t, small(change)))
		NewWithT(t).Expect(own).To(BeNil(), want)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(want)))
	}
	for _, content := range []string{"", "[]", `{"model": {"type": "BPE", "type": "BPE"}}`} {
		_, err := tokens.ParseFile(content)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring("not a tokenizer.json")), content)
	}
	own, err := tokens.ParseFile(document(t, small(func(_, m map[string]any) { m["unk_token"] = nil })))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	_, err = own.Count("abx")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring(`no token for "x"`)), "nothing is left out in silence")
}

// A pattern that never comes to an end is an error, and no hang.
func TestFilePatternHasALimit(t *testing.T) {
	tokens.LimitSearches(t)
	own, err := tokens.ParseFile(document(t, small(func(d, _ map[string]any) {
		d["pre_tokenizer"] = map[string]any{"type": "Split", "behavior": "Isolated", "pattern": map[string]any{"Regex": "(a*)*(b|c){2}x"}}
	})))
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = own.Count(strings.Repeat("a", 5000))
	g.Expect(err).To(MatchError(ContainSubstring("timeout")))
}

func TestOf(t *testing.T) {
	g := NewWithT(t)
	none, err := tokens.Of(providers.Profile{Tokenizer: "none"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(none).To(BeNil())
	profile := providers.Profile{Tokenizer: "file", TokenizerFile: providers.NewFile("models/t.json", document(t, small(nil)))}
	own, err := tokens.Of(profile)
	g.Expect(err).NotTo(HaveOccurred())
	again, err := tokens.Of(profile)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(BeIdenticalTo(own), "read once")
	profile.TokenizerFile = providers.NewFile("models/t.json", "{}")
	_, err = tokens.Of(profile)
	g.Expect(err).To(MatchError(HavePrefix(`tokenizer models/t.json: model "" is not supported`)))

	n, verified, err := tokens.CountMessages(providers.Profile{Tokenizer: "file", TokenizerFile: providers.NewFile("t", document(t, small(nil)))},
		[]providers.Message{{Role: "abc", Content: "abc"}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(verified).To(BeTrue())
	g.Expect(n).To(Equal(1 + 1 + 3 + 3))
}

// A named encoding knows nobody's control tokens: those that it is told of count one each.
func TestCountPromptOfANamedEncoding(t *testing.T) {
	g := NewWithT(t)
	o200k, err := tokens.Of(providers.Profile{Tokenizer: "o200k_base"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(o200k.CountPrompt("<|start|>user<|message|>Hello<|end|><|end|>", []string{"<|end|>", "<|start|>", "<|message|>"})).To(Equal(6))
	g.Expect(o200k.CountPrompt("<a>b<a>", []string{"<a>", "<a>b"})).To(Equal(2), "the longest counts")
	g.Expect(o200k.Controls()).To(BeEmpty())
	_, known := o200k.ID("<|end|>")
	g.Expect(known).To(BeFalse())
	_, err = tokens.Of(providers.Profile{Tokenizer: "gpt2"})
	g.Expect(err).To(MatchError(ContainSubstring(`tokenizer "gpt2" is not known`)))
}

func BenchmarkFileCount(b *testing.B) {
	vocab := map[string]any{}
	for i, token := range []string{"a", "b", "ab", "abab"} {
		vocab[token] = i
	}
	own, err := tokens.ParseFile(fmt.Sprintf(`{"model": {"type": "BPE", "vocab": %s, "merges": ["a b", "ab ab"]}}`, must2(json.Marshal(vocab))))
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("ab", 50_000)
	for b.Loop() {
		if n, err := own.Count(text); err != nil || n != 25_000 {
			b.Fatal(n, err)
		}
	}
}

func must2(text []byte, err error) string {
	if err != nil {
		panic(err)
	}
	return string(text)
}
