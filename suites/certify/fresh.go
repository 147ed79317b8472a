package certify

import (
	"hash/maphash"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/openai"
)

// ReasonNotFresh: the answer came out of a cache. It shows what the target said once, not what it says.
const ReasonNotFresh = "not_fresh"

// sameAnswerAfter is how far apart two calls must be before equal answers, down to id and creation
// time, are taken for one answer served twice. Servers that give every answer one id and count time in
// seconds answer alike within a second.
const sameAnswerAfter = 2 * time.Second

// randomID is how many letters and digits an answer's id has at least, its prefix apart, where it was drawn and
// not counted, or made of the time: no two answers have the same.
const randomID = 20

// freshness remembers a run's calls and answers, as hashes: some 60 bytes a sample.
type freshness struct {
	seed    maphash.Seed
	calls   map[uint64]int32    // the sample's place, by the attempt id
	answers map[uint64]span     // of those that carry what must differ between two
	ids     map[uint64]struct{} // those that were drawn
}

// span is when equal answers arrived: the first and the last of them, in nanoseconds.
type span struct{ first, last int64 }

func newFreshness() freshness {
	return freshness{seed: maphash.MakeSeed(), calls: map[uint64]int32{}, answers: map[uint64]span{}, ids: map[uint64]struct{}{}}
}

// stale says why an answer is no live evidence, or "" where nothing speaks against it, and remembers it.
func (f freshness) stale(g grid, s Sample) string {
	if s.Seen.AttemptID == "" {
		return ""
	}
	from := originOf(s.Seen.Answer)
	why := f.why(g, s, from)
	call := maphash.String(f.seed, s.Seen.AttemptID)
	if _, known := f.calls[call]; !known {
		place, _ := g.place(slot{s.Case, s.Index})
		f.calls[call] = int32(place) //nolint:gosec // a run has fewer samples
	}
	if from.id != "" {
		f.ids[maphash.String(f.seed, from.id)] = struct{}{}
	}
	if !identified(s.Seen.Answer) {
		return why
	}
	answer, at := maphash.String(f.seed, s.Seen.Answer), s.Seen.Finished.UnixNano()
	seen, known := f.answers[answer]
	if !known {
		seen = span{at, at}
	}
	f.answers[answer] = span{min(seen.first, at), max(seen.last, at)}
	return why
}

func (f freshness) why(g grid, s Sample, from origin) string {
	if cached := providers.FromCache(s.Seen.Header); cached != "" {
		return "header " + cached
	}
	if from.call != "" && from.call != s.Seen.AttemptID {
		return "the answer says of itself that it belongs to another call, " + from.call
	}
	if place, known := f.calls[maphash.String(f.seed, s.Seen.AttemptID)]; known {
		other := g.slot(int(place))
		return "the same call as for case " + strconv.Quote(other.name) + ", sample " + strconv.Itoa(other.index)
	}
	if from.id != "" && len(f.ids) > 1 { // a server with one id for all has no other
		if _, known := f.ids[maphash.String(f.seed, from.id)]; known {
			return "an answer with the same id came before, " + strconv.Quote(oneLine(from.id))
		}
	}
	seen, known := f.answers[maphash.String(f.seed, s.Seen.Answer)]
	if !known {
		return ""
	}
	began := s.Seen.Started
	apart := max(began.Sub(time.Unix(0, seen.first)).Abs(), began.Sub(time.Unix(0, seen.last)).Abs())
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

// origin is what an answer says of where it comes from.
type origin struct {
	id   string // that must differ from every other answer's; "" = it has none such
	call string // that it names as its own; "" = it names none
}

func originOf(answer string) origin {
	var said struct {
		ID       jsontext.Value `json:"id"`
		Metadata jsontext.Value `json:"metadata"`
	}
	if json.Unmarshal([]byte(answer), &said) != nil {
		return origin{}
	}
	return origin{id: drawnID(said.ID), call: callIn(said.Metadata)}
}

// drawnID is an answer's id, "" where it is none that was drawn.
func drawnID(value jsontext.Value) string {
	var id string
	if value.Kind() != '"' || json.Unmarshal(value, &id) != nil {
		return ""
	}
	drawn := id
	if prefix := strings.IndexAny(id, "-_"); prefix >= 0 {
		drawn = strings.ReplaceAll(id[prefix+1:], "-", "") // of a UUID
	}
	if len(drawn) < randomID {
		return ""
	}
	return id
}

// callIn is the call in an answer's metadata: what is sent with metadata has them in its answer too.
func callIn(value jsontext.Value) string {
	var metadata map[string]string
	if value.Kind() != '{' || json.Unmarshal(value, &metadata) != nil {
		return ""
	}
	return oneLine(metadata[openai.AttemptMetadata])
}
