package certify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/store"
)

// Finished says by whom, and when, a record was written.
type Finished string

const (
	FinishedNow       Finished = "now"
	FinishedMeanwhile Finished = "meanwhile" // by another runner, while this one took part
	FinishedBefore    Finished = "before"    // before this runner did anything
)

// Remark is what has to be known of a record beside its verdict: it is not of now, or it does not count.
type Remark struct {
	Contract        string           `json:"contract"`
	Target          providers.Target `json:"target"`
	CertificationID string           `json:"certification_id"`
	IssuedAt        time.Time        `json:"issued_at"`
	Finished        Finished         `json:"finished"`
	Reasons         []string         `json:"reasons"`               // why a certified record does not stand
	OutrankedBy     string           `json:"outranked_by,omitzero"` // the live record that counts in the place of this one, which is none
	NotAccepted     providers.Source `json:"not_accepted,omitzero"` // the source of a certified record, where the service accepts proofs of others alone
}

// remarkOf is what a record is worth where its proof stands as it does now.
func remarkOf(ctx context.Context, options Options, standing certification.Standing, record certification.Record, finished Finished) (Remark, error) {
	remark := Remark{
		Contract: record.Contract, Target: record.Target, CertificationID: record.ID,
		IssuedAt: record.IssuedAt, Finished: finished, Reasons: []string{},
	}
	if record.Verdict == certification.Inconclusive {
		return remark, nil
	}
	if record.Verdict == certification.Certified && options.AcceptSources != nil && !slices.Contains(options.AcceptSources, record.Source) {
		remark.NotAccepted = record.Source
	}
	proof := standing.Proof
	ours := proof != nil && proof.CertificationID == record.ID
	switch {
	case proof != nil && !ours && proof.Outranks(record.Source):
		remark.OutrankedBy = proof.CertificationID
	case record.Verdict == certification.Rejected, ours && len(standing.Reasons(certification.EverySource)) == 0:
	default:
		stored, err := options.Store.Record(ctx, record.ID)
		remark.Reasons = lapses(stored, standing)
		return remark, err
	}
	return remark, nil
}

// lapses says why a certified record does not stand; empty where it does. Of a proof that another record
// gives, only that is said: its reasons are not this record's.
func lapses(record store.StoredRecord, standing certification.Standing) []string {
	carriedOver := func(e certification.Event) bool { return e.Cause == certification.CauseCarriedOver }
	if i := slices.IndexFunc(record.Events, carriedOver); i >= 0 {
		return []string{record.Events[i].Detail} // nothing of its target since that was suspended or revoked
	}
	if proof := standing.Proof; proof != nil && proof.CertificationID != record.ID {
		return []string{fmt.Sprintf("displaced by record %s (%s, %s)", proof.CertificationID, proof.Verdict, proof.Source)}
	}
	reasons := []string{}
	for _, reason := range standing.Reasons(certification.EverySource) {
		reasons = append(reasons, string(reason))
	}
	return reasons
}

// matters reports whether there is something to be known.
func (r Remark) matters() bool {
	return r.Finished != FinishedNow || len(r.Reasons) > 0 || r.OutrankedBy != "" || r.NotAccepted != ""
}

// line is all of it for people.
func (r Remark) line() string {
	var said []string
	switch at := r.IssuedAt.UTC().Format(time.RFC3339); r.Finished {
	case FinishedBefore:
		said = append(said, fmt.Sprintf("the run was finished at %s; nothing was called now, use another --run name for a new measurement", at))
	case FinishedMeanwhile:
		said = append(said, fmt.Sprintf("another runner finished the run at %s", at))
	case FinishedNow:
	}
	if len(r.Reasons) > 0 {
		said = append(said, "it does not count as certified: "+strings.Join(r.Reasons, ", "))
	}
	if r.OutrankedBy != "" {
		said = append(said, fmt.Sprintf("it decides no fallback: record %s counts, which is live, and only a live record displaces that", r.OutrankedBy))
	}
	if r.NotAccepted != "" {
		said = append(said, fmt.Sprintf("it opens no fallback: it is %s, which server.accept_sources does not list", r.NotAccepted))
	}
	return strings.Join(said, "; ")
}
