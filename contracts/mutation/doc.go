// Package mutation tests a contract's checks: it derives wrong answers from each case's expected answer and
// counts how many of them the checks refuse. Checks that let most wrong answers pass prove nothing about a
// target that passes them.
//
// A wrong answer, a mutant, satisfies the schema and differs from the expected answer by value, in the way
// in which models err: two fields swapped, an item lost or doubled, a sign, a digit, a date, a currency,
// another word of an enumeration, a text cut short, null where a value should be. Where the contract declares
// an array as unordered, another order is no mutant, nor is another wording where it declares a text as free. Everything is derived in one fixed order from the
// contract alone, so that two machines report the same score.
//
// It promises to say of each mutant what was changed where, and besides the score how many mutants the rules
// alone refuse, the checks that do not need an expected answer: in service there is none.
//
// What a score is worth is the contract's mutation_floor; who refuses a contract below it is lint and
// certification.
package mutation
