package simulator

import (
	"regexp"
	"strings"
)

// Words of duty behind a name, and what makes them none: an absence, a refusal, a report.
var (
	duties = regexp.MustCompile(`^(?: (?:will|shall|should|must|to|is to|has to|needs to|is going to|agreed to|promised to|offered to|volunteered to|` +
		`takes on|takes over|takes care of|takes|soll|wird|muss|übernimmt|kümmert sich um|verspricht,?)|:) `)
	noDuty = regexp.MustCompile(`^(?:(?:not|no longer|nicht|be|have been|have to be)\b|.* (?:sein|nicht)$)`)

	// In German the plain verb is a duty too where a term is set: "prüft den Vertrag bis Freitag".
	germanVerb = regexp.MustCompile(`^ (\p{Ll}{2,})t (.+)$`)
	// In Hebrew the future is: a verb in the third person begins with a yod or a tav.
	hebrewFuture = regexp.MustCompile(`^ ([ית]\p{Hebrew}{2,}) (.+)$`)
)

// hebrewBeing is the future of "to be", and words that only look like a future.
var hebrewBeing = map[string]bool{"יהיה": true, "תהיה": true, "יהיו": true, "יחד": true, "תודה": true}

// taskIn reads what is to be done out of what follows a name, the day taken out of it. termed says that it
// is to be done until then.
func taskIn(rest string, termed bool) (string, bool) {
	if at := duties.FindStringIndex(rest); at != nil {
		task := strings.Trim(rest[at[1]:], " ,;")
		return task, task != "" && !noDuty.MatchString(task)
	}
	if found := hebrewFuture.FindStringSubmatch(rest); len(found) > 2 && !hebrewBeing[found[1]] {
		return strings.Trim(found[1]+" "+found[2], " ,;"), true
	}
	if found := germanVerb.FindStringSubmatch(rest); found != nil && termed {
		return strings.Trim(found[2], " ,;") + " " + found[1] + "en", true
	}
	return "", false
}
