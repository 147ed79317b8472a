package chaos

import (
	"bytes"
	"sync/atomic"

	"github.com/Shopify/toxiproxy/v2/toxics"
)

const lostCommitType = "lost_commit"

// committed is PostgreSQL's CommandComplete for a COMMIT: its type, its length and its tag.
var committed = []byte("C\x00\x00\x00\x0bCOMMIT\x00")

// lostCommit is a toxic on what PostgreSQL answers. Instead of passing on that a COMMIT is done it closes
// the connection: what was committed stays, and nobody has been told.
type lostCommit struct {
	OneIn int64 `json:"one_in"` // 1 loses every answer

	seen, lost atomic.Int64 // on all connections
}

func registerLostCommit() { toxics.Register(lostCommitType, new(lostCommit)) }

// NewState is the end of what a connection has passed on: a message may be cut into two chunks.
func (*lostCommit) NewState() any { return new([]byte) }

// Pipe implements toxics.Toxic.
func (l *lostCommit) Pipe(stub *toxics.ToxicStub) {
	tail := stub.State.(*[]byte)
	for {
		select {
		case <-stub.Interrupt:
			return
		case chunk := <-stub.Input:
			if chunk == nil {
				stub.Close()
				return
			}
			if l.loses(tail, chunk.Data) {
				stub.Close()
				for range stub.Input { // else whoever feeds this stub would wait for ever
				}
				return
			}
			stub.Output <- chunk
		}
	}
}

// loses says whether the chunk completes a COMMIT whose answer is to be lost.
func (l *lostCommit) loses(tail *[]byte, data []byte) bool {
	text := append(bytes.Clone(*tail), data...)
	*tail = bytes.Clone(text[max(0, len(text)-len(committed)+1):])
	if !bytes.Contains(text, committed) || l.seen.Add(1)%max(l.OneIn, 1) != 0 {
		return false
	}
	l.lost.Add(1)
	return true
}
