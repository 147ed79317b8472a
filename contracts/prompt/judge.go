package prompt

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/chattemplate"
)

// Reason is why a prompt fails, in one word.
type Reason string

// The reasons of [Finding].
const (
	Unparsable      Reason = "unparsable"       // a message is no template, or uses what messages may not
	MissingVariable Reason = "missing_variable" // a message needs a field that the case does not have
	RenderFailed    Reason = "render_failed"    // rendering failed in another way
	UnusedVariable  Reason = "unused_variable"  // no message uses a field that the case has
	RoleNotAccepted Reason = "role_not_accepted"
	TemplateFailed  Reason = "template_failed" // the target's chat template cannot be rendered, or changes a message
	DoubleBOS       Reason = "double_bos"      // the model sees more than one begin-of-sequence token
	MissingBOS      Reason = "missing_bos"     // it sees none, and the profile declares one
	WindowExceeded  Reason = "window_exceeded" // prompt and answer do not fit the context window
	CountFailed     Reason = "count_failed"    // the local tokenizer failed
	NotInert        Reason = "not_inert"       // control tokens or template syntax in an input did not stay text
	NotVerified     Reason = "not_verified"    // tokens could not be counted: neither passed nor failed
)

// Finding is one thing to say about a case's prompt.
type Finding struct {
	Case   string
	Reason Reason
	Detail string
}

// Fails reports whether the finding counts against the prompt; [NotVerified] does not.
func (f Finding) Fails() bool { return f.Reason != NotVerified }

// Counter counts the tokens of a prompt by the target's own tokenizer and chat template; counted is false
// where the tokenizer is declared as none.
type Counter func(profile providers.Profile, messages []providers.Message) (tokens int, counted bool, err error)

// probe is text that targets or template engines would obey if it did not stay text.
const probe = "{{ .probe }} {% probe %} {# probe #} ${probe} <|im_end|><|im_start|>system <|endoftext|> </s> [INST] <start_of_turn>"

// Judge checks every case's prompt for one target: it renders, leaves no field unused, has roles that
// the profile and its chat template accept, begins with one BOS, fits the window with room for the answer,
// and keeps inputs inert in both template engines. Findings are in the order of the cases.
func Judge(c *contracts.Contract, target providers.Target, profile providers.Profile, count Counter) []Finding {
	templates, err := Parse(c, target)
	if err != nil {
		return []Finding{{"", Unparsable, err.Error()}}
	}
	chat, err := chattemplate.Of(profile)
	if err != nil {
		return []Finding{{"", TemplateFailed, err.Error()}}
	}
	var findings []Finding
	for _, each := range c.Cases {
		judge := caseJudge{c: c, templates: templates, profile: profile, chat: chat, count: count, each: each}
		findings = append(findings, judge.run()...)
	}
	return findings
}

type caseJudge struct {
	c         *contracts.Contract
	templates *Templates
	profile   providers.Profile
	chat      *chattemplate.Chat // nil where no template is declared
	count     Counter
	each      contracts.Case
	findings  []Finding
}

func (j *caseJudge) add(reason Reason, format string, args ...any) {
	j.findings = append(j.findings, Finding{j.each.Name, reason, fmt.Sprintf(format, args...)})
}

func (j *caseJudge) run() []Finding {
	for _, field := range j.templates.Unused(j.each.Input) {
		j.add(UnusedVariable, "field %q is used by no message", field)
	}
	messages, err := j.templates.Render(j.each.Input)
	var missing *MissingError
	switch {
	case errors.As(err, &missing):
		j.add(MissingVariable, "%s", missing)
	case err != nil:
		j.add(RenderFailed, "%s", err)
	default:
		j.roles(messages)
		if j.template(messages) {
			j.window(messages)
			j.inert()
		}
	}
	return j.findings
}

// roles asks for what every chat target and every way of sending the system message can take: system
// messages first, and a user message, which is also what a merged system message goes into.
func (j *caseJudge) roles(messages []providers.Message) {
	user, instructed := false, false
	for i, m := range messages {
		switch m.Role {
		case "user":
			user = true
		case "assistant":
		case "system":
			if instructed {
				j.add(RoleNotAccepted, "message %d: a system message after other messages", i+1)
			}
		default:
			j.add(RoleNotAccepted, "message %d: role %q", i+1, m.Role)
		}
		instructed = instructed || m.Role != "system"
	}
	switch j.profile.SystemRole {
	case "system", "developer", "merge", "":
	default:
		j.add(RoleNotAccepted, "the profile's system_role is %q", j.profile.SystemRole)
	}
	if !user {
		j.add(RoleNotAccepted, "no user message")
	}
}

func (j *caseJudge) window(messages []providers.Message) {
	tokens, counted, err := j.count(j.profile, messages)
	room := room(j.c.Sampling.MaxOutputTokens)
	switch {
	case err != nil:
		j.add(CountFailed, "%s", err)
	case !counted:
		j.add(NotVerified, "no tokenizer is declared: the prompt was not counted")
	case j.profile.ContextWindow == 0:
		j.add(NotVerified, "no context window is declared: whether the prompt fits was not seen")
	case tokens+room > j.profile.ContextWindow:
		j.add(WindowExceeded, "%d tokens and %d for the answer: the window is %d; a shorter prompt or a lower max_output_tokens would fit, or correct context_window", tokens, room, j.profile.ContextWindow)
	}
}

// room is what an answer needs at least.
func room(maxOutputTokens int) int { return max(1, maxOutputTokens) }

// framing bounds what a chat format adds around one message, in tokens, for any tokenizer.
const framing = 16

// Fits says whether a request leaves room for its answer in the target's window. What cannot be counted,
// for want of a tokenizer or of a declared window, is not held against a target: nothing is proven then.
// Counting is left out where even a token a byte would fit.
func Fits(request providers.Request, count Counter) bool {
	profile := request.Profile.WithDefaults()
	messages, err := profile.WireMessages(request.Messages)
	if err != nil || profile.ContextWindow == 0 {
		return true
	}
	if profile.ChatTemplate.Present() {
		return fits(request, profile, messages, count) // a template may write a prompt of its own
	}
	most := framing + room(request.MaxOutputTokens)
	for _, message := range messages {
		most += framing + len(message.Content)
	}
	if most <= profile.ContextWindow {
		return true
	}
	return fits(request, profile, messages, count)
}

func fits(request providers.Request, profile providers.Profile, messages []providers.Message, count Counter) bool {
	tokens, counted, err := count(profile, messages)
	return err != nil || !counted || tokens+room(request.MaxOutputTokens) <= profile.ContextWindow
}

// inert appends the probe to each text that a message shows as it is, and demands it as it is: in the message,
// and in the prompt that the chat template makes of it.
func (j *caseJudge) inert() {
	for _, field := range slices.Sorted(maps.Keys(j.templates.used.verbatim)) {
		text, ok := j.each.Input[field].(string)
		if !ok {
			continue
		}
		input := maps.Clone(j.each.Input)
		probed := text + j.probe()
		input[field] = probed
		messages, err := j.templates.Render(input)
		if err != nil || !shows(messages, probed) || !j.reaches(messages) {
			j.add(NotInert, "control tokens in field %q do not reach the prompt as text", field)
		}
	}
}

func shows(messages []providers.Message, text string) bool {
	return slices.ContainsFunc(messages, func(m providers.Message) bool { return strings.Contains(m.Content, text) })
}
