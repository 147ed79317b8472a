package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers/simulator"
	"github.com/fallproof/fallproof/service/job"
)

// past is everything that the store, the providers and the clients know after a run.
type past struct {
	jobs     map[string]*jobPast          // by id
	attempts map[string]*attempt          // by id
	records  map[string]record            // certification records, by id
	posts    map[string][]simulator.Entry // by attempt id
	sent     []*submission
	results  map[string][]string  // by attempt id: what operators said that the result was
	revoked  map[string]time.Time // when a record's revocation was acknowledged, by its id
	home     map[string]string    // the replica of each boot id
	troubled func(from, to time.Time, where ...string) bool
}

// jobPast is one job with all that happened to it.
type jobPast struct {
	id, key, contract, input, intended, state, result string
	completedBy, maxAttempts                          int
	attempts                                          []*attempt
	events                                            []event
}

type attempt struct {
	job                                                           *jobPast
	jobID, id, role, target, certification, state, reason, bootID string
	number, sends                                                 int
	heard, leased                                                 bool
	created                                                       time.Time
}

type event struct {
	jobID, kind, text string
	attempt           int
	at                time.Time
	detail            detail
}

// detail is what of an event's detail is judged.
type detail struct {
	From   job.State `json:"from"`
	To     job.State `json:"to"`
	State  job.State `json:"state"`
	Event  job.Event `json:"event"`
	Reason string    `json:"reason"`
	By     string    `json:"by"`
	Note   string    `json:"note"`
	Winner int       `json:"winner"`
}

type record struct {
	id, contract, target, verdict string
	issued, expires               time.Time
	revoked                       *time.Time
}

// gather reads all rows.
func gather[T any](rows pgx.Rows, into func(*T) []any) ([]T, error) {
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (T, error) {
		var each T
		err := row.Scan(into(&each)...)
		return each, err
	})
}

// all is gather of a query that must succeed.
func all[T any](ctx context.Context, tx pgx.Tx, into func(*T) []any, query string) []T {
	GinkgoHelper()
	rows, err := tx.Query(ctx, query)
	Expect(err).NotTo(HaveOccurred())
	found, err := gather(rows, into)
	Expect(err).NotTo(HaveOccurred())
	return found
}

// read reads one consistent view of the store, and what the others know.
func (w *world) read(ctx context.Context) *past {
	GinkgoHelper()
	p := &past{
		jobs: map[string]*jobPast{}, attempts: map[string]*attempt{}, records: map[string]record{},
		posts: w.provider.seen(), sent: w.sent.all, results: w.book.results, revoked: w.book.acks, home: w.homes(), troubled: w.book.troubled,
	}
	err := pgx.BeginTxFunc(ctx, w.db, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		p.readJobs(ctx, tx)
		p.readAttempts(ctx, tx)
		p.readEvents(ctx, tx)
		p.readRecords(ctx, tx)
		return nil
	})
	Expect(err).NotTo(HaveOccurred())
	return p
}

func (p *past) readJobs(ctx context.Context, tx pgx.Tx) {
	GinkgoHelper()
	for _, j := range all(ctx, tx, func(j *jobPast) []any {
		return []any{&j.id, &j.key, &j.contract, &j.input, &j.intended, &j.state, &j.result, &j.completedBy, &j.maxAttempts}
	}, `SELECT id, idempotency_key, contract, input, intended_target, state, COALESCE(result, ''), COALESCE(completed_by, 0), max_attempts FROM jobs`) {
		p.jobs[j.id] = &j
	}
}

func (p *past) readAttempts(ctx context.Context, tx pgx.Tx) {
	GinkgoHelper()
	for _, a := range all(ctx, tx, func(a *attempt) []any {
		return []any{&a.jobID, &a.number, &a.id, &a.role, &a.target, &a.certification, &a.state, &a.reason, &a.bootID, &a.sends,
			&a.heard, &a.leased, &a.created}
	}, `SELECT job_id, number, id, role, target, COALESCE(certification_id, ''), state, reason, boot_id, sends,
		heard, lease_until IS NOT NULL, created_at FROM attempts ORDER BY job_id, number`) {
		a.job = p.jobs[a.jobID]
		a.job.attempts = append(a.job.attempts, &a)
		p.attempts[a.id] = &a
	}
}

func (p *past) readEvents(ctx context.Context, tx pgx.Tx) {
	GinkgoHelper()
	for _, e := range all(ctx, tx, func(e *event) []any {
		return []any{&e.jobID, &e.kind, &e.attempt, &e.text, &e.at}
	}, "SELECT job_id, type, attempt, detail, at FROM events ORDER BY job_id, seq") {
		Expect(json.Unmarshal([]byte(e.text), &e.detail)).To(Succeed(), e.text)
		p.jobs[e.jobID].events = append(p.jobs[e.jobID].events, e)
	}
}

func (p *past) readRecords(ctx context.Context, tx pgx.Tx) {
	GinkgoHelper()
	for _, r := range all(ctx, tx, func(r *record) []any {
		return []any{&r.id, &r.contract, &r.target, &r.verdict, &r.issued, &r.expires, &r.revoked}
	}, `SELECT r.id, r.contract, r.target, r.verdict, r.issued_at, r.expires_at, v.revoked_at
		FROM certification_records r LEFT JOIN certification_revocations v ON v.certification_id = r.id`) {
		p.records[r.id] = r
	}
}

// tell is the history of a job as people read it.
func (p *past) tell(id string) string {
	j := p.jobs[id]
	if j == nil {
		return "no job " + id + " in the store\n"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "job %s (%s, key %s, intended %s): %s", j.id, j.contract, j.key, j.intended, j.state)
	if j.completedBy != 0 {
		fmt.Fprintf(&text, " by attempt %d with %s", j.completedBy, j.result)
	}
	for _, a := range j.attempts {
		fmt.Fprintf(&text, "\n  attempt %d %s (%s at %s, %s, proof %q): %s %s, sends %d, POSTs %d", a.number, a.id, a.role, a.target,
			p.home[a.bootID], a.certification, a.state, a.reason, a.sends, len(p.posts[a.id]))
		for _, each := range p.posts[a.id] {
			fmt.Fprintf(&text, "\n    %s POST of %s, answered %q", each.ReceivedAt.UTC().Format(moment), mark.FindString(each.Request), content(each))
		}
	}
	for _, e := range j.events {
		fmt.Fprintf(&text, "\n  %s %s %d %s", e.at.UTC().Format(moment), e.kind, e.attempt, e.text)
	}
	return text.String() + "\n"
}

const moment = "15:04:05.000000"

// check judges the past, and complains of jobs, by id.
type check func(p *past, complain func(job, format string, args ...any))

// expect has a check find nothing; else the seed and the histories are told of the first jobs that it
// complains of.
func (w *world) expect(judge check) {
	GinkgoHelper()
	Expect(w.past).NotTo(BeNil(), "the run did not come to its end")
	var complaints, offenders []string
	judge(w.past, func(job, format string, args ...any) {
		complaints = append(complaints, fmt.Sprintf(format, args...)+" ("+job+")")
		if !slices.Contains(offenders, job) {
			offenders = append(offenders, job)
		}
	})
	if len(complaints) == 0 {
		return
	}
	slices.Sort(complaints)
	text := fmt.Sprintf("%s\n\n%d complaints, of %d jobs\n%s\n", w.again, len(complaints), len(offenders),
		strings.Join(complaints[:min(len(complaints), 20)], "\n"))
	for _, id := range offenders[:min(len(offenders), 3)] {
		text += "\n" + w.past.tell(id)
	}
	Fail(text)
}
