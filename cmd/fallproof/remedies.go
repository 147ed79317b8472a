package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/suites/certify"
)

// remedy is a reason in words, and what takes it away, in the order in which people do it. Each of its lines
// is a command that can be typed as it stands, or says what to change and where.
type remedy struct {
	Reason  certification.Reason `json:"reason"`
	Meaning string               `json:"meaning"`
	First   string               `json:"first,omitzero"` // what has to be done before the fix can help
	Fix     string               `json:"fix"`
	Then    string               `json:"then,omitzero"` // what has to follow
	Or      string               `json:"or,omitzero"`   // what would do as well
	See     string               `json:"see,omitzero"`  // a command that shows more
}

// meanings says in words what each reason means.
var meanings = map[certification.Reason]string{
	certification.NoCertification:   "it was never certified for this contract",
	certification.ReasonRejected:    "the newest certification that counts rejected it",
	certification.ReasonInconcl:     "no run of it could be judged",
	certification.Expired:           "its certification has expired",
	certification.Revoked:           "its certification was revoked",
	certification.ContractChanged:   "the contract has changed since it was certified",
	certification.ProfileChanged:    "its profile has changed since it was certified",
	certification.SourceNotAccepted: "its certification is of a source that server.accept_sources does not list",
	certification.Suspended:         "its proof is suspended",
	certification.NotInRoute:        "the contract's route does not name it",
	certification.ContextTooSmall:   "its context window is too small",
	certification.CircuitOpen:       "a replica leaves it alone for a while, after too many failures in a row",
}

// patient is what remedies depend on: a target that may not stand in under a contract.
type patient struct {
	contract string
	target   providers.Target
	role     string
	record   *certification.Record // that its proof rests on; nil where there is none
	unjudged *certification.Record // the newest run that could not be judged, where no other could; nil where it is not known
	declared providers.Source      // of the provider, in the configuration
	accepted []providers.Source
	routed   bool                   // the contract has a route
	samples  int                    // a case, that a certification takes where those of the contract prove too little; 0 = they do
	changed  []certification.Change // since the pair was last certified
	ended    []certification.Event  // how that proof had ended before: suspended, revoked
	asked    bool                   // its re-certification is requested
	unfit    string                 // why nothing can be certified by the contract as it is; "" where something can
	doomed   string                 // why it can only be rejected as contract and profile are; "" where that is open
	file     string                 // of the configuration, as it was named with --config; "" = not named
}

// remedyFor is what takes a reason away. It is the one place that says so.
func remedyFor(reason certification.Reason, of patient) remedy {
	r := remedy{Reason: reason, Meaning: meanings[reason], Fix: of.certify(), See: of.show()}
	switch reason {
	case certification.ReasonRejected: // certified as it is, it would be rejected again
		if failed := of.failed(); failed != "" {
			r.Fix, r.Then = "mend what failed, in the contract, in the target's profile or at the target: "+failed, of.certify()
		}
	case certification.ContractChanged, certification.ProfileChanged:
		r.Meaning += changedSince(of.changed, map[certification.Reason]string{
			certification.ContractChanged: "contract: ", certification.ProfileChanged: "profile: ",
		}[reason]) + endedBefore(of.ended)
		if suspended := func(e certification.Event) bool { return e.Type == certification.EventSuspended }; slices.ContainsFunc(of.ended, suspended) {
			r.Or = of.requested()
		}
		r.See = cmp.Or(r.See, of.command("certifications list "+of.pair())) // no record is this proof's
	case certification.Suspended, certification.Expired: // of both a new certification is requested
		r.Or = of.requested()
	case certification.ReasonInconcl:
		of.judgeable(&r)
	case certification.SourceNotAccepted:
		of.otherSource(&r)
	case certification.NotInRoute:
		r.Fix, r.See = of.configure("add %s to routes.%s.fallbacks", of.target, of.contract), ""
		if !of.routed {
			r.Fix = of.configure("add under routes %s: {primary: PROVIDER/MODEL, fallbacks: [%s]}", of.contract, of.target)
		}
	case certification.ContextTooSmall:
		r.Fix, r.See = of.configure("correct context_window of %s, or name another target in routes.%s.fallbacks", of.target, of.contract), ""
	case certification.CircuitOpen:
		r.Fix, r.See = fmt.Sprintf("wait: it is tried again after providers.%s.circuit.cool_down", of.target.Provider), ""
	}
	if r.Fix == of.certify() || r.Then == of.certify() {
		of.prepare(&r)
	}
	return r
}

// prepare says what has to be done before a certification can help.
func (of patient) prepare(r *remedy) {
	switch {
	case of.unfit != "":
		r.First, r.Or = fmt.Sprintf("mend the contract %s, by which nothing can be certified as it is: %s", of.contract, of.unfit), ""
	case of.doomed != "":
		r.First, r.Or = fmt.Sprintf("mend the profile of %s, or the contract %s, which can only be rejected together: %s", of.target, of.contract, of.doomed), ""
	case of.outranks():
		r.First, r.Or = of.live()+": its proof is live, which only a live record displaces", ""
	case r.Reason == certification.SourceNotAccepted || of.accepts(of.declared):
	case of.declared == providers.SourceSimulated && of.accepts(providers.SourceReplay) && r.Fix == of.certify():
		r.Fix, r.Then = of.recorded()
		r.Or = ""
	case of.declared == providers.SourceSimulated:
		r.First, r.Or = of.live()+"; or "+of.acceptSources(of.declared)+", where such proofs are enough", ""
	default:
		r.First, r.Or = of.accept(of.declared), ""
	}
}

// recorded is how a proof of recorded answers comes about.
func (of patient) recorded() (fix, then string) {
	certify := "certify " + of.pair() + of.sampled()
	return of.command(certify + " --record cassettes"), of.command(certify + " --replay cassettes")
}

// accept is a setting by which proofs of one more source open a fallback.
func (of patient) accept(more providers.Source) string {
	return of.configure("%s", of.acceptSources(more))
}

func (of patient) acceptSources(more providers.Source) string {
	return fmt.Sprintf("server.accept_sources: [%s]", strings.Join(words(append(slices.Clone(of.accepted), more)), ", "))
}

// changedSince names what changed of a contract or of a profile, behind a colon, the first of it with what it was.
func changedSince(all []certification.Change, of string) string {
	const shown = 3
	var said []string
	more := 0
	for _, change := range all {
		name, ours := strings.CutPrefix(change.Name, of)
		switch {
		case !ours:
		case len(said) < shown:
			said = append(said, fmt.Sprintf("%s %s → %s", name, shortened(change.Before), shortened(change.After)))
		default:
			more++
		}
	}
	if said == nil {
		return ""
	}
	if more > 0 {
		said = append(said, fmt.Sprintf("and %d more", more))
	}
	return ": " + strings.Join(said, "; ")
}

// endedBefore says how the proof ended that there was before a change.
func endedBefore(events []certification.Event) (said string) {
	for _, event := range events {
		said += fmt.Sprintf("; it was %s before, which the change does not mend: %s", event.Type, happened(event))
	}
	return said
}

// requested is the command that certifies whatever is asked for; "" where the pair is not asked for, or outside the routes,
// of which it takes none.
func (of patient) requested() string {
	if !of.asked || of.role == failover.RoleOther {
		return ""
	}
	return of.command("certify --requested" + of.sampled())
}

// otherSource says how a proof comes about whose source is accepted. What answered decides that: this machine,
// a simulator, or a cassette.
func (of patient) otherSource(r *remedy) {
	enough := ", where such proofs are enough"
	elsewhere := of.live()
	switch {
	case of.record == nil:
		return
	case of.record.Source == providers.SourceLive:
		r.Fix = of.accept(providers.SourceLive)
		return
	case of.record.Source == providers.SourceReplay: // whatever was recorded: a replay never becomes live, and a run without one may be
		if of.declared == providers.SourceSimulated && !of.accepts(providers.SourceSimulated) {
			r.Fix, r.Then = elsewhere, of.certify()
		}
		if certify.RecordedSimulated(*of.record) {
			enough = ", where even a recording of no live provider is enough"
		}
	case of.accepts(providers.SourceReplay) && of.declared == providers.SourceSimulated: // what is recorded of the target will do
		r.Fix, r.Then = of.recorded()
	case certify.AnsweredByThisMachine(*of.record):
		r.Fix, r.Then = of.configure("live_on_loopback: true under providers.%s, where a real model listens on this machine", of.target.Provider), of.certify()
	case of.record.Source == providers.SourceSimulated:
		r.Fix, r.Then = elsewhere, of.certify()
	}
	r.Or = of.accept(of.record.Source) + enough
}

// live says what makes the next certification one of a live provider.
func (of patient) live() string {
	return of.configure("a base_url that leads to a live provider, and source: live, under providers.%s", of.target.Provider)
}

// outranks reports whether a certification by the configuration as it is would leave the proof as it is.
func (of patient) outranks() bool {
	return of.record != nil && certification.Proof{Source: of.record.Source}.Outranks(of.declared)
}

// judgeable says what kept a run from being judged, and what would let the next one be.
func (of patient) judgeable(r *remedy) {
	if of.unjudged == nil {
		r.See = of.command("certifications list " + of.pair())
		return
	}
	r.See = of.command("certifications show " + of.unjudged.ID)
	r.Meaning += unjudged(*of.unjudged)
	r.Fix, r.Then, r.Or = of.again(*of.unjudged)
}

// failed is what the record rejects the target for.
func (of patient) failed() string {
	if of.record == nil {
		return ""
	}
	var list []string
	for _, d := range of.record.Dimensions {
		if d.Status != certification.StatusFailed {
			continue
		}
		figure := seenOf(d)
		if why, ok := d.Why(); ok {
			figure += " (" + inWords(why) + ")"
		}
		if borne := d.Borne(); borne != "" {
			figure += ", " + borne
		}
		list = append(list, figure)
	}
	return strings.Join(list, "; ")
}

// inWords is a finding's reason, and its detail where it has one.
func inWords(f certification.Finding) string {
	if f.Detail == "" {
		return f.Reason
	}
	return f.Reason + ", " + f.Detail
}

// seenOf is a dimension's count in words.
func seenOf(d certification.Dimension) string {
	return fmt.Sprintf("%s, %d of %d", strings.ReplaceAll(d.Name, "_", " "), d.Successes, d.Samples)
}

func words(sources []providers.Source) []string {
	var all []string
	for _, source := range sources {
		all = append(all, string(source))
	}
	return all
}

// certify is the command that certifies the target.
func (of patient) certify() string { return of.command("certify " + of.pair() + of.sampled()) }

func (of patient) sampled() string {
	if of.samples == 0 {
		return ""
	}
	return fmt.Sprintf(" --samples %d", of.samples)
}

func (of patient) accepts(source providers.Source) bool { return slices.Contains(of.accepted, source) }

func (of patient) show() string {
	if of.record == nil {
		return ""
	}
	return of.command("certifications show " + of.record.ID)
}

func (of patient) pair() string {
	return "--contract " + typed(of.contract) + " --target " + typed(of.target.String())
}

func (of patient) command(rest string) string { return commandWith(of.file, rest) }

// commandWith is a line to type, with the configuration file that this one was asked with; "" = none was named.
func commandWith(file, rest string) string {
	line := "fallproof " + rest
	if file != "" {
		line += " --config " + typed(file)
	}
	return line
}

// command is a line to type after this one.
func (p *program) command(rest string) string { return commandWith(p.configPath, rest) }

func (of patient) configure(format string, args ...any) string {
	return "in " + cmp.Or(of.file, config.DefaultPath) + ": " + fmt.Sprintf(format, args...)
}

// typed is an argument as a shell takes it for one word.
func typed(arg string) string {
	special := func(r rune) bool {
		return !strings.ContainsRune("/._:@%+=,-", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}
	if arg != "" && !strings.ContainsFunc(arg, special) {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// fixes are what all remedies ask for, each once, and the configuration before what is typed: a certification
// that came first would be of a profile, or a source, that is about to change.
func fixes(remedies []remedy) []string {
	changes, commands := []string{}, []string{}
	for _, r := range remedies {
		for _, fix := range []string{r.First, r.Fix, r.Then} {
			into := &changes
			if strings.HasPrefix(fix, "fallproof ") {
				into = &commands
			}
			if fix != "" && !slices.Contains(*into, fix) {
				*into = append(*into, fix)
			}
		}
	}
	return append(changes, commands...)
}

// lines are a remedy for people, each with what it is for.
func (r remedy) lines() string {
	var text strings.Builder
	for _, line := range [][2]string{{"first:", r.First}, {"fix:", r.Fix}, {"then:", r.Then}, {"or:", r.Or}, {"see:", r.See}} {
		if line[1] != "" {
			fmt.Fprintf(&text, "    %-5s %s\n", line[0], visible(line[1]))
		}
	}
	return text.String()
}
