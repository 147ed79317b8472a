package evidence

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fallproof/fallproof/contracts/certification"
)

// Format names the form of a [Document]. A form that older readers would misread gets another name.
const Format = "fallproof-evidence/1"

// Document is the evidence of one run.
type Document struct {
	Format          string   `json:"format"`
	CertificationID string   `json:"certification_id"`
	Contract        string   `json:"contract"`
	Target          string   `json:"target"`
	ProofDigest     string   `json:"proof_digest"`
	Cases           []Case   `json:"cases"`
	Samples         []Sample `json:"samples"` // of cases, by case and index
	Calls           []Sample `json:"calls"`   // that are no sample of a case: the canary, the probes
	Omitted         int      `json:"omitted"` // samples whose requests and answers were left out for their size
}

// Case is one case as the target was asked it.
type Case struct {
	Name         string         `json:"case"`
	Messages     []Message      `json:"messages"`              // as sent, with the roles that the target accepts
	Rendered     string         `json:"rendered,omitzero"`     // what the model reads, BOS included, where a chat template is declared
	Unrenderable string         `json:"unrenderable,omitzero"` // why there is no prompt
	Expected     jsontext.Value `json:"expected"`              // the expected answer; null where the case has none
}

// Message is one message of a prompt.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Sample is one call with what was found in its answer.
type Sample struct {
	Case      string                        `json:"case,omitzero"`
	Index     int                           `json:"sample"`
	Call      string                        `json:"call,omitzero"` // what it was for, where it is no sample of a case
	Kind      certification.ObservationKind `json:"kind"`
	Reason    string                        `json:"reason,omitzero"`  // why it is not an answer
	Detail    string                        `json:"detail,omitzero"`  // the same for people
	Content   string                        `json:"content,omitzero"` // what the model said, taken out of the answer
	Structure []Finding                     `json:"structure"`
	Business  []Finding                     `json:"business"`
	Exchange  Exchange                      `json:"exchange"`
	Before    []Exchange                    `json:"before,omitzero"`  // tries that ended in provider trouble; they sent the same
	Omitted   bool                          `json:"omitted,omitzero"` // request, answer and content were left out for their size
}

// Good reports whether the sample is an answer in which nothing is wrong.
func (s Sample) Good() bool {
	return s.Kind == certification.Answered && len(s.Structure)+len(s.Business) == 0
}

// Finding is one reason, with where in the content it is to be seen.
type Finding struct {
	Reason   string   `json:"reason"`
	Detail   string   `json:"detail,omitzero"`
	Pointers []string `json:"pointers"` // JSON pointers into the content: the value that is wrong, or those that a check reads
}

// Exchange is one request and what came back.
type Exchange struct {
	AttemptID    string            `json:"attempt_id"` // as the provider's log has it
	Request      string            `json:"request,omitzero"`
	Status       int               `json:"status"` // 0 = no status line arrived
	Header       map[string]string `json:"header,omitzero"`
	Answer       string            `json:"answer,omitzero"`
	AnswerBinary []byte            `json:"answer_base64,omitzero"` // instead of answer where it is not UTF-8
	Complete     bool              `json:"complete"`               // the answer arrived to its declared end
	TooLarge     bool              `json:"too_large,omitzero"`
	Error        string            `json:"error,omitzero"`
	Started      time.Time         `json:"started"`
	Finished     time.Time         `json:"finished"`
}
