package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/suites/certify"
)

// unjudged is what kept a run from being judged, behind a colon, and what was wrong in it all the same.
func unjudged(record certification.Record) string {
	why, ok := record.WhyInconclusive()
	if !ok {
		return ""
	}
	said := ": " + inWords(why)
	if lost, ok := caseLost(record); ok && why.Reason != lost.Reason {
		said += fmt.Sprintf("; of case %q no sample was answered", lost.Case)
	}
	var wrong []string
	for _, d := range record.Dimensions {
		if d.Successes < d.Samples {
			wrong = append(wrong, seenOf(d))
		}
	}
	if wrong != nil {
		said += "; not everything was good that was seen: " + strings.Join(wrong, "; ")
	}
	return said
}

// caseLost is a case, the first where there are several, of which nothing was seen.
func caseLost(record certification.Record) (certification.Finding, bool) {
	for _, d := range record.Dimensions {
		for _, f := range d.Findings {
			if f.Reason == certification.FindingCaseUnanswered {
				return f, true
			}
		}
	}
	return certification.Finding{}, false
}

// again is how another run may come to be judged. What would only happen again is mended first.
func (of patient) again(record certification.Record) (fix, then, or string) {
	why, _ := record.WhyInconclusive()
	fix = of.certify()
	if mend, ok := mends[cmp.Or(why.Cause, why.Reason)]; ok {
		fix, then = mend(of), of.certify()
	}
	if why.Reason == certify.ReasonServerLost {
		or = of.configure("take native out of the profile of %s: then its server is asked nothing", of.target)
	}
	return fix, then, or
}

// mends are what to do about the causes for which calls are lost, where another run alone might lose them again.
var mends = map[string]func(of patient) string{
	string(providers.ReasonUnauthorized): func(of patient) string {
		return fmt.Sprintf("mend the key that providers.%s is called with, or its account there", of.target.Provider)
	},
	string(providers.ReasonRateLimited): func(of patient) string {
		return of.configure("a lower concurrency under providers.%s, or wait; and where the account's quota is used up, have it raised", of.target.Provider)
	},
	certify.ReasonNotFresh: func(of patient) string {
		return of.configure("a base_url under providers.%s without a cache in front, or turn that off: only fresh answers are evidence", of.target.Provider)
	},
	string(providers.ReasonTimeout): func(of patient) string {
		return of.configure("a longer timeout under providers.%s, where its answers take so long", of.target.Provider)
	},
	string(providers.ReasonRedirect): func(of patient) string {
		return of.configure("a base_url under providers.%s that answers by itself: a redirect is never followed", of.target.Provider)
	},
	string(providers.ReasonRejected):  elsewhere,
	string(providers.ReasonMalformed): elsewhere,
	string(providers.ReasonNotSent): func(of patient) string {
		return of.configure("a base_url under providers.%s that can be reached from here", of.target.Provider)
	},
	string(providers.ReasonRefused): func(of patient) string {
		return fmt.Sprintf("have the content filter of %s let the call through: refused again, it can be judged no more than now", of.target)
	},
	string(providers.ReasonTruncated): func(of patient) string {
		return fmt.Sprintf("a larger max_output_tokens in the contract %s: the answer was cut", of.contract)
	},
	certification.FindingSeveralModels: func(of patient) string {
		return fmt.Sprintf("name one model that stays, instead of %s, where its name stands for several; or take more samples, so that the one that answers most proves it alone", of.target)
	},
	certify.CauseUnclear: func(of patient) string {
		return fmt.Sprintf("take enforcement out of what %s requires, where it need not be shown: what %s answers does not show it", of.contract, of.target)
	},
	certify.CauseUncounted: func(of patient) string {
		return fmt.Sprintf("have %s report usage.prompt_tokens with every answer, or with none: some had it and some had not", of.target)
	},
}

// elsewhere is for answers that say nothing of the model, or of what it was sent.
func elsewhere(of patient) string {
	return of.configure("see what answered: the base_url under providers.%s may lead elsewhere, something in front of the model may have answered, or the account lacks a right",
		of.target.Provider)
}
