package certify

import (
	"fmt"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fallproof/fallproof/contracts/certification"
)

// writable finds out before anything is paid for whether a file can be written. What an earlier run left there
// goes: whoever is killed leaves nothing that could be taken for this run's.
func writable(path string) error {
	if path == "" {
		return nil
	}
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("certify: output file: %w", err)
	}
	return file.Close()
}

// document is what the JSON file holds; certify.schema.json describes it.
type document struct {
	Run            string                 `json:"run"`
	HarnessVersion string                 `json:"harness_version"`
	Complete       bool                   `json:"complete"`
	Incomplete     string                 `json:"incomplete,omitzero"`
	Certified      int                    `json:"certified"`
	Rejected       int                    `json:"rejected"`
	Inconclusive   int                    `json:"inconclusive"`
	Filtered       bool                   `json:"filtered"` // what is certified is left out of the lists; the counts are of the whole run
	Lapsed         int                    `json:"lapsed"`   // certified, and standing no longer
	Remarks        []Remark               `json:"remarks"`  // on the records that are not of now, or do not count
	Unfit          []Unfit                `json:"unfit"`    // contracts by which nothing can be certified; the run did without them
	Records        []certification.Record `json:"records"`
}

func writeJSON(path string, options Options, result Result) error {
	if path == "" {
		return nil
	}
	listed := result
	if options.FilterFailing {
		listed = result.failing()
	}
	text, err := json.Marshal(document{
		Run: result.RunName, HarnessVersion: options.Version,
		Complete: result.Incomplete == "", Incomplete: result.Incomplete,
		Certified: result.Certified, Rejected: result.Rejected, Inconclusive: result.Inconclusive,
		Filtered: options.FilterFailing, Lapsed: result.Lapsed, Remarks: listed.Remarks, Unfit: result.Unfit, Records: listed.Records,
	}, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
