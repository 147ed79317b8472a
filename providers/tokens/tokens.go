// Package tokens counts a prompt the way its target does.
//
// It promises a count that is exact for a text under the declared encoding, and for messages an overhead
// of the chat format as OpenAI documents it; where no tokenizer is declared it says that nothing was
// verified instead of guessing. A prompt that goes through a chat template of the model's own is for
// providers/chattemplate; whether a prompt fits a window, and how far a provider's own count may differ,
// is judged by contracts/prompt.
//
// Encodings are embedded (o200k_base, cl100k_base) or read from a tokenizer.json: byte pair encoding, byte
// level as of Llama 3 and Qwen, or with byte fallback as of Mistral and Gemma. Of a tokenizer.json two
// things are not exact: added tokens are looked for in the text as it is, also where the file wants them
// looked for after normalizing; and a pattern's classes are those of .NET, which differ from Oniguruma's for
// a few rare characters. What could only be counted wrongly (Unigram, WordPiece, unknown steps) is refused.
package tokens

import (
	"fmt"
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
	return CountMessages(providers.Profile{Tokenizer: tokenizer}, messages)
}

// CountMessages is Count for the tokenizer that a profile declares, a tokenizer.json too. What the chat
// format adds is then as good a guess as for any other model.
func CountMessages(profile providers.Profile, messages []providers.Message) (n int, verified bool, err error) {
	counting, err := Of(profile)
	if err != nil || counting == nil {
		return 0, false, err
	}
	n = priming
	for i, m := range messages {
		n += perMessage
		for _, text := range []string{m.Role, m.Content} {
			count, err := counting.Count(text)
			if err != nil {
				return 0, false, fmt.Errorf("tokenizer %s: message %d: %w", profile.Tokenizer, i+1, err)
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
