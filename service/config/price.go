package config

import (
	"math"

	"github.com/goccy/go-yaml/ast"

	"github.com/fallproof/fallproof/providers"
)

// Price is what a model costs per million tokens, in the currency that the file's author thinks in. It is no
// part of a target's profile: a changed price proves nothing less.
type Price struct {
	Input  float64 // of the prompt
	Output float64 // of the answer
}

// Of is what so many tokens cost.
func (p Price) Of(input, output int) float64 {
	const unit = 1_000_000
	return (p.Input*float64(input) + p.Output*float64(output)) / unit
}

// Price is what a target's tokens cost; ok is false where the file does not say.
func (c *Config) Price(t providers.Target) (price Price, ok bool) {
	price, ok = c.Providers[t.Provider].Prices[t.Model]
	return price, ok
}

func (r *reader) price(f field) Price {
	s := r.mapping(f, "input", "output")
	for _, name := range []string{"input", "output"} {
		if !s[name].present() {
			r.lacks(f.line, "%s: want both {input: …, output: …}, each for a million tokens", f.name)
			return Price{}
		}
	}
	return Price{Input: r.amount(s["input"]), Output: r.amount(s["output"])}
}

// amount is a number that is not negative.
func (r *reader) amount(f field) float64 {
	amount := -1.0
	switch node := f.node.(type) {
	case *ast.FloatNode:
		amount = node.Value
	case *ast.IntegerNode:
		switch n := node.Value.(type) {
		case uint64:
			amount = float64(n)
		case int64:
			amount = float64(n)
		}
	}
	if !(amount >= 0) || math.IsInf(amount, 0) {
		r.fail(f.line, "%s: want a number of at least 0, such as 0.15", f.name)
		return 0
	}
	return amount
}
