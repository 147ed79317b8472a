package simulator

import (
	"math/big"
	"strings"
	"unicode"
)

// table is what an invoice charges and how its summary continues.
type table struct {
	lines     []invoiceLine
	discounts []*big.Rat
	taxes     []*big.Rat // those printed before the last total, then those behind it
	early     int        // how many of the taxes are printed before the last total
	taxSums   []*big.Rat
	totals    []*big.Rat
}

// row is one line of the document with its reading.
type row struct {
	text    string
	numbers []number
	line    *invoiceLine // where the numbers hold quantity × price = amount
	kind    lineKind
}

// table reads the lines charged and the summary below them.
func (d *document) table() *table {
	rows := d.rows()
	start := firstCharged(rows)
	t := &table{}
	summary := false
	for i, r := range rows {
		inside := i >= start
		switch {
		case len(r.numbers) == 0 || r.kind == kindSkip:
		case r.kind == kindTotal && (!inside || r.line == nil || summary):
			summary = summary || inside
			t.addSegments(r, inside)
		case !inside:
		case r.line != nil && r.kind != kindDiscount && (!summary || r.kind == kindNone || r.kind == kindCharge):
			t.lines = append(t.lines, d.described(rows, i, len(t.lines)))
		case r.kind == kindCharge || (r.kind == kindNone && !summary):
			if amount, ok := d.amountOf(r); ok {
				t.lines = append(t.lines, charge(r, amount))
			}
		case r.kind != kindNone:
			summary = summary || r.kind != kindDiscount
			t.addSegments(r, inside)
		}
	}
	return t
}

// rows reads each line by itself. A document that groups thousands by plain spaces shows it by a line
// whose arithmetic holds that way too: where it does, it holds by chance the other way, as 1 × 350 in
// "1 2 350,00 2 350,00".
func (d *document) rows() []row {
	plain, spaced := d.read(false), d.read(true)
	for i := range spaced {
		if with := spaced[i].line; with != nil {
			if without := plain[i].line; without == nil || without.amount.Cmp(with.amount) != 0 {
				return spaced
			}
		}
	}
	return plain
}

func (d *document) read(spaced bool) []row {
	d.style.spaced = spaced
	rows := make([]row, len(d.lines))
	for i := range d.lines {
		rows[i] = d.row(i)
	}
	return rows
}

func (d *document) row(i int) row {
	text := withoutDates(d.lines[i], d.monthFirst)
	r := row{text: text, numbers: d.style.numbers(text), kind: kindOf(text)}
	// A label whose amount stands on the next line, alone.
	if r.kind != kindNone && len(r.numbers) == 0 && i+1 < len(d.lines) {
		if next := d.lines[i+1]; !strings.ContainsFunc(trimSigns(next), unicode.IsLetter) {
			r.text += "  " + next
			r.numbers = d.style.numbers(r.text)
		}
	}
	r.line = d.product(r.numbers)
	return r
}

// maxNumbers bounds the search for a product in a line: no table has so many columns of numbers.
const maxNumbers = 16

// product finds quantity × price = amount among the numbers of a line. The price is sought right before
// the amount first, the quantity right before the price first: article numbers and positions stand
// further away.
func (d *document) product(numbers []number) *invoiceLine {
	numbers = numbers[max(0, len(numbers)-maxNumbers):]
	for k := len(numbers) - 1; k >= 2; k-- {
		if numbers[k].percent || !(numbers[k].money || d.whole) {
			continue
		}
		for j := k - 1; j >= 1; j-- {
			for i := j - 1; i >= 0; i-- {
				if numbers[i].percent || numbers[j].percent || !multiplies(numbers[i], numbers[j], numbers[k]) {
					continue
				}
				quantity, price := numbers[i], numbers[j]
				if d.priceFirst || (quantity.money && !price.money) {
					quantity, price = price, quantity
				}
				return &invoiceLine{quantity: quantity.value, price: price.value, amount: numbers[k].value}
			}
		}
	}
	return nil
}

func multiplies(a, b, product number) bool {
	return cents(new(big.Rat).Mul(a.value, b.value)).Cmp(product.value) == 0
}

// firstCharged is where the lines charged begin: at the first product, or above it where lines with an
// amount alone lead up to it; without any product, at the first amount that no summary explains.
func firstCharged(rows []row) int {
	for i, r := range rows {
		if r.line == nil || r.kind == kindTotal || r.kind == kindTax {
			continue
		}
		for i > 0 && rows[i-1].kind == kindNone && hasMoney(rows[i-1]) {
			i--
		}
		return i
	}
	for i, r := range rows {
		if (r.kind == kindNone || r.kind == kindCharge) && hasMoney(r) {
			return i
		}
	}
	return len(rows)
}

func hasMoney(r row) bool {
	n := len(r.numbers)
	return n > 0 && r.numbers[n-1].money && !r.numbers[n-1].percent
}

// amountOf is the last amount of a line that has words too.
func (d *document) amountOf(r row) (*big.Rat, bool) {
	if !strings.ContainsFunc(trimSigns(r.text), unicode.IsLetter) {
		return nil, false
	}
	last := r.numbers[len(r.numbers)-1]
	return last.value, !last.percent && (last.money || d.whole)
}

func charge(r row, amount *big.Rat) invoiceLine {
	last := r.numbers[len(r.numbers)-1]
	return invoiceLine{
		description: describe(r.text[:last.start], nil, -1),
		quantity:    big.NewRat(1, 1), price: amount, amount: amount,
	}
}
