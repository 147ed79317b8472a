package providers

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// WireMessages maps a contract's messages to what a target with this profile is sent: role names as it
// declares them, and with system_role merge the system text in front of the first user message.
// Prompt checks count these, the wire format sends these, so both mean the same bytes. With control_tokens
// break a control token of the model inside a content no longer reads as one.
//
// It refuses what no provider can be meant to receive: no message at all, an unknown role, an empty
// content (the template produced nothing) and invalid UTF-8 (an encoder would silently replace it).
func (p Profile) WireMessages(messages []Message) ([]Message, error) {
	if len(messages) == 0 {
		return nil, fmt.Errorf("no messages: nothing to send")
	}
	for i, m := range messages {
		if err := m.check(); err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	messages = p.breakControls(messages)
	switch p.SystemRole {
	case RoleSystem, "":
		return slices.Clone(messages), nil
	case RoleDeveloper:
		renamed := slices.Clone(messages)
		for i := range renamed {
			if renamed[i].Role == RoleSystem {
				renamed[i].Role = RoleDeveloper
			}
		}
		return renamed, nil
	case RoleMerge:
		return mergeSystem(messages), nil
	default:
		return nil, notAllowed("system_role", p.SystemRole, []string{RoleSystem, RoleDeveloper, RoleMerge})
	}
}

func (m Message) check() error {
	switch {
	case m.Role != RoleSystem && m.Role != "user" && m.Role != "assistant":
		return fmt.Errorf("role %q; want system, user or assistant", m.Role)
	case strings.TrimSpace(m.Content) == "":
		return fmt.Errorf("the %s message is empty: its template produced nothing", m.Role)
	case !utf8.ValidString(m.Content):
		return fmt.Errorf("the %s message is not valid UTF-8", m.Role)
	}
	return nil
}

// mergeSystem moves all system text, in order, in front of the first user message; without one, the
// system text becomes a user message of its own at the start.
func mergeSystem(messages []Message) []Message {
	var system []string
	merged := make([]Message, 0, len(messages))
	for _, m := range messages {
		if m.Role == RoleSystem {
			system = append(system, m.Content)
			continue
		}
		merged = append(merged, m)
	}
	if len(system) == 0 {
		return merged
	}
	text := strings.Join(system, "\n\n")
	user := slices.IndexFunc(merged, func(m Message) bool { return m.Role == "user" })
	if user < 0 {
		return slices.Insert(merged, 0, Message{Role: "user", Content: text})
	}
	merged[user].Content = text + "\n\n" + merged[user].Content
	return merged
}

// breaker is the invisible character that breaks a control token: U+2060, word joiner. A model reads the token
// as the text that it is, and a person sees no difference.
const breaker = "\u2060"

// breakControls returns messages whose contents hold none of the profile's control tokens. The breaker stands
// behind a token's first character, so that no part of it can be read as another token.
func (p Profile) breakControls(messages []Message) []Message {
	if p.ControlTokens != ControlTokensBreak || p.Breaks == "" {
		return messages
	}
	var pairs []string
	for token := range strings.SplitSeq(p.Breaks, "\n") {
		_, first := utf8.DecodeRuneInString(token)
		pairs = append(pairs, token, token[:first]+breaker+token[first:])
	}
	replacer := strings.NewReplacer(pairs...)
	broken := slices.Clone(messages)
	for i := range broken {
		broken[i].Content = replacer.Replace(broken[i].Content)
	}
	return broken
}
