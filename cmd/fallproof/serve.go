package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/fallproof/fallproof/service/api"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/dispatch"
	"github.com/fallproof/fallproof/service/store"
)

// Limits of a connection. What a client may wait for an answer is bounded by api.MostWait.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = api.MostWait + 60*time.Second // on top of a store that answers slowly
	idleTimeout   = 2 * time.Minute
	goodbye       = 5 * time.Second // for answers that are being written when everything else has ended
)

func (p *program) serveCommand() *cobra.Command {
	var listen, format string
	var pace pace
	command := &cobra.Command{
		Use: "serve", Short: "Run the failover service", Args: cobra.NoArgs,
		Long: "The first line on stdout is the address that it listens on. SIGTERM or SIGINT stops intake, waits for running\n" +
			"attempts (server.shutdown_timeout), and leaves the rest in doubt; a second signal ends at once.\n\n" +
			exits{ok: "it was told to stop (SIGTERM, SIGINT), and did", no: "it failed while it ran", usage: "the command, the configuration, an API key or the store is wrong, or the address cannot be listened on"}.String(),
		Example: "  fallproof serve\n  fallproof serve --config production.yaml --log json\n  DATABASE_URL=postgres://db.example/fallproof fallproof serve --listen 0.0.0.0:8080",
		RunE: func(cmd *cobra.Command, _ []string) error {
			logger, err := newLogger(p.stderr, format)
			if err != nil {
				return err
			}
			return p.withStore(cmd.Context(), checkKeys, func(c *config.Config, s store.Store) error {
				if listen != "" {
					c.Server.Listen = listen
				}
				return p.serve(cmd.Context(), c, s, logger, pace)
			})
		},
	}
	command.Flags().StringVar(&listen, "listen", "", "address to listen on (default server.listen of the configuration)")
	command.Flags().StringVar(&format, "log", "text", "how the log on stderr is written: text, json or off")
	pace.flags(command)
	return command
}

// pace is how fast a replica notices that another one is lost. Its flags are hidden: tests shorten the times,
// while a deployment has no reason to have them differ between its replicas.
type pace struct{ lease, renew, sweep time.Duration }

func (p *pace) flags(command *cobra.Command) {
	for _, flag := range []struct {
		name  string
		value *time.Duration
		usage string
	}{
		{"lease", &p.lease, "how long a replica holds an attempt without renewing"},
		{"renew", &p.renew, "how often it renews"},
		{"sweep", &p.sweep, "how often what is overdue is looked for"},
	} {
		command.Flags().DurationVar(flag.value, flag.name, 0, flag.usage)
		_ = command.Flags().MarkHidden(flag.name) // it was defined a line above
	}
}

// checkKeys fails at the start rather than at the first call of a provider.
func checkKeys(c *config.Config) error {
	if err := c.CheckAPIKeys(); err != nil {
		return usage(err)
	}
	return nil
}

func newLogger(w io.Writer, format string) (*slog.Logger, error) {
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, nil)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, nil)), nil
	case "off":
		return slog.New(slog.DiscardHandler), nil
	default:
		return nil, usagef("--log %q: want text, json or off", format)
	}
}

// serve runs the service until ctx ends, and then lets what was accepted finish.
func (p *program) serve(ctx context.Context, c *config.Config, s store.Store, logger *slog.Logger, pace pace) error {
	dispatcher, err := dispatch.New(dispatch.Options{
		Store: s, Config: c, Logger: logger, Lease: pace.lease, Renew: pace.renew, Sweep: pace.sweep,
	})
	if err != nil {
		return usage(err)
	}
	listener, err := net.Listen("tcp", c.Server.Listen)
	if err != nil {
		return usage(err)
	}
	if err := dispatcher.Start(ctx); err != nil {
		return failed(errors.Join(err, listener.Close()))
	}
	handler := api.New(api.Options{Dispatcher: dispatcher, Store: s, Config: c, Logger: logger, Version: programVersion()})
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	err = p.print(fmt.Sprintf("fallproof serves http://%s\n", listener.Addr()))
	if err == nil {
		select {
		case <-ctx.Done():
		case ended := <-served:
			err = failed(ended)
		}
	}
	return errors.Join(err, shutDown(ctx, c, handler, dispatcher, server, logger))
}

// shutDown ends in an order in which nothing that was accepted is lost: new work is refused first, while
// reading goes on until the attempts have ended or their time has.
func shutDown(ctx context.Context, c *config.Config, handler *api.Server, dispatcher *dispatch.Dispatcher, server *http.Server, logger *slog.Logger) error {
	logger.Info("shutting down", "waiting_at_most", c.Server.ShutdownTimeout)
	ctx = context.WithoutCancel(ctx)
	handler.Drain()
	attempts, cancel := context.WithTimeout(ctx, c.Server.ShutdownTimeout)
	defer cancel()
	if err := dispatcher.Shutdown(attempts); err != nil {
		logger.Warn("attempts were left in doubt", "error", err) // by design: they are never lost, and never sent again
	}
	answers, cancel := context.WithTimeout(ctx, goodbye)
	defer cancel()
	if err := server.Shutdown(answers); err != nil {
		return failed(errors.Join(err, server.Close()))
	}
	return nil
}
