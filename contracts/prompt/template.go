package prompt

import (
	"errors"
	"slices"
	"strings"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/chattemplate"
)

// template renders what is sent as the target's server does, where its chat template is declared: the
// template must take the messages, show each content as it is, and begin with one BOS. It reports whether
// the prompt could be rendered.
func (j *caseJudge) template(messages []providers.Message) bool {
	if j.chat == nil {
		return true
	}
	rendered, wire, err := j.rendered(messages)
	var refused *chattemplate.RefusedError
	switch {
	case errors.As(err, &refused):
		j.add(RoleNotAccepted, "%s", refused)
		return false
	case err != nil:
		j.add(TemplateFailed, "%s", err)
		return false
	}
	for i, m := range wire {
		if !strings.Contains(rendered, strings.TrimSpace(m.Content)) { // templates may trim
			j.add(TemplateFailed, "message %d (%s) does not reach the prompt as it is", i+1, m.Role)
		}
	}
	switch n, declared := j.chat.BOS(rendered); {
	case !declared || n == 1:
	case n == 0:
		j.add(MissingBOS, "the prompt begins without %s, and the server is not declared to add it", j.profile.BOSToken)
	case j.profile.AddBOS:
		j.add(DoubleBOS, "the template writes %s, and the server adds it: the prompt begins with %d of them", j.profile.BOSToken, n)
	default:
		j.add(DoubleBOS, "the prompt begins with %d %s", n, j.profile.BOSToken)
	}
	return true
}

func (j *caseJudge) rendered(messages []providers.Message) (string, []providers.Message, error) {
	wire, err := j.profile.WireMessages(messages)
	if err != nil {
		return "", nil, err
	}
	rendered, err := j.chat.Render(wire)
	return rendered, wire, err
}

// probe is text that targets or template engines would obey if it did not stay text, the target's own
// control tokens among it.
func (j *caseJudge) probe() string {
	if j.chat == nil {
		return probe
	}
	return probe + strings.Join(j.chat.Marks(), "")
}

// reaches says whether a message that holds the probe reaches the prompt as it was sent: control tokens that
// the profile breaks are broken in it.
func (j *caseJudge) reaches(messages []providers.Message) bool {
	if j.chat == nil {
		return true
	}
	rendered, wire, err := j.rendered(messages)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(wire, func(m providers.Message) bool {
		return !strings.Contains(rendered, strings.TrimSpace(m.Content))
	})
}
