package api

import (
	"net/http"
	"testing"
	"time"
)

func TestPreferredWait(t *testing.T) {
	for name, row := range map[string]struct {
		headers []string
		want    time.Duration
	}{
		"absent":                    {nil, 0},
		"seconds":                   {[]string{"wait=5"}, 5 * time.Second},
		"upper case":                {[]string{"WAIT=5"}, 5 * time.Second},
		"quoted":                    {[]string{`wait="5"`}, 5 * time.Second},
		"white space":               {[]string{" wait = 5 "}, 5 * time.Second},
		"zero":                      {[]string{"wait=0"}, 0},
		"bounded":                   {[]string{"wait=3600"}, MostWait},
		"beyond any number":         {[]string{"wait=99999999999999999999999"}, 0},
		"among others":              {[]string{"respond-async, wait=7;foo=bar, handling=lenient"}, 7 * time.Second},
		"in a second header":        {[]string{"respond-async", "wait=8"}, 8 * time.Second},
		"the first one counts":      {[]string{"wait=2, wait=9"}, 2 * time.Second},
		"negative is ignored":       {[]string{"wait=-1"}, 0},
		"fraction is ignored":       {[]string{"wait=1.5"}, 0},
		"no word is ignored":        {[]string{"wait"}, 0},
		"another word":              {[]string{"waiter=5"}, 0},
		"inside a quoted parameter": {[]string{`foo="x, wait=9", wait=3`}, 3 * time.Second},
		"after an escaped quote":    {[]string{`foo="x\", wait=9", wait=3`}, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{"Prefer": row.headers}
			if got := preferredWait(header); got != row.want {
				t.Fatalf("got %s, want %s", got, row.want)
			}
		})
	}
}
