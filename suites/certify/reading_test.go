package certify

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
)

// An answer that came, and later than the service waits before it calls the attempt unknown, is none that opens a
// fallback; where none was to be waited for, the time is no matter.
func TestAnAnswerAfterTheSoftDeadlineIsTrouble(t *testing.T) {
	g, at := NewWithT(t), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	sample := Sample{DeadlineMS: 1000, Seen: seen("id", providers.Exchange{
		Status: 200, Complete: true, Wrote: true, Started: at, Finished: at.Add(time.Second + time.Millisecond),
		Body: []byte(`{"model":"m","choices":[{"message":{"content":"{}"},"finish_reason":"stop"}]}`),
	})}
	read := sample.reading(Pair{})
	g.Expect(read.trouble && read.retryable).To(BeTrue())
	g.Expect(read.outcome.Reason).To(Equal(providers.ReasonTimeout))
	lost := sample.lost(Pair{}, read)
	g.Expect(lost).To(HaveLen(1))
	g.Expect(lost[0].Late).To(BeTrue())

	sample.Seen.Finished = at.Add(time.Second)
	g.Expect(sample.reading(Pair{}).answered()).To(BeTrue(), "just in time")
	sample.DeadlineMS, sample.Seen.Finished = 0, at.Add(time.Hour)
	g.Expect(sample.reading(Pair{}).answered()).To(BeTrue(), "no deadline")
}

// What the service takes is taken here, however long it is; of what it does not read on, the beginning is kept.
func TestLargeAnswersAreReadAsTheServiceReadsThem(t *testing.T) {
	g := NewWithT(t)
	body := `{"model":"m","choices":[{"message":{"content":"` + strings.Repeat("x", 3<<20) + `"},"finish_reason":"stop"}]}`
	ex := providers.Exchange{Status: 200, Complete: true, Wrote: true, Body: []byte(body)}
	read := Sample{Seen: seen("id", ex)}.reading(Pair{})
	g.Expect(read.answered()).To(BeTrue())
	g.Expect(read.outcome.Content).To(HaveLen(3 << 20))
	ex.TooLarge = true
	kept := Sample{Seen: seen("id", ex)}
	g.Expect(kept.Seen.Answer).To(HaveLen(keptOfTooLarge))
	g.Expect(kept.reading(Pair{}).outcome.Reason).To(Equal(providers.ReasonMalformed))
	g.Expect(kept.reading(Pair{}).trouble).To(BeFalse())
}
