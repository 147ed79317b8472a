package simulator

import (
	"strings"
	"time"
)

// weekdays in English, German and Hebrew, from Sunday.
var weekdays = [7][]string{
	{"sunday", "sonntag", "יום ראשון"}, {"monday", "montag", "יום שני"}, {"tuesday", "dienstag", "יום שלישי"},
	{"wednesday", "mittwoch", "יום רביעי"}, {"thursday", "donnerstag", "יום חמישי"}, {"friday", "freitag", "יום שישי"},
	{"saturday", "samstag", "יום שבת"},
}

var weekdayPattern = func() string {
	var all []string
	for _, names := range weekdays {
		all = append(all, names...)
	}
	return strings.Join(all, "|")
}()

// weekdayNamed reads a name that weekdayPattern has matched.
func weekdayNamed(name string) time.Weekday {
	for day, names := range weekdays {
		for _, each := range names {
			if strings.EqualFold(name, each) {
				return time.Weekday(day)
			}
		}
	}
	return time.Sunday
}
