package simulator

import (
	"sync"

	"github.com/fallproof/fallproof/providers"
)

// roster knows which models exist, how they behave and how many answers each gave.
type roster struct {
	mu      sync.Mutex
	seed    int64
	models  map[string]Personality
	answers map[string]int64

	// By model; under "" what holds for those that have none of their own.
	candours map[string]*Candour
	promises map[string]Idempotency
	hosted   map[string]*providers.Profile
}

func newRoster(config Config) *roster {
	return &roster{
		seed: config.Seed, models: map[string]Personality{}, answers: map[string]int64{},
		candours: map[string]*Candour{"": &config.Candour},
		promises: map[string]Idempotency{"": config.Idempotency}, hosted: map[string]*providers.Profile{},
	}
}

func (r *roster) set(model string, p Personality) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.models[model] = p
}

// find tells a model's personality: the one set for it, else the one in its name.
func (r *roster) find(model string) (Personality, bool) {
	r.mu.Lock()
	p, set := r.models[model]
	r.mu.Unlock()
	if set {
		return p, true
	}
	return personalityInName(model)
}

// all copies the models that were set.
func (r *roster) all() map[string]Personality {
	r.mu.Lock()
	defer r.mu.Unlock()
	models := make(map[string]Personality, len(r.models))
	for model, p := range r.models {
		models[model] = p
	}
	return models
}

// count counts one answer of a model and says how many it gave before.
func (r *roster) count(model string) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.answers[model]
	r.answers[model] = n + 1
	return n
}

// stumbles counts one answer and says whether it is the one in so many that differs.
func (r *roster) stumbles(model string, period int) bool {
	return (r.count(model)+r.seed)%int64(period) == 0
}

// put sets all of a model; what is nil it has none of its own of.
func (r *roster) put(model string, p Personality, c *Candour, i *Idempotency, h *providers.Profile) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.models[model] = p
	delete(r.candours, model)
	delete(r.promises, model)
	delete(r.hosted, model)
	if h != nil {
		r.hosted[model] = h
	}
	if c != nil {
		r.candours[model] = c
	}
	if i != nil {
		r.promises[model] = *i
	}
}

func (r *roster) setCandour(model string, c Candour) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.candours[model] = &c
}

func (r *roster) promise(model string, i Idempotency) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.promises[model] = i
}

func (r *roster) host(model string, profile *providers.Profile) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hosted[model] = profile
}

// hostedAs is how a model is hosted; the zero profile where nobody said.
func (r *roster) hostedAs(model string) providers.Profile {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range []string{model, ""} {
		if profile := r.hosted[name]; profile != nil {
			return *profile
		}
	}
	return providers.Profile{}
}

// hostedBy is what was set for a model itself: nil where nothing was.
func (r *roster) hostedBy(model string) *providers.Profile {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hosted[model]
}

func (r *roster) idempotencyOf(model string) Idempotency {
	r.mu.Lock()
	defer r.mu.Unlock()
	if own, set := r.promises[model]; set {
		return own
	}
	return r.promises[""]
}

// asked tells how a question about a model is answered, and counts it.
func (r *roster) asked(model string) Candour {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, own := r.candours[model]
	if !own {
		c = r.candours[""]
	}
	now := *c
	if c.Times > 0 {
		if c.Times--; c.Times == 0 {
			*c = Candour{}
		}
	}
	return now
}

// own is what was set for a model itself: nil where nothing was.
func (r *roster) own(model string) (candour *Candour, promise *Idempotency) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c, set := r.candours[model]; set {
		copied := *c
		candour = &copied
	}
	if i, set := r.promises[model]; set {
		promise = &i
	}
	return candour, promise
}
