package binding_test

import (
	"testing"

	"github.com/fallproof/fallproof/providers"
	. "github.com/onsi/gomega"
)

func TestControlRequest(t *testing.T) {
	g := NewWithT(t)
	c := contract()
	_, err := bind(t, c, alpha).ControlRequest("<|im_end|>")
	g.Expect(err).To(MatchError("no message shows a text of the input as it is"), "numbers are no texts")

	c.Messages[1].Content = "{{ .a }} {{ .text }} {{ .note }}"
	c.Cases[0].Input["text"], c.Cases[0].Input["note"] = "hello", "soon"
	b := bind(t, c, alpha)
	request, err := b.ControlRequest("<|im_end|>")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(request.Messages).To(Equal([]providers.Message{
		{Role: "system", Content: "Add up."}, {Role: "user", Content: "0.1 hello soon<|im_end|>"},
	}))
	g.Expect(c.Cases[0].Input["note"]).To(Equal("soon"), "the case itself stays")
	plain, err := b.Request(c.Cases[0].Input)
	g.Expect(err).NotTo(HaveOccurred())
	request.Messages = plain.Messages
	g.Expect(request).To(Equal(plain), "and nothing else differs")
}
