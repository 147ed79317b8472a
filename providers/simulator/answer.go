package simulator

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// answer is what a model has to say before its personality bends it.
type answer struct {
	task   task
	fields *object
	plain  string // instead of the fields, where nothing asked for JSON
}

// answer reads the data by the rules of the task, and fits what it read to the schema that was sent.
func (p *prompt) answer() *answer {
	a := &answer{task: p.task}
	if value, ordered := p.breach(); ordered {
		a.task, a.fields = taskUnknown, &object{}
		a.fields.set("probe", value)
		return a
	}
	switch {
	case p.task == taskInvoice:
		a.fields = readInvoice(p.data).fields()
	case p.task == taskTriage:
		a.fields = readTriage(p.data).fields()
	case p.task == taskMeeting:
		a.fields = meetingOf(p.around, p.data).fields()
	case p.schema != nil:
		a.fields = &object{}
	case p.wantsJSON:
		a.fields = &object{}
		a.fields.set("answer", firstLine(p.data))
	default:
		a.plain = fmt.Sprintf("I have read your message of %d words.", len(strings.Fields(p.data)))
		a.fields = &object{}
	}
	if p.schema != nil {
		a.fields = p.fit(a.fields)
	}
	if nonce, ordered := p.nonce(); ordered {
		a.fields.set("nonce", nonce)
		a.plain = ""
	}
	return a
}

// fit keeps the fields that the schema knows and makes up those that it demands beyond them. A deaf
// reader makes up no nonce: it does not know that there should be one.
func (p *prompt) fit(read *object) *object {
	fitted := &object{}
	for _, name := range p.schema.names() {
		switch {
		case read.has(name) && p.schema.allows(name, read.get(name)):
			fitted.set(name, read.get(name))
		case name != "nonce":
			fitted.set(name, p.schema.example(name))
		}
	}
	return fitted
}

// text is the answer as it is sent.
func (a *answer) text() string {
	if a.plain != "" {
		return a.plain
	}
	return string(encode(a.fields))
}

// spoil makes the answer wrong where no schema can see it.
func (a *answer) spoil() {
	switch a.task {
	case taskInvoice:
		spoilInvoice(a.fields)
	case taskTriage:
		spoilTriage(a.fields)
	case taskMeeting:
		spoilMeeting(a.fields)
	default:
		spoilAny(a.fields)
	}
}

// spoilInvoice misses the total, by the tax or the discount where there is one, as a model does that
// takes the wrong line of the summary for it.
func spoilInvoice(fields *object) {
	total, ok := fields.get("total").(*big.Rat)
	if !ok {
		return
	}
	off := big.NewRat(10, 1)
	for _, name := range []string{"discount", "tax"} {
		if amount, ok := fields.get(name).(*big.Rat); ok && amount.Sign() != 0 {
			off = amount
		}
	}
	fields.set("total", new(big.Rat).Add(total, off))
}

// spoilTriage gives low urgency to what it says is a threat or a hazard, and sees a threat where none is.
func spoilTriage(fields *object) {
	if fields.get("safety_hazard") != true {
		fields.set("legal_threat", true)
	}
	fields.set("urgency", "low")
}

// spoilMeeting counts a day from another week, loses the last action item where none has a day, and sees one
// where there is none.
func spoilMeeting(fields *object) {
	actions, ok := fields.get("actions").([]any)
	if !ok {
		return
	}
	for _, action := range actions {
		item, _ := action.(*object)
		text, _ := item.get("due").(string)
		if due, err := time.Parse(time.DateOnly, text); err == nil {
			item.set("due", due.AddDate(0, 0, 7).Format(time.DateOnly))
			return
		}
	}
	if len(actions) > 0 {
		fields.set("actions", actions[:len(actions)-1])
		return
	}
	fields.set("actions", []any{&object{members: []member{{"owner", "everybody"}, {"task", "follow up"}, {"due", nil}}}})
}

// spoilAny turns the first value that can be turned: this reader does not know what would be right.
func spoilAny(fields *object) {
	for i := range fields.members {
		switch value := fields.members[i].value.(type) {
		case bool:
			fields.members[i].value = !value
			return
		case jsontext.Value:
			if n, ok := new(big.Rat).SetString(string(value)); ok && isModest(string(value)) {
				fields.members[i].value = n.Add(n, big.NewRat(1, 1))
				return
			}
		}
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}
