package providers_test

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
)

func TestValidateAPIKey(t *testing.T) {
	for _, key := range []string{"", "sk-proj_0/9+=~!", `"quoted"`, "x"} {
		gomega.NewWithT(t).Expect(providers.ValidateAPIKey(key)).To(gomega.Succeed(), key)
		gomega.NewWithT(t).Expect(providers.Visible(key)).To(gomega.BeTrue(), key)
	}
	for key, want := range map[string]string{
		"sk-hunter2\nhunter2":  "character 11 is a line break;",
		"sk-hunter2\rhunter2":  "character 11 is a line break;",
		"sk-hunter2\thunter2":  "character 11 is a tab;",
		"sk hunter2":           "character 3 is a space;",
		"“sk-hunter2”":         "character 1 is a typographic quotation mark;",
		"sk-hunter2’":          "character 11 is a typographic quotation mark;",
		"sk–hunter2":           "character 3 is a typographic dash;",
		"sk-hunt\u00e9r2":      "character 8 is a letter beyond ASCII;",
		"sk-hunter2\u00a0x":    "character 11 is a space beyond ASCII;",
		"sk-hunter2\u0085x":    "character 11 is a space beyond ASCII;",
		"sk-hunter2\x00x":      "character 11 is a control character;",
		"sk-hunter2\x7fx":      "character 11 is a control character;",
		"\ufeffsk-hunter2":     "character 1 is a character that is not seen,",
		"sk-hunter2\u200bx":    "character 11 is a character that is not seen,",
		"sk-hunter2\xffx":      "character 11 is a byte that is not UTF-8;",
		"sk-hunter2\U0001f511": "character 11 is a character beyond ASCII;",
		"sk-\ufffd-hunter2":    "character 4 is a character beyond ASCII;",
	} {
		g := gomega.NewWithT(t)
		err := providers.ValidateAPIKey(key)
		g.Expect(err).To(gomega.MatchError(gomega.HavePrefix(want)), "%q", key)
		g.Expect(strings.ToLower(err.Error())).NotTo(gomega.ContainSubstring("hunt"))
		g.Expect(providers.Visible(key)).To(gomega.BeFalse(), "%q", key)
	}
}
