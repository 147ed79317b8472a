// Package business judges an answer by what a schema cannot say: sums that add up, a hazard that is
// never low urgency. Checks are CEL expressions over input, output and expected that must be true.
//
// It promises exact arithmetic: every number, from JSON or from the expression, is a decimal of any
// size, so 0.1 + 0.2 == 0.3 holds, 7 / 2 is 3.5, and 2^53+1 differs from 2^53. A check that cannot be
// evaluated has failed: an error is never a pass. Evaluation is bounded in cost and does no I/O.
//
// Beyond CEL's own there are: num(x), sum(list), min(list), max(list), abs(x), round(x) and
// round(x, places) with halves away from zero, date("2026-01-31"), which takes the day of a moment too,
// days(from, to), lower(s), upper(s), trim(s), nfc(s), fold(s) (composed, in small letters, single spaces),
// words(s), and CEL's string extensions. In place of double(x) and uint(x), which round or wrap, use num(x).
// The README shows each by an expression.
//
// == compares by value, lists in order and texts character by character. same(a, b) also takes composed and
// decomposed letters for one; sameSet(a, b) compares lists in that way without regard to order, each element
// as often in one as in the other. As sets in the narrower sense there are subset(a, b), union(a, b),
// intersect(a, b), minus(a, b) and distinct(list).
//
// How that is done: CEL has no decimals, and its int == x is false for a foreign type of x rather than an
// error. So the parser hands every operator in the expression to functions of this package (macros, see
// operators.go), and literals with a fraction become decimals before the expression is type-checked.
package business
