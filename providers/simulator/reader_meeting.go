package simulator

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// meeting is what a prompt says about a meeting, beside the rules.
type meeting struct {
	day       time.Time
	attendees []string
	minutes   string
}

// actionItem is a task that an attendee has taken on.
type actionItem struct{ owner, task, due string }

var (
	meetingDay       = regexp.MustCompile(`(?m)^Day of the meeting: (\d{4}-\d{2}-\d{2})\s*$`)
	listMark         = regexp.MustCompile(`^(?:[-*•]|\d{1,2}[.)]) +`)
	meetingAttendees = regexp.MustCompile(`(?m)^Attendees: (.+)$`)
)

// meetingOf reads day and attendees from what stands around the minutes.
func meetingOf(around, minutes string) *meeting {
	m := &meeting{minutes: minutes}
	if found := meetingDay.FindStringSubmatch(around); found != nil {
		m.day, _ = time.Parse(time.DateOnly, found[1])
	}
	if found := meetingAttendees.FindStringSubmatch(around); found != nil {
		for name := range strings.SplitSeq(found[1], ";") {
			if name = strings.TrimSpace(name); name != "" {
				m.attendees = append(m.attendees, name)
			}
		}
	}
	return m
}

// actions goes through the minutes clause by clause: an action item is an attendee's name with a word of
// duty behind it. Whatever else the minutes say or demand is no action item.
func (m *meeting) actions() []actionItem {
	var items []actionItem
	for _, sentence := range sentencesOf(m.minutes) {
		if strings.HasSuffix(sentence, "?") {
			continue
		}
		if item, ok := m.action(strings.TrimRight(sentence, ".! ")); ok {
			items = append(items, item)
		}
	}
	return items
}

func (m *meeting) action(sentence string) (actionItem, bool) {
	for _, attendee := range m.attendees {
		for _, name := range namesOf(attendee) {
			rest, ok := afterName(sentence, name)
			if !ok {
				continue
			}
			due, without := m.due(rest)
			if task, ok := taskIn(without, due != "" && strings.Contains(rest, " bis ")); ok {
				return actionItem{attendee, task, due}, true
			}
		}
	}
	return actionItem{}, false
}

// sentencesOf splits lines at full stops, but not at those of numbers, titles and abbreviations.
func sentencesOf(text string) []string {
	var sentences []string
	for line := range strings.Lines(text) {
		runes, from := []rune(strings.TrimSpace(line)), 0
		for i := range runes {
			ends := strings.ContainsRune(".!?", runes[i]) && i >= 3 && (i+1 == len(runes) || runes[i+1] == ' ')
			if ends && isWord(runes[i-3:i]) {
				sentences = append(sentences, strings.TrimSpace(string(runes[from:i+1])))
				from = i + 1
			}
		}
		if rest := strings.TrimSpace(string(runes[from:])); rest != "" {
			sentences = append(sentences, rest)
		}
	}
	return sentences
}

func isWord(runes []rune) bool {
	return !slices.ContainsFunc(runes, func(r rune) bool { return strings.ContainsRune(" .0123456789", r) })
}

var titles = []string{"dr.", "prof.", "herr", "frau", "mr", "mr.", "mrs", "mrs.", "ms", "ms."}

// namesOf are the ways to call an attendee: all of the name, the first, the last.
func namesOf(attendee string) []string {
	parts := strings.Fields(attendee)
	for len(parts) > 1 && slices.Contains(titles, strings.ToLower(parts[0])) {
		parts = parts[1:]
	}
	return []string{attendee, strings.Join(parts, " "), parts[0], parts[len(parts)-1]}
}

// afterName is what follows a name at the beginning of a sentence or of what stands behind a colon.
func afterName(sentence, name string) (rest string, ok bool) {
	sentence = listMark.ReplaceAllString(sentence, "")
	clauses := []string{sentence}
	if _, after, found := strings.Cut(sentence, ": "); found {
		clauses = append(clauses, after)
	}
	for _, clause := range clauses {
		first, behind, _ := strings.Cut(clause, " ")
		if slices.Contains(titles, strings.ToLower(first)) {
			clause = behind
		}
		if rest, found := strings.CutPrefix(clause, name); found && (strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, ":")) {
			return rest, true
		}
	}
	return "", false
}

func (m *meeting) fields() *object {
	actions := []any{}
	for _, item := range m.actions() {
		var due any
		if item.due != "" {
			due = item.due
		}
		actions = append(actions, &object{members: []member{{"owner", item.owner}, {"task", item.task}, {"due", due}}})
	}
	return &object{members: []member{{"actions", actions}}}
}
