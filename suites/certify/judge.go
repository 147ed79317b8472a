package certify

import (
	"github.com/google/uuid"

	"github.com/fallproof/fallproof/contracts"
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
	id, err := uuid.NewV7()
	if err != nil {
		return certification.Record{}, err
	}
	judgement := e.unplayed(e.judgement())
	record := e.heading()
	record.ID = id.String()
	record.Verdict, record.Dimensions = judgement.Verdict, judgement.Dimensions
	record.PassAll, record.Latency, record.Enforcement = judgement.PassAll, judgement.Latency, e.enforcement()
	record.Cases, record.Retried = judgement.Cases, judgement.Retried
	record.Planned, record.Taken, record.SamplesPerCase = planned(e.Pair, e.Options), e.account.tally.Taken(), samplesPerCase(e.Pair, e.Options)
	tried := worthOf(e.Pair.Contract).mutation
	record.Mutation = &tried
	record.Parameters = e.parameters()
	record.ServedModels, record.Fingerprints = e.models(), e.account.prints.list()
	if model := e.provenModel(); record.Verdict == certification.Certified && model != "" {
		record.ServedModels = []string{model}
	}
	record.Warnings = append(e.warnings(record), judgement.Remarks...)
	if why := e.notLive(); why != "" {
		record.Source = providers.SourceSimulated
		record.Warnings = append(record.Warnings, certification.Finding{Reason: warningNotLive, Count: 1, Detail: why})
	}
	e.sayReplayed(&record)
	return record, nil
}

// judgement may be asked for while evidence still comes in.
func (e Evidence) judgement() certification.Judgement {
	e.account.render()
	return e.ofOneModel(e.account.tally.Judge(certification.Circumstances{
		Checks:             e.census(),
		Deadline:           e.Pair.Timeout,
		Enforcement:        e.enforcement(),
		Unprobed:           e.unprobed(),
		RequireEnforcement: e.Pair.Contract.Requires(contracts.RequireEnforcement),
	}))
}

// heading is what a record says before anything was judged.
func (e Evidence) heading() certification.Record {
	key := e.Pair.key()
	return certification.Record{
		RunID: e.Run.ID, RunName: e.Run.Name,
		Contract: key.Contract, ContractDigest: e.Pair.Contract.Digest(), EffectiveDigest: key.EffectiveDigest,
		ProfileDigest: key.ProfileDigest, ProofDigest: key.ProofDigest, Parts: e.Pair.Parts(), Target: key.Target,
		HarnessVersion: e.Options.Version, Source: e.Pair.Profile.Source, RunBy: e.Options.RunBy, RunOn: e.Options.RunOn,
	}
}

// parameters are read off the first body that was seen: the census has compared all of them with what
// is declared, so where one differs it says so.
func (e Evidence) parameters() certification.Parameters {
	read := certification.Parameters{}
	if e.account.parameters != nil {
		read = *e.account.parameters
	}
	read.TokenChecks = "verified"
	for _, f := range e.account.prompt {
		if f.Reason == prompt.NotVerified {
			read.TokenChecks = string(prompt.NotVerified)
		}
	}
	return read
}
