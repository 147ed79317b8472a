package simulator

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// check refuses what the real wire format refuses, before any personality comes into play.
func (q *chatRequest) check() *apiError {
	for member := range q.Rest {
		if !slices.Contains(inertMembers, member) {
			return invalid("unknown_parameter", member, "Unknown parameter: '%s'.", member)
		}
	}
	if q.Metadata != nil && !q.Store {
		return invalid("", "metadata", "The 'metadata' parameter is only allowed when 'store' is enabled.")
	}
	if err := q.checkContent(); err != nil {
		return err
	}
	if format := q.ResponseFormat; format != nil && format.Type == "json_object" && !q.mentionsJSON() {
		return invalid("", "messages",
			"'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.")
	}
	return nil
}

// checkContent refuses what chat completions and responses refuse alike.
func (q *chatRequest) checkContent() *apiError {
	for _, check := range []func() *apiError{q.checkMessages, q.checkMetadata, q.checkLimits, q.checkFormat} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

const (
	maxMetadata      = 16
	maxMetadataKey   = 64
	maxMetadataValue = 512
)

func (q *chatRequest) checkMetadata() *apiError {
	if len(q.Metadata) > maxMetadata {
		return invalid("object_above_max_properties", "metadata",
			"Invalid 'metadata': too many properties. Expected an object with at most %d properties.", maxMetadata)
	}
	for key, value := range q.Metadata {
		if utf8.RuneCountInString(key) > maxMetadataKey {
			return invalid("invalid_value", "metadata", "Invalid 'metadata': a key is longer than %d characters.", maxMetadataKey)
		}
		if utf8.RuneCountInString(value) > maxMetadataValue {
			return invalid("string_above_max_length", "metadata."+key,
				"Invalid 'metadata.%s': string too long. Expected at most %d characters.", key, maxMetadataValue)
		}
	}
	return nil
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
