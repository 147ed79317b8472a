package api

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/fallproof/fallproof/service/job"
)

const (
	eventStream      = "text/event-stream"
	defaultHeartbeat = 15 * time.Second
	// defaultStreamTimeout counts from when no buffer on the way takes any more.
	defaultStreamTimeout = 10 * time.Second
	comeBackIn           = time.Second
)

// stream writes server-sent events (WHATWG HTML, section 9.2). What was written is sent by flush.
type stream struct {
	writer  gin.ResponseWriter
	control *http.ResponseController
	unread  time.Duration // see Options.StreamTimeout
	pending bytes.Buffer
}

// openStream begins the answer. Proxies that would gather it are asked not to.
func openStream(writer gin.ResponseWriter, unread time.Duration) *stream {
	header := writer.Header()
	header.Set("Content-Type", eventStream)
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no")
	writer.WriteHeader(http.StatusOK)
	writer.WriteHeaderNow()
	s := &stream{writer: writer, control: http.NewResponseController(underneath(writer)), unread: unread}
	fmt.Fprintf(&s.pending, "retry: %d\n\n", comeBackIn.Milliseconds())
	return s
}

// underneath is the server's own writer: gin's keeps to itself that a flush has failed.
func underneath(writer http.ResponseWriter) http.ResponseWriter {
	if wrapper, ok := writer.(interface{ Unwrap() http.ResponseWriter }); ok {
		return wrapper.Unwrap()
	}
	return writer
}

// events writes each event with its number as the id, and returns the last number.
func (s *stream) events(after int64, events []job.EventRecord) int64 {
	for _, event := range events {
		fmt.Fprintf(&s.pending, "id: %d\nevent: %s\ndata: %s\n\n", event.Seq, event.Type, encode(viewEvent(event)))
		after = event.Seq
	}
	return after
}

// heartbeat writes a comment, which keeps proxies from thinking that nobody is there, and finds out
// whether the client still is.
func (s *stream) heartbeat() { s.pending.WriteString(": waiting\n\n") }

// flush errs where the client is gone, or does not read. The server lifts the deadline before the next request.
func (s *stream) flush() error {
	if s.pending.Len() == 0 {
		return nil
	}
	if err := s.control.SetWriteDeadline(time.Now().Add(s.unread)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	_, err := s.pending.WriteTo(s.writer)
	return errors.Join(err, s.control.Flush())
}
