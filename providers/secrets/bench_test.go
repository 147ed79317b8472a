package secrets_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fallproof/fallproof/providers/secrets"
)

// BenchmarkTextWithout is what nearly every body costs: a megabyte in which there is no secret.
func BenchmarkTextWithout(b *testing.B) {
	for name, piece := range map[string]string{
		"prose":   `{"content":"Nothing here has to be hidden, and R&D likes it so: 100% plain."}`,
		"JSON":    `{"content":"{\"owner\": \"Ada\", \"due\": \"2026-01-31\",\n \"note\": \"caf\u00e9 & bar\"}"}`,
		"percent": `{"url":"https://models.example/v1?q=a%20b%2Fc&limit=10&amp;page=2"}`,
	} {
		text := []byte(strings.Repeat(piece, 1<<20/len(piece)))
		for _, count := range []int{1, 8} {
			scrub := secrets.Scrubber{}.With(many(count)...)
			b.Run(fmt.Sprintf("%s, %d secrets", name, count), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					scrub.Bytes(text)
				}
			})
		}
	}
}

// BenchmarkTextWith is a megabyte that holds one.
func BenchmarkTextWith(b *testing.B) {
	keys := many(8)
	text := strings.Repeat("Nothing here has to be hidden. ", 1<<15) + keys[3]
	scrub := secrets.Scrubber{}.With(keys...)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		scrub.Text(text)
	}
}

func many(count int) []string {
	keys := make([]string, count)
	for i := range keys {
		keys[i] = fmt.Sprintf("sk-proj-%02dQw8rTy7uIoP5aSdF3gHj_Zx9CvBnM1kL-4eRt6yUw2iO%02d", i, i)
	}
	return keys
}
