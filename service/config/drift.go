package config

import (
	"strconv"

	"github.com/goccy/go-yaml/ast"

	"github.com/fallproof/fallproof/service/drift"
)

// driftOff is what a route says that wants nothing compared.
const driftOff = "off"

// drift is when live answers suspend a target's proof: a mapping, or off.
func (r *reader) drift(f field) drift.Settings {
	settings := drift.Defaults()
	if !f.present() {
		return settings
	}
	switch node := f.node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
	case *ast.StringNode:
		if node.Value == driftOff {
			return drift.Settings{Off: true}
		}
		r.fail(f.line, "%s: %q is not possible; want off, or a mapping such as {violations: 0.05, window: 200, minimum: 20}", f.name, node.Value)
		return settings
	default:
		r.fail(f.line, "%s: want off, or a mapping such as {violations: 0.05, window: 200, minimum: 20}", f.name)
		return settings
	}
	s := r.mapping(f, "violations", "window", "minimum")
	settings.Violations = r.rate(s["violations"], settings.Violations)
	settings.Window = r.integer(s["window"], settings.Window, drift.MostWindow)
	settings.Minimum = r.integer(s["minimum"], min(settings.Minimum, settings.Window), drift.MostWindow)
	if s["minimum"].present() && settings.Minimum > settings.Window {
		r.fail(s["minimum"].line, "%s: %d answers never stand in a window of %d", s["minimum"].name, settings.Minimum, settings.Window)
	}
	return settings
}

// rate is a part of a whole that may be nothing: a number from 0 to less than 1.
func (r *reader) rate(f field, fallback float64) float64 {
	if !f.present() {
		return fallback
	}
	literal := ""
	switch node := f.node.(type) {
	case *ast.IntegerNode:
		literal = node.Token.Value
	case *ast.FloatNode:
		literal = node.Token.Value
	}
	rate, err := strconv.ParseFloat(literal, 64)
	if err != nil || !(rate >= 0 && rate < 1) {
		r.fail(f.line, "%s: want a number from 0 to less than 1, such as 0.05", f.name)
		return fallback
	}
	return rate
}
