package binding

import (
	"errors"
	"maps"

	"github.com/fallproof/fallproof/providers"
)

// ControlRequest is the first case's request as a user would make it who types text behind what the first
// text field says: the first, in the order of their names, that a message shows as it is. It errs where no
// message shows one.
func (b *Binding) ControlRequest(text string) (providers.Request, error) {
	input := b.contract.Cases[0].Input
	shown := b.templates.Shown(input)
	if len(shown) == 0 {
		return providers.Request{}, errors.New("no message shows a text of the input as it is")
	}
	typed := maps.Clone(input)
	said, _ := input[shown[0]].(string)
	typed[shown[0]] = said + text
	return b.Request(typed)
}
