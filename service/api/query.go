package api

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/fallproof/fallproof/service/job"
)

const (
	defaultPage = 50
	mostPage    = 200
	mostParam   = 512
)

// query reads an address's parameters: each at most once, none that is not known, because a misspelt
// filter that is ignored answers with everything.
func query(request *http.Request, allowed ...string) (map[string]string, error) {
	values, err := url.ParseQuery(request.URL.RawQuery)
	if err != nil {
		return nil, newProblem(InvalidParameter, "the query is not well formed")
	}
	parameters := map[string]string{}
	for _, name := range sortedKeys(values) {
		switch {
		case !slices.Contains(allowed, name):
			return nil, badParameter(name, "is not known; possible here: "+strings.Join(allowed, ", "))
		case len(values[name]) > 1:
			return nil, badParameter(name, "stands there more than once")
		case len(values[name][0]) > mostParam || !printable(values[name][0]):
			return nil, badParameter(name, "is too long or holds control characters")
		}
		parameters[name] = values[name][0]
	}
	return parameters, nil
}

func badParameter(name, detail string) *problem {
	if !printable(name) || len(name) > mostParam {
		name = "name"
	}
	return newProblem(InvalidParameter, fmt.Sprintf("parameter %s %s", name, detail)).with("parameter", name)
}

func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

func limit(parameters map[string]string) (int, error) {
	written, ok := parameters["limit"]
	if !ok {
		return defaultPage, nil
	}
	n, err := strconv.Atoi(written)
	if err != nil || n < 1 || n > mostPage {
		return 0, badParameter("limit", fmt.Sprintf("is not a number from 1 to %d", mostPage))
	}
	return n, nil
}

// cursor is the end of the page before: an id, as next_cursor gave it. Anything else would only be
// compared with ids, and answer with a page that nobody asked for. In the queue of doubts the moment of the
// doubt stands before the id.
func cursor(parameters map[string]string, ofDoubts bool) (string, error) {
	written, ok := parameters["cursor"]
	if !ok {
		return "", nil
	}
	text := written
	if ofDoubts {
		_, text, ok = strings.Cut(written, ".")
	}
	id, err := uuid.Parse(text)
	if !ok || err != nil || id.String() != text {
		return "", badParameter("cursor", "is not a next_cursor of an earlier answer")
	}
	return written, nil
}

// pathID is an identifier of the address. What no identifier looks like is not found, and never asked
// of a database that may not take such bytes at all.
func pathID(c *gin.Context, name string) (string, error) {
	id := c.Param(name)
	if id == "" || len(id) > 128 || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", newProblem(NotFound, "")
	}
	return id, nil
}

// pathRef is the attempt that the address names, of the key's owner.
func pathRef(c *gin.Context) (job.Ref, error) {
	id, err := pathID(c, "job")
	if err != nil {
		return job.Ref{}, err
	}
	number, err := strconv.ParseInt(c.Param("number"), 10, 32)
	if err != nil || number < 1 || strconv.FormatInt(number, 10) != c.Param("number") { // one address, one attempt
		return job.Ref{}, newProblem(NotFound, "")
	}
	return job.Ref{Owner: identity(c).Owner, JobID: id, Number: int(number)}, nil
}
