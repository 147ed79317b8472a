package contracts

import (
	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers"
)

// Parts are what [Contract.EffectiveDigest] covers at a target, by names that people know from contract.yaml, each
// as canonical JSON. Where two digests differ, they tell what differs: a message, a threshold, a check, a case.
func (c *Contract) Parts(target providers.Target) map[string][]byte {
	parts, order := map[string][]byte{}, map[string][]any{}
	for name, part := range c.effective(target) {
		switch name {
		case "schema":
			parts[name] = c.Schema
		case "checks", "cases":
			for _, each := range part.([]any) {
				fields := each.(map[string]any)
				parts[name+" / "+fields["name"].(string)] = value.Canonical(fields)
				order[name] = append(order[name], fields["name"])
			}
			parts["order of "+name] = value.Canonical(order[name])
		case "sampling", "thresholds":
			for key, inner := range part.(map[string]any) {
				parts[name+"."+key] = value.Canonical(inner)
			}
		default:
			parts[name] = value.Canonical(part)
		}
	}
	return parts
}
