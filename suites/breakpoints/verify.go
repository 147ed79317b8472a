package breakpoints

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/formatter"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"
)

// Options say what [Verify] looks at, and how it tells.
type Options struct {
	Deployment Deployment
	Only       string // regular expression; "" = every scenario

	Out      io.Writer // Ginkgo's report
	Terminal bool      // Out is a terminal: colours
	Verbose  bool      // names every scenario, not only those that fail
	JUnit    string    // file for Ginkgo's JUnit report; "" = none
}

// Result counts scenarios.
type Result struct{ Passed, Failed int }

// ErrSecondRun says that Ginkgo runs its specs once in a process, and so does Verify.
var ErrSecondRun = errors.New("breakpoints: a run has taken place in this process already; start another process")

var ran atomic.Bool

// Verify puts a running deployment through the scenarios of [Specs]. Its error means that they could not
// be run; that some failed is said by the result, and by Ginkgo's report in Out.
func Verify(ctx context.Context, options Options) (Result, error) {
	deployment := options.Deployment
	if err := deployment.Discover(ctx); err != nil {
		return Result{}, err
	}
	if !ran.CompareAndSwap(false, true) {
		return Result{}, ErrSecondRun
	}
	options.Out = cmp.Or(options.Out, io.Discard)
	fmt.Fprintf(options.Out, "verifying %s: contract %s, primary %s, certified fallback %s\n",
		deployment.URL, deployment.Contract, deployment.Primary, deployment.Fallback)
	report := run(&deployment, options)
	result := Result{}
	for _, spec := range report.SpecReports {
		switch {
		case spec.LeafNodeType != types.NodeTypeIt || spec.State == types.SpecStateSkipped:
		case spec.State == types.SpecStatePassed:
			result.Passed++
		default:
			result.Failed++
		}
	}
	if result == (Result{}) {
		return result, fmt.Errorf("no scenario was run: %v", report.SpecialSuiteFailureReasons)
	}
	if !report.SuiteSucceeded && result.Failed == 0 {
		return result, fmt.Errorf("the run did not succeed: %v", report.SpecialSuiteFailureReasons)
	}
	return result, nil
}

func run(deployment *Deployment, options Options) (report types.Report) {
	suite, reporter := ginkgo.GinkgoConfiguration()
	suite.FailOnEmpty = true
	if options.Only != "" {
		suite.FocusStrings = []string{options.Only}
	}
	reporter.NoColor = reporter.NoColor || !options.Terminal
	reporter.Verbose, reporter.JUnitReport = options.Verbose, options.JUnit
	before := formatter.ColorableStdOut
	defer func() { formatter.ColorableStdOut = before }()
	formatter.ColorableStdOut = options.Out
	gomega.RegisterFailHandler(ginkgo.Fail)
	Specs(deployment)
	ginkgo.ReportAfterSuite("keep the report", func(r types.Report) { report = r })
	ginkgo.RunSpecs(&tellNobody{}, "breakpoints", suite, reporter)
	return report
}

// tellNobody stands in for *testing.T within the binary, where the Result tells what failed.
type tellNobody struct{}

func (*tellNobody) Fail() {}
