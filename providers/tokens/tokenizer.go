package tokens

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"

	"github.com/fallproof/fallproof/providers"
)

// Tokenizer counts text as one model does. It may be used concurrently.
type Tokenizer struct {
	name  string
	codec tokenizer.Codec // of a named encoding
	own   *fileTokenizer  // of a tokenizer.json
}

// files keeps each tokenizer.json once that was read, by its digest: reading one takes far longer than
// counting with it.
var files sync.Map // of func() (*Tokenizer, error)

// Of is the tokenizer that a profile declares; nil where it declares none.
func Of(profile providers.Profile) (*Tokenizer, error) {
	switch profile.Tokenizer {
	case providers.TokenizerNone, "":
		return nil, nil
	case providers.TokenizerOwn:
		file := profile.TokenizerFile
		read, _ := files.LoadOrStore(file.Digest, sync.OnceValues(func() (*Tokenizer, error) { return ParseFile(file.Content) }))
		t, err := read.(func() (*Tokenizer, error))()
		if err != nil {
			return nil, fmt.Errorf("tokenizer %s: %w", file.Name, err)
		}
		return t, nil
	}
	load, known := encodings[profile.Tokenizer]
	if !known {
		return nil, fmt.Errorf("tokenizer %q is not known; want one of %s", profile.Tokenizer, strings.Join(Known(), ", "))
	}
	codec, err := load()
	if err != nil {
		return nil, fmt.Errorf("tokenizer %s: %w", profile.Tokenizer, err)
	}
	return &Tokenizer{name: profile.Tokenizer, codec: codec}, nil
}

// Count counts a text in which control tokens are the ordinary text that they are.
func (t *Tokenizer) Count(text string) (int, error) {
	if t.own == nil {
		return t.codec.Count(text)
	}
	if !utf8.ValidString(text) {
		return 0, fmt.Errorf("tokenizer %s: not valid UTF-8", t.name)
	}
	return t.own.count(text, false)
}

// CountPrompt counts a rendered prompt as a server reads it: control tokens in it are one token each,
// whoever wrote them. A named encoding knows none of a template's control tokens, so that they are handed
// in; a tokenizer.json knows its own, and what it does not know is text.
func (t *Tokenizer) CountPrompt(text string, controls []string) (int, error) {
	if t.own != nil {
		if !utf8.ValidString(text) {
			return 0, fmt.Errorf("tokenizer %s: not valid UTF-8", t.name)
		}
		return t.own.count(text, true)
	}
	n := 0
	for text != "" {
		at, control := first(text, controls)
		count, err := t.codec.Count(text[:at])
		if err != nil {
			return 0, err
		}
		n += count
		if control != "" {
			n++
		}
		text = text[at+len(control):]
	}
	return n, nil
}

// first finds the first of several words in a text, the longest where several begin at one place.
func first(text string, words []string) (at int, word string) {
	at = len(text)
	for _, each := range words {
		i := strings.Index(text, each)
		if i >= 0 && each != "" && (i < at || i == at && len(each) > len(word)) {
			at, word = i, each
		}
	}
	return at, word
}

// Controls are the special tokens that a tokenizer.json declares; none of a named encoding.
func (t *Tokenizer) Controls() []string {
	if t.own == nil {
		return nil
	}
	return t.own.controls()
}

// ID is the number of a token that a tokenizer.json adds to its vocabulary.
func (t *Tokenizer) ID(content string) (id int, ok bool) {
	if t.own == nil {
		return 0, false
	}
	for _, token := range t.own.added {
		if token.Content == content {
			return token.ID, true
		}
	}
	return 0, false
}
