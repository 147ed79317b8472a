package certify

import (
	"crypto/sha256"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fallproof/fallproof/providers/openai"
)

// reasonNotFresh: the answer came out of a cache. It shows what the target said once, not what it says.
const reasonNotFresh = "not_fresh"

// sameAnswerAfter is how far apart two calls must be before equal answers, down to id and creation
// time, are taken for one answer served twice. Servers that give every answer one id and count time in
// seconds answer alike within a second.
const sameAnswerAfter = 2 * time.Second

// freshness remembers a run's calls and answers, as hashes.
type freshness struct {
	calls   map[string]slot // by attempt id
	answers map[[sha256.Size]byte]span
}

// span is when equal answers arrived: the first and the last of them.
type span struct{ first, last time.Time }

func newFreshness() freshness {
	return freshness{calls: map[string]slot{}, answers: map[[sha256.Size]byte]span{}}
}

// stale says why an answer is no live evidence, or "" where nothing speaks against it, and remembers it.
func (f freshness) stale(s Sample) string {
	if s.Seen.AttemptID == "" {
		return ""
	}
	why := f.why(s)
	if _, known := f.calls[s.Seen.AttemptID]; !known {
		f.calls[s.Seen.AttemptID] = slot{s.Case, s.Index}
	}
	hash := sha256.Sum256([]byte(s.Seen.Answer))
	seen, known := f.answers[hash]
	if !known {
		seen = span{s.Seen.Finished, s.Seen.Finished}
	}
	if s.Seen.Finished.Before(seen.first) {
		seen.first = s.Seen.Finished
	}
	if s.Seen.Finished.After(seen.last) {
		seen.last = s.Seen.Finished
	}
	f.answers[hash] = seen
	return why
}

func (f freshness) why(s Sample) string {
	if why := cacheHeaders(s.Seen.Header); why != "" {
		return why
	}
	if id := bornOf(s.Seen.Answer); id != "" && id != s.Seen.AttemptID {
		return "the answer says of itself that it belongs to another call, " + id
	}
	if other, known := f.calls[s.Seen.AttemptID]; known {
		return "the same call as for case " + strconv.Quote(other.name) + ", sample " + strconv.Itoa(other.index)
	}
	seen, known := f.answers[sha256.Sum256([]byte(s.Seen.Answer))]
	if !known || !identified(s.Seen.Answer) {
		return ""
	}
	apart := max(s.Seen.Started.Sub(seen.first).Abs(), s.Seen.Started.Sub(seen.last).Abs())
	if apart >= sameAnswerAfter {
		return "the same answer, to its id and creation time, came " + apart.Round(time.Second).String() + " apart"
	}
	return ""
}

// identified reports whether an answer carries what must differ between two answers; a response calls
// its time created_at.
func identified(answer string) bool {
	return strings.Contains(answer, `"id"`) && (strings.Contains(answer, `"created"`) || strings.Contains(answer, `"created_at"`))
}

// bornOf is the call that an answer names as its own, "" where it names none: what is sent with metadata
// has them in its answer too.
func bornOf(answer string) string {
	var said struct {
		Metadata jsontext.Value `json:"metadata"`
	}
	var metadata map[string]string
	if json.Unmarshal([]byte(answer), &said) != nil || said.Metadata.Kind() != '{' || json.Unmarshal(said.Metadata, &metadata) != nil {
		return ""
	}
	return oneLine(metadata[openai.AttemptMetadata])
}

// cacheHeaders reads what caches say of themselves. A replay is one too: every call has a key of its own.
func cacheHeaders(header map[string]string) string {
	if age, err := strconv.Atoi(header["Age"]); err == nil && age > 0 {
		return "header Age: " + header["Age"]
	}
	for _, name := range []string{"X-Cache", "Cf-Cache-Status", "X-Cache-Hit", "X-Litellm-Cache-Hit", "Idempotent-Replayed"} {
		value := strings.ToLower(header[name])
		if strings.HasPrefix(value, "hit") || value == "true" {
			return "header " + name + ": " + header[name]
		}
	}
	return ""
}
