package simulator

import (
	"math/big"
	"regexp"
	"strings"
	"unicode"
)

// described completes a product by its description, which may stand alone on the line above.
func (d *document) described(rows []row, i, position int) invoiceLine {
	line := *rows[i].line
	line.description = describe(rows[i].text, rows[i].spans(), position)
	for above := i - 1; line.description == "" && above >= 0; above-- {
		if strings.TrimSpace(rows[above].text) != "" {
			line.description = strings.TrimSpace(rows[above].text)
		}
	}
	if line.description == "" {
		line.description = "unknown"
	}
	return line
}

// spans are where the numbers of the product stand, last ones first.
func (r row) spans() [][2]int {
	var spans [][2]int
	for _, wanted := range []*big.Rat{r.line.amount, r.line.price, r.line.quantity} {
		for i := len(r.numbers) - 1; i >= 0; i-- {
			if n := r.numbers[i]; n.value == wanted {
				spans = append(spans, [2]int{n.start, n.end})
			}
		}
	}
	return spans
}

var (
	columns  = regexp.MustCompile(` {2,}`)
	position = regexp.MustCompile(`^\d{1,3}[.)]\s+`)
	unit     = regexp.MustCompile(`(?i)^(?:stk|stück|pcs?|ea|each|hrs?|h|std|units?|x|×|יח'|יח׳)\.?\s+`)
)

// describe takes the numbers of the product out of a line and returns the column with the most letters.
func describe(text string, spans [][2]int, index int) string {
	blanked := []byte(text)
	for _, span := range spans {
		for i := span[0]; i < span[1]; i++ {
			blanked[i] = ' '
		}
	}
	best := ""
	for _, column := range columns.Split(string(blanked), -1) {
		column = unit.ReplaceAllString(trimSigns(column), "")
		if letters(column) > letters(best) {
			best = column
		}
	}
	best = position.ReplaceAllString(best, "")
	if number, rest, found := strings.Cut(best, " "); found && index >= 0 && number == big.NewInt(int64(index+1)).String() {
		best = rest
	}
	return unit.ReplaceAllString(strings.TrimSpace(best), "")
}

// trimSigns cuts off what connects a description to its numbers: currencies, "x", "@" and punctuation.
func trimSigns(text string) string {
	for {
		trimmed := trimCurrency(strings.Trim(text, " :=*@×·-–−"+noBreakSpaces))
		trimmed = strings.TrimRight(trimmed, "(")
		trimmed = strings.TrimSuffix(strings.TrimSuffix(trimmed, " x"), " at")
		for _, sign := range currencySigns {
			trimmed = strings.TrimPrefix(trimmed, sign.text)
		}
		if trimmed == "x" {
			return ""
		}
		if trimmed == text {
			return strings.TrimPrefix(trimmed, "x ")
		}
		text = trimmed
	}
}

func letters(text string) int {
	n := 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			n++
		}
	}
	return n
}
