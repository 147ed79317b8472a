package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
)

type statusView struct {
	Status string `json:"status"`
}

// health says that the process answers, whatever its database does: restarting it would not help that.
func (s *Server) health(c *gin.Context) error {
	answer(c, http.StatusOK, statusView{"ok"})
	return nil
}

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
	answer(c, http.StatusOK, statusView{"ready"})
	return nil
}
