package simulator

import (
	"bytes"
	"math/big"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// object is a JSON object that keeps its members in order: answers are written in the order in which the
// contract names its keys, and schemas are followed in the order in which they were sent.
type object struct{ members []member }

type member struct {
	name  string
	value any // object, []any, string, bool, nil, float64, jsontext.Value or *big.Rat
}

// get returns a member's value, nil where there is none.
func (o *object) get(name string) any {
	for _, m := range o.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

func (o *object) has(names ...string) bool {
	for _, name := range names {
		found := false
		for _, m := range o.members {
			found = found || m.name == name
		}
		if !found {
			return false
		}
	}
	return true
}

// set replaces a member in its place or adds it at the end.
func (o *object) set(name string, value any) {
	for i := range o.members {
		if o.members[i].name == name {
			o.members[i].value = value
			return
		}
	}
	o.members = append(o.members, member{name, value})
}

// MarshalJSONTo writes the members in order.
func (o *object) MarshalJSONTo(encoder *jsontext.Encoder) error {
	if err := encoder.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, m := range o.members {
		if err := encoder.WriteToken(jsontext.String(m.name)); err != nil {
			return err
		}
		value := m.value
		if number, ok := value.(*big.Rat); ok {
			value = jsontext.Value(decimal(number))
		}
		if err := json.MarshalEncode(encoder, value); err != nil {
			return err
		}
	}
	return encoder.WriteToken(jsontext.EndObject)
}

// decodeOrdered reads one JSON value; objects become *object, numbers keep their digits.
func decodeOrdered(data []byte) (any, error) {
	return decodeNext(jsontext.NewDecoder(bytes.NewReader(data)))
}

func decodeNext(decoder *jsontext.Decoder) (any, error) {
	switch decoder.PeekKind() {
	case '{':
		return decodeObject(decoder)
	case '[':
		return decodeArray(decoder)
	case '0':
		value, err := decoder.ReadValue()
		return value.Clone(), err // the decoder reuses its buffer
	}
	token, err := decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '"':
		return token.String(), nil
	case 't', 'f':
		return token.Bool(), nil
	}
	return nil, nil
}

func decodeObject(decoder *jsontext.Decoder) (any, error) {
	read := &object{}
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}
	for decoder.PeekKind() != '}' {
		name, err := decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		value, err := decodeNext(decoder)
		if err != nil {
			return nil, err
		}
		read.members = append(read.members, member{key, value})
	}
	_, err := decoder.ReadToken()
	return read, err
}

func decodeArray(decoder *jsontext.Decoder) (any, error) {
	values := []any{}
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}
	for decoder.PeekKind() != ']' {
		value, err := decodeNext(decoder)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	_, err := decoder.ReadToken()
	return values, err
}
