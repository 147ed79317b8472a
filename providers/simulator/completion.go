package simulator

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/tokens"
)

const (
	finishStop   = "stop"
	finishLength = "length"
	finishFilter = "content_filter"
)

// completion is the body of a chat completion.
type completion struct {
	ID                string          `json:"id"`
	Object            string          `json:"object"`
	Created           int64           `json:"created"`
	Model             string          `json:"model"`
	Choices           []choice        `json:"choices"`
	Usage             providers.Usage `json:"usage"`
	ServiceTier       string          `json:"service_tier"`
	SystemFingerprint string          `json:"system_fingerprint"`
}

type choice struct {
	Index        int     `json:"index"`
	Message      message `json:"message"`
	Logprobs     *string `json:"logprobs"` // always null
	FinishReason string  `json:"finish_reason"`
}

type message struct {
	Role    string  `json:"role"`
	Content *string `json:"content"`
	Refusal *string `json:"refusal"`
}

// newCompletion is an answer without choices yet, to a prompt of so many tokens.
func newCompletion(request *chatRequest, prompt int, seed int64) completion {
	return completion{
		Object:  "chat.completion",
		Model:   request.Model,
		Choices: []choice{},
		Usage:   providers.Usage{PromptTokens: prompt, TotalTokens: prompt}, ServiceTier: "default",
		SystemFingerprint: fingerprint(request.Model, seed),
	}
}

// rename lets another model have served the request.
func (c *completion) rename(served string, seed int64) {
	if served == "" {
		served = c.Model + "-previous"
	}
	c.Model, c.SystemFingerprint = served, fingerprint(served, seed)
}

func (c *completion) add(m message, finish string) {
	c.Choices = append(c.Choices, choice{Index: len(c.Choices), Message: m, FinishReason: finish})
	if m.Content != nil {
		c.Usage.CompletionTokens += countText(*m.Content)
	}
	if m.Refusal != nil {
		c.Usage.CompletionTokens += countText(*m.Refusal)
	}
	c.Usage.TotalTokens = c.Usage.PromptTokens + c.Usage.CompletionTokens
}

// refuse makes the message a refusal and returns the reason for which it finished.
func (m *message) refuse(variant string) string {
	if variant == variantFiltered {
		empty := ""
		m.Content = &empty
		return finishFilter
	}
	words := "I'm sorry, but I can't help with that request."
	m.Refusal = &words
	return finishStop
}

func fingerprint(model string, seed int64) string {
	return "fp_" + digest(fmt.Sprintf("%d/%s", seed, model))[:10]
}

// serial names one request of one simulator.
func serial(seed, seq int64, model string) string { return fmt.Sprintf("%d/%d/%s", seed, seq, model) }

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// countMessages counts a prompt with the tokenizer that the targets of this simulator declare.
func countMessages(messages []providers.Message) int {
	n, _, err := tokens.Count(providers.TokenizerO200K, messages)
	if err != nil {
		// Unreachable: requests with invalid UTF-8 were refused, and the vocabulary is embedded.
		panic(err)
	}
	return n
}

// countText counts a text alone: what a message adds by being one is taken off again.
func countText(text string) int {
	return countMessages([]providers.Message{{Content: strings.ToValidUTF8(text, "�")}}) -
		countMessages([]providers.Message{{}})
}

// prefix cuts at a byte, or before it where that would split a character.
func prefix(text string, n int) string {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
