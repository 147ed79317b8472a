package api

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

func TestIdempotencyKey(t *testing.T) {
	longest := strings.Repeat("k", 255)
	for name, row := range map[string]struct {
		headers []string
		want    string
		kind    Kind
	}{
		"bare":                          {headers: []string{"abc"}, want: "abc"},
		"quoted":                        {headers: []string{`"abc"`}, want: "abc"},
		"quoted with escapes":           {headers: []string{`"a\"b\\c"`}, want: `a"b\c`},
		"bare with a quote inside":      {headers: []string{`a"b\c`}, want: `a"b\c`},
		"every visible character":       {headers: []string{"!~#$%&'()*+,-./09:;<=>?@AZ[]^_`az{|}"}, want: "!~#$%&'()*+,-./09:;<=>?@AZ[]^_`az{|}"},
		"longest":                       {headers: []string{longest}, want: longest},
		"longest, quoted":               {headers: []string{`"` + longest + `"`}, want: longest},
		"missing":                       {kind: KeyMissing},
		"empty":                         {headers: []string{""}, kind: KeyInvalid},
		"empty, quoted":                 {headers: []string{`""`}, kind: KeyInvalid},
		"two headers":                   {headers: []string{"a", "a"}, kind: KeyInvalid},
		"two joined by a proxy":         {headers: []string{"a, a"}, kind: KeyInvalid},
		"two quoted joined":             {headers: []string{`"a", "a"`}, kind: KeyInvalid},
		"too long":                      {headers: []string{longest + "k"}, kind: KeyInvalid},
		"too long, quoted":              {headers: []string{`"` + longest + `k"`}, kind: KeyInvalid},
		"a space":                       {headers: []string{"a b"}, kind: KeyInvalid},
		"a space, quoted":               {headers: []string{`"a b"`}, kind: KeyInvalid},
		"a control character":           {headers: []string{"a\x01"}, kind: KeyInvalid},
		"DEL":                           {headers: []string{"a\x7f"}, kind: KeyInvalid},
		"not ASCII":                     {headers: []string{"clé"}, kind: KeyInvalid},
		"unfinished quote":              {headers: []string{`"abc`}, kind: KeyInvalid},
		"lone quote":                    {headers: []string{`"`}, kind: KeyInvalid},
		"text after the quote":          {headers: []string{`"abc"d`}, kind: KeyInvalid},
		"parameters":                    {headers: []string{`"abc";v=1`}, kind: KeyInvalid},
		"another escape":                {headers: []string{`"a\n"`}, kind: KeyInvalid},
		"escape at the end":             {headers: []string{`"a\`}, kind: KeyInvalid},
		"escaped quote is not the end":  {headers: []string{`"a\"`}, kind: KeyInvalid},
		"invalid UTF-8":                 {headers: []string{"a\xff"}, kind: KeyInvalid},
		"a key that is a comma in fact": {headers: []string{"a,b"}, want: "a,b"},
	} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{}
			for _, value := range row.headers {
				header.Add("Idempotency-Key", value)
			}
			key, err := idempotencyKey(header)
			var p *problem
			switch {
			case row.kind == "" && (err != nil || key != row.want):
				t.Fatalf("got %q, %v; want %q", key, err, row.want)
			case row.kind != "" && (!errors.As(err, &p) || p.Kind != row.kind):
				t.Fatalf("got %q, %v; want %s", key, err, row.kind)
			}
		})
	}
}
