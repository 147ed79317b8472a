package contracts

import (
	"regexp"
	"slices"
)

// defaultMutationFloor is the share of wrong answers that a contract's checks must refuse before it may
// certify anything; see contracts/mutation.
const defaultMutationFloor = 0.8

// arrayPointer is a JSON pointer (RFC 6901) to an array inside an answer, where * stands for any index.
var arrayPointer = regexp.MustCompile(`^(/([^~]|~[01])*)+$`)

// readMutation reads what the checks themselves are tested by.
func readMutation(c *Contract, doc *document, source *yamlSource) error {
	c.MutationFloor = defaultMutationFloor
	if doc.MutationFloor != nil {
		c.MutationFloor = *doc.MutationFloor
	}
	if !(c.MutationFloor >= 0 && c.MutationFloor <= 1) {
		return source.fault("$.mutation_floor", "mutation_floor %v: want 0 to 1", c.MutationFloor)
	}
	for _, pointer := range doc.Unordered {
		switch {
		case !arrayPointer.MatchString(pointer):
			return source.fault("$.unordered", "unordered %q: want the JSON pointer of an array in the answer, such as /items or /groups/*/members", pointer)
		case slices.Contains(c.Unordered, pointer):
			return source.fault("$.unordered", "unordered %q stands here twice", pointer)
		}
		c.Unordered = append(c.Unordered, pointer)
	}
	return nil
}
