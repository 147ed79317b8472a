// Package value holds JSON values exactly as they were sent.
//
// A value is nil, bool, string, [Number], []any or map[string]any, and nothing else. Numbers keep
// their literal: 2^53+1 stays apart from 2^53, 1, 1.0 and 1e0 are one value, and 1e131071 takes eight
// bytes wherever it goes. [Decode] refuses what parsers disagree about (duplicate keys, invalid UTF-8,
// lone surrogates, NUL, trailing bytes) and says where; it never guesses. [Canonical] gives equal
// values equal bytes and different values different bytes, which is what a fingerprint rests on;
// RFC 8785 is not used because it rounds numbers to doubles.
//
// What a value means is left to others: schemas to contracts/structure, checks to contracts/business.
package value
