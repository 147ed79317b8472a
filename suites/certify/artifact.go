package certify

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/evidence"
	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers/chattemplate"
)

// artifact is what is kept of the run beside its record: the exchanges with what was found in them, and
// each case's prompt as the target was sent it. The samples are read from the store, one after the other;
// those that were not counted are left out.
func (e Evidence) artifact(ctx context.Context, record certification.Record) (evidence.Packed, error) {
	head := evidence.Document{
		CertificationID: record.ID, Contract: record.Contract, Target: record.Target.String(), ProofDigest: record.ProofDigest,
	}
	for _, each := range e.Pair.Contract.Cases {
		head.Cases = append(head.Cases, e.artifactCase(each))
	}
	w, reads := evidence.NewWriter(head, e.account.faulty), readsOf(e.Pair.Contract)
	err := eachSample(ctx, e.Options.Store, e.Run.ID, e.account.has, func(_ slot, sample Sample) error {
		read := sample.reading(e.Pair)
		w.Add(e.artifactSample(sample, e.account.again(sample, read), read.outcome.Content, reads))
		return nil
	})
	if err != nil {
		return evidence.Packed{}, err
	}
	var others []evidence.Sample
	for _, call := range e.calls() {
		others = append(others, e.artifactCall(call))
	}
	return w.Close(others)
}

func (e Evidence) artifactCall(call call) evidence.Sample {
	kept := artifactExchanges(*call.sample)
	read := call.sample.reading(e.Pair)
	kept.Call, kept.Content = call.name, strings.ToValidUTF8(read.outcome.Content, "\uFFFD")
	kept.Kind, kept.Reason, kept.Detail = certification.Answered, "", ""
	if read.trouble || !read.answered() {
		kept.Kind, kept.Reason, kept.Detail = certification.Unusable, string(read.outcome.Reason), oneLine(read.outcome.Detail)
	}
	if read.trouble {
		kept.Kind = certification.Trouble
	}
	return kept
}

func (e Evidence) artifactCase(each contracts.Case) evidence.Case {
	kept := evidence.Case{Name: each.Name, Messages: []evidence.Message{}}
	if each.Expected != nil {
		kept.Expected = jsontext.Value(e.Pair.Scrub.Bytes(value.Encode(each.Expected)))
	}
	request, err := e.binding.Request(each.Input)
	if err != nil {
		kept.Unrenderable = oneLine(e.Pair.Scrub.Text(err.Error()))
		return kept
	}
	wire, err := e.Pair.Profile.WireMessages(request.Messages)
	if err != nil {
		kept.Unrenderable = oneLine(e.Pair.Scrub.Text(err.Error()))
		return kept
	}
	clean := e.Pair.redacted(wire)
	rendered, declared, err := chattemplate.Prompt(e.Pair.Profile, clean)
	switch {
	case err != nil:
		kept.Unrenderable = oneLine(e.Pair.Scrub.Text(err.Error()))
	case declared:
		kept.Rendered = strings.ToValidUTF8(rendered, "\uFFFD")
	}
	for _, m := range clean {
		kept.Messages = append(kept.Messages, evidence.Message{Role: m.Role, Content: m.Content})
	}
	return kept
}

func (e Evidence) artifactSample(s Sample, o certification.Observation, content string, reads map[string][]string) evidence.Sample {
	kept := artifactExchanges(s)
	kept.Case, kept.Index, kept.Kind, kept.Reason, kept.Detail = o.Case, o.Index, o.Kind, o.Reason, oneLine(o.Detail)
	kept.Content = strings.ToValidUTF8(content, "\uFFFD")
	paths := e.paths(content, len(o.Structure))
	for i, f := range o.Structure {
		kept.Structure = append(kept.Structure, evidence.Finding{Reason: f.Reason, Detail: f.Detail, Pointers: paths[i]})
	}
	for _, f := range o.Business {
		kept.Business = append(kept.Business, evidence.Finding{Reason: f.Reason, Detail: f.Detail, Pointers: slices.Clone(reads[f.Reason])})
	}
	return kept
}

// paths are where in the content each of the structure's findings is. An answer that was not read to its
// end has none.
func (e Evidence) paths(content string, count int) [][]string {
	if count == 0 {
		return nil
	}
	paths := make([][]string, count)
	_, faults := e.binding.Structure().Judge(content)
	for i := range paths {
		paths[i] = []string{}
		if len(faults) == count && faults[i].InstancePath != "" {
			paths[i] = append(paths[i], faults[i].InstancePath)
		}
	}
	return paths
}

func artifactExchanges(s Sample) evidence.Sample {
	kept := evidence.Sample{
		Index: s.Index, Exchange: artifactExchange(s.Seen), Structure: []evidence.Finding{}, Business: []evidence.Finding{},
	}
	for _, before := range s.Before {
		kept.Before = append(kept.Before, artifactExchange(before))
	}
	return kept
}

func artifactExchange(s Seen) evidence.Exchange {
	x := evidence.Exchange{
		AttemptID: s.AttemptID, Request: s.Request, Status: s.Status, Answer: s.Answer, AnswerBinary: s.AnswerBinary,
		Complete: s.Complete, TooLarge: s.TooLarge, Error: s.Error, Started: s.Started, Finished: s.Finished,
	}
	if !utf8.ValidString(x.Request) {
		x.Request = strings.ToValidUTF8(x.Request, "\uFFFD")
	}
	for name, text := range s.Header {
		if x.Header == nil {
			x.Header = map[string]string{}
		}
		x.Header[name] = text
	}
	return x
}

// call is a call that is no sample of a case.
type call struct {
	name   string
	sample *Sample
}

// calls are those of them that were made.
func (e Evidence) calls() []call {
	all := []call{{"canary", e.Canary}, {"schema probe", e.Probe}, {"schema probe without schema", e.Free}}
	for _, index := range slices.Sorted(maps.Keys(e.Aside)) {
		sample := e.Aside[index]
		all = append(all, call{strings.Trim(asideTitle(index), "()"), &sample})
	}
	return slices.DeleteFunc(all, func(c call) bool { return c.sample == nil })
}

// member is a path of the answer in a check: output.total, output.lines.
var member = regexp.MustCompile(`\boutput((?:\.[A-Za-z_][A-Za-z0-9_]*\b)+)(\s*\()?`)

// readsOf are, for each check, the JSON pointers to the parts of the answer that it reads, so that people
// can be shown them where the check fails. It is read off the expression, not evaluated: a hint.
func readsOf(c *contracts.Contract) map[string][]string {
	reads := map[string][]string{}
	for _, check := range c.Checks {
		pointers := []string{}
		for _, found := range member.FindAllStringSubmatch(check.Expr, -1) {
			names := strings.Split(found[1][1:], ".")
			if found[2] != "" { // the last name is a function's: output.lines.all(…)
				names = names[:len(names)-1]
			}
			pointer := ""
			for _, name := range names {
				pointer = value.Pointer(pointer, name)
			}
			if pointer != "" && !slices.Contains(pointers, pointer) {
				pointers = append(pointers, pointer)
			}
		}
		reads[check.Name] = pointers
	}
	return reads
}
