package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/fallproof/fallproof/service/dispatch"
)

type statusView struct {
	Status string `json:"status"`
}

// readinessView says with "degraded" that work is done here, and what of it not as well as it should be.
type readinessView struct {
	Status string  `json:"status"`
	Detail *string `json:"detail"`
}

// health says that the process answers, whatever its database does: restarting it would not help that.
func (s *Server) health(c *gin.Context) error {
	answer(c, http.StatusOK, statusView{"ok"})
	return nil
}

var degraded = "The database does not notify this replica of what the others do. Everything is served; whoever waits for an " +
	"attempt of another replica learns of its outcome up to " + dispatch.DefaultNet.String() + " late."

// ready says whether work may be sent here.
func (s *Server) ready(c *gin.Context) error {
	if s.draining.Err() != nil {
		return unavailable(ShuttingDown)
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), pingTimeout)
	defer cancel()
	if err := s.store.Ping(ctx); err != nil {
		s.logger.Error("the store cannot be reached", "error", err)
		return unavailable(StoreUnavailable)
	}
	if s.dispatcher.Watching() != nil { // why not is for the log: who asks here need not have a key
		answer(c, http.StatusOK, readinessView{"degraded", &degraded})
		return nil
	}
	answer(c, http.StatusOK, readinessView{Status: "ready"})
	return nil
}
