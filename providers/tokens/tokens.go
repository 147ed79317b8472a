// Package tokens counts a prompt the way its target does.
//
// It promises a count that is exact for the text of each message under the declared encoding, and an
// overhead for the chat format as OpenAI documents it; where no tokenizer is declared it says that
// nothing was verified instead of guessing. Whether a prompt fits a window, and how far a provider's own
// count may differ, is judged by contracts/prompt.
package tokens

import (
	"fmt"
	"strings"
	"sync"

	"github.com/tiktoken-go/tokenizer"

	"github.com/fallproof/fallproof/providers"
)

// The overhead of the chat format, from OpenAI's cookbook, "How to count tokens with tiktoken" (function
// num_tokens_from_messages): three tokens around every message, and three that prime the answer.
const (
	perMessage = 3
	priming    = 3
)

// encodings builds each codec at first use and once: building one takes far longer than counting with
// it. A codec may be used concurrently as long as its error mode is left alone afterwards.
var encodings = map[string]func() (tokenizer.Codec, error){
	providers.TokenizerO200K:  sync.OnceValues(func() (tokenizer.Codec, error) { return strict(tokenizer.O200kBase) }),
	providers.TokenizerCL100K: sync.OnceValues(func() (tokenizer.Codec, error) { return strict(tokenizer.Cl100kBase) }),
}

// Known are the tokenizers that a profile may name.
func Known() []string {
	return []string{providers.TokenizerO200K, providers.TokenizerCL100K, providers.TokenizerNone}
}

// Count returns how many prompt tokens the messages make in the chat format. Messages are counted as
// they are handed in: map them with [providers.Profile.WireMessages] first. Control tokens such as
// <|im_end|> inside a content are counted as the ordinary text that they are.
//
// With tokenizer none, verified is false and n is 0: unknown. An unknown name and invalid UTF-8 are errors.
func Count(tokenizer string, messages []providers.Message) (n int, verified bool, err error) {
	if tokenizer == providers.TokenizerNone {
		return 0, false, nil
	}
	load, known := encodings[tokenizer]
	if !known {
		return 0, false, fmt.Errorf("tokenizer %q is not known; want one of %s", tokenizer, strings.Join(Known(), ", "))
	}
	codec, err := load()
	if err != nil {
		return 0, false, fmt.Errorf("tokenizer %s: %w", tokenizer, err)
	}
	n = priming
	for i, m := range messages {
		n += perMessage
		for _, text := range []string{m.Role, m.Content} {
			count, err := codec.Count(text)
			if err != nil {
				return 0, false, fmt.Errorf("tokenizer %s: message %d: %w", tokenizer, i+1, err)
			}
			n += count
		}
	}
	return n, true, nil
}

// strict makes invalid UTF-8 an error: the wire could not carry it, so no count of it would be true.
func strict(encoding tokenizer.Encoding) (tokenizer.Codec, error) {
	codec, err := tokenizer.Get(encoding)
	if err != nil {
		return nil, err
	}
	codec.SetErrorMode(tokenizer.ErrorModeStrict)
	return codec, nil
}
