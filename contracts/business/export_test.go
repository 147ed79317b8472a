package business

import (
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"
)

// Going are the functions and operators whose work grows with what they are handed.
func Going() []string { return slices.Sorted(maps.Keys(going)) }

// Functions are those that checks may call beyond CEL's own and its string functions.
func Functions() ([]string, error) {
	ours, err := environment()
	if err != nil {
		return nil, err
	}
	plain, err := cel.NewEnv(ext.Strings())
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(ours.Functions()))
	return slices.DeleteFunc(names, func(name string) bool {
		return plain.HasFunction(name) || strings.HasPrefix(name, "@")
	}), nil
}
