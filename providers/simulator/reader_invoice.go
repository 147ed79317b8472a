package simulator

import (
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// invoice is what the reader found in a document.
type invoice struct {
	number, currency, issued, due string
	lines                         []invoiceLine
	discount, tax                 *big.Rat
}

type invoiceLine struct {
	description             string
	quantity, price, amount *big.Rat
}

// readInvoice reads the text of an invoice by rules alone: numbers are told apart by the arithmetic that
// an invoice must obey, words decide only what a line of the summary means.
func readInvoice(text string) *invoice {
	doc := newDocument(text)
	read := &invoice{number: invoiceNumber(doc.lines), currency: doc.currency}
	read.issued, read.due = doc.dates()
	table := doc.table()
	read.lines = table.lines
	read.discount, read.tax = table.settle()
	return read
}

// fields are the invoice in the order of the contract's keys. The subtotal and the total follow from the
// rest, as the contract defines them.
func (v *invoice) fields() *object {
	subtotal := new(big.Rat)
	lines := []any{}
	for _, line := range v.lines {
		subtotal.Add(subtotal, line.amount)
		lines = append(lines, &object{members: []member{
			{"description", line.description}, {"quantity", line.quantity},
			{"unit_price", line.price}, {"amount", line.amount},
		}})
	}
	total := new(big.Rat).Sub(subtotal, v.discount)
	total.Add(total, v.tax)
	due := any(v.due)
	if v.due == "" {
		due = nil
	}
	return &object{members: []member{
		{"invoice_number", v.number}, {"currency", v.currency}, {"issue_date", v.issued}, {"due_date", due},
		{"lines", lines}, {"subtotal", subtotal}, {"discount", v.discount}, {"tax", v.tax}, {"total", total},
	}}
}

// document is an invoice's text, cleaned line by line.
type document struct {
	lines      []string
	style      numberStyle
	currency   string
	monthFirst bool
	whole      bool // no amount has decimals: whole numbers have to do, as in yen
	priceFirst bool // the table's head names the price before the quantity
}

var (
	// What turns the direction of writing is no part of the text, and hides digits from the reader.
	invisible = regexp.MustCompile(`[\x{200e}\x{200f}\x{202a}-\x{202e}\x{2066}-\x{2069}\x{feff}]`)
	quoted    = regexp.MustCompile(`^\s*(?:>\s?)+`)
)

func newDocument(text string) *document {
	text = invisible.ReplaceAllString(strings.ReplaceAll(text, "\r\n", "\n"), "")
	doc := &document{}
	for line := range strings.SplitSeq(text, "\n") {
		line = quoted.ReplaceAllString(line, "")
		line = strings.NewReplacer("|", "  ", "\t", "  ", ";", "  ").Replace(line)
		doc.lines = append(doc.lines, strings.TrimRight(line, " "))
	}
	doc.priceFirst = slices.ContainsFunc(doc.lines, namesPriceFirst)
	doc.currency = currencyOf(doc.lines)
	doc.monthFirst = doc.currency == "USD"
	undated := make([]string, len(doc.lines))
	for i, line := range doc.lines {
		undated[i] = withoutDates(line, doc.monthFirst)
	}
	doc.style = styleOf(strings.Join(undated, "\n"))
	doc.whole = true
	for _, line := range undated {
		for _, n := range doc.style.numbers(line) {
			doc.whole = doc.whole && (n.percent || n.decimals != 2)
		}
	}
	return doc
}

var (
	priceWords    = []string{"price", "rate", "preis", "prix", "precio", "prezzo", "prijs", "מחיר"}
	quantityWords = []string{"qty", "quantity", "menge", "anzahl", "qté", "quantité", "cant.", "cantidad", "quantità", "aantal", "כמות"}
)

// namesPriceFirst says of a line whether it is the head of a table with the price before the quantity.
func namesPriceFirst(line string) bool {
	line = strings.ToLower(line)
	price, quantity := indexAny(line, priceWords), indexAny(line, quantityWords)
	return price >= 0 && price < quantity
}

// indexAny is where the first of the words found begins, -1 where none is.
func indexAny(text string, words []string) int {
	for _, word := range words {
		if at := strings.Index(text, word); at >= 0 {
			return at
		}
	}
	return -1
}
