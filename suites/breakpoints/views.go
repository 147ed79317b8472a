package breakpoints

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// What the scenarios read of the API's documents. They are declared here once more on purpose: a client
// has nothing but the published names. Members that are not listed may be added to the API at any time.

type jobView struct {
	ID             string         `json:"id"`
	Owner          string         `json:"owner"`
	Contract       string         `json:"contract"`
	ContractDigest string         `json:"contract_digest"`
	Input          jsontext.Value `json:"input"`
	Target         string         `json:"target"`
	State          string         `json:"state"`
	Version        int64          `json:"version"`
	CompletedBy    *int           `json:"completed_by"`
	Result         jsontext.Value `json:"result"`
	Error          *failureView   `json:"error"`
	Metadata       jsontext.Value `json:"metadata"`
	CompletedAt    *time.Time     `json:"completed_at"`
}

type failureView struct {
	Reason  string `json:"reason"`
	Attempt *int   `json:"attempt"`
	Targets []struct {
		Target  string   `json:"target"`
		Reasons []string `json:"reasons"`
	} `json:"targets"`
}

// why says why a target was not tried, or not again.
func (f *failureView) why(target string) []string {
	if f == nil {
		return nil
	}
	for _, refusal := range f.Targets {
		if refusal.Target == target {
			return refusal.Reasons
		}
	}
	return nil
}

type usageView struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

type attemptView struct {
	ID              string     `json:"id"`
	JobID           string     `json:"job_id"`
	Number          int        `json:"number"`
	Role            string     `json:"role"`
	Target          string     `json:"target"`
	State           string     `json:"state"`
	Reason          *string    `json:"reason"`
	Sends           int        `json:"sends"`
	JobVersion      int64      `json:"job_version"`
	CertificationID *string    `json:"certification_id"`
	Usage           *usageView `json:"usage"`
}

// why is the attempt's reason; "" where it has none.
func (a attemptView) why() string {
	if a.Reason == nil {
		return ""
	}
	return *a.Reason
}

type eventView struct {
	Seq     int64          `json:"seq"`
	Type    string         `json:"type"`
	Attempt *int           `json:"attempt"`
	Detail  jsontext.Value `json:"detail"`
	At      time.Time      `json:"at"`
}

type targetView struct {
	Target          string   `json:"target"`
	Role            string   `json:"role"`
	Eligible        bool     `json:"eligible"`
	Reasons         []string `json:"reasons"`
	CertificationID *string  `json:"certification_id"`
}

type contractView struct {
	Name           string     `json:"name"`
	ContractDigest string     `json:"contract_digest"`
	Route          *routeView `json:"route"`
}

type routeView struct {
	Primary     string   `json:"primary"`
	Fallbacks   []string `json:"fallbacks"`
	MaxAttempts int      `json:"max_attempts"`
	OnRefusal   string   `json:"on_refusal"`
}

type certificationView struct {
	ID            string     `json:"id"`
	Verdict       string     `json:"verdict"`
	RevokedAt     *time.Time `json:"revoked_at"`
	RevokedReason *string    `json:"revoked_reason"`
}

type problemView struct {
	Type     string       `json:"type"`
	Title    string       `json:"title"`
	Status   int          `json:"status"`
	Detail   string       `json:"detail"`
	Pointers []string     `json:"pointers"`
	Blocking *attemptView `json:"blocking"`
	Reasons  []string     `json:"reasons"`
	State    string       `json:"state"`
}

type page[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"next_cursor"`
}
