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
		j.add(RoleNotAccepted, "%s%s", refused, j.mergeHelps(messages))
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
	case j.chat.WantsBOS(wire):
		j.add(NotVerified, "the template writes bos_token, which is not declared: with how many the prompt begins was not seen; say bos_token, or lay the tokenizer_config.json beside the template")
	case !declared || n == 1:
	case n == 0:
		j.add(MissingBOS, "the prompt begins without %s, and the server is not declared to add it; where it does, say add_bos: true", j.profile.BOSToken)
	case j.profile.AddBOS:
		j.add(DoubleBOS, "the template writes %s, and the server is declared to add it: the prompt begins with %d of them; say add_bos: false where it does not, or else take it out of the template", j.profile.BOSToken, n)
	default:
		j.add(DoubleBOS, "the template writes %d %s at the beginning of the prompt", n, j.profile.BOSToken)
	}
	return true
}

// mergeHelps says so where the template takes the messages once their system text stands in the first user message.
func (j *caseJudge) mergeHelps(messages []providers.Message) string {
	merged := *j
	if merged.profile.SystemRole == providers.RoleMerge {
		return ""
	}
	merged.profile.SystemRole = providers.RoleMerge
	if _, _, err := merged.rendered(messages); err != nil {
		return ""
	}
	return "; with system_role: merge it takes them"
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
