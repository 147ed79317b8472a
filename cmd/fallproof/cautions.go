package main

import (
	"context"
	"fmt"
	"time"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/store"
)

// Warnings that this verb has besides those of the service: they compare a record with the configuration and
// with what was tried since, and change no verdict.
const (
	warningDeadline     certification.Warning = "deadline_shortened"
	warningInconclusive certification.Warning = "newer_inconclusive"
	warningEdition      certification.Warning = "other_edition_ended"
)

// caution is a warning in words, with what to do about it.
type caution struct {
	Warning certification.Warning `json:"warning"`
	Meaning string                `json:"meaning"`
	Fix     string                `json:"fix,omitzero"`
	Then    string                `json:"then,omitzero"`
	Or      string                `json:"or,omitzero"`
	See     string                `json:"see,omitzero"`
}

func (c caution) lines() string {
	return remedy{Fix: c.Fix, Then: c.Then, Or: c.Or, See: c.See}.lines()
}

// warningMeanings says in words what each warning of the service means.
var warningMeanings = map[certification.Warning]string{
	certification.WarningExpiring:    "it expires soon",
	certification.WarningFingerprint: "it answers with another fingerprint than it was certified with, or names a model now and did not then",
}

// cautions are the service's warnings and this verb's own.
func (of patient) cautions(ctx context.Context, s store.Store, warnings []certification.Warning, timeout time.Duration) ([]caution, error) {
	list := []caution{}
	for _, warning := range warnings {
		list = append(list, caution{Warning: warning, Meaning: warningMeanings[warning], Fix: of.certify()})
	}
	if of.record == nil || of.record.Verdict != certification.Certified {
		return list, nil
	}
	if shortened, ok := of.shortened(timeout); ok {
		list = append(list, shortened)
	}
	for _, find := range []func(context.Context, store.Store) (caution, bool, error){of.inconclusive, of.otherEdition} {
		found, ok, err := find(ctx, s)
		if err != nil {
			return list, err
		}
		if ok {
			list = append(list, found)
		}
	}
	return list, nil
}

// otherEdition finds what came after the record of the same contract and target as they were at another time: a rejection,
// a suspension or a revocation, the last one first. A proof is of one edition, and whoever undoes an edit has the proof of
// before again; what was seen of the target meanwhile is not undone with it.
func (of patient) otherEdition(ctx context.Context, s store.Store) (found caution, ok bool, err error) {
	var last certification.Event
	seen := func(event certification.Event) {
		if event.At.After(of.record.IssuedAt) && event.At.After(last.At) {
			last = event
		}
	}
	err = eachRecord(ctx, s, of.contract, of.target, func(r store.StoredRecord) bool {
		if r.ProofDigest == of.record.ProofDigest {
			return true
		}
		if r.Verdict == certification.Rejected {
			seen(certification.Event{CertificationID: r.ID, Type: "rejected", At: r.IssuedAt})
		}
		for _, event := range r.Events {
			if event.Type == certification.EventSuspended || event.Type == certification.EventRevoked {
				seen(event)
			}
		}
		return true
	})
	if err != nil || last.At.IsZero() {
		return caution{}, false, err
	}
	return caution{
		Warning: warningEdition,
		Meaning: fmt.Sprintf("this proof is older than what came of the contract or the profile as they were between: certification %s was %s, %s", last.CertificationID, last.Type, happened(last)),
		Fix:     of.certify(),
		See:     of.command("certifications show " + last.CertificationID),
	}, true, nil
}

// shortened compares the soft deadline of today with the one that the answers of the record had to meet: it is
// no part of the profile, so that the proof stands whatever becomes of it.
func (of patient) shortened(timeout time.Duration) (caution, bool) {
	seen := of.record.Latency
	if seen == nil || timeout.Milliseconds() >= seen.DeadlineMS {
		return caution{}, false
	}
	slowest := fmt.Sprintf("its slowest answer took %s, p99 %s", inMS(seen.MaxMS), inMS(seen.P99MS))
	if seen.Late > 0 {
		slowest = fmt.Sprintf("%d of %d calls had no answer by then, p99 %s", seen.Late, seen.Samples, inMS(seen.P99MS))
	}
	end := "which all of them would have met"
	found := caution{Warning: warningDeadline}
	if seen.MaxMS > timeout.Milliseconds() {
		end = "and what comes later is doubt"
		found.Fix = of.certify()
		found.Or = of.configure("timeout: %s under providers.%s, as it was certified", inMS(seen.DeadlineMS), of.target.Provider)
	}
	found.Meaning = fmt.Sprintf("it was certified under a soft deadline of %s, and %s; providers.%s.timeout is %s now, %s",
		inMS(seen.DeadlineMS), slowest, of.target.Provider, timeout, end)
	return found, true
}

func inMS(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// inconclusive finds the newest run of the same proof that came after the record and could not be judged. A
// replay that could not says nothing of the target, and is news of a replay alone.
func (of patient) inconclusive(ctx context.Context, s store.Store) (found caution, ok bool, err error) {
	newer, count := store.StoredRecord{}, 0
	err = eachRecord(ctx, s, of.contract, of.target, func(r store.StoredRecord) bool {
		if r.ID == of.record.ID {
			return false
		}
		counts := r.Source != providers.SourceReplay || of.record.Source == providers.SourceReplay
		if r.Verdict == certification.Inconclusive && r.ProofDigest == of.record.ProofDigest && counts {
			if count++; count == 1 {
				newer = r
			}
		}
		return true
	})
	if err != nil || count == 0 {
		return caution{}, false, err
	}
	runs := "a newer run"
	if count > 1 {
		runs = fmt.Sprintf("the last of %d newer runs", count)
	}
	found = caution{
		Warning: warningInconclusive,
		Meaning: fmt.Sprintf("%s, certification %s of %s, was inconclusive, and what counts is still the one before%s", runs, newer.ID, stamp(newer.IssuedAt), unjudged(newer.Record)),
		See:     of.command("certifications show " + newer.ID),
	}
	found.Fix, found.Then, found.Or = of.again(newer.Record)
	return found, true, nil
}
