// Package report shows certification records, and the evidence that they rest on, to people: as one HTML file,
// and as Markdown for a comment.
//
// It promises that whatever stands in a record or its evidence is text and nothing else: it forms no element,
// starts no script, loads nothing, mentions nobody and turns no line around. The HTML file refers to nothing
// outside itself. Both are bounded in size, and say what they leave out. What the figures mean belongs to
// contracts/certification.
package report
