package api

import (
	_ "embed"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fallproof/fallproof/service/store"
)

// schemas describes the bodies; a test compares it with what the views really write.
//
//go:embed schemas.json
var schemas []byte

// openapi describes exactly the routes that exist: it is made of the table that gin is fed with.
func (s *Server) openapi(c *gin.Context) error {
	paths := map[string]map[string]any{}
	for _, r := range s.routes() {
		path := templatePath(r.Path)
		if paths[path] == nil {
			paths[path] = map[string]any{}
		}
		paths[path][strings.ToLower(r.Method)] = r.operation()
	}
	answer(c, http.StatusOK, map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title": "fallproof", "version": s.version,
			"description": "Certified failover between LLM providers: one intent is one job, every retry and fallback is an attempt under it, exactly one attempt wins.",
		},
		"paths": paths,
		"components": map[string]any{
			"schemas":         jsontext.Value(schemas),
			"securitySchemes": map[string]any{"key": map[string]any{"type": "http", "scheme": "bearer"}},
		},
	})
	return nil
}

// templatePath turns gin's :name into OpenAPI's {name}.
func templatePath(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if name, ok := strings.CutPrefix(part, ":"); ok {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}

func (r route) operation() map[string]any {
	operation := map[string]any{
		"operationId": r.Name, "summary": r.Summary, "responses": r.responses(), "parameters": r.parameters(),
	}
	if r.Scope != scopeOpen {
		operation["security"] = []any{map[string]any{"key": []string{}}}
	}
	if r.Scope == store.ScopeClient || r.Scope == store.ScopeOperator {
		operation["description"] = "Needs a key with the scope " + r.Scope + "."
	}
	if r.Body != "" {
		operation["requestBody"] = map[string]any{
			"required": !r.BodyOptional, "content": map[string]any{"application/json": schemaOf(r.Body)},
		}
	}
	return operation
}

func (r route) parameters() []any {
	parameters := []any{}
	add := func(in, name string, required bool, schema map[string]any) {
		parameters = append(parameters, map[string]any{"in": in, "name": name, "required": required, "schema": schema})
	}
	for _, part := range strings.Split(r.Path, "/") {
		if name, ok := strings.CutPrefix(part, ":"); ok {
			add("path", name, true, text())
		}
	}
	for _, name := range r.Query {
		if name == "limit" {
			add("query", name, false, map[string]any{"type": "integer", "minimum": 1, "maximum": mostPage, "default": defaultPage})
			continue
		}
		if name == "after" {
			add("query", name, false, eventNumber())
			continue
		}
		add("query", name, false, text())
	}
	if r.Stream {
		add("header", lastEventHeader, false, eventNumber())
	}
	if r.Key {
		add("header", idempotencyHeader, true, text())
	}
	if r.Wait {
		add("header", "Prefer", false, text())
	}
	return parameters
}

func (r route) responses() map[string]any {
	responses := map[string]any{}
	for status, schema := range r.Answers {
		response := map[string]any{"description": http.StatusText(status)}
		if schema != "" {
			response["content"] = map[string]any{"application/json": schemaOf(schema)}
		}
		responses[strconv.Itoa(status)] = response
	}
	if r.Stream {
		r.describeStream(responses)
	}
	for status, kinds := range r.problemsByStatus() {
		responses[strconv.Itoa(status)] = map[string]any{
			"description": "Problem: " + strings.Join(kinds, ", "),
			"content":     map[string]any{problemContentType: schemaOf("Problem")},
		}
	}
	return responses
}

// describeStream adds what a client gets that accepts text/event-stream.
func (r route) describeStream(responses map[string]any) {
	content := responses[strconv.Itoa(http.StatusOK)].(map[string]any)["content"].(map[string]any)
	content[eventStream] = map[string]any{
		"schema": text(),
		"x-event": map[string]any{
			"id": "the event's seq; send it as Last-Event-ID to go on behind it", "event": "its type",
			"data": schemaOf("Event")["schema"],
		},
	}
	responses[strconv.Itoa(http.StatusNoContent)] = map[string]any{
		"description": "As a stream only: there is nothing behind that event, and nothing more comes by itself",
	}
}

// problems are all that the route may answer with.
func (r route) problems() []Kind {
	kinds := append([]Kind{InternalError}, r.Problems...)
	if r.Scope != scopeOpen {
		kinds = append(kinds, Unauthorized, StoreUnavailable)
	}
	if r.Scope == store.ScopeClient || r.Scope == store.ScopeOperator {
		kinds = append(kinds, Forbidden, ShuttingDown)
	}
	if r.Body != "" {
		kinds = append(kinds, MalformedBody, BodyTooLarge, UnsupportedMediaType)
	}
	if r.Key {
		kinds = append(kinds, KeyMissing, KeyInvalid)
	}
	if len(r.Query) > 0 {
		kinds = append(kinds, InvalidParameter)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

func (r route) problemsByStatus() map[int][]string {
	byStatus := map[int][]string{}
	for _, kind := range r.problems() {
		status := entryOf[kind].Status
		byStatus[status] = append(byStatus[status], string(kind))
	}
	return byStatus
}

func eventNumber() map[string]any { return map[string]any{"type": "integer", "minimum": 0} }

func text() map[string]any { return map[string]any{"type": "string"} }

func schemaOf(name string) map[string]any {
	return map[string]any{"schema": map[string]any{"$ref": "#/components/schemas/" + name}}
}
