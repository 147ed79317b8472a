package api

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/fallproof/fallproof/service/store"
)

const instanceKey = "fallproof.instance"

// instanceOf names this one request, in its problem document and in the log.
func instanceOf(c *gin.Context) string {
	if instance, ok := c.Get(instanceKey); ok {
		return instance.(string)
	}
	instance := "urn:uuid:" + uuid.NewString()
	c.Set(instanceKey, instance)
	return instance
}

// observe logs the request and turns a panic into a problem: one request's fault is no other's.
func (s *Server) observe(c *gin.Context) {
	start := time.Now()
	c.Header("X-Content-Type-Options", "nosniff")
	defer func() {
		if fault := recover(); fault != nil {
			s.recovered(c, fault)
		}
		s.log(c, time.Since(start))
	}()
	c.Next()
}

func (s *Server) recovered(c *gin.Context, fault any) {
	if err, ok := fault.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(fault)
	}
	s.logger.Error("panic", "fault", fmt.Sprint(fault), "stack", string(debug.Stack()), "instance", instanceOf(c))
	if !c.Writer.Written() {
		newProblem(InternalError, "").write(c)
	}
	c.Abort()
}

func (s *Server) log(c *gin.Context, took time.Duration) {
	attributes := []slog.Attr{
		slog.String("method", c.Request.Method), slog.String("route", c.FullPath()),
		slog.Int("status", c.Writer.Status()), slog.Duration("took", took),
	}
	if key, ok := c.Get(identityKey); ok {
		attributes = append(attributes, slog.String("owner", key.(store.APIKey).Owner))
	}
	if instance, ok := c.Get(instanceKey); ok {
		attributes = append(attributes, slog.Any("instance", instance))
	}
	s.logger.LogAttrs(c.Request.Context(), slog.LevelInfo, "request", attributes...)
}
