package simulator

import "sync"

// flakyPeriod: one answer in so many of a flaky model is wrong.
const flakyPeriod = 5

// roster knows which models exist, how they behave and how many answers each gave.
type roster struct {
	mu      sync.Mutex
	seed    int64
	models  map[string]Personality
	answers map[string]int64
}

func newRoster(seed int64) *roster {
	return &roster{seed: seed, models: map[string]Personality{}, answers: map[string]int64{}}
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

// stumbles counts one answer of a flaky model and says whether it is the wrong one in five.
func (r *roster) stumbles(model string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.answers[model]
	r.answers[model] = n + 1
	return (n+r.seed)%flakyPeriod == 0
}
