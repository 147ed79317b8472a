package certify

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers"
)

// Clients take the keys of providers out of what was sent and what was answered. What either is held against,
// or is shown beside it, may hold such a key too, and is redacted alike: so nothing seems to differ that did
// not, and nothing is kept here that was taken out there.

// redacted are messages as the client leaves them in evidence.
func (p Pair) redacted(messages []providers.Message) []providers.Message {
	clean := slices.Clone(messages)
	for i, m := range clean {
		clean[i].Content = p.Scrub.Text(m.Content)
	}
	return clean
}

// redactedObject is an input, or an expected answer, as it comes back.
func (p Pair) redactedObject(object map[string]any) map[string]any {
	if object == nil {
		return nil
	}
	text := value.Encode(object)
	clean := p.Scrub.Bytes(text)
	if bytes.Equal(clean, text) {
		return object
	}
	decoded, err := value.Decode(clean)
	if err != nil {
		return object // two names of members became one: it cannot be compared any better
	}
	read, _ := decoded.(map[string]any)
	return read
}

// declared is what a request for messages that are redacted should look like, with the attempt's metadata.
func (p Pair) declared(wire []providers.Message, metadata map[string]string) certification.Declared {
	profile := p.Profile
	profile.Model = p.Scrub.Text(profile.Model)
	for name, text := range metadata {
		metadata[name] = p.Scrub.Text(text)
	}
	return certification.Declared{
		Profile: profile, Schema: p.Scrub.Bytes(p.Contract.Schema), Messages: wire, Metadata: metadata,
		Temperature: p.Contract.Sampling.Temperature, MaxOutputTokens: p.Contract.Sampling.MaxOutputTokens,
	}
}

// keysIn are the providers whose keys stand in messages.
func (p Pair) keysIn(messages []providers.Message) []string {
	var names []string
	for _, m := range messages {
		names = append(names, p.Scrub.Names(m.Content)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// exposed says whose keys the prompts hold: whoever is certified is sent them in the open.
func (e Evidence) exposed() []certification.Finding {
	var found []certification.Finding
	at := map[string]int{} // a provider's finding
	for _, each := range e.Pair.Contract.Cases {
		for _, name := range e.account.cases[each.Name].keys {
			if _, known := at[name]; !known {
				at[name] = len(found)
				found = append(found, certification.Finding{
					Reason: warningKeyInPrompt, Case: each.Name,
					Detail: fmt.Sprintf("the key of provider %s stands in the prompt, and is sent to %s in the open", name, e.Pair.Target.Provider),
				})
			}
			found[at[name]].Count++
		}
	}
	return found
}
