// Package config reads fallproof.yaml.
//
// It promises that a [Config] which [Load] returns is whole: every name in it resolves, every word is
// one of the allowed ones, every profile is complete and every default is applied. A file that is not
// right is one [*Error] with file and line, and says what would be right. An unknown key is an error,
// because a misspelt setting that is silently ignored is worse than one that is refused.
//
// API keys never stand in the file and never in a Config: [Config.APIKey] reads them when they are used.
// Opening the store and listening are left to the verbs.
package config
