package simulator

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	defaultPage = 20
	maxPage     = 100
)

// storedPage is one page of the listing.
type storedPage struct {
	Object  string             `json:"object"`
	Data    []storedCompletion `json:"data"`
	FirstID *string            `json:"first_id"`
	LastID  *string            `json:"last_id"`
	HasMore bool               `json:"has_more"`
}

// storedCompletion is a completion with what the request said beside the prompt.
type storedCompletion struct {
	completion
	RequestID      string            `json:"request_id"`
	Metadata       map[string]string `json:"metadata"`
	Temperature    *float64          `json:"temperature"`
	ToolChoice     jsontext.Value    `json:"tool_choice"`
	Tools          jsontext.Value    `json:"tools"`
	InputUser      jsontext.Value    `json:"input_user"`
	ResponseFormat *responseFormat   `json:"response_format"`
}

func (w *work) asStored() storedCompletion {
	none := jsontext.Value("null")
	return storedCompletion{
		completion: w.yield, RequestID: "req_" + w.unique("req"), Metadata: w.chat.Metadata,
		Temperature: w.chat.Temperature, ToolChoice: none, Tools: none, InputUser: none,
		ResponseFormat: w.chat.ResponseFormat,
	}
}

// listWish is what a listing was asked for.
type listWish struct {
	model, after string
	descending   bool
	limit        int
	metadata     map[string]string
}

// metadataAsked reads metadata[KEY]=VALUE.
func metadataAsked(query url.Values) map[string]string {
	wanted := map[string]string{}
	for name, values := range query {
		key, isMetadata := strings.CutPrefix(name, "metadata[")
		if key, closed := strings.CutSuffix(key, "]"); isMetadata && closed {
			wanted[key] = values[0]
		}
	}
	return wanted
}

func parseListing(query url.Values) (listWish, *apiError) {
	wish := listWish{
		model: query.Get("model"), after: query.Get("after"), limit: defaultPage, metadata: metadataAsked(query),
	}
	for name := range query {
		known := slices.Contains([]string{"model", "after", "limit", "order"}, name)
		if _, metadata := strings.CutPrefix(name, "metadata["); !known && !(metadata && strings.HasSuffix(name, "]")) {
			return wish, invalid("unknown_parameter", name, "Unknown parameter: '%s'.", name)
		}
	}
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxPage {
			return wish, invalid("invalid_value", "limit", "Invalid 'limit': expected a number from 1 to %d.", maxPage)
		}
		wish.limit = n
	}
	switch query.Get("order") {
	case "", "asc":
	case "desc":
		wish.descending = true
	default:
		return wish, invalid("invalid_value", "order", "Invalid value: '%s'. Supported values are: asc, desc.", query.Get("order"))
	}
	return wish, nil
}

func (q *question) list() (any, *apiError) {
	if q.r.URL.Path != pathCompletions {
		return nil, errUnknownURL(q.r.Method, q.r.URL.Path) // responses are fetched, not listed
	}
	wish, refusal := parseListing(q.r.URL.Query())
	if refusal != nil {
		return nil, refusal
	}
	var there []*work
	switch q.candour.Answering {
	case Absent:
	case Unfiltered:
		wish.model, wish.metadata = "", nil
		fallthrough
	default:
		there = wish.among(q.sim.archive.completions())
	}
	return wish.page(there)
}

// among keeps what is wished for, in the order in which it is wished.
func (l *listWish) among(all []*work) []*work {
	kept := slices.DeleteFunc(all, func(w *work) bool {
		return (l.model != "" && l.model != w.yield.Model) || !includes(w.chat.Metadata, l.metadata)
	})
	if l.descending {
		slices.Reverse(kept)
	}
	return kept
}

// page cuts out what comes after the last page.
func (l *listWish) page(all []*work) (*storedPage, *apiError) {
	if l.after != "" {
		at := slices.IndexFunc(all, func(w *work) bool { return w.id == l.after })
		if at < 0 {
			return nil, newError(http.StatusNotFound, typeInvalid, "", "after", "Item with id '%s' not found.", l.after)
		}
		all = all[at+1:]
	}
	page := &storedPage{Object: "list", Data: []storedCompletion{}, HasMore: len(all) > l.limit}
	for _, w := range all[:min(l.limit, len(all))] {
		page.Data = append(page.Data, w.asStored())
	}
	if n := len(page.Data); n > 0 {
		page.FirstID, page.LastID = &page.Data[0].ID, &page.Data[n-1].ID
	}
	return page, nil
}
