package contracts_test

import (
	"testing"
	"time"

	"github.com/fallproof/fallproof/contracts"
	. "github.com/onsi/gomega"
)

func TestParseDuration(t *testing.T) {
	const unlike, tooLong = "want a positive duration such as 30s or 10m", "too long; the longest duration is 2562047h, which is 292 years"
	for _, row := range []struct {
		written string
		want    time.Duration
		fault   string
	}{
		{written: "30s", want: 30 * time.Second},
		{written: "+1h30m.5s", want: 90*time.Minute + 500*time.Millisecond},
		{written: "2562047h", want: 2562047 * time.Hour},
		{written: "2562048h", fault: tooLong},
		{written: "99999999h", fault: tooLong},
		{written: "2562047h48m", fault: tooLong},
		{written: "9999999999999999999999s", fault: tooLong},
		{written: "99999999999999999999.5µs", fault: tooLong},
		{written: "-99999999h", fault: unlike},
		{written: "-1s", fault: unlike},
		{written: "0s", fault: unlike},
		{written: "0", fault: unlike},
		{written: "", fault: unlike},
		{written: "24", fault: unlike},
		{written: "30d", fault: unlike},
		{written: "99999999999d", fault: unlike},
		{written: "99999999h soon", fault: unlike},
	} {
		t.Run(row.written, func(t *testing.T) {
			g := NewWithT(t)
			got, err := contracts.ParseDuration(row.written, "30s or 10m")
			g.Expect(got).To(Equal(row.want))
			if row.fault == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(row.fault))
			}
		})
	}
}
