package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/statistics"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/suites/certify"
)

// costs is what so many calls take at most, as scripts read it. What is not known is null.
type costs struct {
	Calls        int      `json:"calls"`
	InputTokens  *int     `json:"input_tokens"`  // counted locally; null without a tokenizer
	OutputTokens *int     `json:"output_tokens"` // at most; null where the contract sets no limit
	Price        *float64 `json:"price"`         // at most; null where the model declares no price, or tokens are unknown
}

// targetFigures is what certifying a contract at one target costs.
type targetFigures struct {
	Target string `json:"target"`
	Least  *costs `json:"least"` // before which no verdict can be certified; null where that can never be
	Most   costs  `json:"most"`  // all samples
}

// thresholdFigures is what a dimension's threshold takes.
type thresholdFigures struct {
	Dimension string  `json:"dimension"`
	Threshold float64 `json:"threshold"`
	Answers   *int    `json:"answers"` // perfect ones, at least; null where no number proves it
}

func thresholdsOf(c *contracts.Contract) []thresholdFigures {
	var all []thresholdFigures
	for _, each := range c.Thresholds.Sampled() {
		figures := thresholdFigures{Dimension: each.Dimension, Threshold: each.Rate}
		if n, ok := statistics.SamplesNeeded(each.Rate); ok {
			figures.Answers = &n
		}
		all = append(all, figures)
	}
	return all
}

// answersNeeded is how many answers the hardest threshold takes.
func answersNeeded(thresholds []thresholdFigures) (most int, ok bool) {
	for _, each := range thresholds {
		if each.Answers == nil {
			return 0, false
		}
		most = max(most, *each.Answers)
	}
	return most, true
}

// figuresAt forecasts a certification. Its error is why no request can be made there.
func figuresAt(c *config.Config, pair certify.Pair) (targetFigures, error) {
	figures := targetFigures{Target: pair.Target.String()}
	most, err := certify.ForecastOf(pair, 0)
	if err != nil {
		return figures, err
	}
	figures.Most = costsOf(c, pair, most)
	if answers, ok := answersNeeded(thresholdsOf(pair.Contract)); ok {
		least, err := certify.ForecastLeast(pair, answers)
		if err != nil {
			return figures, err
		}
		cheapest := costsOf(c, pair, least)
		figures.Least = &cheapest
	}
	return figures, nil
}

func costsOf(c *config.Config, pair certify.Pair, f certify.Forecast) costs {
	known := costs{Calls: f.Calls}
	if f.Counted {
		known.InputTokens = &f.InputTokens
	}
	if f.OutputTokens > 0 {
		known.OutputTokens = &f.OutputTokens
	}
	if price, ok := c.Price(pair.Target); ok && known.InputTokens != nil && known.OutputTokens != nil {
		money := price.Of(f.InputTokens, f.OutputTokens)
		known.Price = &money
	}
	return known
}

func (c costs) String() string {
	words := []string{fmt.Sprintf("%d calls", c.Calls)}
	if c.InputTokens != nil {
		words = append(words, fmt.Sprintf("%d tokens in", *c.InputTokens))
	} else {
		words = append(words, "tokens in not counted (no tokenizer is declared)")
	}
	if c.OutputTokens != nil {
		words = append(words, fmt.Sprintf("at most %d out", *c.OutputTokens))
	} else {
		words = append(words, "no limit out (the contract sets no max_output_tokens)")
	}
	if c.Price != nil {
		words = append(words, "at most "+money(*c.Price))
	}
	return strings.Join(words, ", ")
}

// money has no currency: it is that of the configuration's author. Small amounts keep two digits that say
// something.
func money(amount float64) string {
	if amount >= 1 || amount == 0 {
		return strconv.FormatFloat(amount, 'f', 2, 64)
	}
	places := 2
	for small := amount; small < 0.1 && places < 8; places++ {
		small *= 10
	}
	return strconv.FormatFloat(amount, 'f', places, 64)
}

func thresholdWords(c *contracts.Contract) string {
	var words []string
	for _, each := range thresholdsOf(c) {
		if each.Answers == nil {
			words = append(words, fmt.Sprintf("no number for %s %v", each.Dimension, each.Threshold))
		} else {
			words = append(words, fmt.Sprintf("%d for %s %v", *each.Answers, each.Dimension, each.Threshold))
		}
	}
	planned := len(c.Cases) * c.Sampling.Samples
	return fmt.Sprintf("%s; %d cases × %d samples prove %s at best", strings.Join(words, ", "),
		len(c.Cases), c.Sampling.Samples, statistics.Shown(statistics.LowerBound(planned, planned)))
}
