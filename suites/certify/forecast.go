package certify

import (
	"slices"
	"strings"

	"github.com/fallproof/fallproof/contracts/binding"
	"github.com/fallproof/fallproof/contracts/statistics"
)

// Forecast is what a certification sends at most, known before anything is paid for. A verdict that is
// decided earlier costs less; answers to provider trouble, which are asked for again, may cost more.
type Forecast struct {
	Calls        int
	InputTokens  int  // of all calls together, counted locally; 0 where not Counted
	Counted      bool // the target has a tokenizer
	OutputTokens int  // of all answers together, as far as the contract limits them; 0 = no limit
}

// ForecastOf plans a run as Collect does. Its error is why no request could be made.
func ForecastOf(p Pair, samples int) (Forecast, error) {
	return forecast(p, planOf(p, Options{Samples: samples}))
}

// ForecastLeast is the forecast of as many samples as a threshold needs before it can be met at all: so many
// perfect answers.
func ForecastLeast(p Pair, answers int) (Forecast, error) {
	plan := planOf(p, Options{Samples: statistics.PerCase(answers, len(p.Contract.Cases))})
	for i, where := range plan {
		if where.isSample() {
			plan = plan[:i+answers]
			break
		}
	}
	return forecast(p, plan)
}

func forecast(p Pair, plan []slot) (Forecast, error) {
	bound, err := p.bind()
	if err != nil {
		return Forecast{}, err
	}
	plan = paidFor(bound, plan)
	f := Forecast{Calls: len(plan), OutputTokens: len(plan) * p.Contract.Sampling.MaxOutputTokens, Counted: true}
	known := map[string]int{} // every sample of a case sends the same
	for _, where := range plan {
		tokens, ok := known[where.name]
		if !where.isSample() || !ok {
			var counted bool
			if tokens, counted, err = tokensAt(bound, where); err != nil {
				return Forecast{}, err
			}
			f.Counted = f.Counted && counted
			known[where.name] = tokens
		}
		f.InputTokens += tokens
	}
	if !f.Counted {
		f.InputTokens = 0
	}
	return f, nil
}

func tokensAt(b *binding.Binding, where slot) (tokens int, counted bool, err error) {
	request, err := requestAt(b, where, strings.Repeat("0", 16))
	if err != nil {
		return 0, false, err
	}
	return Count(request.Profile, request.Messages)
}

// paidFor leaves out what no model is put to work for: questions about prompts, and a call that cannot be made
// because no message shows a text of the input.
func paidFor(b *binding.Binding, plan []slot) []slot {
	return slices.DeleteFunc(slices.Clone(plan), func(where slot) bool {
		if where.isSample() || where.index < controlCall {
			return false
		}
		_, err := requestAt(b, where, "")
		return err != nil || isQuestion(where.index)
	})
}
