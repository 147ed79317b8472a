package certify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/cassettes"
	"github.com/fallproof/fallproof/providers/openai"
)

// recordAll leaves a cassette of every pair, made of the evidence and not of what went by: so it is whole
// also where the run was interrupted in between, shared with another runner, or finished long ago.
func recordAll(ctx context.Context, options Options, all []judged) error {
	if options.Record == "" {
		return nil
	}
	for _, j := range all {
		recorded, err := j.cassette(ctx, options)
		if err == nil && len(recorded.Interactions) == 0 { // its prompts are at fault, and a replay finds that, too
			fmt.Fprintf(options.Out, "nothing to record of %s: nobody was called\n", j.evidence.Pair)
			continue
		}
		if err == nil {
			err = cassettes.Save(options.Record, recorded, j.evidence.Pair.Scrub)
		}
		if err != nil {
			return fmt.Errorf("certify %s: record: %w", j.evidence.Pair, err)
		}
		fmt.Fprintf(options.Out, "recorded %s: %d calls in %s\n", j.evidence.Pair, len(recorded.Interactions),
			cassettes.Path(options.Record, recorded.Contract, recorded.Target))
	}
	return nil
}

func (j judged) cassette(ctx context.Context, options Options) (cassettes.Cassette, error) {
	pair := j.evidence.Pair
	recorded := cassettes.Cassette{Contract: pair.Contract.Name, Target: pair.Target.String(), Source: j.record.Source}
	c := &collector{pair: pair, binding: j.evidence.binding, options: options, run: j.evidence.Run}
	have := samples{}
	err := c.each(ctx, func(where slot, sample Sample) error {
		have[where] = sample
		return nil
	})
	if err != nil {
		return recorded, err
	}
	address := c.address(c.plan()...)
	for _, where := range c.plan() {
		sample, ok := have[where]
		if !ok {
			continue
		}
		there := address
		if !where.isSample() && isQuestion(where.index) {
			there = c.address(where) // beside the endpoint
		}
		recorded.Interactions = append(recorded.Interactions, interactions(there, sample)...)
	}
	return recorded, nil
}

// address is where the requests of calls go; where none can be made, the endpoint that they would have gone to.
func (c *collector) address(calls ...slot) string {
	for _, where := range calls {
		request, err := c.request(where, &Sample{})
		if err != nil {
			continue
		}
		request.AttemptID = "address" // some profiles demand one
		if address, _, err := draft(c.pair.Profile, request); err == nil {
			return address
		}
	}
	return c.pair.Profile.BaseURL
}

// draft is what a request looks like on the wire, without a key: that stands in no body and no URL.
func draft(profile providers.Profile, request providers.Request) (address string, body []byte, err error) {
	client := openai.New(openai.Config{BaseURL: profile.BaseURL})
	defer client.Close()
	return client.Draft(request)
}

// interactions are the tries of one sample. Those before the last keep no request of their own; it was the
// same but for the id of the attempt, where that stands in it.
func interactions(address string, sample Sample) []cassettes.Interaction {
	var tries []cassettes.Interaction
	for try, seen := range append(sample.Before[:len(sample.Before):len(sample.Before)], sample.Seen) {
		exchange := seen.exchange()
		exchange.Peer = seen.Peer
		if sample.Unrenderable != "" { // nothing was sent, and that is what is recorded
			exchange.Unbuildable, exchange.Err = true, errors.New(sample.Unrenderable)
		}
		if seen.Request == "" && sample.Unrenderable == "" {
			exchange.RequestBody = []byte(strings.ReplaceAll(sample.Seen.Request, sample.Seen.AttemptID, seen.AttemptID))
		}
		tries = append(tries, cassettes.Interaction{
			Call:      cassettes.Call{Case: sample.Case, Sample: sample.Index, Try: try},
			AttemptID: seen.AttemptID, Nonce: sample.Nonce, Deadline: time.Duration(sample.DeadlineMS) * time.Millisecond,
			URL: address, Exchange: exchange,
		})
	}
	return tries
}

// writableFolder finds out before anything is paid for whether cassettes can be written.
func writableFolder(path string) error {
	if path == "" {
		return nil
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("certify: folder of cassettes: %w", err)
	}
	probe, err := os.CreateTemp(path, ".recording-*")
	if err != nil {
		return fmt.Errorf("certify: folder of cassettes: %w", err)
	}
	if err := probe.Close(); err != nil {
		return err
	}
	return os.Remove(probe.Name())
}
