package simulator

import (
	"regexp"
	"strings"
	"unicode"
)

// invoiceWords name the document; its number follows, at once or behind a word for "number".
var invoiceWords = regexp.MustCompile(`(?i)(?:invoice|receipt|bill|rechnungs?|facture|factura|fattura|factuur|faktura|` +
	`חשבונית(?:\s+מס)?(?:\s*/?\s*קבלה)?|חשבון)` +
	`[\s\-‐]*(?:number|nummer|numéro|numero|núm|num|no|nr|n°|nº|id|ref|מספר|מס['׳]?)?[\s.:#\-]*` +
	`((?:[\p{L}]{1,6}[\-/_.])?[\p{L}\d]*\d[\p{L}\d/\-_.]*)`)

var anyNumber = regexp.MustCompile(`(?:#|№)\s*([\p{L}\d/\-_.]*\d[\p{L}\d/\-_.]*)`)

func invoiceNumber(lines []string) string {
	text := strings.Join(lines, "\n")
	for _, pattern := range []*regexp.Regexp{invoiceWords, anyNumber} {
		for _, found := range pattern.FindAllStringSubmatch(text, -1) {
			number := strings.TrimRight(found[1], ".-/_")
			if len(datesIn(number, false)) == 0 {
				return number
			}
		}
	}
	for _, word := range strings.Fields(text) {
		if strings.ContainsFunc(word, unicode.IsDigit) {
			return word
		}
	}
	return "unknown"
}

var (
	dueWords = []string{"due", "pay by", "payable by", "zahlbar bis", "fällig", "zahlungsziel", "échéance", "echeance",
		"לתשלום עד", "מועד תשלום", "תאריך פירעון", "vencimiento", "vence", "scadenza", "förfallodag", "vervaldatum"}
	issueWords = []string{"date", "datum", "issued", "תאריך", "fecha", "data"}
	otherWords = []string{"deliver", "liefer", "leistung", "order", "bestell", "service", "period", "zeitraum",
		"ship", "livraison", "valid", "entrega", "אספקה", "paid on"}
)

// dates finds the day of issue and the last day for payment by the words in front of them.
func (d *document) dates() (issued, due string) {
	var labelled, bare, other string
	for i, line := range d.lines {
		from := 0
		for _, date := range datesIn(line, d.monthFirst) {
			label := strings.ToLower(line[from:date.start])
			from = date.end
			if !strings.ContainsFunc(label, unicode.IsLetter) && date.start == len(line)-len(strings.TrimLeft(line, " ")) && i > 0 {
				label = strings.ToLower(d.lines[i-1]) // a label on a line of its own
			}
			switch {
			case containsAny(label, dueWords):
				keepFirst(&due, date.iso)
			case containsAny(label, otherWords):
				keepFirst(&other, date.iso)
			case containsAny(label, issueWords):
				keepFirst(&labelled, date.iso)
			default:
				keepFirst(&bare, date.iso)
			}
		}
	}
	for _, candidate := range []string{labelled, bare, other, due, "1970-01-01"} {
		keepFirst(&issued, candidate)
	}
	return issued, due
}

func keepFirst(into *string, value string) {
	if *into == "" {
		*into = value
	}
}

func containsAny(text string, words []string) bool {
	return indexAny(text, words) >= 0
}
