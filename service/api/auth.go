package api

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/fallproof/fallproof/service/store"
)

const keyPrefix = "fp_" // lets secret scanners and people recognise a key

// NewKey makes an API key: 256 random bits behind a prefix.
func NewKey() string {
	var secret [32]byte
	rand.Read(secret[:]) // never fails: the runtime aborts instead
	return keyPrefix + hex.EncodeToString(secret[:])
}

// HashKey is what the store keeps of a key. A plain SHA-256 is enough: slow hashes protect guessable
// passwords, and nobody guesses 256 random bits.
func HashKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// KeyFinder finds an unrevoked API key by its hash; store.ErrNotFound.
type KeyFinder interface {
	KeyByHash(ctx context.Context, hash string) (store.APIKey, error)
}

const identityKey = "fallproof.identity"

// authenticate lets a request on whose key exists. Absent, malformed, unknown and revoked keys get one
// and the same answer.
func authenticate(keys KeyFinder) func(c *gin.Context) error {
	return func(c *gin.Context) error {
		token, presented := bearer(c.Request.Header)
		if !presented {
			return unauthorized("")
		}
		// Found by hash: how long the search takes says nothing about the secret.
		key, err := keys.KeyByHash(c.Request.Context(), HashKey(token))
		if errors.Is(err, store.ErrNotFound) {
			return unauthorized(`, error="invalid_token"`)
		}
		if err != nil {
			return err
		}
		c.Set(identityKey, key)
		return nil
	}
}

func unauthorized(because string) *problem {
	p := newProblem(Unauthorized, "want Authorization: Bearer KEY with a key that is in use")
	p.Header = http.Header{"Www-Authenticate": {authenticateChallenge + because}}
	return p
}

func bearer(header http.Header) (token string, ok bool) {
	values := header.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, token, found := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	return token, found && strings.EqualFold(scheme, "Bearer") && token != ""
}

func identity(c *gin.Context) store.APIKey { return c.MustGet(identityKey).(store.APIKey) }

// by is how the history names whoever asked.
func by(c *gin.Context) string { return "key:" + identity(c).ID }

func demand(scope string, key store.APIKey) error {
	if slices.Contains(key.Scopes, scope) {
		return nil
	}
	p := newProblem(Forbidden, "this needs a key with the scope "+scope).with("scope", scope)
	p.Header = http.Header{"Www-Authenticate": {fmt.Sprintf(`%s, error="insufficient_scope", scope=%q`, authenticateChallenge, scope)}}
	return p
}
