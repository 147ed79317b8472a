package certify

import (
	"net/http"
	"time"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
)

// reading is what a sample's exchange means for certification.
type reading struct {
	outcome   providers.Outcome
	trouble   bool // it says nothing about the target: throttled, down, silent or too slow
	retryable bool // whether another try could show something
}

// reading classifies the exchange by the service's own table. The content is not judged here: a fence or
// a note around the JSON is a finding about structure, not an answer that never came.
func (s Sample) reading(p Pair) reading {
	if s.Unrenderable != "" {
		return reading{outcome: providers.Outcome{
			Verdict: providers.Failed, Reason: providers.ReasonNotSent, Detail: s.Unrenderable,
		}}
	}
	read := s.Seen.reading(p, time.Duration(s.DeadlineMS)*time.Millisecond)
	if s.Case == noCase && isQuestion(s.Index) {
		return s.Seen.asQuestion(read)
	}
	return read
}

// lost are the calls of a sample that ended in trouble.
func (s Sample) lost(p Pair, last reading) []certification.Lost {
	var lost []certification.Lost
	deadline := time.Duration(s.DeadlineMS) * time.Millisecond
	for _, before := range s.Before {
		lost = append(lost, before.lost(before.reading(p, deadline), deadline))
	}
	if last.trouble {
		lost = append(lost, s.Seen.lost(last, deadline))
	}
	return lost
}

func (s Seen) lost(read reading, deadline time.Duration) certification.Lost {
	took := s.Finished.Sub(s.Started)
	return certification.Lost{
		Reason: string(read.outcome.Reason), Detail: read.outcome.Detail, Took: took, Down: s.Status == http.StatusServiceUnavailable,
		Late: read.outcome.Reason == providers.ReasonTimeout || deadline > 0 && took > deadline,
	}
}

func (s Seen) reading(p Pair, deadline time.Duration) reading {
	ex := s.answered()
	out := providers.Classify(ex, providers.Rules{ServerErrors: p.ServerErrors, Now: ex.Finished})
	if took := ex.Finished.Sub(ex.Started); deadline > 0 && took > deadline && out.Verdict == providers.Succeeded {
		// The service would have called it unknown by then, whatever came later.
		out.Verdict, out.Reason = providers.InDoubt, providers.ReasonTimeout
		out.Detail = "the answer came " + took.Round(time.Millisecond).String() + " after the request, the deadline is " + deadline.String()
	}
	doubt := out.Verdict == providers.InDoubt
	trouble := doubt || out.Verdict == providers.Failed && !providers.TargetAtFault(ex, out)
	return reading{outcome: out, trouble: trouble, retryable: doubt || out.Retryable}
}

// answered reports whether an answer with content arrived, cut short or not.
func (r reading) answered() bool {
	return r.outcome.Verdict == providers.Succeeded || r.outcome.Reason == providers.ReasonTruncated
}
