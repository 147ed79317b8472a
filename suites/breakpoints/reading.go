package breakpoints

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/go-json-experiment/json"
)

// read decodes an answer's document.
func read[T any](got answer) T {
	GinkgoHelper()
	var document T
	Expect(json.Unmarshal(got.Body, &document)).To(Succeed(), "%s", got)
	return document
}

// find reads the document of an answer that must be 200.
func find[T any](got answer) T {
	GinkgoHelper()
	Expect(got.Status).To(Equal(http.StatusOK), "%s", got)
	return read[T](got)
}

// refused reads the problem that an answer must be.
func refused(got answer, status int, name string) problemView {
	GinkgoHelper()
	Expect(got.Status).To(Equal(status), "%s", got)
	Expect(got.Header.Get("Content-Type")).To(HavePrefix("application/problem+json"))
	problem := read[problemView](got)
	Expect(problem.Type).To(Equal("/problems/"+name), "%s", got)
	Expect(problem.Status).To(Equal(status))
	Expect(problem.Title).NotTo(BeEmpty())
	return problem
}
