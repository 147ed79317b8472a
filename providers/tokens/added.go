package tokens

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// fileTokenizer is a tokenizer.json, ready to count.
type fileTokenizer struct {
	normalize func(string) string
	split     splitter
	merger    *merger
	added     []addedToken          // longest first
	begins    map[byte][]addedToken // the same, by their first byte
}

func (f *fileTokenizer) add(tokens []addedToken) {
	f.added, f.begins = tokens, map[byte][]addedToken{}
	for _, token := range tokens {
		f.begins[token.Content[0]] = append(f.begins[token.Content[0]], token)
	}
}

// addedOf orders the tokens that are looked for in a text before anything else is done to it.
func addedOf(written []addedToken) ([]addedToken, error) {
	for _, token := range written {
		switch {
		case token.Content == "":
			return nil, fmt.Errorf("added_tokens: token %d is empty", token.ID)
		case token.SingleWord:
			return nil, fmt.Errorf("added_tokens: %q with single_word is not supported; declare tokenizer none", token.Content)
		}
	}
	added := slices.Clone(written)
	slices.SortStableFunc(added, func(a, b addedToken) int { return cmp.Compare(len(b.Content), len(a.Content)) })
	return added, nil
}

// count counts a text. Where special is false, special tokens in it are the ordinary text that they are.
func (f *fileTokenizer) count(text string, special bool) (int, error) {
	n, start := 0, 0
	for at := 0; at < len(text); {
		token, ok := f.addedAt(text[at:], special)
		if !ok {
			at++
			continue
		}
		before, after := text[start:at], text[at+len(token.Content):]
		if token.LStrip {
			before = strings.TrimRightFunc(before, unicode.IsSpace)
		}
		if token.RStrip {
			after = strings.TrimLeftFunc(after, unicode.IsSpace)
		}
		more, err := f.countPlain(before, start == 0)
		if err != nil {
			return 0, err
		}
		n += more + 1
		at = len(text) - len(after)
		start = at
	}
	more, err := f.countPlain(text[start:], start == 0)
	return n + more, err
}

// addedAt finds the longest added token that a text, which is not empty, begins with.
func (f *fileTokenizer) addedAt(text string, special bool) (addedToken, bool) {
	for _, token := range f.begins[text[0]] {
		if (special || !token.Special) && strings.HasPrefix(text, token.Content) {
			return token, true
		}
	}
	return addedToken{}, false
}

// countPlain counts what holds no added token.
func (f *fileTokenizer) countPlain(text string, first bool) (int, error) {
	if text == "" {
		return 0, nil
	}
	pieces, err := f.split(f.normalize(text), first)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, piece := range pieces {
		count, err := f.merger.count(piece)
		if err != nil {
			return 0, err
		}
		n += count
	}
	return n, nil
}

// controls are the special tokens, in the order of the file's lengths.
func (f *fileTokenizer) controls() []string {
	var controls []string
	for _, token := range f.added {
		if token.Special {
			controls = append(controls, token.Content)
		}
	}
	return controls
}
