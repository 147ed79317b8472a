package simulator

import "context"

// Ledger returns every request for work received so far, in order of arrival.
func (s *Simulator) Ledger() []Entry { return s.ledger.snapshot(Filter{}) }

// Select returns the requests for work that match, in order of arrival.
func (s *Simulator) Select(f Filter) []Entry { return s.ledger.snapshot(f) }

// Questions returns the questions about earlier requests that match, in order of arrival. Their model and
// attempt are those that they are about, as far as that can be told.
func (s *Simulator) Questions(f Filter) []Entry { return s.questions.snapshot(f) }

// ResetLedger empties the ledgers of work and of questions. Open requests go on, what was stored stays,
// and sequence numbers go on too.
func (s *Simulator) ResetLedger() {
	s.ledger.reset()
	s.questions.reset()
}

// SetPersonality changes a model's behaviour for the requests that arrive from now on; the model exists
// afterwards. It panics on a personality that does not exist.
func (s *Simulator) SetPersonality(model string, p Personality) {
	mustBeValid(p.check())
	s.roster.set(model, p)
}

// SetCandour changes how questions about a model are answered from now on; with no model, about all
// models that have no candour of their own. It panics on a candour that does not exist.
func (s *Simulator) SetCandour(model string, c Candour) {
	mustBeValid(c.check())
	s.roster.setCandour(model, c)
}

// SetIdempotency changes what a model promises to requests that arrive from now on; with no model, what
// all do that promise nothing of their own.
func (s *Simulator) SetIdempotency(model string, i Idempotency) { s.roster.promise(model, i) }

// Release lets the open requests that match answer, and returns how many were waiting or about to. It
// reaches every request that the model is at work for, its client gone or not, and every other that the
// ledger shows unanswered; it is not remembered for later ones.
func (s *Simulator) Release(f Filter) int { return s.ledger.release(f) }

// WaitForRequests returns the matching requests for work as soon as n of them were read whole. When ctx
// ends first, it returns those that are there, and an error that says how many.
func (s *Simulator) WaitForRequests(ctx context.Context, n int, f Filter) ([]Entry, error) {
	return s.ledger.wait(ctx, n, f)
}

// WaitForQuestions is WaitForRequests for questions about earlier requests.
func (s *Simulator) WaitForQuestions(ctx context.Context, n int, f Filter) ([]Entry, error) {
	return s.questions.wait(ctx, n, f)
}

// mustBeValid panics: a behaviour that does not exist is a mistake of the program.
func mustBeValid(err error) {
	if err != nil {
		panic("simulator: " + err.Error())
	}
}
