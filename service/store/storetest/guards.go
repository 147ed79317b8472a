package storetest

import (
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// guards go around the store: each statement below is one that a bug in the application could send.
var guards = []behaviour{
	{"schema: one job per owner and key", schemaOneKey},
	{"schema: one attempt per number and per key of a job", schemaOneAttempt},
	{"schema: one blocking attempt per job", schemaOneBlocking},
	{"schema: no attempt under a final job or past the maximum", schemaOpenJob},
	{"schema: no attempt away from the intended target without a standing proof", schemaProof},
	{"schema: an attempt's intended target is its job's", schemaIntended},
	{"schema: the winner is written once", schemaWinner},
	{"schema: an intent never changes", schemaIntent},
	{"schema: records, revocations and events are append-only", schemaAppendOnly},
	{"schema: a proof says what its record says", schemaProofCopy},
	{"schema: what ended a proof stays until another record counts", schemaProofEnd},
	{"schema: a proof goes back to no record", schemaProofBack},
	{"schema: a revocation reaches the proof", schemaRevocation},
	{"schema: no proof is deleted", schemaProofKept},
	{"schema: what may not change is not inserted over", schemaNoReplace},
	{"schema: no job or attempt is inserted over by any of its keys", schemaNoReplaceBySome},
	{"schema: doubt and failure have a reason", schemaReason},
}

// raw runs a statement with ? placeholders around the store.
func (w *world) raw(query string, args ...any) error {
	mark := "?"
	if w.Postgres {
		mark = "$"
	}
	for i := 1; strings.Contains(query, "¿"); i++ {
		query = strings.Replace(query, "¿", mark+strconv.Itoa(i), 1)
	}
	_, err := w.Raw.ExecContext(w.ctx, query, args...)
	return err
}

// now is the spelling of the current moment in both engines.
func (w *world) now() string {
	if w.Postgres {
		return "now()"
	}
	return "strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')"
}

func (w *world) insertAttempt(made store.Made, number int, state job.State, target, intended providers.Target, certificationID any, key string) error {
	return w.raw(`INSERT INTO attempts (owner_id, job_id, number, id, idempotency_key, role, target, intended_target,
		certification_id, state, reason, job_version, created_at)
		VALUES (¿, ¿, ¿, ¿, ¿, 'manual', ¿, ¿, ¿, ¿, 'test', 1, `+w.now()+`)`,
		made.Job.Owner, made.Job.ID, number, fresh("att"), key, target.String(), intended.String(), certificationID, string(state))
}

func schemaOneKey(w *world) {
	made := w.create()
	err := w.raw(`INSERT INTO jobs (owner_id, id, idempotency_key, fingerprint, contract, contract_digest, input, intended_target,
		plan, max_attempts, state, created_at, updated_at)
		SELECT owner_id, ¿, idempotency_key, fingerprint, contract, contract_digest, input, intended_target, plan, max_attempts,
		'pending', created_at, updated_at FROM jobs WHERE id = ¿`, fresh("job"), made.Job.ID)
	w.Expect(err).To(MatchError(ContainSubstring("idempotency_key")))
}

func schemaOneAttempt(w *world) {
	made := w.create()
	err := w.insertAttempt(made, 1, job.Failed, primary, primary, nil, fresh("key"))
	w.Expect(err).To(HaveOccurred(), "a second attempt number 1")
	err = w.insertAttempt(made, 2, job.Failed, primary, primary, nil, made.Attempt.IdempotencyKey)
	w.Expect(err).To(MatchError(ContainSubstring("idempotency_key")))
	w.Expect(w.insertAttempt(made, 2, job.Failed, primary, primary, nil, fresh("key"))).To(Succeed())
}

func schemaOneBlocking(w *world) {
	for _, standing := range []job.State{job.Starting, job.Running, job.Unknown} {
		made := w.attemptIn(standing)
		for _, second := range []job.State{job.Starting, job.Running, job.Unknown} {
			w.Expect(w.insertAttempt(made, 2, second, primary, primary, nil, fresh("key"))).NotTo(Succeed(), "%s beside %s", second, standing)
		}
	}
	released := w.attemptIn(job.Released)
	w.Expect(w.insertAttempt(released, 2, job.Running, primary, primary, nil, fresh("key"))).To(Succeed())
	err := w.raw("UPDATE attempts SET state = 'unknown' WHERE job_id = ¿ AND number = 1", released.Job.ID)
	w.Expect(err).To(HaveOccurred(), "an update may not make a second blocking attempt either")
}

func schemaOpenJob(w *world) {
	done := w.attemptIn(job.Succeeded)
	w.Expect(w.insertAttempt(done, 2, job.Running, primary, primary, nil, fresh("key"))).To(MatchError(ContainSubstring("final")))
	cancelled := w.create()
	_, err := w.Store.CancelJob(w.ctx, cancelled.Job.Owner, cancelled.Job.ID, "test")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.insertAttempt(cancelled, 2, job.Running, primary, primary, nil, fresh("key"))).To(MatchError(ContainSubstring("final")))
	open := w.attemptIn(job.Failed)
	w.Expect(w.insertAttempt(open, 4, job.Running, primary, primary, nil, fresh("key"))).To(MatchError(ContainSubstring("no attempts left")))
	w.Expect(w.insertAttempt(open, 3, job.Running, primary, primary, nil, fresh("key"))).To(Succeed())
}

func schemaProof(w *world) {
	try := func(id any) error {
		made := w.attemptIn(job.Failed)
		return w.insertAttempt(made, 2, job.Running, fallback, primary, id, fresh("key"))
	}
	w.Expect(try(nil)).NotTo(Succeed(), "no record named")
	w.Expect(try("cert-nowhere")).NotTo(Succeed(), "a record that does not exist")
	ofPrimary := w.certify(primary)
	w.Expect(try(ofPrimary)).NotTo(Succeed(), "another target's record")
	made := w.attemptIn(job.Failed)
	w.Expect(w.insertAttempt(made, 2, job.Running, primary, primary, w.certify(fallback), fresh("key"))).NotTo(Succeed(),
		"another target's record at the intended target")
	w.Expect(try(w.judge(fallback, certification.Inconclusive, providers.SourceLive, 1e12).ID)).NotTo(Succeed(), "an inconclusive record")
	w.Expect(try(w.judge(fallback, certification.Rejected, providers.SourceLive, 1e12).ID)).NotTo(Succeed(), "a rejected record")
	w.Expect(try(w.judge(fallback, certification.Certified, providers.SourceLive, -1e9).ID)).NotTo(Succeed(), "an expired record")
	old := w.certify(fallback)
	w.Expect(try(old)).To(Succeed())
	current := w.certify(fallback)
	w.Expect(try(old)).NotTo(Succeed(), "a record that another displaced")
	w.Expect(try(current)).To(Succeed())
	_, err := w.Store.Revoke(w.ctx, current, "drill", "test")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(try(current)).NotTo(Succeed(), "a revoked record")
	suspended := w.certify(fallback)
	w.Expect(w.raw("UPDATE proofs SET suspended_at = " + w.now())).To(Succeed())
	w.Expect(try(suspended)).NotTo(Succeed(), "a suspended proof")
	other := w.key(fallback)
	other.Contract, other.ProofDigest = "another", "proof-of-another"
	w.Expect(try(w.judgeKey(other, certification.Certified, providers.SourceLive, time.Hour).ID)).NotTo(Succeed(), "another contract's proof")
}

func schemaIntended(w *world) {
	made := w.attemptIn(job.Failed)
	err := w.insertAttempt(made, 2, job.Running, fallback, fallback, nil, fresh("key"))
	w.Expect(err).To(HaveOccurred(), "claiming the fallback as intended does not help")
}

func schemaWinner(w *world) {
	made := w.attemptIn(job.Succeeded)
	for _, change := range []string{"completed_by = 2", "result = '2'", "completed_by = NULL, result = NULL, state = 'failed'"} {
		w.Expect(w.raw("UPDATE jobs SET "+change+" WHERE id = ¿", made.Job.ID)).NotTo(Succeed(), change)
	}
	w.Expect(w.raw("UPDATE jobs SET state = 'succeeded' WHERE id = ¿", w.create().Job.ID)).NotTo(Succeed(), "success without a winner")
	w.Expect(w.insertAttempt(w.attemptIn(job.Failed), 2, job.Succeeded, primary, primary, nil, fresh("key"))).To(Succeed())
	w.Expect(w.raw("UPDATE attempts SET state = 'succeeded' WHERE state = 'failed'")).NotTo(Succeed(), "two winning attempts")
}

func schemaIntent(w *world) {
	made := w.create()
	for _, column := range []string{
		"owner_id", "id", "idempotency_key", "fingerprint", "contract", "contract_digest", "input", "sent_target", "intended_target",
	} {
		w.Expect(w.raw("UPDATE jobs SET "+column+" = 'other' WHERE id = ¿", made.Job.ID)).To(MatchError(ContainSubstring("immutable")), column)
	}
	w.Expect(w.job(made)).To(Equal(made.Job))
}

func schemaAppendOnly(w *world) {
	w.create()
	keptEvidence(w)
	id := w.certify(fallback)
	_, err := w.Store.Revoke(w.ctx, id, "drill", "test")
	w.Expect(err).NotTo(HaveOccurred())
	statements := []string{
		"UPDATE events SET detail = ''", "DELETE FROM events",
		"UPDATE certification_records SET verdict = 'certified'", "DELETE FROM certification_records",
		"UPDATE certification_revocations SET reason = ''", "DELETE FROM certification_revocations",
		"UPDATE certification_artifacts SET digest = ''", "DELETE FROM certification_artifacts",
	}
	if w.Postgres {
		statements = append(statements, "TRUNCATE events", "TRUNCATE certification_records CASCADE", "TRUNCATE certification_revocations", "TRUNCATE certification_artifacts")
	}
	for _, statement := range statements {
		w.Expect(w.raw(statement)).To(MatchError(ContainSubstring("append-only")), statement)
	}
}

func schemaReason(w *world) {
	made := w.create()
	w.Expect(w.raw("UPDATE attempts SET state = 'unknown', reason = '' WHERE job_id = ¿", made.Job.ID)).NotTo(Succeed())
	w.Expect(w.raw("UPDATE attempts SET state = 'failed', reason = '' WHERE job_id = ¿", made.Job.ID)).NotTo(Succeed())
}
