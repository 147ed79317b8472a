package simulator

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// lineKind is what a line of an invoice means by its words.
type lineKind int

const (
	kindNone     lineKind = iota
	kindSkip              // an offer for early payment, or tax that the prices hold already
	kindSubtotal          // a sum on the way
	kindDiscount
	kindTax
	kindTaxSum // all taxes once more
	kindTotal
	kindCharge // shipping and the like: a line of its own wherever it stands
)

var (
	earlyWords = []string{"skonto", "early payment", "prompt payment", "if paid", "paid within", "payment within",
		"escompte", "pronto pago", "תשלום מוקדם"}
	discountWords = []string{"discount", "rebate", "coupon", "voucher", "promo", "rabatt", "nachlass", "gutschein",
		"remise", "rabais", "réduction", "descuento", "sconto", "korting", "הנחה", "הנחת", "קופון"}
	aroundWords   = []string{"before", "after", "net of", "vor ", "nach ", "avant", "après", "antes", "después", "לפני", "אחרי", "לאחר"}
	subtotalWords = []string{"subtotal", "sub-total", "sub total", "sous-total", "zwischensumme", "net amount", "net total",
		"netto", "nettobetrag", "taxable", "excl", "exkl", "ohne mwst", "hors tax", "total ht", "before tax", "base imponible",
		"imponibile", "neto", "לפני מע", "ללא מע", "חייב במס", "goods total", "סכום ביניים"}
	totalWords = []string{"total", "amount due", "balance due", "amount payable", "please pay", "gesamt", "rechnungsbetrag",
		"endbetrag", "zahlbetrag", "zu zahlen", "summe", "à payer", "importe", "totale", "totaal", `סה"כ`, "סה״כ", "סך הכל", "לתשלום", "合計"}
	taxWords = []string{"vat", "tax", "sales tax", "mwst", "ust", "gst", "hst", "pst", "qst", "cgst", "sgst", "igst", "tps", "tvq",
		"tva", "iva", "btw", "moms", "taxe", "taxes", "umsatzsteuer", "mehrwertsteuer", "consumption tax", `מע"מ`, "מע״מ", "消費税"}
	includeWords = []string{"incl", "inkl", "enth", "contain", "content", "compris", "dont", "darin", "ttc", "כולל", "incluido", "with vat"}
	chargeWords  = []string{"shipping", "delivery", "freight", "postage", "handling", "carriage", "courier", "packing", "surcharge",
		"fee", "versand", "porto", "fracht", "lieferung", "zuschlag", "livraison", "frais de port", "transport", "envío", "envio",
		"spedizione", "verzending", "משלוח", "הובלה", "דמי"}
)

// kindOf reads a label. The order matters: "total excl. VAT" is a subtotal, "total incl. VAT" a total,
// "total VAT" neither.
func kindOf(label string) lineKind {
	label = strings.ToLower(label)
	total, tax := hasWord(label, totalWords), hasWord(label, taxWords)
	includes := containsAny(label, includeWords)
	switch {
	case containsAny(label, earlyWords):
		return kindSkip
	case hasWord(label, discountWords) && !containsAny(label, aroundWords):
		return kindDiscount
	case hasWord(label, subtotalWords) || (total && containsAny(label, aroundWords)):
		return kindSubtotal
	case total && (!tax || includes):
		return kindTotal
	case total:
		return kindTaxSum
	case tax && includes:
		return kindSkip
	case tax:
		return kindTax
	case hasWord(label, chargeWords):
		return kindCharge
	}
	return kindNone
}

// hasWord looks for words. Those in Latin letters must begin where no letter stands before them, because
// "ust" also ends other words; short ones must end there too, because "tax" also begins others. Hebrew
// prefixes are written together with their word, so there only the letters count.
func hasWord(text string, words []string) bool {
	for _, word := range words {
		for from := 0; ; {
			at := strings.Index(text[from:], word)
			if at < 0 {
				break
			}
			start, end := from+at, from+at+len(word)
			if word[0] >= utf8.RuneSelf || (!letterBefore(text, start) && (len(word) > 4 || !letterAfter(text, end))) {
				return true
			}
			from = start + 1
		}
	}
	return false
}

func letterBefore(text string, at int) bool {
	r, _ := utf8.DecodeLastRuneInString(text[:at])
	return unicode.IsLetter(r)
}

func letterAfter(text string, at int) bool {
	r, _ := utf8.DecodeRuneInString(text[at:])
	return unicode.IsLetter(r)
}
