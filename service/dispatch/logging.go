package dispatch

import (
	"context"
	"log/slog"
)

// onlyWarnings keeps the queue's own chatter out of the service's log: a doorbell is no news.
type onlyWarnings struct{ slog.Handler }

func (h onlyWarnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
}

func (h onlyWarnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return onlyWarnings{h.Handler.WithAttrs(attrs)}
}

func (h onlyWarnings) WithGroup(name string) slog.Handler {
	return onlyWarnings{h.Handler.WithGroup(name)}
}
