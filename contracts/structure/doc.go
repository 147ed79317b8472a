// Package structure judges whether an answer is what the contract's schema asks for: exactly one JSON
// value, strict by RFC 8259, with no top-level key that the contract does not know.
//
// It promises typed reasons, in an order that does not change from run to run, and numbers that stay
// exact: an integer beyond 2^53 is neither rounded nor refused. Nothing is repaired: a fence (unless the
// contract allows one around the whole answer), a note after the value or a repeated key fails, named. Formats are asserted; a schema that refers to
// anything outside itself is refused.
//
// Whether a well-formed answer is also right is contracts/business's to say.
package structure
