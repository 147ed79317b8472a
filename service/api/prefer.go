package api

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MostWait bounds Prefer: wait=N.
const MostWait = 60 * time.Second

// preferredWait reads the wait preference of RFC 7240, bounded. As the RFC asks, the first one counts,
// and what cannot be understood is ignored rather than refused.
func preferredWait(header http.Header) time.Duration {
	for _, line := range header.Values("Prefer") {
		for _, preference := range splitOutsideQuotes(line, ',') {
			token := strings.TrimSpace(splitOutsideQuotes(preference, ';')[0])
			name, word, _ := strings.Cut(token, "=")
			if !strings.EqualFold(strings.TrimSpace(name), "wait") {
				continue
			}
			seconds, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(word), `"`), 10, 64)
			if err != nil {
				return 0
			}
			return time.Duration(min(seconds, uint64(MostWait/time.Second))) * time.Second
		}
	}
	return 0
}

// splitOutsideQuotes splits where separator stands outside a quoted string.
func splitOutsideQuotes(s string, separator byte) []string {
	var parts []string
	start, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == separator && !quoted:
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}

// markWaited says on the answer that the preference was applied, and how.
func markWaited(header http.Header, wait time.Duration) {
	if wait > 0 {
		header.Set("Preference-Applied", "wait="+strconv.Itoa(int(wait/time.Second)))
	}
}
