package sqlcore

import (
	"context"
	"strconv"
	"strings"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/store"
)

// appendEvent notes what happened to a record. first is false where that had happened to it before, and
// nothing changed.
func appendEvent(ctx context.Context, tx Tx, event certification.Event) (first bool, err error) {
	grounds := ""
	if event.Grounds != nil {
		grounds = plain(encoded(event.Grounds))
	}
	rows, err := tx.Exec(ctx, `INSERT INTO certification_events (certification_id, type, cause, detail, caused_by, grounds, at)
		VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (certification_id, type) DO NOTHING`, event.CertificationID,
		string(event.Type), event.Cause, plain(event.Detail), plain(event.By), grounds, at(event.At))
	return rows == 1, err
}

const eventQuery = "SELECT certification_id, type, cause, detail, caused_by, grounds, at FROM certification_events WHERE certification_id"

func scanCertificationEvent(rows Rows) (certification.Event, error) {
	var (
		event   certification.Event
		grounds string
		when    stamp
	)
	if err := rows.Scan(&event.CertificationID, &event.Type, &event.Cause, &event.Detail, &event.By, &grounds, &when); err != nil {
		return event, err
	}
	event.At = when.Time
	if grounds == "" {
		return event, nil
	}
	return event, decoded(grounds, &event.Grounds)
}

func selectEvents(ctx context.Context, tx Tx, id string) ([]certification.Event, error) {
	return collect(ctx, tx, scanCertificationEvent, eventQuery+" = $1 ORDER BY at, type", id)
}

// addEvents reads the events of a page of records in one go.
func addEvents(ctx context.Context, tx Tx, records []store.StoredRecord) error {
	if len(records) == 0 {
		return nil
	}
	args, places, index := make([]any, len(records)), make([]string, len(records)), make(map[string]int, len(records))
	for i, r := range records {
		args[i], places[i], index[r.ID] = r.ID, "$"+strconv.Itoa(i+1), i
	}
	events, err := collect(ctx, tx, scanCertificationEvent, eventQuery+" IN ("+strings.Join(places, ", ")+") ORDER BY at, type", args...)
	for _, event := range events {
		r := &records[index[event.CertificationID]]
		r.Events = append(r.Events, event)
	}
	return err
}

// requestCertification asks for a new record of a proof, unless that is asked for already.
func requestCertification(ctx context.Context, tx Tx, key certification.Key, called certification.Event) ([]certification.Event, error) {
	rows, err := tx.Exec(ctx, `INSERT INTO certification_requests (certification_id, proof_digest, target, contract, cause, requested_at)
		VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`, called.CertificationID, key.ProofDigest, key.Target.String(),
		key.Contract, string(called.Type), at(called.At))
	if err != nil || rows == 0 {
		return nil, err
	}
	requested := certification.Event{
		CertificationID: called.CertificationID, Type: certification.EventRequested, Cause: string(called.Type), By: called.By, At: called.At,
	}
	first, err := appendEvent(ctx, tx, requested)
	if err != nil || !first {
		return nil, err
	}
	return []certification.Event{requested}, nil
}

// closeRequest closes what was asked for of the record's own proof. One of another edition of the contract or profile
// stays: that edition may be in use elsewhere, or come back.
func closeRequest(ctx context.Context, tx Tx, r certification.Record) error {
	_, err := tx.Exec(ctx, `UPDATE certification_requests SET closed_at = $3, closed_by = $4
		WHERE proof_digest = $1 AND target = $2 AND closed_at IS NULL`, r.ProofDigest, r.Target.String(), at(r.IssuedAt), r.ID)
	return err
}

// Requests implements store.Certifications.
func (c *Core) Requests(ctx context.Context, keys []certification.Key) ([]store.Request, error) {
	return read(ctx, c, func(tx Tx) ([]store.Request, error) {
		open, err := collect(ctx, tx, scanRequest, `SELECT certification_id, contract, target, proof_digest, cause, requested_at
			FROM certification_requests WHERE closed_at IS NULL ORDER BY requested_at, certification_id`)
		if err != nil {
			return nil, err
		}
		var found []store.Request
		for _, request := range open {
			asked, err := asksForAny(ctx, tx, request, keys)
			if err != nil {
				return nil, err
			}
			if asked {
				found = append(found, request)
			}
		}
		return found, nil
	})
}

// asksForAny reports whether a request is about one of the keys.
func asksForAny(ctx context.Context, tx Tx, request store.Request, keys []certification.Key) (bool, error) {
	for _, key := range keys {
		if key.Contract != request.Contract || key.Target != request.Target {
			continue
		}
		if key.ProofDigest == request.ProofDigest {
			return true, nil
		}
		if done, err := answered(ctx, tx, request, key); err != nil || !done {
			return err == nil, err
		}
	}
	return false, nil
}

// answered reports whether another edition of what a request asks for was judged by a run that began after it: a live one, where the
// request's record is live.
func answered(ctx context.Context, tx Tx, request store.Request, by certification.Key) (bool, error) {
	runs, err := collect(ctx, tx, scanText, `SELECT r.id FROM certification_records r JOIN certification_runs n ON n.id = r.run_id
		WHERE r.proof_digest = $1 AND r.target = $2 AND r.verdict <> $3 AND n.started_at >= $4
		AND (r.source = $6 OR NOT EXISTS (SELECT 1 FROM certification_records WHERE id = $5 AND source = $6)) LIMIT 1`, by.ProofDigest, by.Target.String(),
		string(certification.Inconclusive), at(request.RequestedAt), request.CertificationID, string(providers.SourceLive))
	return len(runs) > 0, err
}

func scanRequest(rows Rows) (store.Request, error) {
	var (
		request store.Request
		target  string
		when    stamp
	)
	if err := rows.Scan(&request.CertificationID, &request.Contract, &target, &request.ProofDigest, &request.Cause, &when); err != nil {
		return request, err
	}
	request.RequestedAt = when.Time
	return request, request.Target.UnmarshalText([]byte(target))
}
