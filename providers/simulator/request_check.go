package simulator

import (
	"slices"
	"strings"
)

// check refuses what the real wire format refuses, before any personality comes into play.
func (q *chatRequest) check() *apiError {
	for member := range q.Rest {
		if !slices.Contains(inertMembers, member) {
			return invalid("unknown_parameter", member, "Unknown parameter: '%s'.", member)
		}
	}
	if err := q.checkMessages(); err != nil {
		return err
	}
	if err := q.checkLimits(); err != nil {
		return err
	}
	return q.checkFormat()
}

func (q *chatRequest) checkMessages() *apiError {
	if q.Messages == nil {
		return invalid("missing_required_parameter", "messages", "Missing required parameter: 'messages'.")
	}
	if len(q.Messages) == 0 {
		return invalid("empty_array", "messages", "Invalid 'messages': empty array. Expected an array with minimum length 1.")
	}
	for _, m := range q.Messages {
		if !slices.Contains(roles, m.Role) {
			return invalid("invalid_value", "messages.role", "Invalid value: '%s'. Supported values are: %s.",
				m.Role, strings.Join(roles, ", "))
		}
	}
	return nil
}

func (q *chatRequest) checkLimits() *apiError {
	if q.Temperature != nil && (*q.Temperature < 0 || *q.Temperature > 2) {
		return invalid("decimal_out_of_range", "temperature", "Invalid 'temperature': expected a value from 0 to 2.")
	}
	if q.MaxTokens != nil && q.MaxCompletionTokens != nil {
		return invalid("invalid_parameter_combination", "max_tokens",
			"Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	}
	if limit, given := q.maxTokens(); given && limit < 1 {
		return invalid("integer_below_min_value", "max_tokens", "Invalid maximum of tokens: expected at least 1.")
	}
	if q.Stream {
		return invalid("unsupported_value", "stream", "Streaming is not supported by this simulator.")
	}
	if q.N != nil && *q.N != 1 {
		return invalid("unsupported_value", "n", "This simulator gives one choice: 'n' must be 1.")
	}
	return nil
}

func (q *chatRequest) checkFormat() *apiError {
	format := q.ResponseFormat
	if format == nil {
		return nil
	}
	if !slices.Contains(formats, format.Type) {
		return invalid("invalid_value", "response_format.type", "Invalid value: '%s'. Supported values are: %s.",
			format.Type, strings.Join(formats, ", "))
	}
	if format.Type == "json_object" && !q.mentionsJSON() {
		return invalid("", "messages",
			"'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.")
	}
	if format.Type != "json_schema" {
		return nil
	}
	if format.JSONSchema == nil || !schemaName.MatchString(format.JSONSchema.Name) {
		return invalid("invalid_value", "response_format.json_schema.name",
			"Invalid 'response_format.json_schema.name': expected a string that matches %s.", schemaName)
	}
	if format.JSONSchema.Schema.Kind() != '{' {
		return invalid("invalid_type", "response_format.json_schema.schema", "The schema must be an object.")
	}
	return nil
}

func (q *chatRequest) mentionsJSON() bool {
	return slices.ContainsFunc(q.Messages, func(m chatMessage) bool {
		return strings.Contains(strings.ToLower(string(m.Content)), "json")
	})
}
