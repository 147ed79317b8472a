package chaos

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fallproof/fallproof/service/job"
)

// figure is one line of the table.
type figure struct {
	what   string
	figure any
}

// figures are what the run amounted to.
func (p *past) figures() []figure {
	doubled, posts, unseen, sends := 0, 0, 0, 0
	for _, s := range p.sent {
		if s.doubled {
			doubled++
		}
	}
	for _, each := range p.posts {
		posts += len(each)
	}
	outcomes := map[string]int{}
	for _, a := range p.attempts {
		sends += a.sends
		unseen += a.sends - len(p.posts[a.id])
		outcomes["attempts "+a.state]++
	}
	for _, j := range p.jobs {
		outcomes["jobs "+j.state]++
	}
	doubts, longest := p.doubts()
	table := []figure{
		{"jobs", len(p.jobs)}, {"of them clicked twice", doubled}, {"attempts", len(p.attempts)}, {"sends", sends},
		{"POSTs that arrived", posts}, {"sends that were cut on their way", unseen},
		{"attempts that waited while their proof was revoked, and were sent then", p.sentAfterRevocation()},
	}
	for _, what := range slices.Sorted(maps.Keys(outcomes)) {
		table = append(table, figure{what, outcomes[what]})
	}
	for _, what := range slices.Sorted(maps.Keys(doubts)) {
		table = append(table, figure{what, doubts[what]})
	}
	return append(table, figure{"longest doubt", longest.Round(time.Millisecond)})
}

// doubts counts how attempts fell into doubt and how it ended, and says how long it lasted at most.
func (p *past) doubts() (map[string]int, time.Duration) {
	counts, longest := map[string]int{}, time.Duration(0)
	for _, j := range p.jobs {
		since := map[int]time.Time{}
		for _, e := range j.events {
			if e.kind != job.HistoryAttemptMoved {
				continue
			}
			if e.detail.From == job.Unknown {
				how := fmt.Sprintf("doubts ended by: %s (%s)", e.detail.Event, e.detail.To)
				if p.home[e.detail.By] != "" && e.detail.Note != "" {
					how += ", by itself: " + e.detail.Note
				}
				counts[how]++
				longest = max(longest, e.at.Sub(since[e.attempt]))
			}
			if e.detail.To == job.Unknown {
				since[e.attempt] = e.at
				counts["doubts"]++
				counts["doubts because of "+e.detail.Reason]++
			}
		}
	}
	return counts, longest
}

// sentAfterRevocation counts attempts that were created on a proof that stood, had to wait, and had their turn
// when it stood no longer.
func (p *past) sentAfterRevocation() int {
	n := 0
	for _, a := range p.attempts {
		revoked := p.records[a.certification].revoked
		if sends := a.sendings(); revoked != nil && len(sends) > 0 && revoked.Before(sends[0].from) {
			n++
		}
	}
	return n
}
