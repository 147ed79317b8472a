package simulator

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// dueRule knows one way to name a day, and which day that is.
type dueRule struct {
	phrase *regexp.Regexp
	day    func(from time.Time, found []string) (time.Time, bool)
}

// lead is what may stand before a day and goes with it.
const lead = `(?:,? ?(?:by|on|until|before|due|no later than|bis|am|עד|לפני) )?(?:(?:the|zum|zur|zu) )?`

func rule(phrase string, day func(time.Time, []string) (time.Time, bool)) dueRule {
	return dueRule{regexp.MustCompile(`(?i)` + lead + `(?:^|[ -])?` + phrase), day}
}

// dueRules from the most to the least special: what one has taken, no later one looks at.
var dueRules = []dueRule{
	rule(`(\d{4}-\d{2}-\d{2})`, func(_ time.Time, found []string) (time.Time, bool) {
		day, err := time.Parse(time.DateOnly, found[1])
		return day, err == nil
	}),
	rule(`(\d{1,2})(?:st|nd|rd|th|\.)? (?:of |ב)?(\p{L}{3,10})`, func(from time.Time, found []string) (time.Time, bool) {
		return dayIn(from, found[1], found[2])
	}),
	rule(`(\p{L}{3,10}) (\d{1,2})(?:st|nd|rd|th)?`, func(from time.Time, found []string) (time.Time, bool) {
		return dayIn(from, found[2], found[1])
	}),
	rule(`(?:the )(\d{1,2})(?:st|nd|rd|th)`, numbered),
	rule(`(?:zum|am|den) (\d{1,2})\.`, numbered),
	rule(`ה-?(\d{1,2}) (?:לחודש|בחודש)`, numbered),
	rule(`(?:end of next month|ende (?:des )?nächsten monats|סוף החודש הבא)`, endOfMonth(1)),
	rule(`(?:end of (?:the |this )?month|month[- ]end|monatsende|ende des monats|סוף החודש)`, endOfMonth(0)),
	rule(`(?:end of (?:the |this )?week|ende der woche|סוף השבוע)`, func(from time.Time, _ []string) (time.Time, bool) {
		return notBefore(from, monday(from).AddDate(0, 0, 4)), true
	}),
	rule(`(?:in|within|binnen|innerhalb von|תוך|בעוד) (?:(\p{L}+|\d+) )?(days?|weeks?|tagen?|wochen?|ימים|יום|שבועות|שבועיים|שבוע)`, counted),
	rule(`(?:next|nächste[nrs]?) (`+weekdayPattern+`)`, nextWeek),
	rule(`(`+weekdayPattern+`) הבא`, nextWeek),
	rule(`(?:(?:this|coming|diesen|kommenden) )?(`+weekdayPattern+`)`, func(from time.Time, found []string) (time.Time, bool) {
		ahead := (int(weekdayNamed(found[1]))-int(from.Weekday())+6)%7 + 1
		return from.AddDate(0, 0, ahead), true
	}),
	rule(`(?:today|heute|היום)`, func(from time.Time, _ []string) (time.Time, bool) { return from, true }),
	rule(`(?:tomorrow|morgen|מחר)`, func(from time.Time, _ []string) (time.Time, bool) { return from.AddDate(0, 0, 1), true }),
}

// due finds the last day that a clause names, and the clause without it. "" where it names none.
func (m *meeting) due(clause string) (due, without string) {
	var best []int
	var day time.Time
	taken := []byte(clause)
	for _, rule := range dueRules {
		for _, at := range rule.phrase.FindAllSubmatchIndex(taken, -1) {
			found := make([]string, len(at)/2)
			for i := range found {
				if at[2*i] >= 0 {
					found[i] = clause[at[2*i]:at[2*i+1]]
				}
			}
			named, ok := rule.day(m.day, found)
			if !ok || !standsAlone(clause, at[1]) {
				continue
			}
			for i := at[0]; i < at[1]; i++ {
				taken[i] = '\x00'
			}
			if len(best) == 0 || at[0] > best[0] {
				best, day = at[:2], named
			}
		}
	}
	if best == nil {
		return "", clause
	}
	return day.Format(time.DateOnly), strings.TrimRight(clause[:best[0]], " ,") + " " + strings.TrimSpace(clause[best[1]:])
}

// standsAlone keeps "Friday" out of "Fridays" and "morgen" out of "morgendlich".
func standsAlone(clause string, end int) bool {
	return end == len(clause) || strings.ContainsRune(" ,;.)", rune(clause[end]))
}

func whole(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

func numbered(from time.Time, found []string) (time.Time, bool) {
	return dayOfMonth(from, whole(found[1]), 0)
}

// dayIn is a day of a month by its name; other words than months are none.
func dayIn(from time.Time, day, month string) (time.Time, bool) {
	if monthNamed(month) == 0 {
		return time.Time{}, false
	}
	return dayOfMonth(from, whole(day), monthNamed(month))
}

// dayOfMonth is the first such day that is not before the given one; of any month where none is named.
func dayOfMonth(from time.Time, day, month int) (time.Time, bool) {
	if day < 1 || day > 31 {
		return time.Time{}, false
	}
	for ahead := range 8 * 12 { // leap days come every eighth year at the latest
		try := time.Date(from.Year(), from.Month()+time.Month(ahead), day, 0, 0, 0, 0, time.UTC)
		if try.Day() == day && !try.Before(from) && (month == 0 || int(try.Month()) == month) {
			return try, true
		}
	}
	return time.Time{}, false
}

func endOfMonth(ahead int) func(time.Time, []string) (time.Time, bool) {
	return func(from time.Time, _ []string) (time.Time, bool) {
		return time.Date(from.Year(), from.Month()+time.Month(ahead)+1, 0, 0, 0, 0, 0, time.UTC), true
	}
}

func monday(of time.Time) time.Time { return of.AddDate(0, 0, -(int(of.Weekday())+6)%7) }

func notBefore(from, day time.Time) time.Time {
	if day.Before(from) {
		return day.AddDate(0, 0, 7)
	}
	return day
}

func nextWeek(from time.Time, found []string) (time.Time, bool) {
	return monday(from).AddDate(0, 0, 7+(int(weekdayNamed(found[1]))+6)%7), true
}

var countWords = []string{"", "one", "two", "three", "four", "five", "six"}

// counted is so many days or weeks ahead.
func counted(from time.Time, found []string) (time.Time, bool) {
	unit, n := strings.ToLower(found[2]), whole(found[1])
	switch word := strings.ToLower(found[1]); {
	case unit == "שבועיים":
		unit, n = "week", 2
	case word == "" || word == "a" || word == "einer" || word == "einem":
		n = 1
	case n == 0:
		n = max(slices.Index(countWords, word), slices.Index([]string{"", "einer", "zwei", "drei", "vier"}, word))
	}
	if n < 1 || n > 1000 {
		return time.Time{}, false
	}
	if strings.HasPrefix(unit, "week") || strings.HasPrefix(unit, "woche") || strings.HasPrefix(unit, "שבוע") {
		n *= 7
	}
	return from.AddDate(0, 0, n), true
}
