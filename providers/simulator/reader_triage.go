package simulator

import (
	"regexp"
	"strings"
)

// triage is what the reader made of a customer's message.
type triage struct {
	category, urgency, language string
	threat, hazard              bool
	reference                   string
}

// readTriage sorts a message by the words in it, in the languages of the word lists. It follows the
// rules of the contract, and nothing that the message itself demands.
func readTriage(text string) *triage {
	lower := plainWords(text)
	t := &triage{
		language: languageOf(text), reference: referenceIn(text),
		threat: containsAny(lower, threatWords), hazard: containsAny(lower, hazardWords),
	}
	t.category = categoryOf(lower)
	if t.hazard {
		t.category = "product"
	}
	switch {
	case t.hazard:
		t.urgency = "critical"
	case t.threat || containsAny(lower, intruderWords) || containsAny(lower, standstillWords):
		t.urgency = "high"
	case containsAny(lower, troubleWords):
		t.urgency = "normal"
	default:
		t.urgency = "low"
	}
	return t
}

func (t *triage) fields() *object {
	var reference any
	if t.reference != "" {
		reference = t.reference
	}
	return &object{members: []member{
		{"category", t.category}, {"urgency", t.urgency}, {"language", t.language},
		{"legal_threat", t.threat}, {"safety_hazard", t.hazard}, {"reference", reference},
	}}
}

// plainWords is a text in small letters, with one apostrophe, single spaces, and without what people say
// about trouble that they do not have.
func plainWords(text string) string {
	text = strings.NewReplacer("’", "'", "״", `"`, "׳", "'").Replace(strings.ToLower(text))
	text = " " + strings.Join(strings.Fields(text), " ") + " "
	for _, denied := range deniedTrouble {
		text = strings.ReplaceAll(text, denied, "")
	}
	return text
}

// categoryOf is the category that most of the words speak for; of equals, the first in this order.
func categoryOf(lower string) string {
	best, most := "other", 0
	for _, category := range categoryWords {
		n := 0
		for _, word := range category.words {
			n += strings.Count(lower, word)
		}
		if n > most {
			best, most = category.name, n
		}
	}
	return best
}

var references = regexp.MustCompile(`(?i)(?:\b(?:orders?|invoice|ticket|case|reference|ref|bestellung|auftrag|rechnung|vorgang|` +
	`commande|facture|dossier|pedido|factura|caso|ordine|fattura|bestelling|factuur|encomenda)|הזמנה|חשבונית|פנייה|פניה|קריאה)` +
	`[\s.:]*(?:number|nummer|numéro|numero|número|num|no|nr|nº|n°|id|מספר|מס['׳]?)?[\s.:#(]*` +
	`((?:\p{L}{1,5}[\-/]?)?\d[\p{L}\d/\-]*\d)`)

var hashed = regexp.MustCompile(`#\s?((?:\p{L}{1,5}[\-/]?)?\d[\p{L}\d/\-]*)`)

// referenceIn is the first number that is called an order, an invoice or a ticket. Two digits are a
// count, "order 20 of them", and no reference.
func referenceIn(text string) string {
	for _, pattern := range []*regexp.Regexp{references, hashed} {
		for _, found := range pattern.FindAllStringSubmatch(text, -1) {
			if len(found[1]) >= 3 {
				return found[1]
			}
		}
	}
	return ""
}
