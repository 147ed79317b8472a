package certify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/evidence"
	"github.com/fallproof/fallproof/contracts/report"
	"github.com/fallproof/fallproof/service/store"
)

// writeFiles leaves the files that were asked for.
func writeFiles(ctx context.Context, options Options, result Result) error {
	return errors.Join(
		writeJUnit(options.JUnit, options, result),
		writeJSON(options.JSON, options, result),
		writeReports(ctx, options, result),
	)
}

// writeReports shows the run to people. Prompts and answers come from the store, as they would later.
func writeReports(ctx context.Context, options Options, result Result) error {
	if options.HTML == "" && options.Markdown == "" {
		return nil
	}
	shown, err := reportOf(ctx, options, result)
	if err != nil {
		return err
	}
	return errors.Join(WriteReport(options.HTML, shown, report.HTML), WriteReport(options.Markdown, shown, report.Markdown))
}

func reportOf(ctx context.Context, options Options, result Result) (report.Report, error) {
	shown := report.Report{Title: "certification run " + result.RunName, NotRun: result.notRun()}
	if result.Incomplete != "" {
		shown.Notes = append(shown.Notes, "not complete, nothing was written: "+result.Incomplete)
	}
	for _, unfit := range result.Unfit {
		shown.Notes = append(shown.Notes, unfit.notRun())
	}
	for _, record := range result.Records {
		remark := result.remark(record.ID)
		shown.Entries = append(shown.Entries, report.Entry{Record: record, Remark: remark.line(), Lapse: strings.Join(remark.Reasons, ", ")})
	}
	if options.FilterFailing {
		shown = shown.Failing()
	}
	for i := range shown.Entries {
		kept, err := LoadEvidence(ctx, options.Store, shown.Entries[i].Record)
		if err != nil {
			return shown, fmt.Errorf("certify: evidence of record %s: %w", shown.Entries[i].Record.ID, err)
		}
		shown.Entries[i].Evidence = kept
	}
	return shown, nil
}

// LoadEvidence reads what is kept beside a record; nil where nothing is.
func LoadEvidence(ctx context.Context, kept store.Certifications, record certification.Record) (*evidence.Document, error) {
	if record.Evidence == nil {
		return nil, nil
	}
	packed, err := kept.Evidence(ctx, record.ID)
	if err != nil {
		return nil, err
	}
	document, err := evidence.Open(packed.Content, *record.Evidence)
	if err != nil {
		return nil, err
	}
	return &document, nil
}

// WriteReport writes a report to a file; "" is none.
func WriteReport(path string, shown report.Report, write func(io.Writer, report.Report) error) (err error) {
	if path == "" {
		return nil
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return write(file, shown)
}

// stands reports whether a record is certified and was not found to have lapsed.
func (r Result) stands(record certification.Record) bool {
	return record.Verdict == certification.Certified && len(r.remark(record.ID).Reasons) == 0
}

// failing is the result with only what is not certified; its counts are those of the whole run.
func (r Result) failing() Result {
	all := r
	r.Records, r.Remarks = nil, nil
	for _, record := range all.Records {
		if all.stands(record) {
			continue
		}
		r.Records = append(r.Records, record)
		if remark := all.remark(record.ID); remark.matters() {
			r.Remarks = append(r.Remarks, remark)
		}
	}
	return r
}
