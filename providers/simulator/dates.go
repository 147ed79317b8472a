package simulator

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// printedDate is a date found in a line.
type printedDate struct {
	iso        string
	start, end int
}

var (
	dateISO     = regexp.MustCompile(`\b(\d{4})-(\d{1,2})-(\d{1,2})\b`)
	dateNumeric = regexp.MustCompile(`\b(\d{1,2})([./-])(\d{1,2})[./-](\d{4}|\d{2})\b`)
	dateDayWord = regexp.MustCompile(`\b(\d{1,2})(?:st|nd|rd|th|er|\.)?[ \-](?:de |ב|of )?(\p{L}{3,10})\.?,?[ \-](?:de |del )?(\d{4})\b`)
	dateWordDay = regexp.MustCompile(`(\p{L}{3,10})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})\b`)
)

// months by the beginnings of their names, in English, German, French, Spanish, Italian and Hebrew.
var months = [12][]string{
	{"jan", "jän", "ene", "gen", "ינואר"}, {"feb", "fév", "fev", "פברואר"}, {"mar", "mär", "מרץ", "מרס"},
	{"apr", "avr", "abr", "אפריל"}, {"may", "mai", "mag", "מאי"}, {"jun", "juin", "giu", "יוני"},
	{"jul", "juil", "lug", "יולי"}, {"aug", "aoû", "aou", "ago", "אוגוסט"}, {"sep", "set", "ספטמבר"},
	{"oct", "okt", "ott", "אוקטובר"}, {"nov", "נובמבר"}, {"dec", "déc", "dez", "dic", "דצמבר"},
}

// datesIn finds the dates of a line from left to right. monthFirst is how dates with slashes are read
// where both readings are possible.
func datesIn(line string, monthFirst bool) []printedDate {
	var found []printedDate
	add := func(span []int, year, month, day int) {
		if year < 100 {
			year += 2000
		}
		t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
		overlaps := slices.ContainsFunc(found, func(d printedDate) bool { return span[0] < d.end && d.start < span[1] })
		if t.Day() == day && int(t.Month()) == month && !overlaps {
			found = append(found, printedDate{t.Format(time.DateOnly), span[0], span[1]})
		}
	}
	for _, m := range dateISO.FindAllStringSubmatchIndex(line, -1) {
		add(m, group(line, m, 1), group(line, m, 2), group(line, m, 3))
	}
	for _, m := range dateNumeric.FindAllStringSubmatchIndex(line, -1) {
		day, month := group(line, m, 1), group(line, m, 3)
		if slash := line[m[4]:m[5]] == "/"; (slash && monthFirst && day <= 12) || month > 12 {
			day, month = month, day
		}
		add(m, group(line, m, 4), month, day)
	}
	for _, m := range dateDayWord.FindAllStringSubmatchIndex(line, -1) {
		add(m, group(line, m, 3), monthNamed(line[m[4]:m[5]]), group(line, m, 1))
	}
	for _, m := range dateWordDay.FindAllStringSubmatchIndex(line, -1) {
		add(m, group(line, m, 3), monthNamed(line[m[2]:m[3]]), group(line, m, 2))
	}
	slices.SortFunc(found, func(a, b printedDate) int { return a.start - b.start })
	return found
}

// group reads a group of digits, which its expression guarantees.
func group(line string, match []int, n int) int {
	value, err := strconv.Atoi(line[match[2*n]:match[2*n+1]])
	if err != nil {
		panic(fmt.Sprintf("simulator: an expression for dates let %q through", line[match[2*n]:match[2*n+1]]))
	}
	return value
}

// monthNamed is 0 where the word names no month, which no date has.
func monthNamed(word string) int {
	word = strings.ToLower(word)
	best, length := 0, 0
	for i, names := range months {
		for _, name := range names {
			if strings.HasPrefix(word, name) && len(name) > length {
				best, length = i+1, len(name)
			}
		}
	}
	return best
}

// withoutDates blanks dates out, so that their digits are not taken for amounts.
func withoutDates(line string, monthFirst bool) string {
	blanked := []byte(line)
	for _, d := range datesIn(line, monthFirst) {
		for i := d.start; i < d.end; i++ {
			blanked[i] = ' '
		}
	}
	return string(blanked)
}
