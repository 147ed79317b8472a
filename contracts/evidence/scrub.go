package evidence

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/fallproof/fallproof/contracts/certification"
)

// Redacted stands where a secret stood.
const Redacted = "[redacted]"

// quoted is a quotation mark, escaped as often as JSON within JSON escapes it.
const quoted = `\\*["']?`

// secrets are the places where credentials stand, and the forms that they have. What a place or a form says
// is a secret is taken out wherever it was found: in what was sent, in what a provider echoed, in a URL. A
// provider's own key is taken out before that, by the client that knows it.
var secrets = []struct {
	needles []string // in lower case: without any of them the pattern cannot match,
	run     int      // nor without so many characters of a key behind it
	pattern *regexp.Regexp
	by      string
}{
	// Headers and members whose name says it.
	{[]string{"authorization"}, 0, regexp.MustCompile(`(?i)\b((?:proxy-)?authorization` + quoted + `\s*[:=]\s*` + quoted + `\s*(?:bearer|basic|digest|negotiate)?\s*)[^\s"'\\,;}]{3,}`), "${1}" + Redacted},
	{[]string{"apikey", "api-key", "api_key", "s-token", "s_token", "h-token", "h_token", "id-token", "id_token", "r-token", "r_token", "-secret", "_secret", "secret-", "secret_", "y-token", "cookie"}, 0, regexp.MustCompile(`(?i)\b((?:x-)?api[-_]?key|(?:access|refresh|auth|id|bearer)[-_]token|(?:client|app)[-_]secret|secret[-_](?:access[-_])?key|x-amz-security-token|set-cookie|cookie)(` +
		quoted + `\s*[:=]\s*` + quoted + `)[^\s"'\\,;&}]{3,}`), "${1}${2}" + Redacted},
	{[]string{"bearer"}, 0, regexp.MustCompile(`(?i)\b(bearer\s+)[a-z0-9._~+/=-]{16,}`), "${1}" + Redacted},
	// URLs: user:password@, and parameters.
	{[]string{"://"}, 0, regexp.MustCompile(`(?i)\b([a-z][a-z0-9+.-]*://)[^\s/@"'\\]+@`), "${1}" + Redacted + "@"},
	{[]string{"key=", "token=", "sig=", "signature=", "auth=", "password=", "secret="}, 0, regexp.MustCompile(`(?i)([?&](?:key|token|sig|signature|auth|password|secret)=)[^&\s"'\\#]+`), "${1}" + Redacted},
	// Keys that show by their form whose they are.
	{[]string{"sk-", "pk-", "rk-"}, 16, regexp.MustCompile(`\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}`), Redacted},
	{[]string{"fp_", "fp-", "hf_", "hf-", "gsk_", "gsk-", "r8_", "r8-", "nvapi_", "nvapi-", "xai_", "xai-", "key_", "key-", "tok_", "tok-"}, 24, regexp.MustCompile(`\b(?:fp|hf|gsk|r8|nvapi|xai|key|tok)[_-][A-Za-z0-9_-]{24,}`), Redacted},
	{[]string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox"}, 0, regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abeprs]-[A-Za-z0-9-]{10,})`), Redacted},
	{[]string{"a3t", "akia", "asia"}, 0, regexp.MustCompile(`\b(?:A3T[A-Z0-9]|AKIA|ASIA)[A-Z0-9]{16}\b`), Redacted},
	{[]string{"aiza"}, 0, regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{30,}`), Redacted},
	{[]string{"ya29"}, 0, regexp.MustCompile(`\bya29\.[A-Za-z0-9_-]{20,}`), Redacted},
	{[]string{"eyj"}, 0, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`), Redacted},
	{[]string{"private key"}, 0, regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|$)`), Redacted},
}

// Scrub takes out of text what is, or looks like, a credential. JSON stays JSON.
func Scrub(text string) string {
	lower := strings.ToLower(text)
	for _, s := range secrets {
		if slices.ContainsFunc(s.needles, func(needle string) bool { return follows(lower, needle, s.run) }) {
			text = s.pattern.ReplaceAllString(text, s.by)
		}
	}
	return text
}

// follows reports whether so many characters of a key come somewhere behind a needle.
func follows(lower, needle string, run int) bool {
	for {
		_, rest, found := strings.Cut(lower, needle)
		if !found {
			return false
		}
		length := strings.IndexFunc(rest, func(r rune) bool {
			return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
		})
		if length < 0 {
			length = len(rest)
		}
		if length >= run {
			return true
		}
		lower = rest
	}
}

// scrubbed remembers the last text of each place, since what follows is often the same.
type scrubbed map[string][2]string

func (s scrubbed) scrub(place, text string) string {
	if last := s[place]; last[0] == text {
		return last[1]
	}
	s[place] = [2]string{text, Scrub(text)}
	return s[place][1]
}

// scrubbed is the case without credentials.
func (c Case) scrubbed() Case {
	c.Rendered, c.Unrenderable = Scrub(c.Rendered), Scrub(c.Unrenderable)
	if c.Expected != nil {
		c.Expected = []byte(Scrub(string(c.Expected)))
	}
	messages := make([]Message, len(c.Messages))
	for i, m := range c.Messages {
		messages[i] = Message{Role: m.Role, Content: Scrub(m.Content)}
	}
	c.Messages = messages
	return c
}

// scrubbed is the sample without credentials. What it was made of stays as it is.
func (s Sample) scrubbed(same scrubbed) Sample {
	s.Detail, s.Content = Scrub(s.Detail), Scrub(s.Content)
	s.Structure, s.Business = scrubFindings(s.Structure), scrubFindings(s.Business)
	s.Exchange = s.Exchange.scrubbed(same)
	before := s.Before
	s.Before = nil
	for _, x := range before {
		s.Before = append(s.Before, x.scrubbed(same))
	}
	return s
}

func scrubFindings(list []Finding) []Finding {
	out := make([]Finding, len(list))
	for i, f := range list {
		f.Detail = Scrub(f.Detail)
		out[i] = f
	}
	return out
}

func (x Exchange) scrubbed(same scrubbed) Exchange {
	x.Request, x.Answer, x.Error = same.scrub("request", x.Request), Scrub(x.Answer), Scrub(x.Error)
	if x.AnswerBinary != nil { // read byte by byte, so that broken UTF-8 hides nothing
		for _, s := range secrets {
			x.AnswerBinary = s.pattern.ReplaceAll(bytes.Clone(x.AnswerBinary), []byte(s.by))
		}
	}
	header := x.Header
	x.Header = nil
	for name, value := range header {
		if x.Header == nil {
			x.Header = make(map[string]string, len(header))
		}
		x.Header[name] = scrubHeader(same, name, value)
	}
	return x
}

// scrubHeader reads name and value together: the name alone may say what the value is.
func scrubHeader(same scrubbed, name, value string) string {
	line := name + ": "
	return same.scrub(name, line+value)[len(line):]
}

// ScrubRecord takes credentials out of what findings quote and what was declared.
func ScrubRecord(r certification.Record) certification.Record {
	scrub := func(list []certification.Finding) []certification.Finding {
		out := make([]certification.Finding, len(list))
		for i, f := range list {
			f.Detail = Scrub(f.Detail)
			out[i] = f
		}
		return out
	}
	dimensions := make([]certification.Dimension, len(r.Dimensions))
	for i, d := range r.Dimensions {
		d.Findings = scrub(d.Findings)
		dimensions[i] = d
	}
	cases := make([]certification.CaseFigures, len(r.Cases))
	for i, c := range r.Cases {
		c.Findings = scrub(c.Findings)
		cases[i] = c
	}
	parts := make(map[string]string, len(r.Parts))
	for name, text := range r.Parts {
		parts[Scrub(name)] = Scrub(text)
	}
	r.Parts = parts
	r.Dimensions, r.Cases, r.Warnings = dimensions, cases, scrub(r.Warnings)
	return r
}
