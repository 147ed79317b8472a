package certify

import (
	"strconv"
	"strings"
	"time"
)

// reasonNotFresh: the answer came out of a cache. It shows what the target said once, not what it says.
const reasonNotFresh = "not_fresh"

// sameAnswerAfter is how far apart two calls must be before equal answers, down to id and creation
// time, are taken for one answer served twice. Servers that give every answer one id and count time in
// seconds answer alike within a second.
const sameAnswerAfter = 2 * time.Second

// stale says why an answer is no live evidence, or "" where nothing speaks against it. earlier are the
// run's other samples.
func stale(s Sample, earlier []Sample) string {
	if why := cacheHeaders(s.Seen.Header); why != "" {
		return why
	}
	for _, other := range earlier {
		if other.Seen.AttemptID == s.Seen.AttemptID {
			return "the same call as for case " + strconv.Quote(other.Case) + ", sample " + strconv.Itoa(other.Index)
		}
		apart := s.Seen.Started.Sub(other.Seen.Finished).Abs()
		if apart >= sameAnswerAfter && identified(s.Seen.Answer) && s.Seen.Answer == other.Seen.Answer {
			return "the same answer, to its id and creation time, came " + apart.Round(time.Second).String() + " apart"
		}
	}
	return ""
}

// identified reports whether an answer carries what must differ between two answers.
func identified(answer string) bool {
	return strings.Contains(answer, `"id"`) && strings.Contains(answer, `"created"`)
}

func cacheHeaders(header map[string]string) string {
	if age, err := strconv.Atoi(header["Age"]); err == nil && age > 0 {
		return "header Age: " + header["Age"]
	}
	for _, name := range []string{"X-Cache", "Cf-Cache-Status", "X-Cache-Hit", "X-Litellm-Cache-Hit"} {
		value := strings.ToLower(header[name])
		if strings.HasPrefix(value, "hit") || value == "true" {
			return "header " + name + ": " + header[name]
		}
	}
	return ""
}
