package simulator

import (
	"strings"
	"unicode"
)

// scripts that tell a language by themselves.
var scripts = []struct {
	table *unicode.RangeTable
	code  string
}{
	{unicode.Hebrew, "he"}, {unicode.Hiragana, "ja"}, {unicode.Katakana, "ja"}, {unicode.Han, "zh"}, {unicode.Hangul, "ko"},
	{unicode.Arabic, "ar"}, {unicode.Cyrillic, "ru"}, {unicode.Greek, "el"}, {unicode.Thai, "th"},
}

// commonWords are the small words of languages that share the Latin script.
var commonWords = []struct{ code, words string }{
	{"en", "the and is are you your my i it to of for in on not this that have with was please but can would an be me we if at"},
	{"de", "der die das und ist ich sie nicht ein eine mit zu auf für den dem bitte wir es haben von meine mein bei noch habe wird kann wie im"},
	{"fr", "le la les et est je vous ne pas un une des de du pour avec mon ma sur que qui nous votre en il à bonjour merci dans depuis"},
	{"es", "el la los las y es yo no un una de que por para con mi en su se me hola gracias pero está del lo al desde muy tengo ha"},
	{"it", "il lo la gli e è non un una di che per con mio mia in si ho sono ciao grazie ma del della questo vostro da nel"},
	{"nl", "de het een en is ik niet u van voor met op mijn dat te zijn heb maar wij kan bij nog graag naar geen hallo ben"},
	{"pt", "o a os as e é não um uma de que por para com meu minha em se eu obrigado olá mas do da está você no na"},
}

// languageOf is the ISO 639-1 code of the language of most of a text: by its script, else by its small
// words. English where nothing speaks for another.
func languageOf(text string) string {
	counts, latin := map[string]int{}, 0
	for _, r := range text {
		if unicode.Is(unicode.Latin, r) {
			latin++
		}
		for _, script := range scripts {
			if unicode.Is(script.table, r) {
				counts[script.code]++
			}
		}
	}
	best, most := "", latin/2 // words of Latin letters, such as brand names, stand in every language
	for _, script := range scripts {
		if counts[script.code] > most {
			best, most = script.code, counts[script.code]
		}
	}
	if best == "zh" && counts["ja"] > 0 {
		return "ja"
	}
	if best != "" {
		return best
	}
	return latinLanguage(text)
}

func latinLanguage(text string) string {
	counts := map[string]int{}
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		for _, language := range commonWords {
			if strings.Contains(" "+language.words+" ", " "+word+" ") {
				counts[language.code]++
			}
		}
	}
	best := "en"
	for _, language := range commonWords {
		if counts[language.code] > counts[best] {
			best = language.code
		}
	}
	return best
}
