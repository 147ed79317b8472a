package certify

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/onsi/ginkgo/v2"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/secrets"
	"github.com/fallproof/fallproof/service/store"
)

// Pair is one contract to be certified at one target.
type Pair struct {
	Contract     *contracts.Contract
	Target       providers.Target
	Profile      providers.Profile
	Timeout      time.Duration // the soft deadline of the service; slower answers are provider trouble
	ServerErrors string        // what 500 and 503 mean there: doubt | failed
	Concurrency  int           // calls to this provider at the same time; the smallest of its pairs counts
	Client       providers.Provider

	Scrub          secrets.Scrubber // takes the keys of all providers, by their names, out of what is kept
	LiveOnLoopback bool             // answers of this machine, or of a simulator, count as live where the profile says so
}

func (p Pair) String() string { return p.Contract.Name + " at " + p.Target.String() }

// GCPercent suits a process that certifies and does little else: it holds a few megabytes and throws much away.
// BenchmarkCertifyAgainstTheIdeal needs a sixth less of a processor's time with it than with Go's default of 100.
const GCPercent = 400

// Options say what a run certifies and where it leaves its traces.
type Options struct {
	Pairs    []Pair
	Store    store.Certifications
	RunName  string // runs of one name share their samples and their record; "" = a fresh name
	Samples  int    // per case; 0 = as each contract says
	Complete bool   // take every sample, also when the verdict can no longer change

	Record string // folder in which a cassette of every pair is left; "" = none
	Replay string // folder of cassettes that answer in the providers' place, and nobody is called; "" = none

	AcceptSources []providers.Source // which proofs open a fallback at the service; nil = nobody knows

	Version string // of the harness, for the record
	RunBy   string // who runs it
	RunOn   string // on which machine

	Out      io.Writer // progress, Ginkgo's report and the summary; nil = nowhere
	Terminal bool      // Out is a terminal: a progress bar instead of lines, and isolates around foreign text
	JUnit    string    // file for build servers; "" = none
	JSON     string    // file for the records; "" = none
	HTML     string    // file for people; "" = none
	Markdown string    // file for a comment; "" = none
	Verbose  bool      // Ginkgo's own report goes to Out as well

	// Command is a verb and its arguments as a line to type here, for what errors advise; nil = without more.
	Command func(rest string) string

	FilterFailing bool // leaves what is certified out of all these files

	Retry Retry
	T     ginkgo.GinkgoTestingT // told of failing specs; nil = nobody but the Result
}

func (o Options) withDefaults() (Options, error) {
	if o.Store == nil {
		return o, fmt.Errorf("certify: no store")
	}
	if o.Record != "" && o.Replay != "" {
		return o, fmt.Errorf("certify: a replay cannot be recorded again")
	}
	if o.Samples < 0 || o.Samples > contracts.MostSamples {
		return o, fmt.Errorf("certify: %d samples; want 1 to %d, or 0 for what the contract says", o.Samples, contracts.MostSamples)
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.Command == nil {
		o.Command = func(rest string) string { return "fallproof " + rest }
	}
	if o.RunName == "" {
		fresh, err := uuid.NewV7()
		if err != nil {
			return o, err
		}
		o.RunName = fresh.String()
	}
	o.Retry.Extra = max(0, cmp.Or(o.Retry.Extra, 2))
	o.Retry.Base = cmp.Or(o.Retry.Base, 500*time.Millisecond)
	o.Retry.Max = cmp.Or(o.Retry.Max, 30*time.Second)
	o.Retry.Slack = cmp.Or(o.Retry.Slack, 15*time.Second)
	o.Retry.Poll = cmp.Or(o.Retry.Poll, time.Second)
	return o, nil
}

// key names what a pair is certified for.
func (p Pair) key() certification.Key {
	return certification.Key{
		Contract:        p.Contract.Name,
		Target:          p.Target,
		EffectiveDigest: p.Contract.EffectiveDigest(p.Target),
		ProfileDigest:   p.Profile.Digest(),
		ProofDigest:     p.Contract.ProofDigest(p.Target, p.Profile),
	}
}
