package simulator

import (
	"context"
	"crypto/sha256"
	"net/http"
	"sync"
)

// Idempotency declares that a second POST under a key does no second work. Its zero value promises
// nothing: keys are recorded, and every POST is work of its own.
type Idempotency struct {
	// Header is the name of the header that carries the key, e.g. Idempotency-Key.
	Header string `json:"header"`

	// Conflict answers 409 to a second POST while the first one's work is under way; otherwise the
	// second waits for it.
	Conflict bool `json:"conflict,omitzero"`
}

// keyring remembers which work was done under which key, and for which request.
type keyring struct {
	mu     sync.Mutex
	claims map[string]claim
}

type claim struct {
	request [sha256.Size]byte
	work    *work
}

// claim gives a key to a work, or returns the work that has it already; same says whether that one was
// for the same request.
func (k *keyring) claim(key string, body []byte, w *work) (first *work, same bool) {
	request := sha256.Sum256(body) // no body is valid on both paths, so that it tells them apart
	k.mu.Lock()
	defer k.mu.Unlock()
	if earlier, taken := k.claims[key]; taken {
		return earlier.work, earlier.request == request
	}
	k.claims[key] = claim{request, w}
	return nil, true
}

func errKeyReused(header, key string) *apiError {
	return newError(http.StatusBadRequest, "idempotency_error", "idempotency_key_reused", "",
		"The key %q in %s was used before with another request.", key, header)
}

func errKeyInUse(header, key string) *apiError {
	return newError(http.StatusConflict, "idempotency_error", "idempotency_key_in_use", "",
		"A request with the key %q in %s is still being worked on.", key, header)
}

// key is what the request carries in the header that its model declares; "" where it declares none.
func (x *exchange) key() string {
	if x.idempotency.Header == "" {
		return ""
	}
	return x.r.Header.Get(x.idempotency.Header)
}

// replay answers with what the first request under the key was answered, or would have been. Nothing of
// the second one's personality bends it: what a model does by its work, it did by the first.
func (x *exchange) replay(ctx context.Context, first *work, same bool) {
	header, key := x.idempotency.Header, x.key()
	if !same {
		x.reject(errKeyReused(header, key))
		return
	}
	x.ledger.replays(x.record, first.record)
	if !first.background() {
		if x.idempotency.Conflict && !first.over() {
			x.reject(errKeyInUse(header, key))
			return
		}
		x.await(ctx, first)
	}
	x.w.Header().Set("Idempotent-Replayed", "true")
	status, body := first.answer()
	x.send(howReplayed, status, body)
}
