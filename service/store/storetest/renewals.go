package storetest

import (
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/store"
)

// renewals are about how a proof ends, what asks for a new one, and which record is one.
var renewals = []behaviour{
	{"a record whose run had begun before the suspension does not end it", carriedOver},
	{"a request stays open until a judged record that counts", requestsStayOpen},
	{"a request from before an edit asks for what was edited, until that is judged", editedSince},
	{"what asks for recorded answers is done by simulated ones too", recordedSince},
	{"a run that had begun before a proof ended ends no revocation, and outdoes no newer run", outdated},
	{"a revocation of a suspended proof keeps both", revokedAndSuspended},
	{"an end of validity is announced once, and asked to be renewed", expiryIsAnnounced},
}

func carriedOver(w *world) {
	id := w.certifyAs(primary, []string{"large-1"}, nil)
	before := w.openRunFor(w.key(primary))
	w.later()
	w.apply(w.watched(w.create().Attempt.Ref, tolerant, "large-2", ""))
	w.later()
	between := w.openRunFor(w.key(primary))
	w.later()
	second := w.finish(before, primary, []string{"large-1"}, nil)
	w.Expect(w.reasons(primary)).To(HaveExactElements(certification.Suspended))
	w.Expect(w.happened(second)).To(HaveExactElements("suspended carried_over"))
	w.Expect(w.happened(id)).To(ContainElement("displaced certified"))
	w.Expect(w.requests(primary)).To(HaveLen(1), "it was not done")
	third := w.finish(between, primary, []string{"large-2"}, nil)
	w.Expect(w.reasons(primary)).To(BeEmpty(), "it began after the suspension, though before that was carried over")
	w.Expect(w.happened(third)).To(BeEmpty())
	w.Expect(w.requests(primary)).To(BeEmpty())
}

// outdated: a run that began before its proof ended says nothing of the target since, whatever came in between.
func outdated(w *world) {
	end := func(suspended, revoked bool) (before store.Run) {
		id := w.certifyAs(primary, []string{"large-1"}, nil)
		before = w.openRunFor(w.key(primary))
		w.later()
		if suspended {
			w.apply(w.watched(w.create().Attempt.Ref, tolerant, "large-2", ""))
		}
		if revoked {
			_, err := w.Store.Revoke(w.ctx, id, "drill", "ada")
			w.Expect(err).NotTo(HaveOccurred())
		}
		w.later()
		return before
	}
	for _, row := range []struct {
		suspended, revoked bool
		since              func()
		reasons            []certification.Reason
	}{
		{true, false, func() { w.judge(primary, certification.Rejected, providers.SourceLive, time.Hour) }, []certification.Reason{certification.ReasonRejected}},
		{false, true, func() {}, []certification.Reason{certification.Revoked}},
		{true, true, func() {}, []certification.Reason{certification.Revoked, certification.Suspended}},
		{false, true, func() { w.judge(primary, certification.Rejected, providers.SourceLive, time.Hour) }, []certification.Reason{certification.ReasonRejected}},
		{true, false, func() { w.certifyAs(primary, []string{"large-2"}, nil) }, nil},
		{false, true, func() { w.certifyAs(primary, []string{"large-2"}, nil) }, nil},
	} {
		before := end(row.suspended, row.revoked)
		row.since()
		open := len(w.requests(primary))
		old := w.finish(before, primary, []string{"large-1"}, nil)
		w.Expect(w.reasons(primary)).To(Equal(row.reasons), "%+v", row)
		w.Expect(w.happened(old)).To(HaveExactElements("suspended carried_over"))
		w.Expect(w.requests(primary)).To(HaveLen(open), "nothing was done that was asked for")
		w.certifyAs(primary, []string{"large-2"}, nil)
		w.Expect(w.reasons(primary)).To(BeEmpty(), "a run that began after it")
	}
	id := w.certifyAs(primary, []string{"large-1"}, nil)
	w.apply(w.watched(w.create().Attempt.Ref, tolerant, "large-2", ""))
	w.later()
	between := w.openRunFor(w.key(primary))
	w.later()
	_, err := w.Store.Revoke(w.ctx, id, "drill", "ada")
	w.Expect(err).NotTo(HaveOccurred())
	w.finish(between, primary, []string{"large-2"}, nil)
	w.Expect(w.requests(primary)).To(HaveLen(1), "it began after the request, and ends nothing all the same")
	rejects := end(false, true)
	w.finishRun(rejects, w.key(primary), certification.Record{Verdict: certification.Rejected, Source: providers.SourceLive}, time.Hour)
	w.Expect(w.reasons(primary)).To(HaveExactElements(certification.ReasonRejected), "a rejection needs no fresh run")
}

func requestsStayOpen(w *world) {
	w.certifyAs(primary, []string{"large-1"}, nil)
	w.apply(w.watched(w.create().Attempt.Ref, tolerant, "large-2", ""))
	w.judge(primary, certification.Inconclusive, providers.SourceLive, time.Hour)
	w.judge(primary, certification.Certified, providers.SourceReplay, time.Hour)
	w.certify(fallback)
	w.Expect(w.requests(primary)).To(HaveLen(1))
	w.Expect(w.reasons(primary)).To(HaveExactElements(certification.Suspended))
	w.judge(primary, certification.Rejected, providers.SourceLive, time.Hour)
	w.Expect(w.requests(primary)).To(BeEmpty(), "it was judged")
	w.Expect(w.reasons(primary)).To(HaveExactElements(certification.ReasonRejected))
	w.Expect(w.apply(w.watched(w.create().Attempt.Ref, tolerant, "large-3", "")).Drift).To(BeEmpty(), "there is nothing to suspend")
}

// editedSince: a contract or profile that is edited has another proof digest, and both editions may be in use.
func editedSince(w *world) {
	edited := w.key(primary)
	edited.ProofDigest = "proof-edited"
	w.certifyAs(primary, []string{"large-1"}, nil)
	before := w.openRunFor(edited)
	w.later()
	w.apply(w.watched(w.create().Attempt.Ref, tolerant, "large-2", ""))
	asked := func() []store.Request {
		found, err := w.Store.Requests(w.ctx, []certification.Key{edited})
		w.Expect(err).NotTo(HaveOccurred())
		return found
	}
	w.Expect(asked()).To(HaveExactElements(HaveField("ProofDigest", w.key(primary).ProofDigest)), "it is asked for as it is now")
	w.finishRun(before, edited, certification.Record{Verdict: certification.Certified, Source: providers.SourceLive}, time.Hour)
	w.Expect(asked()).To(HaveLen(1), "its run had begun before the request")
	other, elsewhere := edited, edited
	other.Contract, other.ProofDigest = "another", "proof-of-another"
	elsewhere.Target, elsewhere.ProofDigest = fallback, "proof-elsewhere"
	w.judgeKey(other, certification.Certified, providers.SourceLive, time.Hour)
	w.judgeKey(elsewhere, certification.Certified, providers.SourceLive, time.Hour)
	edited.ProofDigest = "proof-edited-again"
	w.judgeKey(edited, certification.Certified, providers.SourceReplay, time.Hour)
	w.judgeKey(edited, certification.Inconclusive, providers.SourceLive, time.Hour)
	w.Expect(asked()).To(HaveLen(1), "another contract's, another target's, one that is not live, one that was not judged")
	w.judgeKey(edited, certification.Certified, providers.SourceLive, time.Hour)
	w.Expect(asked()).To(BeEmpty())
	other.ProofDigest, elsewhere.ProofDigest = "proof-never-seen", "proof-never-seen" // nothing of them was judged that could answer
	for _, key := range []certification.Key{other, elsewhere} {
		w.Expect(w.Store.Requests(w.ctx, []certification.Key{key})).To(BeEmpty())
	}
	w.Expect(w.reasons(primary)).To(HaveExactElements(certification.Suspended), "the proof of before stays as it is")
	w.Expect(w.requests(primary)).To(HaveLen(1), "and so does what is asked of it, for those who still have it or come back to it")
	w.certifyAs(primary, []string{"large-2"}, nil)
	w.Expect(w.requests(primary)).To(BeEmpty())
}

// recordedSince: what asks for a certification of recorded answers is done by simulated ones, and by live ones too.
func recordedSince(w *world) {
	for _, source := range []providers.Source{providers.SourceSimulated, providers.SourceReplay, providers.SourceLive} {
		w.finishRun(w.openRunFor(w.key(primary)), w.key(primary), certification.Record{
			Verdict: certification.Certified, Source: providers.SourceReplay, ServedModels: []string{"large-1"},
		}, time.Hour)
		w.apply(w.watched(w.create().Attempt.Ref, tolerant, "large-2", ""))
		edited := w.key(primary)
		edited.ProofDigest = fresh("proof")
		asked := func() []store.Request {
			found, err := w.Store.Requests(w.ctx, []certification.Key{edited})
			w.Expect(err).NotTo(HaveOccurred())
			return found
		}
		w.Expect(asked()).To(HaveLen(1), source)
		w.later()
		w.judgeKey(edited, certification.Certified, source, time.Hour)
		w.Expect(asked()).To(BeEmpty(), source)
	}
}

func revokedAndSuspended(w *world) {
	id := w.certifyAs(primary, []string{"large-1"}, nil)
	w.apply(w.watched(w.create().Attempt.Ref, tolerant, "large-2", ""))
	for range 2 {
		_, err := w.Store.Revoke(w.ctx, id, "drill", "ada")
		w.Expect(err).NotTo(HaveOccurred())
	}
	w.Expect(w.reasons(primary)).To(HaveExactElements(certification.Revoked, certification.Suspended))
	w.Expect(w.happened(id)).To(ConsistOf("suspended served_model_changed", "recertification_requested suspended", "revoked "))
	w.certifyAs(primary, []string{"large-2"}, nil)
	w.Expect(w.reasons(primary)).To(BeEmpty())
	revoked := w.certifyAs(fallback, []string{"medium-1"}, nil)
	_, err := w.Store.Revoke(w.ctx, revoked, "drill", "ada")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.happened(revoked)).To(HaveExactElements("revoked "))
	w.Expect(w.requests(fallback)).To(BeEmpty(), "who revokes on purpose asks for nothing")
}

// aged makes a record that was issued so long ago, for so long, the target's proof.
func (w *world) aged(target providers.Target, age, validFor time.Duration) string {
	w.t.Helper()
	now, err := w.Store.Clock(w.ctx)
	w.Expect(err).NotTo(HaveOccurred())
	was, expires := w.certify(target), now.Add(validFor-age)
	id := w.issued(was, now.Add(-age), expires)
	w.Expect(w.raw("UPDATE proofs SET certification_id = '"+id+"', expires_at = "+moment(expires)+" WHERE certification_id = ¿", was)).To(Succeed())
	return id
}

// issued copies a record to another one of these times, which is not the proof yet.
func (w *world) issued(of string, issued, expires time.Time) string {
	w.t.Helper()
	id := fresh("cert")
	w.Expect(w.raw(`INSERT INTO certification_records (id, run_id, contract, target, proof_digest, effective_digest, profile_digest,
		verdict, source, document, issued_at, expires_at) SELECT '`+id+`', '`+fresh("run")+`', contract, target, proof_digest,
		effective_digest, profile_digest, verdict, source, replace(document, id, '`+id+`'), `+moment(issued)+`, `+moment(expires)+`
		FROM certification_records WHERE id = ¿`, of)).To(Succeed())
	return id
}

// moment is a time as both engines read it in a statement.
func moment(t time.Time) string { return "'" + t.UTC().Format("2006-01-02T15:04:05.000000Z") + "'" }

func expiryIsAnnounced(w *world) {
	tend := func() []string {
		w.t.Helper()
		noted, err := w.Store.TendProofs(w.ctx, []certification.Key{w.key(fallback), w.key(primary)}, bootID)
		w.Expect(err).NotTo(HaveOccurred())
		return kinds(noted)
	}
	warnings := func() []certification.Warning {
		w.t.Helper()
		found, err := w.Store.Standings(w.ctx, []certification.Key{w.key(primary)})
		w.Expect(err).NotTo(HaveOccurred())
		return found[0].Warnings()
	}
	const week = 7 * 24 * time.Hour
	w.Expect(tend()).To(BeEmpty(), "nothing was certified")
	for _, row := range []struct{ age, validFor time.Duration }{
		{time.Minute, time.Hour}, {47 * time.Minute, time.Hour}, {week - 25*time.Hour, week},
	} {
		id := w.aged(primary, row.age, row.validFor)
		w.Expect(tend()).To(BeEmpty(), "%v", row)
		w.Expect(warnings()).To(BeEmpty(), "%v", row)
		w.Expect(w.happened(id)).To(BeEmpty())
	}
	for _, row := range []struct{ age, validFor time.Duration }{{49 * time.Minute, time.Hour}, {week - 23*time.Hour, week}} {
		id := w.aged(primary, row.age, row.validFor)
		w.Expect(warnings()).To(HaveExactElements(certification.WarningExpiring), "before anybody tends it")
		w.Expect(w.reasons(primary)).To(BeEmpty(), "it stands all the same")
		w.Expect(tend()).To(HaveExactElements("expiring ", "recertification_requested expiring"), "%v", row)
		w.Expect(tend()).To(BeEmpty(), "once for each record")
		w.Expect(w.happened(id)).To(HaveLen(2))
		w.Expect(w.requests(primary)).To(HaveExactElements(HaveField("CertificationID", id)))
		w.certify(primary)
		w.Expect(w.requests(primary)).To(BeEmpty())
	}
	w.aged(primary, time.Hour+time.Second, time.Hour)
	w.Expect(tend()).To(HaveExactElements("expired ", "recertification_requested expired"), "nobody was there to announce it")
	w.Expect(tend()).To(BeEmpty())
	w.Expect(warnings()).To(BeEmpty(), "what has expired does not expire soon")
	for _, row := range []string{"revoked_at", "suspended_at"} {
		w.aged(primary, time.Hour, time.Hour)
		w.Expect(w.raw("UPDATE proofs SET " + row + " = " + w.now())).To(Succeed())
		w.Expect(tend()).To(BeEmpty(), "nobody misses it: "+row)
	}
}
