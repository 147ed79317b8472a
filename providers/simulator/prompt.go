package simulator

import (
	"regexp"
	"strings"
)

// task is what a prompt asks for.
type task int

const (
	taskUnknown task = iota
	taskInvoice
	taskTriage
	taskMeeting
)

// prompt is a request as a model understands it.
type prompt struct {
	task         task
	schema       *schema // nil without one
	wantsJSON    bool
	instructions string // all that the messages say outside the data
	around       string // what stands around the data in its message
	data         string // what stands between the delimiters, else the last user message
	deaf         bool
	unbound      bool // nothing makes the answer meet the schema
	dutiful      bool // keeps to what was asked first, whatever a later order says
}

var (
	nonceOrder  = regexp.MustCompile(`NONCE=([0-9A-Fa-f]+)`)
	breachOrder = regexp.MustCompile(`PROBE=([0-9A-Fa-f]+)`)
)

// readPrompt sorts a request into instructions and data. A deaf reader sees no system message.
func readPrompt(request *chatRequest, deaf bool) *prompt {
	p := &prompt{deaf: deaf}
	tag := ""
	for _, m := range request.Messages {
		text := string(m.Content)
		if m.Role == "system" || m.Role == "developer" {
			if !deaf {
				p.instructions += text + "\n"
			}
			continue
		}
		if m.Role != "user" {
			continue
		}
		p.around, tag, p.data = splitData(text)
		p.instructions += p.around + "\n"
	}
	if format := request.ResponseFormat; format != nil {
		p.wantsJSON = format.Type != "text"
		if format.JSONSchema != nil {
			p.schema = schemaOf(format.JSONSchema.Schema)
		}
	}
	p.task = p.recognise(tag)
	return p
}

var delimiters = []string{"invoice", "message", "minutes", "document", "text", "input", "data", "email", "ticket"}

// splitData finds the data within a user message: from the first opening tag that stands on a line alone
// to the last closing one, so that nothing within the data can end it early.
func splitData(text string) (around, tag, data string) {
	for _, tag := range delimiters {
		open, closing := "<"+tag+">\n", "\n</"+tag+">"
		start := strings.Index("\n"+text, "\n"+open)
		if start < 0 {
			continue
		}
		from := start + len(open)
		length := strings.LastIndex(text[from:], closing)
		if length < 0 {
			continue
		}
		return text[:start] + text[from+length+len(closing):], tag, text[from : from+length]
	}
	return text, "", text
}

// recognise tells the task from the keys that are asked for; a reader that sees none goes by the tag.
func (p *prompt) recognise(tag string) task {
	if p.schema != nil {
		return taskOf(tag, func(key string) bool { return p.schema.has(key) })
	}
	if asked := taskOf(tag, func(key string) bool { return strings.Contains(p.instructions, `"`+key+`"`) }); asked != taskUnknown {
		return asked
	}
	if strings.Contains(p.instructions, `"`) && !p.deaf {
		return taskUnknown // other keys are asked for: a contract that this reader does not know
	}
	switch tag {
	case "invoice":
		return taskInvoice
	case "message":
		return taskTriage
	case "minutes":
		return taskMeeting
	}
	return taskUnknown
}

func taskOf(tag string, asks func(key string) bool) task {
	switch {
	case asks("invoice_number") && asks("lines") && asks("total"):
		return taskInvoice
	case asks("category") && asks("urgency"):
		return taskTriage
	case asks("actions") && tag == "minutes":
		return taskMeeting
	}
	return taskUnknown
}

// breach is the value that the instructions order to be returned instead of what the schema asks for. An
// answer that is made to meet its schema cannot obey.
func (p *prompt) breach() (string, bool) {
	found := breachOrder.FindStringSubmatch(p.instructions)
	if found == nil || p.deaf || p.dutiful || (p.schema != nil && !p.unbound) {
		return "", false
	}
	return found[1], true
}

// nonce is the value that the instructions order to be returned. Data cannot order anything.
func (p *prompt) nonce() (string, bool) {
	if p.deaf {
		return "", false
	}
	found := nonceOrder.FindStringSubmatch(p.instructions)
	if found == nil {
		return "", false
	}
	return found[1], true
}
