package contracts

import (
	"regexp"
	"slices"
)

// defaultMutationFloor is the share of wrong answers that a contract's checks must refuse before it may
// certify anything; see contracts/mutation.
const defaultMutationFloor = 0.8

// answerPointer is a JSON pointer (RFC 6901) to a place inside an answer, where * stands for any index.
var answerPointer = regexp.MustCompile(`^(/([^~]|~[01])*)+$`)

// readMutation reads what the checks themselves are tested by.
func readMutation(c *Contract, doc *document, source *yamlSource) error {
	c.MutationFloor = defaultMutationFloor
	if doc.MutationFloor != nil {
		c.MutationFloor = *doc.MutationFloor
	}
	if !(c.MutationFloor >= 0 && c.MutationFloor <= 1) {
		return source.fault("$.mutation_floor", "mutation_floor %v: want 0 to 1", c.MutationFloor)
	}
	if err := source.pointers("unordered", doc.Unordered, &c.Unordered); err != nil {
		return err
	}
	return source.pointers("free_text", doc.FreeText, &c.FreeText)
}

func (s *yamlSource) pointers(key string, written []string, into *[]string) error {
	for _, pointer := range written {
		switch {
		case !answerPointer.MatchString(pointer):
			return s.fault("$."+key, "%s %q: want a JSON pointer into the answer, such as /items or /groups/*/name", key, pointer)
		case slices.Contains(*into, pointer):
			return s.fault("$."+key, "%s %q stands here twice", key, pointer)
		}
		*into = append(*into, pointer)
	}
	return nil
}
