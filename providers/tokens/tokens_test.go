package tokens_test

import (
	"sync"
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/tokens"
)

func user(content string) []providers.Message {
	return []providers.Message{{Role: "user", Content: content}}
}

// overhead of one user message: 3 around it, 1 for its role, 3 that prime the answer.
const overhead = 7

// TestCountText compares with counts that OpenAI's cookbook prints for its own tiktoken.
func TestCountText(t *testing.T) {
	for _, c := range []struct {
		tokenizer, text string
		want            int
	}{
		{"cl100k_base", "tiktoken is great!", 6},
		{"o200k_base", "tiktoken is great!", 6},
		{"cl100k_base", "antidisestablishmentarianism", 6},
		{"o200k_base", "antidisestablishmentarianism", 6},
		{"cl100k_base", "2 + 2 = 4", 7},
		{"o200k_base", "2 + 2 = 4", 7},
		{"cl100k_base", "お誕生日おめでとう", 9},
		{"o200k_base", "お誕生日おめでとう", 8},
	} {
		t.Run(c.tokenizer+" "+c.text, func(t *testing.T) {
			g := gomega.NewWithT(t)
			n, verified, err := tokens.Count(c.tokenizer, user(c.text))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(verified).To(gomega.BeTrue())
			g.Expect(n).To(gomega.Equal(overhead + c.want))
		})
	}
}

// TestCountChat: every message costs its overhead, the priming is counted once.
func TestCountChat(t *testing.T) {
	g := gomega.NewWithT(t)
	count := func(m ...providers.Message) int {
		n, _, err := tokens.Count("o200k_base", m)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		return n
	}
	one, other := user("tiktoken is great!")[0], providers.Message{Role: "system", Content: "2 + 2 = 4"}
	g.Expect(count()).To(gomega.Equal(3))
	g.Expect(count(one, other)).To(gomega.Equal(count(one) + count(other) - 3))
}

// TestControlTokensAreText: what a person types never becomes a control token, hence never costs one.
func TestControlTokensAreText(t *testing.T) {
	for _, tokenizer := range []string{"o200k_base", "cl100k_base"} {
		for _, control := range []string{"<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|endofprompt|>", "<|fim_prefix|>"} {
			n, _, err := tokens.Count(tokenizer, user(control))
			g := gomega.NewWithT(t)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(n).To(gomega.BeNumerically(">=", overhead+3), "%s as one token of %s", control, tokenizer)
		}
	}
}

func TestCountWithoutTokenizer(t *testing.T) {
	g := gomega.NewWithT(t)
	n, verified, err := tokens.Count("none", user("x"))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(verified).To(gomega.BeFalse())
	g.Expect(n).To(gomega.BeZero())
}

func TestCountRefuses(t *testing.T) {
	g := gomega.NewWithT(t)
	_, verified, err := tokens.Count("p50k_base", user("x"))
	g.Expect(err).To(gomega.MatchError(`tokenizer "p50k_base" is not known; want one of o200k_base, cl100k_base, none`))
	g.Expect(verified).To(gomega.BeFalse())
	_, verified, err = tokens.Count("o200k_base", append(user("x"), user("a\xff")...))
	g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("message 2")))
	g.Expect(verified).To(gomega.BeFalse())
}

// TestCountConcurrently is for the race detector: all callers share one codec.
func TestCountConcurrently(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			n, _, err := tokens.Count("cl100k_base", user("tiktoken is great!"))
			if n != overhead+6 || err != nil {
				t.Errorf("counted %d: %v", n, err)
			}
		})
	}
	wg.Wait()
}

// TestKnownMatchesProfiles: a profile may name exactly what can be counted.
func TestKnownMatchesProfiles(t *testing.T) {
	g := gomega.NewWithT(t)
	for _, name := range tokens.Known() {
		p := providers.Profile{BaseURL: "http://x", Model: "m", Source: providers.SourceLive, Tokenizer: name}.WithDefaults()
		g.Expect(p.Validate()).To(gomega.Succeed())
		_, _, err := tokens.Count(name, user("x"))
		g.Expect(err).NotTo(gomega.HaveOccurred())
	}
}
