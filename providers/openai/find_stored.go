package openai

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fallproof/fallproof/providers"
)

// How far a listing is read. A provider that honours the filter needs one page; from one that ignores it
// the newest are looked through.
const (
	pageSize = 50
	maxPages = 10
)

// findStored lists the stored completions that carry the attempt's id.
func (c *Client) findStored(ctx context.Context, question providers.Question) providers.Finding {
	search := search{attempt: question.AttemptID}
	for range maxPages {
		ex := c.look(ctx, question.AttemptID, "/chat/completions", search.query())
		if !whole(ex) {
			return unanswered(ex, "the provider has no listing of stored completions")
		}
		page, err := readPage(ex.Body)
		if err != nil {
			return told(ex, providers.FoundNothing, err.Error())
		}
		if answer := search.through(page); answer != nil {
			return found(ex, answer, false)
		}
		if !page.more || !search.advance(page) {
			return search.conclude(ex, !page.more)
		}
	}
	return search.conclude(providers.Exchange{}, false)
}

// page is one page of a listing that is well-formed throughout.
type page struct {
	entries []entry
	more    bool
	last    string // the id to go on after
}

type entry struct {
	raw      jsontext.Value
	id       string
	metadata map[string]string // nil where it has none that can be read
	finished bool
}

var errListing = errors.New("the listing of stored completions is not well-formed")

func readPage(body []byte) (page, error) {
	var list struct {
		Object string           `json:"object"`
		Data   []jsontext.Value `json:"data"`
		More   *bool            `json:"has_more"`
		Last   jsontext.Value   `json:"last_id"`
	}
	if json.Unmarshal(body, &list) != nil || list.Object != "list" || list.Data == nil || list.More == nil {
		return page{}, errListing
	}
	read := page{more: *list.More}
	for _, raw := range list.Data {
		e, err := readEntry(raw)
		if err != nil {
			return page{}, err
		}
		read.entries = append(read.entries, e)
		read.last = e.id
	}
	if list.Last.Kind() == '"' {
		if err := json.Unmarshal(list.Last, &read.last); err != nil {
			return page{}, errListing
		}
	}
	return read, nil
}

func readEntry(raw jsontext.Value) (entry, error) {
	var shape struct {
		ID       jsontext.Value `json:"id"`
		Metadata jsontext.Value `json:"metadata"`
		Choices  jsontext.Value `json:"choices"`
	}
	if raw.Kind() != '{' || json.Unmarshal(raw, &shape) != nil {
		return entry{}, errListing
	}
	e := entry{raw: raw}
	if shape.ID.Kind() == '"' {
		_ = json.Unmarshal(shape.ID, &e.id) // part of a body that was decoded: it is valid
	}
	var metadata map[string]string
	if shape.Metadata.Kind() == '{' && json.Unmarshal(shape.Metadata, &metadata) == nil {
		e.metadata = metadata
	}
	var choices []struct {
		Reason string `json:"finish_reason"`
	}
	if shape.Choices.Kind() == '[' && json.Unmarshal(shape.Choices, &choices) == nil {
		e.finished = len(choices) > 0 && choices[0].Reason != ""
	}
	return e, nil
}

// search is what has been seen of a listing so far.
type search struct {
	attempt    string
	after      string
	seen       int  // entries that are not the attempt's: a provider that honours the filter lists none
	labelled   int  // of them with metadata
	unfinished bool // an entry is the attempt's, and does not say that it has ended
}

func (s *search) query() url.Values {
	query := url.Values{
		"metadata[" + AttemptMetadata + "]": {s.attempt},
		"limit":                             {strconv.Itoa(pageSize)},
		"order":                             {"desc"},
	}
	if s.after != "" {
		query.Set("after", s.after)
	}
	return query
}

// through looks for the attempt's answer on a page; a finished one is preferred, wherever it stands.
func (s *search) through(p page) []byte {
	for _, e := range p.entries {
		switch {
		case e.metadata[AttemptMetadata] != s.attempt:
			s.seen++
			if len(e.metadata) > 0 {
				s.labelled++
			}
		case e.finished:
			return e.raw.Clone()
		default:
			s.unfinished = true
		}
	}
	return nil
}

// advance goes on after a page, unless it names no place that would be a new one.
func (s *search) advance(p page) bool {
	if p.last == "" || p.last == s.after {
		return false
	}
	s.after = p.last
	return true
}

// conclude says what it means that no finished answer was listed. Only an empty listing, read to its
// end, says that there is none: one with strangers in it does not answer what was asked.
func (s *search) conclude(ex providers.Exchange, end bool) providers.Finding {
	switch {
	case s.unfinished:
		return told(ex, providers.FoundUnfinished, "the stored completion does not say that it has ended")
	case end && s.seen == 0:
		return told(ex, providers.FoundAbsent, "the provider has stored no completion of this attempt")
	case s.seen > 0 && s.labelled == 0:
		return told(ex, providers.FoundNothing, fmt.Sprintf(
			"the provider ignores the metadata filter, and lists %d stored completions without metadata: none can be told to be the attempt's", s.seen))
	case s.seen > 0 && end:
		return told(ex, providers.FoundNothing, fmt.Sprintf(
			"the provider ignores the metadata filter: none of the %d stored completions that it lists is the attempt's", s.seen))
	}
	return told(ex, providers.FoundNothing, fmt.Sprintf(
		"the end of the listing was not reached; none of the first %d stored completions is the attempt's", s.seen))
}
