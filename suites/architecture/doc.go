// Package architecture holds the fences between packages, as tests.
//
// One table says what each package is for and in which order they stand: a package imports only packages
// above it. A second one says which package has a library to itself, and why. A package that stands in no
// table fails the test, so that nothing is added without a place.
//
// The imports are read from the source files of the whole module, whatever their build tags, and read in
// the test process itself, so that go test knows a cached result to be out of date when any of them changes.
//
// What a package does behind its fence is left to its own tests.
package architecture
