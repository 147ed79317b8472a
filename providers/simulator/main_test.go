package simulator

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain finds handlers that outlive their server. One goroutine is net/http's own: after a body that
// was too large it lingers for half a second, so that the client can read why.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}
