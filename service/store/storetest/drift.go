package storetest

import (
	"errors"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/drift"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

var drifts = []behaviour{
	{"another served model than certified suspends the proof at once", servedModelSuspends},
	{"violations above the declared rate suspend the proof, on enough answers of its window", violationsSuspend},
	{"of answers that come together the last one counts them all", violationsTogether},
	{"a changed fingerprint warns once and asks for a re-certification", fingerprintWarns},
	{"a model that is named where none was warns once and asks for a re-certification", namedModelWarns},
	{"an answer to what was sent before the record was issued says nothing about it", answersUnderTheOldRecord},
	{"a proof that was renewed while its answer was stored is not suspended for it", renewedMeanwhile},
	{"an answer that does not end its attempt, or that nobody watches, suspends nothing", notWatched},
	{"a suspended fallback is refused, inserted or at its turn, until a new record", suspendedFallback},
	{"outcomes that no window reaches are forgotten", outcomesAreForgotten},
	{"schema: events of certifications are append-only, one of a kind", schemaCertificationEvents},
}

var tolerant = drift.Settings{Violations: 0.25, Window: 8, Minimum: 4}

// certifyAs gives a target a proof by a record that says what answered.
func (w *world) certifyAs(target providers.Target, models, prints []string) string {
	w.t.Helper()
	return w.finish(w.openRunFor(w.key(target)), target, models, prints)
}

// finish ends a run by a certified record that says what answered.
func (w *world) finish(run store.Run, target providers.Target, models, prints []string) string {
	w.t.Helper()
	return w.finishRun(run, w.key(target), certification.Record{
		Verdict: certification.Certified, Source: providers.SourceLive, ServedModels: models, Fingerprints: prints,
	}, time.Hour).ID
}

// watched is an answer of the primary that its proof is held against.
func (w *world) watched(ref job.Ref, settings drift.Settings, model, print string) store.Change {
	change := answer(ref, `{"ok":true}`)
	change.By = bootID
	change.Answer.ServedModel, change.Answer.SystemPrint = model, print
	change.Watch = &store.Watch{Proof: w.key(primary), Settings: settings, Judged: true}
	return change
}

func (w *world) violating(ref job.Ref, settings drift.Settings) store.Change {
	change := failure(ref, stop())
	change.Reason, change.By = "contract_violation", bootID
	change.Answer = &store.Answer{ServedModel: "large-1", SystemPrint: "fp-1"}
	change.Watch = &store.Watch{Proof: w.key(primary), Settings: settings, Judged: true, Violated: true}
	return change
}

// happened are the types and causes of a record's events, in order.
func (w *world) happened(id string) []string {
	w.t.Helper()
	record, err := w.Store.Record(w.ctx, id)
	w.Expect(err).NotTo(HaveOccurred())
	listed, _, err := w.Store.Records(w.ctx, store.RecordFilter{})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(listed).To(ContainElement(record), "a list says the same")
	return kinds(record.Events)
}

func kinds(events []certification.Event) []string {
	words := []string{}
	for _, event := range events {
		words = append(words, string(event.Type)+" "+event.Cause)
	}
	return words
}

func (w *world) requests(target providers.Target) []store.Request {
	w.t.Helper()
	open, err := w.Store.Requests(w.ctx, []certification.Key{w.key(target)})
	w.Expect(err).NotTo(HaveOccurred())
	return open
}

func servedModelSuspends(w *world) {
	id := w.certifyAs(primary, []string{"large-1"}, nil)
	made := w.create()
	applied := w.apply(w.watched(made.Attempt.Ref, tolerant, "large-1", "fp-9"))
	w.Expect(applied.Drift).To(BeEmpty(), "as certified; a record without fingerprints compares none")
	w.Expect(w.reasons(primary)).To(BeEmpty())

	made = w.create()
	applied = w.apply(w.watched(made.Attempt.Ref, tolerant, "large-2", ""))
	w.Expect(applied.Job.State).To(Equal(job.JobSucceeded), "the answer itself meets the contract")
	w.Expect(w.reasons(primary)).To(HaveExactElements(certification.Suspended))
	w.Expect(w.happened(id)).To(ConsistOf("suspended served_model_changed", "recertification_requested suspended"))
	w.Expect(kinds(applied.Drift)).To(HaveExactElements("suspended served_model_changed", "recertification_requested suspended"))
	standings, err := w.Store.Standings(w.ctx, []certification.Key{w.key(primary)})
	w.Expect(err).NotTo(HaveOccurred())
	event, ok := standings[0].Event(certification.EventSuspended)
	w.Expect(ok).To(BeTrue())
	w.Expect(event.Detail).To(Equal(`"large-2" served an answer; certified was "large-1"`))
	w.Expect(event.By).To(Equal(bootID))
	w.Expect(event.At).To(Equal(standings[0].Proof.SuspendedAt))
	w.Expect(event.Grounds).To(Equal(&certification.Grounds{Attempts: []certification.AttemptRef{{
		Owner: "acme", JobID: made.Job.ID, Number: 1, ID: made.Attempt.ID,
	}}}))
	w.Expect(w.requests(primary)).To(HaveExactElements(SatisfyAll(HaveField("CertificationID", id), HaveField("Cause", "suspended"),
		HaveField("Contract", "greeting"), HaveField("Target", primary))))

	w.apply(w.watched(w.create().Attempt.Ref, tolerant, "large-3", ""))
	w.Expect(w.happened(id)).To(HaveLen(2), "it is suspended once")
}

func violationsSuspend(w *world) {
	id := w.certifyAs(primary, []string{"large-1"}, []string{"fp-1"})
	good := func(n int) {
		for range n {
			w.apply(w.watched(w.create().Attempt.Ref, tolerant, "large-1", "fp-1"))
		}
	}
	bad := func() store.Applied { return w.apply(w.violating(w.create().Attempt.Ref, tolerant)) }
	w.Expect(bad().Drift).To(BeEmpty())
	w.Expect(bad().Drift).To(BeEmpty())
	w.Expect(w.reasons(primary)).To(BeEmpty(), "two of two: too few answers to say")
	good(8)
	w.Expect(bad().Drift).To(BeEmpty(), "those of before have left the window")
	w.Expect(bad().Drift).To(BeEmpty(), "two of eight are exactly the declared rate")
	for range 6 {
		truncated := failure(w.create().Attempt.Ref, stop())
		truncated.Answer = &store.Answer{ServedModel: "large-1"}
		truncated.Watch = &store.Watch{Proof: w.key(primary), Settings: tolerant}
		w.apply(truncated)
	}
	last := bad()
	w.Expect(last.Job.State).To(Equal(job.JobFailed))
	w.Expect(kinds(last.Drift)).To(HaveExactElements("suspended contract_violations", "recertification_requested suspended"),
		"three of eight: what was not judged takes nobody's place in the window")
	w.Expect(last.Drift[0].Grounds.Answers).To(Equal(8))
	w.Expect(last.Drift[0].Grounds.Violations).To(Equal(3))
	w.Expect(last.Drift[0].Grounds.Attempts).To(HaveLen(3))
	w.Expect(last.Drift[0].Grounds.Attempts[0].ID).To(Equal(last.Attempt.ID), "newest first")
	w.Expect(w.reasons(primary)).To(HaveExactElements(certification.Suspended))
	w.Expect(w.happened(id)).To(HaveLen(2))
}

func violationsTogether(w *world) {
	const answers = 4
	settings := drift.Settings{Violations: 0.99, Window: answers, Minimum: answers}
	for range 5 {
		id := w.certifyAs(primary, nil, nil)
		var changes []store.Change
		for range answers {
			changes = append(changes, w.violating(w.create().Attempt.Ref, settings))
		}
		together(answers, func(i int) {
			_, err := w.Store.Apply(w.ctx, changes[i])
			w.Expect(err).NotTo(HaveOccurred())
		})
		w.Expect(w.reasons(primary)).To(HaveExactElements(certification.Suspended))
		w.Expect(w.happened(id)).To(ConsistOf("suspended contract_violations", "recertification_requested suspended"))
	}
}

func namedModelWarns(w *world) {
	id := w.certifyAs(primary, nil, nil)
	for _, model := range []string{"", "large-1", "large-2"} {
		w.apply(w.watched(w.create().Attempt.Ref, tolerant, model, ""))
	}
	w.Expect(w.reasons(primary)).To(BeEmpty(), "it goes on standing")
	w.Expect(w.happened(id)).To(ConsistOf("fingerprint_changed served_model_changed", "recertification_requested fingerprint_changed"))
	w.Expect(w.requests(primary)).To(HaveLen(1))
}

func fingerprintWarns(w *world) {
	id := w.certifyAs(primary, []string{"large-1"}, []string{"fp-1"})
	for _, print := range []string{"fp-1", "fp-2", "fp-3", "fp-2"} {
		w.apply(w.watched(w.create().Attempt.Ref, tolerant, "large-1", print))
	}
	w.Expect(w.reasons(primary)).To(BeEmpty(), "it goes on standing")
	w.Expect(w.happened(id)).To(ConsistOf("fingerprint_changed fingerprint_changed", "recertification_requested fingerprint_changed"))
	standings, err := w.Store.Standings(w.ctx, []certification.Key{w.key(primary)})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(standings[0].Warnings()).To(HaveExactElements(certification.WarningFingerprint))
	event, _ := standings[0].Event(certification.EventFingerprint)
	w.Expect(event.Detail).To(Equal(`an answer has the fingerprint "fp-2"; certified was "fp-1"`))
	w.Expect(w.requests(primary)).To(HaveLen(1))
	w.Expect(w.requests(fallback)).To(BeEmpty())

	w.apply(w.watched(w.create().Attempt.Ref, tolerant, "large-2", "fp-2"))
	w.Expect(w.reasons(primary)).To(HaveExactElements(certification.Suspended))
	w.Expect(w.happened(id)).To(HaveLen(3), "the request is open already")
	w.certifyAs(primary, []string{"large-2"}, []string{"fp-2"})
	w.Expect(w.reasons(primary)).To(BeEmpty())
	w.Expect(w.requests(primary)).To(BeEmpty())
}

func answersUnderTheOldRecord(w *world) {
	w.certifyAs(primary, []string{"large-1"}, nil)
	sentBefore := w.create()
	settings := drift.Settings{Window: 10, Minimum: 1}
	violatingBefore := w.create()
	w.later()
	renewed := w.certifyAs(primary, []string{"large-2"}, nil)
	w.Expect(w.apply(w.watched(sentBefore.Attempt.Ref, settings, "large-1", "")).Drift).To(BeEmpty())
	w.Expect(w.apply(w.violating(violatingBefore.Attempt.Ref, settings)).Drift).To(BeEmpty())
	w.Expect(w.reasons(primary)).To(BeEmpty())
	w.Expect(w.happened(renewed)).To(BeEmpty())
	w.Expect(w.apply(w.violating(w.create().Attempt.Ref, settings)).Drift).NotTo(BeEmpty(), "what is sent under the new record counts")
}

// later waits until the database's clock shows another time than now, so that two of its times differ.
func (w *world) later() {
	w.t.Helper()
	now, err := w.Store.Clock(w.ctx)
	w.Expect(err).NotTo(HaveOccurred())
	w.Eventually(func() bool {
		next, err := w.Store.Clock(w.ctx)
		return err == nil && next.After(now)
	}).WithPolling(time.Millisecond).Should(BeTrue())
}

// renewedMeanwhile: another transaction has the proofs, and moves one, while the answer is being stored.
func renewedMeanwhile(w *world) {
	was := w.certifyAs(primary, []string{"large-1"}, nil)
	made := w.create()
	w.later()
	now, err := w.Store.Clock(w.ctx)
	w.Expect(err).NotTo(HaveOccurred())
	renewed := w.issued(was, now, now.Add(time.Hour))
	begin, lock := "BEGIN IMMEDIATE", "SELECT 1"
	if w.Postgres {
		begin, lock = "BEGIN", "LOCK TABLE proofs IN EXCLUSIVE MODE"
	}
	conn, err := w.Raw.Conn(w.ctx)
	w.Expect(err).NotTo(HaveOccurred())
	defer func() { w.Expect(conn.Close()).To(Succeed()) }()
	exec := func(statement string) {
		w.t.Helper()
		_, err := conn.ExecContext(w.ctx, statement)
		w.Expect(err).NotTo(HaveOccurred())
	}
	exec(begin)
	exec(lock)
	stored := make(chan store.Applied, 1)
	go func() {
		applied, err := w.Store.Apply(w.ctx, w.watched(made.Attempt.Ref, tolerant, "large-9", ""))
		if err != nil {
			w.t.Error(err)
		}
		stored <- applied
	}()
	w.revocationIsWaiting() // whoever moves a proof stands in the same queue
	exec("UPDATE proofs SET certification_id = '" + renewed + "', expires_at = " + moment(now.Add(time.Hour)) + " WHERE certification_id = '" + was + "'")
	exec("COMMIT")
	applied := <-stored
	w.Expect(applied.Job.State).To(Equal(job.JobSucceeded))
	w.Expect(applied.Drift).To(BeEmpty(), "the answer is about the record before")
	w.Expect(w.reasons(primary)).To(BeEmpty())
	w.Expect(w.happened(renewed)).To(BeEmpty())
}

func notWatched(w *world) {
	w.certifyAs(primary, []string{"large-1"}, nil)
	w.apply(answer(w.create().Attempt.Ref, `1`))
	off := w.watched(w.create().Attempt.Ref, drift.Settings{Off: true}, "large-9", "")
	w.apply(off)
	cancelled := w.create()
	w.apply(store.Change{Ref: cancelled.Attempt.Ref, Event: job.EventCancel, Reason: "cancelled", By: "test"})
	w.Expect(w.apply(w.watched(cancelled.Attempt.Ref, tolerant, "large-9", "")).Moved).To(BeFalse())
	unheard := w.create()
	doubt := w.watched(unheard.Attempt.Ref, tolerant, "large-9", "")
	doubt.Event, doubt.Reason, doubt.Answer.Result = job.EventDoubt, "timeout", ""
	w.apply(doubt)
	other := w.create()
	elsewhere := w.watched(other.Attempt.Ref, tolerant, "large-9", "")
	elsewhere.Watch.Proof = w.key(fallback)
	w.apply(elsewhere)
	w.Expect(w.reasons(primary)).To(BeEmpty())

	late := w.watched(unheard.Attempt.Ref, tolerant, "large-9", "")
	w.Expect(w.apply(late).Drift).NotTo(BeEmpty(), "a late answer is an answer")
	w.Expect(w.apply(late).Drift).To(BeEmpty(), "a repeated delivery changes nothing")
	w.Expect(w.reasons(primary)).To(HaveExactElements(certification.Suspended))
}

func suspendedFallback(w *world) {
	w.certifyAs(primary, []string{"large-1"}, nil)
	id := w.certifyAs(fallback, []string{"medium-1"}, nil)
	first, second := w.create(), w.create()
	waits := waiting(fallback, 0)
	waits.CertificationID, waits.Role = id, job.RoleFallback
	next := w.apply(failure(first.Attempt.Ref, decide(func(store.View) store.Step { return store.Step{Attempt: waits} }))).Next
	w.Expect(next.State).To(Equal(job.Starting))

	runs := w.apply(failure(second.Attempt.Ref, sendAt(fallback, id))).Next
	drifted := w.watched(runs.Ref, tolerant, "medium-2", "")
	drifted.Watch.Proof = w.key(fallback)
	w.Expect(w.apply(drifted).Drift).NotTo(BeEmpty())

	turn := store.Change{Ref: next.Ref, Event: job.EventTurn, BootID: bootID, Lease: time.Minute}
	w.unchanged(first, func() {
		_, err := w.Store.Apply(w.ctx, turn)
		var unproven *store.NotCertified
		w.Expect(errors.As(err, &unproven)).To(BeTrue(), "%v", err)
		w.Expect(unproven.Refusal.Reasons).To(Equal([]string{"suspended"}))
	})
	third := w.create()
	_, err := w.Store.Apply(w.ctx, failure(third.Attempt.Ref, sendAt(fallback, id)))
	var unproven *store.NotCertified
	w.Expect(errors.As(err, &unproven)).To(BeTrue(), "%v", err)
	w.certifyAs(fallback, []string{"medium-2"}, nil)
	w.Expect(w.apply(turn).Attempt.State).To(Equal(job.Running))
}

func outcomesAreForgotten(w *world) {
	kept := func() int {
		w.t.Helper()
		var n int
		w.Expect(w.Raw.QueryRowContext(w.ctx, "SELECT count(*) FROM certification_outcomes").Scan(&n)).To(Succeed())
		return n
	}
	id := w.certifyAs(primary, nil, nil)
	w.apply(w.watched(w.create().Attempt.Ref, tolerant, "", ""))
	moments := "SELECT timestamptz '" + longAgo + "' + n * interval '1 second' AS at, n FROM generate_series(1, 10001) AS n"
	if !w.Postgres {
		moments = `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT 10001)
			SELECT strftime('%Y-%m-%dT%H:%M:%f000Z', '2020-02-02', '+' || n || ' seconds') AS at, n FROM n`
	}
	w.Expect(w.raw("INSERT INTO certification_outcomes SELECT ¿, at, n, 'acme', 'job', 1, 0 FROM ("+moments+") AS m", id)).To(Succeed())
	w.Expect(kept()).To(Equal(drift.MostWindow + 2))
	_, err := w.Store.TendProofs(w.ctx, []certification.Key{w.key(primary)}, bootID)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(kept()).To(Equal(drift.MostWindow), "as many as the widest window holds")
	var newest string
	w.Expect(w.Raw.QueryRowContext(w.ctx, "SELECT attempt_id FROM certification_outcomes ORDER BY at DESC LIMIT 1").Scan(&newest)).To(Succeed())
	w.Expect(newest).NotTo(Equal("10001"), "the oldest go")
	w.certifyAs(primary, nil, nil)
	w.Expect(kept()).To(BeZero(), "a new record begins with an empty window")
}

func schemaCertificationEvents(w *world) {
	id := w.certifyAs(primary, []string{"large-1"}, nil)
	w.apply(w.watched(w.create().Attempt.Ref, tolerant, "large-2", ""))
	statements := []string{"UPDATE certification_events SET detail = ''", "DELETE FROM certification_events"}
	if w.Postgres {
		statements = append(statements, "TRUNCATE certification_events")
	}
	for _, statement := range statements {
		w.Expect(w.raw(statement)).To(MatchError(ContainSubstring("append-only")), statement)
	}
	again := "INSERT INTO certification_events (certification_id, type, at) VALUES (¿, ¿, " + w.now() + ")"
	w.Expect(w.raw(again, id, "suspended")).NotTo(Succeed(), "it is suspended once")
	w.Expect(w.raw(again, id, "renamed")).NotTo(Succeed(), "an unknown kind")
	w.Expect(w.raw(again, "cert-nowhere", "suspended")).NotTo(Succeed())
	w.Expect(w.raw(`INSERT INTO certification_requests (certification_id, proof_digest, target, contract, cause, requested_at)
		VALUES (¿, ¿, ¿, 'greeting', 'test', `+w.now()+`)`, w.certify(fallback), w.key(primary).ProofDigest, primary.String())).
		NotTo(Succeed(), "one open request for a proof")
	w.Expect(w.raw("UPDATE certification_requests SET closed_at = "+w.now())).NotTo(Succeed(), "closed by nobody")
}
