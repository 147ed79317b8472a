package simulator

import (
	"cmp"
	"net/http"
	"slices"
)

// ModelState is what GET and PUT of /simulator/models say of a model.
type ModelState struct {
	Model       string       `json:"model"`
	Personality string       `json:"personality"`
	Delay       string       `json:"delay"`
	Questions   string       `json:"questions,omitzero"`   // the candour of its own; "" = none
	Idempotency *Idempotency `json:"idempotency,omitzero"` // the promise of its own; null = none
	Hosted      *Hosted      `json:"hosted,omitzero"`      // its chat template; null = none of its own
}

func (s *Simulator) getModels(w http.ResponseWriter, _ *http.Request) {
	states := []ModelState{}
	for model, p := range s.roster.all() {
		states = append(states, s.stateOf(model, p))
	}
	slices.SortFunc(states, func(a, b ModelState) int { return cmp.Compare(a.Model, b.Model) })
	writeJSON(w, http.StatusOK, struct {
		Models     []ModelState `json:"models"`
		Kinds      []Kind       `json:"personalities"`
		Answerings []Answering  `json:"questions"`
	}{states, Kinds(), Answerings()})
}

func (s *Simulator) stateOf(model string, p Personality) ModelState {
	state := ModelState{Model: model, Personality: p.String(), Delay: p.Delay.String()}
	candour, promise := s.roster.own(model)
	if candour != nil {
		state.Questions = candour.String()
	}
	state.Idempotency = promise
	state.Hosted = hostedOf(s.roster.hostedBy(model))
	return state
}

// modelWish is the body of PUT /simulator/models/NAME. It says all of a model: what it leaves out is as if
// it had never been set.
type modelWish struct {
	Personality string       `json:"personality"`
	Delay       string       `json:"delay"`
	Questions   string       `json:"questions"`
	Idempotency *Idempotency `json:"idempotency"`
	Hosted      *Hosted      `json:"hosted"`
}

func (s *Simulator) putModel(w http.ResponseWriter, r *http.Request) {
	var wish modelWish
	if err := readControl(w, r, &wish); err != nil {
		writeError(w, err)
		return
	}
	model := r.PathValue("model")
	if model == "" {
		writeError(w, invalid("", "model", "the path names no model"))
		return
	}
	p, candour, err := wish.read(model)
	if err != nil {
		writeError(w, err)
		return
	}
	hosted, err := wish.Hosted.profile()
	if err != nil {
		writeError(w, err)
		return
	}
	s.roster.put(model, p, candour, wish.Idempotency, hosted)
	writeJSON(w, http.StatusOK, s.stateOf(model, p))
}

// read checks everything before anything is changed.
func (wish *modelWish) read(model string) (Personality, *Candour, *apiError) {
	p, named := personalityInName(model)
	if wish.Personality != "" || !named {
		var err error
		if p, err = ParsePersonality(wish.Personality); err != nil {
			return p, nil, invalid("", "personality", "%s", err)
		}
	}
	if err := setDuration(&p.Delay, wish.Delay, p.Delay); err != nil {
		return p, nil, invalid("", "delay", "delay: %s", err)
	}
	if wish.Questions == "" {
		return p, nil, nil
	}
	candour, err := ParseCandour(wish.Questions)
	if err != nil {
		return p, nil, invalid("", "questions", "%s", err)
	}
	return p, &candour, nil
}

// putQuestions sets how questions are answered about models that have no candour of their own.
func (s *Simulator) putQuestions(w http.ResponseWriter, r *http.Request) {
	var wish struct {
		Questions string `json:"questions"`
	}
	if err := readControl(w, r, &wish); err != nil {
		writeError(w, err)
		return
	}
	candour, err := ParseCandour(wish.Questions)
	if err != nil {
		writeError(w, invalid("", "questions", "%s", err))
		return
	}
	s.SetCandour("", candour)
	writeJSON(w, http.StatusOK, wish)
}
