package storetest

import (
	"errors"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

var proofs = []behaviour{
	{"a proof stands, and each way of falling has its reason", proofReasons},
	{"an inconclusive record never displaces a judged one, a rejection does at once", displacing},
	{"a record that is not live never displaces a live one", sources},
	{"a changed contract or profile is told from never certified", changed},
	{"a revocation is kept, repeated without effect, and ended only by a new record", revoking},
	{"records are listed in pages, newest first, by contract and target", recordPages},
	{"an explicit attempt elsewhere needs a standing proof", explicitFallback},
	{"a waiting attempt elsewhere needs its proof once more when its turn comes", provenAtItsTurn},
}

func proofReasons(w *world) {
	w.Expect(w.reasons(fallback)).To(HaveExactElements(certification.NoCertification))
	w.certify(fallback)
	w.Expect(w.reasons(fallback)).To(BeEmpty())
	w.judge(fallback, certification.Certified, providers.SourceLive, -time.Second)
	w.Expect(w.reasons(fallback)).To(HaveExactElements(certification.Expired))
	w.judge(fallback, certification.Rejected, providers.SourceLive, time.Hour)
	w.Expect(w.reasons(fallback)).To(HaveExactElements(certification.ReasonRejected))
	w.certify(fallback)
	w.Expect(w.raw("UPDATE proofs SET suspended_at = " + w.now())).To(Succeed())
	w.Expect(w.reasons(fallback)).To(HaveExactElements(certification.Suspended))
	id := w.certify(fallback)
	w.Expect(w.reasons(fallback)).To(BeEmpty(), "a new record ends the suspension")
	_, err := w.Store.Revoke(w.ctx, id, "drill", "test")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.reasons(fallback)).To(HaveExactElements(certification.Revoked))
}

func displacing(w *world) {
	w.judge(fallback, certification.Inconclusive, providers.SourceLive, time.Hour)
	w.Expect(w.reasons(fallback)).To(HaveExactElements(certification.ReasonInconcl))
	w.certify(fallback)
	w.judge(fallback, certification.Inconclusive, providers.SourceLive, time.Hour)
	w.Expect(w.reasons(fallback)).To(BeEmpty())
	w.judge(fallback, certification.Rejected, providers.SourceLive, time.Hour)
	w.Expect(w.reasons(fallback)).To(HaveExactElements(certification.ReasonRejected))
	w.judge(fallback, certification.Inconclusive, providers.SourceLive, time.Hour)
	w.Expect(w.reasons(fallback)).To(HaveExactElements(certification.ReasonRejected))
}

func sources(w *world) {
	w.judge(fallback, certification.Certified, providers.SourceSimulated, time.Hour)
	w.Expect(w.reasons(fallback)).To(HaveExactElements(certification.SourceNotAccepted))
	for _, source := range []providers.Source{providers.SourceReplay, providers.SourceSimulated, providers.SourceReplay} {
		id := w.judge(fallback, certification.Certified, source, time.Hour).ID
		w.Expect(w.standing(fallback).Proof.CertificationID).To(Equal(id), "recorded and simulated answers displace each other")
	}
	w.certify(fallback)
	w.judge(fallback, certification.Rejected, providers.SourceSimulated, time.Hour)
	w.judge(fallback, certification.Rejected, providers.SourceReplay, time.Hour)
	w.Expect(w.reasons(fallback)).To(BeEmpty())
	run, err := w.Store.OpenRun(w.ctx, store.Run{ID: fresh("run"), Name: fresh("n"), Contract: "greeting", ProofDigest: "p", Target: fallback})
	w.Expect(err).NotTo(HaveOccurred())
	_, _, err = w.Store.FinishRun(w.ctx, run.ID, certification.Record{ID: fresh("cert"), Target: fallback, Verdict: certification.Certified, Source: "rumour"}, time.Hour)
	w.Expect(err).To(MatchError(ContainSubstring("rumour")))
}

func changed(w *world) {
	w.certify(fallback)
	ask := func(change func(*certification.Key)) []certification.Reason {
		key := w.key(fallback)
		change(&key)
		standings, err := w.Store.Standings(w.ctx, []certification.Key{key})
		w.Expect(err).NotTo(HaveOccurred())
		return standings[0].Reasons(accepted)
	}
	w.Expect(ask(func(k *certification.Key) { k.EffectiveDigest, k.ProofDigest = "other", "other" })).
		To(HaveExactElements(certification.ContractChanged))
	w.Expect(ask(func(k *certification.Key) { k.ProfileDigest, k.ProofDigest = "other", "other" })).
		To(HaveExactElements(certification.ProfileChanged))
	w.Expect(ask(func(k *certification.Key) { k.Contract, k.ProofDigest = "other", "other" })).
		To(HaveExactElements(certification.NoCertification))
}

func revoking(w *world) {
	id := w.certify(fallback)
	first, err := w.Store.Revoke(w.ctx, id, "wrong model behind it", "ada")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(first.RevokedReason).To(Equal("wrong model behind it"))
	w.Expect(first.RevokedBy).To(Equal("ada"))
	again, err := w.Store.Revoke(w.ctx, id, "something else", "bob")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(again).To(Equal(first))
	_, err = w.Store.Revoke(w.ctx, "cert-nowhere", "x", "y")
	w.Expect(err).To(MatchError(store.ErrNotFound))
	w.certify(fallback)
	w.Expect(w.reasons(fallback)).To(BeEmpty())
	_, err = w.Store.Revoke(w.ctx, id, "again", "ada")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.reasons(fallback)).To(BeEmpty(), "an old record's revocation does not touch the new proof")
}

func recordPages(w *world) {
	var ids []string
	for range 3 {
		ids = append([]string{w.certify(fallback)}, ids...)
	}
	w.certify(primary)
	page, next, err := w.Store.Records(w.ctx, store.RecordFilter{Contract: "greeting", Target: &fallback, Limit: 2})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(page).To(HaveExactElements(HaveField("ID", ids[0]), HaveField("ID", ids[1])))
	page, next, err = w.Store.Records(w.ctx, store.RecordFilter{Contract: "greeting", Target: &fallback, Limit: 2, Cursor: next})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(page).To(HaveExactElements(HaveField("ID", ids[2])))
	w.Expect(next).To(BeEmpty())
	all, _, err := w.Store.Records(w.ctx, store.RecordFilter{})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(all).To(HaveLen(4))
}

func explicitFallback(w *world) {
	made := w.attemptIn(job.Failed)
	key := w.key(fallback)
	ask := func() (store.Made, error) {
		add := manual(made, fresh("key"), "")
		add.Attempt.Target, add.Proof = fallback, &key
		return w.Store.AddAttempt(w.ctx, add)
	}
	_, err := ask()
	var refused *store.NotCertified
	w.Expect(errors.As(err, &refused)).To(BeTrue())
	w.Expect(refused.Refusal).To(Equal(job.TargetRefusal{Target: fallback, Reasons: []string{"no_certification"}}))
	w.judge(fallback, certification.Certified, providers.SourceSimulated, time.Hour)
	_, err = ask()
	w.Expect(errors.As(err, &refused)).To(BeTrue())
	w.Expect(refused.Refusal.Reasons).To(Equal([]string{"source_not_accepted"}))
	outside := manual(made, fresh("key"), "")
	outside.Attempt.Target, outside.Proof, outside.Refusals = fallback, &key, []string{"not_in_route"}
	_, err = w.Store.AddAttempt(w.ctx, outside)
	w.Expect(errors.As(err, &refused)).To(BeTrue())
	w.Expect(refused.Refusal.Reasons).To(Equal([]string{"not_in_route"}))
	w.Expect(w.attempts(made)).To(HaveLen(1))
	id := w.certify(fallback)
	added, err := ask()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(added.Attempt.CertificationID).To(Equal(id))
}

func provenAtItsTurn(w *world) {
	id := w.certify(fallback)
	made := w.create()
	waits := waiting(fallback, 0)
	waits.CertificationID, waits.Role = id, job.RoleFallback
	next := w.apply(failure(made.Attempt.Ref, decide(func(store.View) store.Step { return store.Step{Attempt: waits} }))).Next
	w.Expect(next.State).To(Equal(job.Starting))
	_, err := w.Store.Revoke(w.ctx, id, "drill", "test")
	w.Expect(err).NotTo(HaveOccurred())

	turn := store.Change{Ref: next.Ref, Event: job.EventTurn, BootID: bootID, Lease: time.Minute}
	w.unchanged(made, func() {
		_, err := w.Store.Apply(w.ctx, turn)
		var unproven *store.NotCertified
		w.Expect(errors.As(err, &unproven)).To(BeTrue(), "%v", err)
		w.Expect(unproven.Refusal).To(Equal(job.TargetRefusal{Target: fallback, Reasons: []string{"revoked"}}))
	})
	w.certify(fallback) // by another record, of the same proof digest
	w.Expect(w.apply(turn).Attempt.State).To(Equal(job.Running))
}
