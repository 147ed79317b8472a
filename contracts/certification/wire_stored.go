package certification

import (
	"fmt"
	"slices"

	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers"
)

// checkStored compares what lets a provider be asked later about a request, and what must not be sent
// where nobody is to ask: inputs are not left with a provider by mistake.
func checkStored(sent map[string]any, declared Declared) []Check {
	how := declared.Profile.Reconcile
	stored := how != providers.ReconcileNone
	return []Check{
		checkSwitch(sent, "store", stored),
		checkSwitch(sent, "background", how == providers.ReconcileResponses),
		checkMetadata(sent, stored, declared.Metadata),
	}
}

// checkSwitch compares a member that is true, or absent.
func checkSwitch(sent map[string]any, name string, on bool) Check {
	got, present := sent[name]
	switch {
	case !on:
		return checkAbsent(name, got, present)
	case !present:
		return wireCheck(name, FindingParameterNotSent, name+" is declared and was not sent")
	case got != true:
		return wireCheck(name, FindingParameterDiffers, fmt.Sprintf("%s: %s was sent, true is declared", name, spell(got)))
	}
	return wireCheck(name, "", "")
}

func checkMetadata(sent map[string]any, stored bool, want map[string]string) Check {
	const name = "metadata"
	got, present := sent[name]
	if !stored {
		return checkAbsent(name, got, present)
	}
	declared := map[string]any{}
	for key, text := range want {
		declared[key] = text
	}
	switch {
	case !present:
		return wireCheck(name, FindingParameterNotSent, "metadata is declared and was not sent")
	case !value.Equal(got, declared):
		return wireCheck(name, FindingParameterDiffers, fmt.Sprintf("metadata: %s was sent, %s is declared", spell(got), spell(declared)))
	}
	return wireCheck(name, "", "")
}

// checkMessages says which message differs, and not how: that would put inputs into records.
func checkMessages(sent map[string]any, form wireForm, want []providers.Message) Check {
	got := form.messagesIn(sent)
	switch {
	case slices.Equal(got, want):
		return wireCheck(form.messages, "", "")
	case len(got) == 0:
		return wireCheck(form.messages, FindingParameterNotSent, "no message was sent")
	case len(got) != len(want):
		return wireCheck(form.messages, FindingParameterDiffers, fmt.Sprintf("%d messages were sent, the contract has %d", len(got), len(want)))
	}
	i := 0
	for got[i] == want[i] {
		i++
	}
	return wireCheck(form.messages, FindingParameterDiffers,
		fmt.Sprintf("message %d, sent as %q, is not the contract's %q message", i+1, got[i].Role, want[i].Role))
}
