package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/store"
	"github.com/fallproof/fallproof/suites/certify"
)

// exitInconclusive: some pairs could not be judged, and none was rejected.
const exitInconclusive = 3

// certifyFlags are what certify is asked for.
type certifyFlags struct {
	provider, target, contract string
	samples                    int
	complete                   bool
	run, junit, json           string
	html, markdown             string
	filterFailing, requested   bool
	record, replay             string
}

func (p *program) certifyCommand() *cobra.Command {
	var flags certifyFlags
	command := &cobra.Command{
		Use: "certify", Short: "Run contracts against targets and write certification records", Args: cobra.NoArgs,
		Long: "Without --target the pairs are those that the routes name, limited by --provider and --contract; with it,\n" +
			"the contract named, or every contract of the catalogue. Runs of one --run name share their work: an\n" +
			"interrupted one resumes and pays only for what is missing, a finished one is shown without a call.\n" +
			"An interrupt (SIGINT, SIGTERM) makes no further call, and keeps what was called; a second one ends at once.\n" +
			"--record leaves the run's calls in a folder, without keys; --replay judges them again and calls nobody. What\n" +
			"comes of that is of source replay, which opens no fallback unless server.accept_sources says so. A call that\n" +
			"was not recorded, or recorded of another contract or profile, leaves its pair inconclusive: record again.\n" +
			"suites/certify/certify.schema.json describes the file of --json; certifications report makes the others later.\n\n" +
			exits{
				ok: "all are certified; with --requested, also when nothing is requested", no: "some are rejected",
				usage: "the command, the configuration or a contract is wrong: nothing can be certified by it, and none of the others is rejected;\n" +
					"     or the run could not be made",
				inconclusive: "none is rejected, and some are inconclusive; or, certified by a finished run of this name, stand no\n" +
					"     longer (revoked, expired, displaced); or the run is not complete, as after an interrupt: go on with --run NAME",
			}.String(),
		Example: "  fallproof certify\n  fallproof certify --provider alpha --run nightly-2026-01-31\n" +
			"  fallproof certify --target beta/beta-medium --contract invoice-extraction --junit report.xml --json records.json\n" +
			"  fallproof certify --html report.html --markdown comment.md --filter-failing\n" +
			"  fallproof certify --record cassettes --run nightly-2026-01-31\n  fallproof certify --replay cassettes",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.check(cmd.Flags().Changed); err != nil {
				return usage(err)
			}
			var pairs []certify.Pair
			release := func() {}
			defer func() { release() }()
			bind := func(c *config.Config) error {
				selection := certify.Selection{Provider: flags.provider, Target: flags.target, Contract: flags.contract, Recorded: flags.replay != ""}
				chosen, done, err := certify.Pairs(c, selection)
				if err != nil {
					return usage(err)
				}
				pairs, release = chosen, done
				return nil
			}
			return p.withStore(cmd.Context(), bind, func(c *config.Config, s store.Store) error {
				if flags.requested {
					asked, err := certify.Requested(cmd.Context(), s, pairs)
					if err != nil {
						return usage(fmt.Errorf("the store cannot be read: %w", err)) // never to be taken for nothing to do
					}
					if len(asked) == 0 {
						return p.print("no re-certification is requested\n")
					}
					pairs = asked
				}
				return p.certify(cmd.Context(), s, pairs, flags, c.Server.AcceptSources)
			})
		},
	}
	command.Flags().StringVar(&flags.provider, "provider", "", "only targets of this provider")
	command.Flags().StringVar(&flags.target, "target", "", "this PROVIDER/MODEL, whether a route names it or not")
	command.Flags().BoolVar(&flags.requested, "requested", false, "only pairs whose re-certification is requested, because their answers drifted or their proof ends soon; a record that certifies or rejects closes the request")
	command.Flags().StringVar(&flags.contract, "contract", "", "only this contract")
	command.Flags().IntVar(&flags.samples, "samples", 0, "samples per case (default as each contract says)")
	command.Flags().BoolVar(&flags.complete, "complete", false, "take every sample, also when the verdict can no longer change")
	command.Flags().StringVar(&flags.run, "run", "", "name of the run (default a fresh one)")
	command.Flags().StringVar(&flags.junit, "junit", "", "write a JUnit report to this file")
	command.Flags().StringVar(&flags.json, "json", "", "write the records to this file")
	command.Flags().StringVar(&flags.html, "html", "", "write a report to this file: one page that needs nothing else")
	command.Flags().StringVar(&flags.markdown, "markdown", "", "write a report to this file, for a comment or a job summary")
	command.Flags().BoolVar(&flags.filterFailing, "filter-failing", false, "only what is not certified, in all of these files")
	command.Flags().StringVar(&flags.record, "record", "", "leave a cassette of every pair's calls in this folder")
	command.Flags().StringVar(&flags.replay, "replay", "", "play the cassettes of this folder instead of calling anybody")
	return command
}

// check refuses what contradicts itself before anything is opened.
func (f certifyFlags) check(given func(flag string) bool) error {
	switch {
	case given("samples") && (f.samples < 1 || f.samples > contracts.MostSamples):
		return fmt.Errorf("--samples %d: want a whole number from 1 to %d", f.samples, contracts.MostSamples)
	case given("record") && f.record == "":
		return errors.New("--record: want a folder")
	case given("replay") && f.replay == "":
		return errors.New("--replay: want a folder")
	case given("record") && given("replay"):
		return errors.New("--record and --replay exclude each other: a replay calls nobody, and has nothing to record")
	case given("replay"):
		if err := certify.CheckReplay(f.replay); err != nil {
			return fmt.Errorf("--replay: %w", err)
		}
	}
	return distinctFiles(reportFile{"junit", f.junit}, reportFile{"json", f.json}, reportFile{"html", f.html}, reportFile{"markdown", f.markdown})
}

// begun tells whether a run was opened: only then is there something to go on with.
type begun struct {
	store.Certifications
	opened atomic.Bool
}

func (b *begun) OpenRun(ctx context.Context, run store.Run) (store.Run, error) {
	opened, err := b.Certifications.OpenRun(ctx, run)
	if err == nil {
		b.opened.Store(true)
	}
	return opened, err
}

func (p *program) certify(ctx context.Context, s store.Store, pairs []certify.Pair, flags certifyFlags, accepted []providers.Source) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(certify.GCPercent)
	}
	who, where := operator()
	kept := &begun{Certifications: s}
	result, err := certify.Run(ctx, certify.Options{
		Pairs: pairs, Store: kept, RunName: flags.run, Samples: flags.samples, Complete: flags.complete,
		Record: flags.record, Replay: flags.replay, Version: programVersion(), RunBy: who, RunOn: where,
		Out: p.stdout, Terminal: isTerminal(p.stdout), JUnit: flags.junit, JSON: flags.json,
		HTML: flags.html, Markdown: flags.markdown, FilterFailing: flags.filterFailing,
		Command: p.command, AcceptSources: accepted,
	})
	var incomplete *certify.IncompleteError
	var samples *certify.SamplesError
	var unfit *certify.UnfitError
	var mixed *certify.MixedError
	var stale *certify.StaleError
	switch {
	case err == nil:
		if err := p.tellWhatChanged(ctx, s, result.Records); err != nil {
			return err
		}
		return exit(result.ExitCode())
	case errors.As(err, &samples), errors.As(err, &unfit), errors.As(err, &mixed), errors.As(err, &stale):
		return usage(err) // going on with the run is what was refused
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted before the run was complete") // what it was about to do is of no use to anybody
	}
	if kept.opened.Load() {
		err = fmt.Errorf("%w (go on with --run %s)", err, typed(result.RunName)) // and pay only for what is missing
	}
	if errors.As(err, &incomplete) || ctx.Err() != nil {
		return &exitError{exitInconclusive, err}
	}
	return usage(err)
}
