package simulator

import "math/big"

// addSegments reads a line of the summary. It may hold several: each label begins one that goes on until
// the next label, and the last number before that is its amount.
func (t *table) addSegments(r row, inside bool) {
	kind, from := kindNone, 0
	var amount *big.Rat
	var rate *big.Rat
	for _, n := range r.numbers {
		label := r.text[from:n.start]
		from = n.end
		if next := kindOf(label); next != kindNone && next != kindCharge {
			t.add(kind, amount, rate, inside)
			kind, amount, rate = next, nil, nil
		}
		if n.percent {
			rate = n.value
			continue
		}
		amount = n.value
	}
	if rest := kindOf(r.text[from:]); kind == kindNone || rest == kindSkip {
		kind = kindOf(r.text) // the words that decide stand behind the number
	}
	t.add(kind, amount, rate, inside)
}

// add books one amount. Where only a rate is printed, the amount follows from what came before.
func (t *table) add(kind lineKind, amount, rate *big.Rat, inside bool) {
	if amount == nil && rate != nil {
		amount = t.percentage(kind, rate)
	}
	if amount == nil || (!inside && kind != kindTotal) {
		return
	}
	switch kind {
	case kindDiscount:
		t.discounts = append(t.discounts, new(big.Rat).Abs(amount))
	case kindTax:
		t.taxes = append(t.taxes, amount)
	case kindTaxSum:
		t.taxSums = append(t.taxSums, amount)
	case kindTotal:
		t.totals = append(t.totals, amount)
		if inside {
			t.early = len(t.taxes)
		}
	}
}

func (t *table) percentage(kind lineKind, rate *big.Rat) *big.Rat {
	base := t.subtotal()
	if kind == kindTax {
		base.Sub(base, sum(t.discounts))
	}
	return cents(base.Mul(base, new(big.Rat).Quo(rate, big.NewRat(100, 1))))
}

func (t *table) subtotal() *big.Rat {
	total := new(big.Rat)
	for _, line := range t.lines {
		total.Add(total, line.amount)
	}
	return total
}

// settle decides which of the amounts printed belong to the sum, by the totals printed: a tax that would
// lead past every total is in the prices already, a table of taxes below the total says them again.
func (t *table) settle() (discount, tax *big.Rat) {
	subtotal := t.subtotal()
	taxes := []*big.Rat{sum(t.taxes[:t.early]), sum(t.taxes)}
	if n := len(t.taxSums); n > 0 {
		taxes = append(taxes, t.taxSums[n-1])
	}
	taxes = append(taxes, new(big.Rat))
	for _, discount := range []*big.Rat{sum(t.discounts), new(big.Rat)} {
		for _, tax := range taxes {
			total := new(big.Rat).Sub(subtotal, discount)
			if t.prints(total.Add(total, tax)) {
				return discount, tax
			}
		}
	}
	return sum(t.discounts), sum(t.taxes)
}

func (t *table) prints(total *big.Rat) bool {
	for _, printed := range t.totals {
		if printed.Cmp(total) == 0 {
			return true
		}
	}
	return false
}

func sum(values []*big.Rat) *big.Rat {
	total := new(big.Rat)
	for _, value := range values {
		total.Add(total, value)
	}
	return total
}
