package tokens

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dlclark/regexp2/v2"
	"github.com/go-json-experiment/json/jsontext"
)

// splitter cuts a text into the pieces that are encoded one by one. first says that the text stands at the
// very beginning of what is encoded.
type splitter func(text string, first bool) ([]string, error)

// gptPattern is how ByteLevel cuts where it cuts by itself, from the tokenizers library.
const gptPattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// matchTimeout bounds one search of a pattern that came with a file: it may backtrack for ever.
var matchTimeout = 10 * time.Second

// splitterOf reads a pre-tokenizer.
func splitterOf(raw jsontext.Value) (splitter, error) {
	if absent(raw) {
		return func(text string, _ bool) ([]string, error) { return []string{text}, nil }, nil
	}
	s, err := stepOf(raw, "pre_tokenizer")
	if err != nil {
		return nil, err
	}
	switch s.Type {
	case "Sequence":
		return sequenceOf(s.PreTokenizers)
	case "ByteLevel":
		return byteLevel(s)
	case "Split":
		return splitBy(s)
	case "Metaspace":
		return metaspace(s)
	}
	return nil, fmt.Errorf("pre_tokenizer %q is not supported; declare tokenizer none", s.Type)
}

func sequenceOf(all []jsontext.Value) (splitter, error) {
	var steps []splitter
	for _, raw := range all {
		one, err := splitterOf(raw)
		if err != nil {
			return nil, err
		}
		steps = append(steps, one)
	}
	return func(text string, first bool) ([]string, error) {
		pieces := []string{text}
		for _, one := range steps {
			var finer []string
			for i, piece := range pieces {
				cut, err := one(piece, first && i == 0)
				if err != nil {
					return nil, err
				}
				finer = append(finer, cut...)
			}
			pieces = finer
		}
		return pieces, nil
	}, nil
}

// byteLevel writes each byte as one printable character, after cutting by the pattern of GPT-2 unless told not to.
func byteLevel(s step) (splitter, error) {
	cut := func(text string, _ bool) ([]string, error) { return []string{text}, nil }
	if s.UseRegex == nil || *s.UseRegex {
		pattern := gptPattern
		var err error
		if cut, err = splitBy(step{Type: "Split", Pattern: stepPattern{Regex: &pattern}, Behavior: "Isolated"}); err != nil {
			return nil, err
		}
	}
	return func(text string, first bool) ([]string, error) {
		if s.AddPrefixSpace && !strings.HasPrefix(text, " ") {
			text = " " + text
		}
		pieces, err := cut(text, first)
		for i, piece := range pieces {
			pieces[i] = printable(piece)
		}
		return pieces, err
	}, nil
}

// byteCharacters maps bytes to characters as GPT-2 does: printable ones stand for themselves, the others
// follow from U+0100 on.
var byteCharacters = func() (table [256]rune) {
	next := rune(0x100)
	for b := range 256 {
		c := rune(b)
		if c >= '!' && c <= '~' || c >= 0xA1 && c <= 0xAC || c >= 0xAE {
			table[b] = c
			continue
		}
		table[b] = next
		next++
	}
	return table
}()

func printable(text string) string {
	var spelt strings.Builder
	for i := range len(text) {
		spelt.WriteRune(byteCharacters[text[i]])
	}
	return spelt.String()
}

func splitBy(s step) (splitter, error) {
	if s.Invert || !slices.Contains([]string{"Isolated", "Removed", "MergedWithPrevious", "MergedWithNext"}, s.Behavior) {
		return nil, fmt.Errorf("pre_tokenizer Split with behavior %q, invert %t is not supported; declare tokenizer none", s.Behavior, s.Invert)
	}
	expression := ""
	switch {
	case s.Pattern.Regex != nil:
		expression = *s.Pattern.Regex
	case s.Pattern.String != nil:
		expression = regexp2.Escape(*s.Pattern.String)
	}
	if expression == "" {
		return nil, fmt.Errorf("pre_tokenizer Split without a pattern")
	}
	pattern, err := regexp2.Compile(expression)
	if err != nil {
		return nil, fmt.Errorf("pre_tokenizer Split: %w", err)
	}
	pattern.MatchTimeout = matchTimeout
	return func(text string, _ bool) ([]string, error) {
		found, err := pattern.FindAllStringIndex(text, -1)
		if err != nil {
			return nil, fmt.Errorf("pre_tokenizer Split: %w", err)
		}
		return cutAt(text, found, s.Behavior), nil
	}, nil
}

// cutAt divides a text by what was found in it.
func cutAt(text string, found [][]int, behavior string) []string {
	var pieces []string
	add := func(piece string) {
		if piece != "" {
			pieces = append(pieces, piece)
		}
	}
	done := 0
	for _, at := range found {
		from, to := at[0], at[1]
		switch behavior {
		case "Isolated":
			add(text[done:from])
			add(text[from:to])
		case "Removed":
			add(text[done:from])
		case "MergedWithPrevious":
			add(text[done:to])
		default: // MergedWithNext
			add(text[done:from])
			to = from
		}
		done = to
	}
	add(text[done:])
	return pieces
}

// metaspace writes spaces as a visible character, and cuts before each where it is told to.
func metaspace(s step) (splitter, error) {
	if s.Replacement == "" {
		s.Replacement = "▁"
	}
	if s.PrependScheme == "" {
		s.PrependScheme = map[bool]string{true: "always", false: "never"}[s.AddPrefixSpace]
	}
	if !slices.Contains([]string{"always", "first", "never"}, s.PrependScheme) {
		return nil, fmt.Errorf("pre_tokenizer Metaspace with prepend_scheme %q is not supported; declare tokenizer none", s.PrependScheme)
	}
	return func(text string, first bool) ([]string, error) {
		text = strings.ReplaceAll(text, " ", s.Replacement)
		wanted := s.PrependScheme == "always" || s.PrependScheme == "first" && first
		if wanted && text != "" && !strings.HasPrefix(text, s.Replacement) {
			text = s.Replacement + text
		}
		if s.Split != nil && !*s.Split {
			return []string{text}, nil
		}
		var found [][]int
		for at := 0; ; {
			i := strings.Index(text[at:], s.Replacement)
			if i < 0 {
				return cutAt(text, found, "MergedWithNext"), nil
			}
			found = append(found, []int{at + i, at + i + len(s.Replacement)})
			at += i + len(s.Replacement)
		}
	}, nil
}
