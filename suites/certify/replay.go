package certify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/cassettes"
	"github.com/fallproof/fallproof/service/store"
)

// Reasons why a replay says nothing about the target.
const (
	reasonNotRecorded = "not_recorded" // the cassette lacks what is asked for
	reasonChanged     = "recorded_differently"
)

// MixedError says that a run's answers are recorded ones and live ones are asked for, or the other way round.
type MixedError struct {
	Run      string
	Replayed bool // the run is a replay
}

func (e *MixedError) Error() string {
	if e.Replayed {
		return fmt.Sprintf("run %q is a replay of recorded answers, and certifies nothing live; use another --run name", e.Run)
	}
	return fmt.Sprintf("run %q holds answers that the provider gave; replay recorded ones under another --run name", e.Run)
}

// replays says whether nobody is called.
func (c *collector) replays() bool { return c.options.Replay != "" }

// CheckReplay says why nothing in a folder can be replayed, where that can be seen before it is read.
func CheckReplay(folder string) error {
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the folder of cassettes %s does not exist; certify --record %[1]s makes one", folder)
	case err != nil:
		return fmt.Errorf("folder of cassettes: %w", err)
	case !info.IsDir():
		return fmt.Errorf("%s is a file, and no folder of cassettes; certify --record DIR makes one", folder)
	}
	return nil
}

// load reads the pair's cassette. That there is none is no error: it is said of the pair alone.
func (c *collector) load() error {
	if !c.replays() {
		return nil
	}
	if err := CheckReplay(c.options.Replay); err != nil {
		return err
	}
	tape, err := cassettes.Load(c.options.Replay, c.pair.Contract.Name, c.pair.Target.String())
	if errors.Is(err, cassettes.ErrNoCassette) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w; repair it or record again", err)
	}
	c.tape, c.at = tape, c.address(c.plan()...)
	return nil
}

// unmixed refuses a sample that came the other way than this run's do. A mixture that comes about all the
// same, by two runners at once, is judged as a replay.
func (c *collector) unmixed(sample Sample) error {
	if replayed := sample.Replayed != ""; replayed != c.replays() {
		return &MixedError{Run: c.run.Name, Replayed: replayed}
	}
	return nil
}

// due are the calls that are to be made or played next; none where the evidence is all there can be, and
// then, of a replay, why it is not enough.
func (c *collector) due(missing []slot, follow *follower) ([]slot, []certification.Finding) {
	switch {
	case !c.replays() && follow.over():
		return nil, nil
	case !c.replays():
		return missing, nil
	case c.tape == nil && follow.decided: // as in the run, for which nobody was called
		return nil, nil
	case c.tape == nil:
		return nil, []certification.Finding{{Reason: reasonNotRecorded, Count: 1, Detail: fmt.Sprintf(
			"nothing was recorded of this contract at this target; there is no %s", cassettes.Path(c.options.Replay, c.pair.Contract.Name, c.pair.Target.String()))}}
	}
	return c.playable(missing, follow)
}

// playable are the missing calls that were recorded. All of them are played, also such as could not change
// the verdict any more: then the judgement is that of the recorded run, whatever order its answers came in.
func (c *collector) playable(missing []slot, follow *follower) ([]slot, []certification.Finding) {
	c.ready = samples{}
	var due, absent, changed []slot
	for _, where := range missing {
		sample, err := c.played(where)
		switch {
		case err == nil:
			c.ready[where] = sample
			due = append(due, where)
		case errors.Is(err, cassettes.ErrNotRecorded):
			absent = append(absent, where)
		default:
			changed = append(changed, where)
		}
	}
	switch {
	case len(changed) > 0:
		return nil, []certification.Finding{{
			Reason: reasonChanged, Count: len(changed), Case: changed[0].title(), Sample: changed[0].index,
			Detail: "another request would be sent now; the contract changed since it was recorded, or the target's profile (record again), or it holds a key that is not set here",
		}}
	case len(due) == 0 && len(absent) > 0 && !follow.spent() && follow.verdict() == certification.Inconclusive:
		return nil, []certification.Finding{{
			Reason: reasonNotRecorded, Count: len(absent), Case: absent[0].title(), Sample: absent[0].index,
			Detail: "the cassette lacks this call, and without it the verdict is open; record again",
		}}
	}
	return due, nil
}

// title is a call's name for people.
func (s slot) title() string {
	if s.isSample() {
		return s.name
	}
	if s.index >= controlCall {
		return asideTitle(s.index)
	}
	return map[int]string{canaryCall: "(canary)", probeCall: "(probe)", freeProbeCall: "(probe without schema)"}[s.index]
}

// played is a sample as it was recorded, provided that the very same requests would be made today: the
// recorded nonce and attempt ids are put in, so that nothing else may differ.
func (c *collector) played(where slot) (Sample, error) {
	call := cassettes.Call{Case: where.name, Sample: where.index}
	sample := Sample{
		Case: where.name, Index: where.index, DeadlineMS: c.pair.Timeout.Milliseconds(),
		Replayed: string(c.tape.Source()), Nonce: c.tape.Nonce(call),
	}
	if sample.Replayed == "" {
		sample.Replayed = "unknown"
	}
	request, err := c.request(where, &sample)
	if err != nil {
		sample.Unrenderable = err.Error()
		_, err = c.tape.Play(call, c.at, nil)
		return sample, err
	}
	for ; call.Try == 0 || c.tape.Has(call); call.Try++ {
		if call.Try > 0 {
			before := sample.Seen
			before.Request = ""
			sample.Before = append(sample.Before, before)
		}
		request.AttemptID = c.tape.AttemptID(call)
		address, body, unsendable := draft(c.pair.Profile, request)
		recorded, err := c.tape.Play(call, c.pair.Scrub.Text(address), c.pair.Scrub.Bytes(body))
		switch {
		case unsendable != nil && c.tape.Has(call):
			return sample, fmt.Errorf("%w: %w", cassettes.ErrChanged, unsendable)
		case err != nil:
			return sample, err
		case unsendable != nil:
			return sample, unsendable
		}
		sample.Seen = seen(request.AttemptID, recorded.Exchange)
		sample.DeadlineMS = recorded.Deadline.Milliseconds()
	}
	return sample, nil
}

// play stores what was recorded, as work does with what it hears.
func (c *collector) play(ctx context.Context, due []slot) (taken int, err error) {
	for batch := range slices.Chunk(due, pageSize) {
		claims := make([]store.SampleStep, len(batch))
		for i, where := range batch {
			claims[i] = store.SampleStep{RunID: c.run.ID, Place: where.stored(), By: c.by, Lease: c.lease()}
		}
		claimed, err := c.options.Store.StepSamples(ctx, claims)
		if err != nil {
			return taken, err
		}
		var finish []store.SampleStep
		for i, where := range batch {
			if !claimed[i] {
				continue
			}
			text, err := c.ready[where].encode()
			if err != nil {
				return taken, err
			}
			finish = append(finish, store.SampleStep{RunID: c.run.ID, Place: where.stored(), By: c.by, Evidence: text})
		}
		finished, err := c.options.Store.StepSamples(ctx, finish)
		if err != nil {
			return taken, err
		}
		for _, done := range finished {
			if done {
				taken++
				c.progress.sample(c.pair)
			}
		}
	}
	return taken, nil
}

// nobody is who is called in a replay.
type nobody struct{}

func (nobody) Send(context.Context, providers.Request) providers.Exchange {
	return providers.Exchange{Unbuildable: true, Err: errors.New("a replay calls nobody"), Header: map[string][]string{}}
}
