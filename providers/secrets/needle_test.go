package secrets

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// What spares the patterns most texts never spares them one that they would have found something in: not in
// any spelling, and not next to text that looks like the beginning of an escape.
func TestNeedlesMissNothing(t *testing.T) {
	draw := rand.New(rand.NewPCG(2030, 12))
	pick := func(from string, n int) string {
		var text strings.Builder
		for range n {
			text.WriteByte(from[draw.IntN(len(from))])
		}
		return text.String()
	}
	found := 0
	for range 500 {
		secret := pick("abcdefghijABCDEFGHIJ0123456789-_/+=", 12+draw.IntN(30))
		if draw.IntN(10) == 0 {
			secret += pick(`%\"25u0`, 4)
		}
		scrub := NewScrubber(secret)
		form := forms(secret)[draw.IntN(len(forms(secret)))]
		var spelled strings.Builder
		for i := range len(form) {
			switch b := form[i]; draw.IntN(6) {
			case 0:
				fmt.Fprintf(&spelled, "%%%s%02x", strings.Repeat("25", draw.IntN(3)), b)
			case 1:
				fmt.Fprintf(&spelled, `%su00%02X`, strings.Repeat(`\`, 1+draw.IntN(3)), b)
			case 2:
				spelled.WriteString(strings.Repeat(`\`, draw.IntN(3)) + string(b))
			case 3:
				spelled.WriteString(strings.Repeat("%5C", draw.IntN(2)) + string(b))
			default:
				spelled.WriteByte(b)
			}
		}
		junk := `%\u025aF"{: x`
		text := pick(junk, draw.IntN(8)) + spelled.String() + pick(junk, draw.IntN(8))
		want := text
		for _, one := range scrub.forms {
			want = one.pattern.ReplaceAllLiteralString(want, Redacted)
		}
		if want != text {
			found++
		}
		if got := scrub.Text(text); got != want {
			t.Fatalf("of %q in %q is left %q, want %q", secret, text, got, want)
		}
	}
	if found < 490 {
		t.Errorf("only %d of 500 texts held a secret", found)
	}
}
