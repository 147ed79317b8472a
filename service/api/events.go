package api

import (
	"context"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/fallproof/fallproof/service/store"
)

const lastEventHeader = "Last-Event-ID"

// listEvents answers with the job's history as a page, or as a stream to a client that accepts one.
func (s *Server) listEvents(c *gin.Context) error {
	id, err := pathID(c, "job")
	if err != nil {
		return err
	}
	after, err := eventsAfter(c.Request)
	if err != nil {
		return err
	}
	history, err := s.store.Events(c.Request.Context(), identity(c).Owner, id, after)
	if err != nil {
		return err
	}
	c.Header("Vary", "Accept")
	if acceptsStream(c.Request.Header) {
		s.streamEvents(c, id, after, history)
		return nil
	}
	answer(c, http.StatusOK, pageOf(history.Events, "", viewEvent))
	return nil
}

// eventsAfter is the number of the last event that the client knows. A client that comes back names it in
// the header, while its address stays what it was: so the header counts.
func eventsAfter(request *http.Request) (int64, error) {
	parameters, err := query(request, "after")
	if err != nil {
		return 0, err
	}
	name, written := "after", parameters["after"]
	if known := request.Header.Get(lastEventHeader); known != "" {
		name, written = lastEventHeader, known
	}
	if written == "" {
		return 0, nil
	}
	number, err := strconv.ParseInt(written, 10, 64)
	if err != nil || number < 0 || strconv.FormatInt(number, 10) != written {
		return 0, badParameter(name, "is not the number of an event")
	}
	return number, nil
}

// acceptsStream says whether a client asks for server-sent events by name: one that takes anything gets
// the page.
func acceptsStream(header http.Header) bool {
	for _, line := range header.Values("Accept") {
		for _, accepted := range splitOutsideQuotes(line, ',') {
			kind, parameters, err := mime.ParseMediaType(accepted)
			if err == nil && kind == eventStream && !refuses(parameters["q"]) {
				return true
			}
		}
	}
	return false
}

// refuses says whether a quality value is zero, in any of its spellings.
func refuses(quality string) bool { return quality != "" && strings.Trim(quality, "0.") == "" }

// streamEvents sends a job's history as it grows, beginning with what is known of it. The stream ends when
// the history is over, when the service shuts down, and when the client or the store is gone; only a
// client that comes back then and has everything is told that nothing more comes (204, after which an
// EventSource stays away).
func (s *Server) streamEvents(c *gin.Context, id string, after int64, history store.History) {
	if history.Over && len(history.Events) == 0 {
		c.Header("Cache-Control", "no-store")
		c.Status(http.StatusNoContent)
		c.Writer.WriteHeaderNow()
		return
	}
	ctx, cancel := context.WithCancel(c.Request.Context())
	defer cancel()
	defer context.AfterFunc(s.draining, cancel)()
	out := openStream(c.Writer, s.unread)
	for {
		after = out.events(after, history.Events)
		if out.flush() != nil || history.Over || ctx.Err() != nil {
			return
		}
		beat, stop := context.WithTimeout(ctx, s.heartbeat)
		var err error
		history, err = s.dispatcher.Follow(beat, identity(c).Owner, id, after)
		stop()
		if err != nil { // the client comes back, and is told then
			s.logger.Warn("a stream of events was broken off", "job", id, "error", err)
			return
		}
		if len(history.Events) == 0 {
			out.heartbeat()
		}
	}
}
