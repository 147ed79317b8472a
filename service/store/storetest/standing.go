package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// standing is what the store says of a target's proof.
func (w *world) standing(target providers.Target) certification.Standing {
	w.t.Helper()
	standings, err := w.Store.Standings(w.ctx, []certification.Key{w.key(target)})
	w.Expect(err).NotTo(HaveOccurred())
	return standings[0]
}

// proofStays tries changes of the fallback's proof: each is refused for the same reason, and changes nothing.
func (w *world) proofStays(reason string, changes ...string) {
	w.t.Helper()
	before := w.standing(fallback).Proof
	for _, change := range changes {
		w.Expect(w.raw("UPDATE proofs SET "+change+" WHERE proof_digest = ¿", w.key(fallback).ProofDigest)).To(MatchError(ContainSubstring(reason)), change)
		w.Expect(w.standing(fallback).Proof).To(Equal(before), change)
	}
}

// of spells the change that makes a record the proof, as the store would.
func of(id string) string {
	return "revoked_at = NULL, suspended_at = NULL, (certification_id, verdict, source, expires_at) = " +
		"(SELECT id, verdict, source, expires_at FROM certification_records WHERE id = '" + id + "')"
}

func schemaProofCopy(w *world) {
	const reason, later = "says what its record says", "expires_at = '2036-12-31T00:00:00.000000Z'"
	ofPrimary := w.certify(primary)
	inconclusive := w.judge(fallback, certification.Inconclusive, providers.SourceLive, time.Hour).ID
	w.Expect(w.raw(`INSERT INTO proofs (proof_digest, target, contract, certification_id, verdict, source, expires_at, updated_at)
		SELECT proof_digest, target, contract, id, 'certified', source, expires_at, issued_at FROM certification_records WHERE id = ¿`, inconclusive)).
		To(MatchError(ContainSubstring(reason)), "an inconclusive record is no proof")
	w.judge(fallback, certification.Rejected, providers.SourceLive, time.Hour)
	w.proofStays(reason, "verdict = 'certified'", "verdict = 'certified', revoked_at = NULL, suspended_at = NULL, "+later,
		"certification_id = '"+ofPrimary+"'", of(ofPrimary))
	w.certify(fallback)
	w.proofStays(reason, later, "source = 'replay'", "verdict = 'rejected'", "contract = 'another'", "target = 'gamma/small'", "proof_digest = 'another'")
}

func schemaProofEnd(w *world) {
	const reason, earlier = "only another record ends that", " = '2020-02-02T00:00:00.000000Z'"
	revoked := w.certify(fallback)
	_, err := w.Store.Revoke(w.ctx, revoked, "drill", "test")
	w.Expect(err).NotTo(HaveOccurred())
	w.proofStays(reason, "revoked_at = NULL", "revoked_at"+earlier)
	suspended := w.certify(fallback)
	w.Expect(w.raw("UPDATE proofs SET suspended_at = "+w.now()+" WHERE certification_id = ¿", suspended)).To(Succeed())
	w.proofStays(reason, "suspended_at = NULL", "suspended_at"+earlier, of(suspended))
	w.certify(fallback)
	w.Expect(w.reasons(fallback)).To(BeEmpty())
}

func schemaProofBack(w *world) {
	const reason = "does not displace"
	first := w.certify(fallback)
	w.judge(fallback, certification.Rejected, providers.SourceLive, time.Hour)
	replayed := w.judge(fallback, certification.Certified, providers.SourceReplay, time.Hour).ID
	w.proofStays(reason, of(first), of(replayed))
	second := w.certify(fallback)
	_, err := w.Store.Revoke(w.ctx, second, "drill", "test")
	w.Expect(err).NotTo(HaveOccurred())
	w.proofStays(reason, of(first), of(replayed))
	now, err := w.Store.Clock(w.ctx)
	w.Expect(err).NotTo(HaveOccurred())
	newest := w.issued(first, now, now.Add(time.Hour))
	w.Expect(w.raw("UPDATE proofs SET "+of(newest)+" WHERE certification_id = ¿", second)).To(Succeed(), "a record that counted for nobody yet")
}

func schemaRevocation(w *world) {
	revoke := func(id string) {
		w.t.Helper()
		w.Expect(w.raw("INSERT INTO certification_revocations (certification_id, reason, revoked_by, revoked_at) VALUES (¿, 'drill', 'test', "+w.now()+")", id)).To(Succeed())
	}
	id := w.certify(fallback)
	w.certify(primary)
	revoke(id)
	w.Expect(w.reasons(fallback)).To(HaveExactElements(certification.Revoked))
	w.Expect(w.reasons(primary)).To(BeEmpty())
	record, err := w.Store.Record(w.ctx, id)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.standing(fallback).Proof.RevokedAt).To(Equal(record.RevokedAt))

	now, err := w.Store.Clock(w.ctx)
	w.Expect(err).NotTo(HaveOccurred())
	unused := w.issued(w.certify(fallback), now, now.Add(time.Hour))
	revoke(unused)
	w.Expect(w.reasons(fallback)).To(BeEmpty(), "another record's revocation")
	w.proofStays("its record was revoked", of(unused))
	w.Expect(w.raw(`INSERT INTO proofs (proof_digest, target, contract, certification_id, verdict, source, expires_at, updated_at)
		SELECT proof_digest, target, contract, id, verdict, source, expires_at, issued_at FROM certification_records WHERE id = ¿`, unused)).
		To(MatchError(ContainSubstring("its record was revoked")))
}

func schemaProofKept(w *world) {
	w.certify(fallback)
	w.Expect(w.raw("DELETE FROM proofs")).To(MatchError(ContainSubstring("append-only")))
	if w.Postgres {
		w.Expect(w.raw("TRUNCATE proofs")).To(MatchError(ContainSubstring("append-only")))
	}
	w.Expect(w.reasons(fallback)).To(BeEmpty())
}

// schemaNoReplace: SQLite's INSERT OR REPLACE asks no trigger on update or delete. PostgreSQL has no such statement, and
// refuses it.
func schemaNoReplace(w *world) {
	w.create()
	keptEvidence(w)
	displaced := w.certify(fallback)
	revoked := w.certify(fallback)
	_, err := w.Store.Revoke(w.ctx, revoked, "drill", "test")
	w.Expect(err).NotTo(HaveOccurred())
	suspended := w.certify(fallback)
	w.Expect(w.raw("UPDATE proofs SET suspended_at = "+w.now()+" WHERE certification_id = ¿", suspended)).To(Succeed())
	w.Expect(w.raw("INSERT INTO certification_events (certification_id, type, at) VALUES (¿, 'suspended', "+w.now()+")", suspended)).To(Succeed())
	for table, change := range map[string][2]string{
		"events": {"detail", "'forged'"}, "certification_records": {"verdict", "'rejected'"}, "certification_artifacts": {"digest", "'forged'"},
		"certification_revocations": {"reason", "'forged'"}, "proofs": {"suspended_at", "NULL"},
		"certification_events": {"cause", "'forged'"}, "jobs": {"input", "'forged'"}, "attempts": {"sends", "0"},
	} {
		before := w.content(table)
		w.Expect(before).NotTo(BeEmpty(), table)
		_ = w.raw("INSERT OR REPLACE INTO " + table + " SELECT " + w.columns(table, change[0], change[1]) + " FROM " + table)
		w.Expect(w.content(table)).To(Equal(before), table)
	}
	before := w.content("proofs")
	replayed := w.judge(fallback, certification.Certified, providers.SourceReplay, time.Hour).ID
	for _, id := range []string{displaced, replayed} {
		w.Expect(w.raw(`INSERT OR REPLACE INTO proofs (proof_digest, target, contract, certification_id, verdict, source, expires_at, updated_at)
			SELECT proof_digest, target, contract, id, verdict, source, expires_at, issued_at FROM certification_records WHERE id = ¿`, id)).NotTo(Succeed())
		w.Expect(w.content("proofs")).To(Equal(before))
	}
}

// schemaNoReplaceBySome: any of its unique keys would take a row away, and so would an UPDATE OR REPLACE of another row.
func schemaNoReplaceBySome(w *world) {
	blocked, won, other := w.attemptIn(job.Released), w.attemptIn(job.Failed), w.create()
	w.Expect(w.insertAttempt(blocked, 2, job.Unknown, primary, primary, nil, fresh("key"))).To(Succeed())
	w.Expect(w.insertAttempt(won, 2, job.Succeeded, primary, primary, nil, fresh("key"))).To(Succeed())
	jobs, attempts := w.content("jobs"), w.content("attempts")
	refused := func(change, query string, args ...any) {
		w.Expect(w.raw(query, args...)).NotTo(Succeed(), change)
		w.Expect(w.content("jobs")).To(Equal(jobs), change)
		w.Expect(w.content("attempts")).To(Equal(attempts), change)
	}
	for _, change := range [][2]string{{"id", "'job-new'"}, {"idempotency_key", "'key-new'"}} {
		refused(change[0], "INSERT OR REPLACE INTO jobs SELECT "+w.columns("jobs", change[0], change[1])+" FROM jobs WHERE id = ¿", other.Job.ID)
	}
	insert := func(made store.Made, names string) {
		refused(names, `INSERT OR REPLACE INTO attempts (owner_id, job_id, role, target, intended_target, reason, job_version, created_at, id, number, idempotency_key, state)
			SELECT owner_id, job_id, role, target, intended_target, 'test', 1, created_at, `+names+" FROM attempts WHERE job_id = ¿ AND number = 2", made.Job.ID)
	}
	update := func(made store.Made, change string) {
		refused(change, "UPDATE OR REPLACE attempts AS a SET "+change+" WHERE job_id = ¿ AND number = 1", made.Job.ID)
	}
	for _, names := range []string{"id, 3, 'key-new'", "'att-new', number, 'key-new'", "'att-new', 3, idempotency_key"} {
		insert(blocked, names+", 'failed'")
	}
	insert(blocked, "'att-new', 3, 'key-new', 'running'")
	insert(won, "'att-new', 3, 'key-new', 'succeeded'")
	update(blocked, "state = 'running'")
	update(won, "state = 'succeeded'")
	for _, column := range []string{"number", "id", "idempotency_key"} {
		update(won, column+" = (SELECT "+column+" FROM attempts WHERE job_id = a.job_id AND number = 2)")
	}
}

// columns are those of a table as a query names them, one of them with another value.
func (w *world) columns(table, changed, value string) string {
	w.t.Helper()
	rows, err := w.Raw.QueryContext(w.ctx, "SELECT * FROM "+table+" LIMIT 0")
	w.Expect(err).NotTo(HaveOccurred())
	defer rows.Close()
	names, err := rows.Columns()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(rows.Err()).NotTo(HaveOccurred())
	at := slices.Index(names, changed)
	w.Expect(at).NotTo(Equal(-1), changed)
	names[at] = value
	return strings.Join(names, ", ")
}

// content is all that a table holds.
func (w *world) content(table string) []string {
	w.t.Helper()
	rows, err := w.Raw.QueryContext(w.ctx, "SELECT * FROM "+table)
	w.Expect(err).NotTo(HaveOccurred())
	defer rows.Close()
	names, err := rows.Columns()
	w.Expect(err).NotTo(HaveOccurred())
	var content []string
	for rows.Next() {
		cells := make([]any, len(names))
		for i := range cells {
			cells[i] = new(any)
		}
		w.Expect(rows.Scan(cells...)).To(Succeed())
		line := ""
		for _, cell := range cells {
			line += fmt.Sprintf("%v|", *cell.(*any))
		}
		content = append(content, line)
	}
	w.Expect(rows.Err()).NotTo(HaveOccurred())
	slices.Sort(content)
	return content
}
