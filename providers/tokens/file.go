package tokens

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// fileDocument is the part of a tokenizer.json that decides how text is cut. The format belongs to Hugging
// Face's tokenizers library.
type fileDocument struct {
	Added        []addedToken   `json:"added_tokens"`
	Normalizer   jsontext.Value `json:"normalizer"`
	PreTokenizer jsontext.Value `json:"pre_tokenizer"`
	Model        fileModel      `json:"model"`
}

type addedToken struct {
	ID         int    `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Special    bool   `json:"special"`
}

type fileModel struct {
	Type         string         `json:"type"`
	Vocab        jsontext.Value `json:"vocab"`
	Merges       jsontext.Value `json:"merges"`
	IgnoreMerges bool           `json:"ignore_merges"`
	ByteFallback bool           `json:"byte_fallback"`
	FuseUnknown  bool           `json:"fuse_unk"`
	Unknown      string         `json:"unk_token"`
	Dropout      float64        `json:"dropout"`
	Prefix       string         `json:"continuing_subword_prefix"`
	Suffix       string         `json:"end_of_word_suffix"`
}

// ParseFile reads a tokenizer.json. It refuses what it could only count wrongly: other models than BPE, and
// steps that it does not know.
func ParseFile(content string) (*Tokenizer, error) {
	var doc fileDocument
	if err := json.Unmarshal([]byte(content), &doc); err != nil {
		return nil, fmt.Errorf("not a tokenizer.json: %w", err)
	}
	own := &fileTokenizer{}
	var err error
	if own.merger, err = doc.Model.merger(); err != nil {
		return nil, err
	}
	if own.normalize, err = normalizerOf(doc.Normalizer); err != nil {
		return nil, err
	}
	if own.split, err = splitterOf(doc.PreTokenizer); err != nil {
		return nil, err
	}
	added, err := addedOf(doc.Added)
	if err != nil {
		return nil, err
	}
	own.add(added)
	return &Tokenizer{name: "tokenizer.json", own: own}, nil
}

func (m *fileModel) check() error {
	if m.Type != "BPE" {
		return fmt.Errorf("model %q is not supported: only BPE can be counted; declare tokenizer none", m.Type)
	}
	for name, set := range map[string]bool{
		"dropout": m.Dropout != 0, "continuing_subword_prefix": m.Prefix != "", "end_of_word_suffix": m.Suffix != "",
	} {
		if set {
			return fmt.Errorf("model BPE with %s is not supported; declare tokenizer none", name)
		}
	}
	return nil
}

func (m *fileModel) merger() (*merger, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	built := &merger{ignoreMerges: m.IgnoreMerges, byteFallback: m.ByteFallback, fuseUnknown: m.FuseUnknown, unknown: noSymbol}
	if err := json.Unmarshal(m.Vocab, &built.vocab); err != nil {
		return nil, fmt.Errorf("model.vocab: %w", err)
	}
	if m.Unknown != "" {
		id, ok := built.vocab[m.Unknown]
		if !ok {
			return nil, fmt.Errorf("model.unk_token %q is not in the vocabulary", m.Unknown)
		}
		built.unknown = id
	}
	pairs, err := m.pairs()
	if err != nil {
		return nil, err
	}
	built.merges = make(map[pair]merge, len(pairs))
	for rank, parts := range pairs {
		left, ok1 := built.vocab[parts[0]]
		right, ok2 := built.vocab[parts[1]]
		whole, ok3 := built.vocab[parts[0]+parts[1]]
		if !ok1 || !ok2 || !ok3 {
			return nil, fmt.Errorf("model.merges[%d]: %q and %q, or both together, are not in the vocabulary", rank, parts[0], parts[1])
		}
		if _, twice := built.merges[pair{left, right}]; !twice {
			built.merges[pair{left, right}] = merge{rank, whole}
		}
	}
	return built, nil
}

// pairs reads both spellings of merges: "a b", as older files have them, and ["a", "b"].
func (m *fileModel) pairs() ([][2]string, error) {
	var pairs [][2]string
	if err := json.Unmarshal(m.Merges, &pairs); err == nil {
		return pairs, nil
	}
	var lines []string
	if err := json.Unmarshal(m.Merges, &lines); err != nil {
		return nil, fmt.Errorf("model.merges: neither pairs nor lines: %w", err)
	}
	pairs = make([][2]string, 0, len(lines)) // the first reading may have left something in it
	for i, line := range lines {
		left, right, ok := cutOnce(line)
		if !ok {
			return nil, fmt.Errorf("model.merges[%d]: %q is not two tokens", i, line)
		}
		pairs = append(pairs, [2]string{left, right})
	}
	return pairs, nil
}
