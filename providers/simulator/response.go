package simulator

import "github.com/go-json-experiment/json/jsontext"

const (
	statusQueued     = "queued"
	statusInProgress = "in_progress"
	statusCompleted  = "completed"
	statusIncomplete = "incomplete"
	statusFailed     = "failed"
)

// responseObject is a response in whatever state it is.
type responseObject struct {
	ID                 string             `json:"id"`
	Object             string             `json:"object"`
	CreatedAt          int64              `json:"created_at"`
	Status             string             `json:"status"`
	Background         bool               `json:"background"`
	Error              *responseError     `json:"error"`
	IncompleteDetails  *incompleteDetails `json:"incomplete_details"`
	Instructions       *string            `json:"instructions"`
	MaxOutputTokens    *int               `json:"max_output_tokens"`
	Model              string             `json:"model"`
	Output             []outputItem       `json:"output"`
	ParallelToolCalls  bool               `json:"parallel_tool_calls"`
	PreviousResponseID *string            `json:"previous_response_id"` // always null
	ServiceTier        string             `json:"service_tier"`
	Store              bool               `json:"store"`
	Temperature        *float64           `json:"temperature"`
	Text               responseText       `json:"text"`
	ToolChoice         string             `json:"tool_choice"`
	Tools              []jsontext.Value   `json:"tools"` // always empty
	Truncation         string             `json:"truncation"`
	Usage              *responseUsage     `json:"usage"`
	Metadata           map[string]string  `json:"metadata"`
}

type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type incompleteDetails struct {
	Reason string `json:"reason"`
}

type outputItem struct {
	ID      string       `json:"id"`
	Type    string       `json:"type"`
	Status  string       `json:"status"`
	Role    string       `json:"role"`
	Content []outputPart `json:"content"`
}

// outputPart is a text or a refusal.
type outputPart struct {
	Type        string            `json:"type"`
	Text        *string           `json:"text,omitzero"`
	Annotations *[]jsontext.Value `json:"annotations,omitzero"`
	Refusal     *string           `json:"refusal,omitzero"`
}

type responseUsage struct {
	InputTokens        int `json:"input_tokens"`
	InputTokensDetails struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutputTokens        int `json:"output_tokens"`
	OutputTokensDetails struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	TotalTokens int `json:"total_tokens"`
}

// accepted is the response as the request for it is answered in the background.
func (w *work) accepted() responseObject { return w.respond(statusQueued) }

// respond is the response as long as there is nothing to show.
func (w *work) respond(status string) responseObject {
	asked := w.response
	object := responseObject{
		ID: w.id, Object: "response", CreatedAt: w.created, Status: status, Background: asked.Background,
		Instructions: asked.Instructions, MaxOutputTokens: asked.MaxOutputTokens, Model: asked.Model,
		Output: []outputItem{}, ParallelToolCalls: true, ServiceTier: "default", Store: w.stored(),
		Temperature: asked.Temperature, Text: responseText{Format: &textFormat{Type: "text"}}, ToolChoice: "auto",
		Tools: []jsontext.Value{}, Truncation: "disabled", Metadata: asked.Metadata,
	}
	if asked.Text != nil && asked.Text.Format != nil {
		object.Text = *asked.Text
	}
	if object.Metadata == nil {
		object.Metadata = map[string]string{}
	}
	return object
}

// responded is the response when the work is finished.
func (w *work) responded() responseObject {
	object := w.respond(statusCompleted)
	if w.failure != nil {
		object.Status = statusFailed
		object.Error = &responseError{Code: w.failure.Type, Message: w.failure.Message}
		return object
	}
	object.Model = w.yield.Model
	object.Usage = &responseUsage{
		InputTokens: w.yield.Usage.PromptTokens, OutputTokens: w.yield.Usage.CompletionTokens,
		TotalTokens: w.yield.Usage.TotalTokens,
	}
	for _, c := range w.yield.Choices {
		object.add(c, "msg_"+w.unique("msg"))
	}
	return object
}

// add shows a choice as an item of the output, and why it is not whole.
func (o *responseObject) add(c choice, id string) {
	item := outputItem{ID: id, Type: "message", Status: statusCompleted, Role: c.Message.Role, Content: []outputPart{}}
	switch c.FinishReason {
	case finishLength:
		o.IncompleteDetails = &incompleteDetails{Reason: "max_output_tokens"}
	case finishFilter:
		o.IncompleteDetails = &incompleteDetails{Reason: "content_filter"}
	}
	if o.IncompleteDetails != nil {
		o.Status, item.Status = statusIncomplete, statusIncomplete
	}
	if c.Message.Content != nil {
		none := []jsontext.Value{}
		item.Content = append(item.Content, outputPart{Type: "output_text", Text: c.Message.Content, Annotations: &none})
	}
	if c.Message.Refusal != nil {
		item.Content = append(item.Content, outputPart{Type: "refusal", Refusal: c.Message.Refusal})
	}
	o.Output = append(o.Output, item)
}
