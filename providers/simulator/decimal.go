package simulator

import "math/big"

// decimal writes a number that has a finite decimal form with the digits that it needs.
func decimal(n *big.Rat) string {
	digits, exact := n.FloatPrec()
	if !exact {
		digits = 6
	}
	return n.FloatString(digits)
}

// cents rounds to two decimals, halves away from zero, as invoices do.
func cents(n *big.Rat) *big.Rat {
	rounded, ok := new(big.Rat).SetString(n.FloatString(2))
	if !ok {
		panic("simulator: FloatString wrote no number") // unreachable
	}
	return rounded
}
