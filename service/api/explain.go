package api

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
)

// problemPages explains one problem, or all of them, to whoever follows a problem's type.
var problemPages = template.Must(template.New("problems").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{if eq (len .) 1}}{{(index . 0).Title}}{{else}}Problems{{end}}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem}code{background:#8882;padding:0 .2em}</style></head><body>
{{range .}}<article id="{{.Kind}}"><h1>{{.Title}}</h1>
<p><code>/problems/{{.Kind}}</code> · status {{.Status}}</p>
<p>{{.Do}}</p></article>
{{end}}<p><a href="/problems/">All problems</a></p></body></html>
`))

func (s *Server) listProblems(c *gin.Context) error { return explain(c, entries) }

func (s *Server) getProblem(c *gin.Context) error {
	found, ok := entryOf[Kind(c.Param("name"))]
	if !ok {
		return newProblem(NotFound, "no such problem")
	}
	return explain(c, []entry{found})
}

// explain answers a browser with a page and everybody else with text.
func explain(c *gin.Context, which []entry) error {
	c.Header("Vary", "Accept")
	if !strings.Contains(c.GetHeader("Accept"), "text/html") {
		var text strings.Builder
		for _, e := range which {
			fmt.Fprintf(&text, "%s%s\n%s (status %d)\n%s\n\n", problemPathPrefix, e.Kind, e.Title, e.Status, e.Do)
		}
		c.Data(http.StatusOK, "text/plain; charset=utf-8", []byte(strings.TrimSuffix(text.String(), "\n")))
		return nil
	}
	var page bytes.Buffer
	if err := problemPages.Execute(&page, which); err != nil {
		return err
	}
	c.Data(http.StatusOK, "text/html; charset=utf-8", page.Bytes())
	return nil
}
