package certify

import (
	"slices"

	"github.com/google/uuid"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/binding"
	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/prompt"
	"github.com/fallproof/fallproof/providers"
)

// Judge turns evidence into the record that it amounts to; the times are left to the store. It calls
// nobody and writes nothing. Where the run has its record already, that is the judgement.
func Judge(e Evidence) (certification.Record, error) {
	if e.Record != nil {
		return *e.Record, nil
	}
	if err := e.prepare(); err != nil {
		return certification.Record{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return certification.Record{}, err
	}
	judgement := e.unplayed(e.judgement())
	record := e.heading()
	record.ID = id.String()
	record.Verdict, record.Dimensions = judgement.Verdict, judgement.Dimensions
	record.PassAll, record.Latency, record.Enforcement = judgement.PassAll, judgement.Latency, e.enforcement()
	record.Cases = judgement.Cases
	record.Planned, record.Taken, record.SamplesPerCase = e.planned(), len(e.Samples), samplesPerCase(e.Pair, e.Options)
	tried := worthOf(e.Pair.Contract).mutation
	record.Mutation = &tried
	record.Parameters = e.parameters()
	record.ServedModels, record.Fingerprints = e.served()
	record.Warnings = append(e.warnings(record), judgement.Remarks...)
	if why := e.notLive(); why != "" {
		record.Source = providers.SourceSimulated
		record.Warnings = append(record.Warnings, certification.Finding{Reason: warningNotLive, Count: 1, Detail: why})
	}
	e.sayReplayed(&record)
	return record, nil
}

// judge is the judgement of evidence that is still coming in.
func judge(e Evidence) (certification.Judgement, error) {
	if err := e.prepare(); err != nil {
		return certification.Judgement{}, err
	}
	return e.judgement(), nil
}

func (e Evidence) judgement() certification.Judgement {
	return certification.Judge(certification.Evidence{
		Planned:            e.planned(),
		Thresholds:         certification.Thresholds(e.Pair.Contract.Thresholds),
		Checks:             e.census(),
		Samples:            e.observe(),
		Deadline:           e.Pair.Timeout,
		Enforcement:        e.enforcement(),
		RequireEnforcement: e.Pair.Contract.Requires(contracts.RequireEnforcement),
	})
}

// prepare does once what the parts of the judgement all need.
func (e *Evidence) prepare() error {
	if e.binding == nil {
		bound, err := binding.Bind(e.Pair.Contract, e.Pair.Target, e.Pair.Profile)
		if err != nil {
			return err
		}
		e.binding = bound
	}
	e.prompt = prompt.Judge(e.Pair.Contract, e.Pair.Target, e.Pair.Profile, e.count)
	e.read = make([]reading, len(e.Samples))
	for i, sample := range e.Samples {
		e.read[i] = sample.reading(e.Pair)
	}
	return nil
}

// heading is what a record says before anything was judged.
func (e Evidence) heading() certification.Record {
	key := e.Pair.key()
	return certification.Record{
		RunID: e.Run.ID, RunName: e.Run.Name,
		Contract: key.Contract, ContractDigest: e.Pair.Contract.Digest(), EffectiveDigest: key.EffectiveDigest,
		ProfileDigest: key.ProfileDigest, ProofDigest: key.ProofDigest, Target: key.Target,
		HarnessVersion: e.Options.Version, Source: e.Pair.Profile.Source, RunBy: e.Options.RunBy, RunOn: e.Options.RunOn,
	}
}

// parameters are read off the first body that was sent: the census has compared all of them with what
// is declared, so where one differs it says so.
func (e Evidence) parameters() certification.Parameters {
	read := certification.Parameters{}
	for _, sample := range e.Samples {
		if sample.Seen.Request == "" {
			continue
		}
		if parameters, err := certification.ReadParameters([]byte(sample.Seen.Request), e.Pair.Profile); err == nil {
			read = parameters
			break
		}
	}
	read.TokenChecks = "verified"
	for _, f := range e.prompt {
		if f.Reason == prompt.NotVerified {
			read.TokenChecks = string(prompt.NotVerified)
		}
	}
	return read
}

// served lists, sorted, which models and fingerprints answered.
func (e Evidence) served() (models, fingerprints []string) {
	models, fingerprints = []string{}, []string{}
	add := func(list []string, name string) []string {
		if name == "" || slices.Contains(list, name) {
			return list
		}
		return append(list, name)
	}
	for _, read := range e.read {
		out := read.outcome
		models = add(models, out.ServedModel)
		fingerprints = add(fingerprints, out.Fingerprint)
	}
	slices.Sort(models)
	slices.Sort(fingerprints)
	return models, fingerprints
}
