package certify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/formatter"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/fallproof/fallproof/contracts/certification"
	kept "github.com/fallproof/fallproof/contracts/evidence"
	"github.com/fallproof/fallproof/service/store"
)

// ErrSecondRun says that Ginkgo runs its specs once in a process, and so does Run.
var ErrSecondRun = errors.New("certify: a run has taken place in this process already; start another process")

// IncompleteError says why a run wrote no record.
type IncompleteError struct{ Why string }

func (e *IncompleteError) Error() string {
	return "certify: the run is not complete and certifies nothing: " + e.Why
}

// Result is what a run concluded. Records are as the store has them; without a complete run there are
// none.
type Result struct {
	RunName                           string
	Records                           []certification.Record
	Certified, Rejected, Inconclusive int
	Lapsed                            int      // records that say certified and stand no longer
	Remarks                           []Remark // on the records that are not of now, or do not count
	Unfit                             []Unfit  // contracts by which nothing can be certified; the run did without them
	Incomplete                        string   // why nothing was written; "" = the run is complete
}

// ExitCode is 0 where all are certified, 1 where some are rejected, 2 where none is and a contract is unfit, 3 where
// none is rejected and some are inconclusive or stand no longer. A run that is not complete is inconclusive.
func (r Result) ExitCode() int {
	switch {
	case r.Incomplete != "":
		return 3
	case r.Rejected > 0:
		return 1
	case len(r.Unfit) > 0:
		return 2
	case r.Inconclusive > 0 || r.Lapsed > 0 || r.Certified == 0:
		return 3
	}
	return 0
}

// notRun is how many pairs the run did without.
func (r Result) notRun() (pairs int) {
	for _, unfit := range r.Unfit {
		pairs += len(unfit.Targets)
	}
	return pairs
}

// remark finds what is said of a record; the zero Remark where nothing is.
func (r Result) remark(recordID string) Remark {
	for _, each := range r.Remarks {
		if each.CertificationID == recordID {
			return each
		}
	}
	return Remark{Finished: FinishedNow}
}

// add counts a record for what it is worth now.
func (r *Result) add(record certification.Record, remark Remark) {
	r.Records = append(r.Records, record)
	if remark.matters() {
		r.Remarks = append(r.Remarks, remark)
	}
	switch {
	case len(remark.Reasons) > 0:
		r.Lapsed++
	case record.Verdict == certification.Certified:
		r.Certified++
	case record.Verdict == certification.Rejected:
		r.Rejected++
	default:
		r.Inconclusive++
	}
}

// judged is a pair with its judgement, before it is written.
type judged struct {
	evidence Evidence
	record   certification.Record
	packed   kept.Packed // what is kept beside the record; of a run that had its record already, nothing
}

var ran atomic.Bool

// Run certifies every pair: it collects all evidence, has Ginkgo judge it, spec by spec, and writes the
// records where Ginkgo's report shows a complete run. Pairs of a contract by which nothing can be certified are left
// out and reported, an *[UnfitError] where no other is left. An *[IncompleteError] where the run is not complete; any
// other error means that the run could not be brought to its end, and may be resumed under its name.
func Run(ctx context.Context, options Options) (Result, error) {
	options, result, err := options.prepared()
	if err != nil {
		var unfit *UnfitError
		if errors.As(err, &unfit) {
			result.Incomplete = "nothing is left to certify"
			err = errors.Join(err, writeFiles(ctx, options, result))
		}
		return result, err
	}
	suite, reporter, err := options.ginkgo()
	if err != nil {
		return result, err
	}
	if err := errors.Join(writable(options.JUnit), writable(options.JSON), writable(options.HTML), writable(options.Markdown), writableFolder(options.Record)); err != nil {
		return result, err
	}
	if !ran.CompareAndSwap(false, true) {
		return result, ErrSecondRun
	}
	all, err := gather(ctx, options, suite.DryRun)
	if err != nil {
		if result.Incomplete = err.Error(); ctx.Err() != nil {
			result.Incomplete = "it was interrupted"
		}
		return result, errors.Join(err, writeFiles(context.WithoutCancel(ctx), options, result))
	}
	report := runSpecs(options, all, suite, reporter)
	if why := whyIncomplete(report, all); why != "" {
		result.Incomplete = why
	} else if err := finish(ctx, options, all, &result); err != nil {
		return result, err
	}
	return result, conclude(ctx, options, result)
}

// prepared are the options as the run takes them, and the result as far as it is known.
func (o Options) prepared() (Options, Result, error) {
	o, err := o.withDefaults()
	if err != nil {
		return o, Result{}, err
	}
	result := Result{RunName: o.RunName}
	if err := checkPairs(o.Pairs); err != nil {
		return o, result, err
	}
	if o.Pairs, result.Unfit = o.fit(); len(o.Pairs) == 0 {
		return o, result, &UnfitError{result.Unfit}
	}
	return o, result, nil
}

// gather collects and judges every pair. A dry run calls nobody.
func gather(ctx context.Context, options Options, dry bool) ([]judged, error) {
	all := make([]judged, len(options.Pairs))
	if dry {
		for i, pair := range options.Pairs {
			all[i].evidence.Pair, all[i].evidence.Options = pair, options
			all[i].record = all[i].evidence.heading()
		}
		return all, nil
	}
	warnOutOfReach(options)
	err := collectAll(ctx, options.Pairs, options, newProgress(options), func(i int, evidence Evidence) (err error) {
		all[i], err = judgePair(ctx, evidence)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, recordAll(ctx, options, all)
}

func judgePair(ctx context.Context, evidence Evidence) (judged, error) {
	record, err := Judge(evidence)
	if err != nil || evidence.Record != nil {
		return judged{evidence: evidence, record: record}, err
	}
	record = kept.ScrubRecord(record)
	packed, err := evidence.artifact(ctx, record)
	return judged{evidence, record, packed}, err
}

// finish writes the records. Of two runners of one run the first writes, and both have its record.
func finish(ctx context.Context, options Options, all []judged, result *Result) error {
	records, finished, keys := make([]certification.Record, len(all)), make([]Finished, len(all)), make([]certification.Key, len(all))
	for i, j := range all {
		var err error
		if records[i], finished[i], err = j.finish(ctx, options.Store); err != nil {
			return fmt.Errorf("certify %s: %w", j.evidence.Pair, err)
		}
		keys[i] = j.evidence.Pair.key()
	}
	standings, err := options.Store.Standings(ctx, keys)
	if err != nil {
		return fmt.Errorf("certify: what the records are worth: %w", err)
	}
	for i, record := range records {
		remark, err := remarkOf(ctx, options, standings[i], record, finished[i])
		if err != nil {
			return fmt.Errorf("certify %s: %w", all[i].evidence.Pair, err)
		}
		result.add(record, remark)
	}
	return nil
}

// finish writes the record, unless the run has one.
func (j judged) finish(ctx context.Context, s store.Certifications) (certification.Record, Finished, error) {
	switch {
	case j.evidence.Record != nil && j.evidence.idle:
		return j.record, FinishedBefore, nil
	case j.evidence.Record != nil:
		return j.record, FinishedMeanwhile, nil
	}
	stored, won, err := s.FinishRunWithEvidence(ctx, j.evidence.Run.ID, j.record, j.packed, j.evidence.Pair.Contract.ValidFor)
	if won {
		return stored, FinishedNow, err
	}
	return stored, FinishedMeanwhile, err
}

// conclude leaves the files and the summary.
func conclude(ctx context.Context, options Options, result Result) error {
	err := errors.Join(
		writeFiles(ctx, options, result),
		writeSummary(options, result),
	)
	if result.Incomplete != "" {
		err = errors.Join(&IncompleteError{result.Incomplete}, err)
	}
	return err
}

func checkPairs(pairs []Pair) error {
	if len(pairs) == 0 {
		return errors.New("certify: nothing to certify: no contract is paired with a target")
	}
	seen := map[string]bool{}
	for _, p := range pairs {
		switch {
		case p.Contract == nil || p.Client == nil || p.Timeout <= 0:
			return fmt.Errorf("certify: pair at %s lacks a contract, a client or a deadline", p.Target)
		case seen[p.String()]:
			return fmt.Errorf("certify: %s is to be certified twice in one run", p)
		}
		seen[p.String()] = true
	}
	return nil
}

// ginkgo is the configuration of Ginkgo for this run: its flags where there are some, and never an
// empty suite.
func (o Options) ginkgo() (types.SuiteConfig, types.ReporterConfig, error) {
	suite, reporter := ginkgo.GinkgoConfiguration()
	suite.FailOnEmpty = true
	reporter.NoColor = reporter.NoColor || !o.Terminal
	if suite.ParallelTotal > 1 {
		return suite, reporter, errors.New("certify: the suite runs in one process; run it without -p, it calls concurrently by itself")
	}
	return suite, reporter, nil
}

// runSpecs builds the tree and has Ginkgo run it. Ginkgo's own report goes to Out where somebody asked
// for it or runs this under go test; else the summary says the same, shorter.
func runSpecs(options Options, all []judged, suite types.SuiteConfig, reporter types.ReporterConfig) types.Report {
	before := formatter.ColorableStdOut
	defer func() { formatter.ColorableStdOut = before }()
	formatter.ColorableStdOut = io.Discard
	if options.Verbose || options.T != nil {
		formatter.ColorableStdOut = options.Out
	}
	var t ginkgo.GinkgoTestingT = &tellNobody{}
	if options.T != nil {
		t = options.T
	}
	var report types.Report
	buildTree(all, func(r types.Report) { report = r })
	ginkgo.RunSpecs(t, "certification", suite, reporter)
	return report
}

// tellNobody stands in for *testing.T within the binary, where the Result tells what failed.
type tellNobody struct{}

func (*tellNobody) Fail() {}
