package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/fallproof/fallproof/providers/simulator"
)

// demoConfig is what a user would write. The one model that changes its behaviour during the story is
// alpha/large, the primary of both routes.
const demoConfig = `# Written by fallproof demo. Simulated certifications count here, and nowhere else.
server:
  listen: 127.0.0.1:0
  accept_sources: [simulated]
store:
  url: sqlite:%[1]s
providers:
  alpha: {base_url: %[2]s, source: simulated, timeout: 1s, give_up: 10m, models: {large: {tokenizer: o200k_base, context_window: 128000}}}
  beta:  {base_url: %[2]s, source: simulated, timeout: 10s, models: {medium: {tokenizer: o200k_base, context_window: 128000}}}
  gamma: {base_url: %[2]s, source: simulated, timeout: 10s, models: {small: {tokenizer: o200k_base, context_window: 128000}}}
  delta: {base_url: %[2]s, source: simulated, timeout: 10s, models: {mini: {tokenizer: o200k_base, context_window: 128000}}}
  omega: {base_url: %[2]s, source: simulated, timeout: 10s, models: {edge: {tokenizer: o200k_base, context_window: 128000}}}
routes:
  invoice-extraction: {primary: alpha/large, fallbacks: [gamma/small, delta/mini, beta/medium], max_attempts: 4}
  support-triage: {primary: alpha/large, fallbacks: [gamma/small, delta/mini, omega/edge], max_attempts: 4}
`

// demoModels are the simulated models: two that honour the contracts, three that do not.
var demoModels = map[string]simulator.Personality{
	"large":  {Kind: simulator.Faithful},
	"medium": {Kind: simulator.Faithful},
	"small":  {Kind: simulator.Plausible},
	"mini":   {Kind: simulator.ExtraKey},
	"edge":   {Kind: simulator.Deaf},
}

func (p *program) demoCommand() *cobra.Command {
	var keep bool
	command := &cobra.Command{
		Use: "demo", Short: "The whole story on this machine alone: certify, then fail over only with proof", Args: cobra.NoArgs,
		Long: "Starts simulated providers, certifies them, starts the service on an embedded store, and shows the double\n" +
			"click, the attempt in doubt, the reverse-order finish, and the refused and the allowed fallback. Everything runs\n" +
			"on loopback and in a temporary folder.\n\n" + exits{ok: "every step showed what it promises", no: "some did not"}.String(),
		Example: "  fallproof demo\n  fallproof demo --keep",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.demo(cmd.Context(), keep)
		},
	}
	command.Flags().BoolVar(&keep, "keep", false, "leave the service running afterwards, with URL, key and lines to try")
	return command
}

func (p *program) demo(ctx context.Context, keep bool) (err error) {
	folder, err := os.MkdirTemp("", "fallproof-demo-")
	if err != nil {
		return failed(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	simulated, err := simulator.Listen("127.0.0.1:0", simulator.Config{Models: demoModels})
	if err != nil {
		return failed(err)
	}
	defer closing(simulated, &err)
	configPath := filepath.Join(folder, "fallproof.yaml")
	text := fmt.Sprintf(demoConfig, filepath.Join(folder, "fallproof.db"), simulated.BaseURL())
	if err := os.WriteFile(configPath, []byte(text), 0o600); err != nil {
		return failed(err)
	}
	s := &story{p: p, ctx: ctx, simulator: simulated, config: configPath}
	if err := s.certify(); err != nil {
		return failed(err)
	}
	stop, err := s.serve()
	if err != nil {
		return failed(err)
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := s.tell(); err != nil {
		return failed(err)
	}
	if keep {
		return s.leaveRunning()
	}
	return nil
}

// verb runs another verb of this program, as a user would type it, with the demo's configuration.
func (s *story) verb(stdout io.Writer, args ...string) int {
	s.say("\n%s", s.p.paint(strong, "$ fallproof "+strings.Join(args, " ")))
	return s.run(s.ctx, stdout, args)
}

func (s *story) run(ctx context.Context, stdout io.Writer, args []string) int {
	getenv := func(name string) string {
		if name == "DATABASE_URL" {
			return "" // the demo has a store of its own
		}
		return s.p.getenv(name)
	}
	return Run(ctx, append(args, "--config", s.config), strings.NewReader(""), stdout, s.p.stderr, getenv)
}

// certify leaves records of every pair that the routes name. Three of the five models are meant to fail.
func (s *story) certify() error {
	s.title("Proof first: certify every target that a route names")
	s.say("alpha/large and beta/medium read carefully; gamma/small is plausible but wrong, delta/mini makes keys up,")
	s.say("omega/edge ignores its system prompt.")
	const someRejected = 1
	if code := s.verb(s.p.stdout, "certify"); code != someRejected {
		return fmt.Errorf("certify ended with %d; some targets are meant to be rejected", code)
	}
	return nil
}

// serve starts the service in this process and waits until it says where it listens.
func (s *story) serve() (stop func() error, err error) {
	var key strings.Builder
	if code := s.verb(&key, "keys", "create", "--owner", "demo", "--scope", "client,operator"); code != exitOK {
		return nil, errors.New("no key could be made")
	}
	s.key = strings.TrimSpace(key.String())
	s.say("\n%s", s.p.paint(strong, "$ fallproof serve"))
	ctx, cancel := context.WithCancel(s.ctx)
	reader, writer := io.Pipe()
	var done sync.WaitGroup
	var code int
	done.Go(func() {
		code = s.run(ctx, writer, []string{"serve", "--log", "off"})
		_ = writer.Close() // a pipe always closes
	})
	first, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		cancel()
		done.Wait()
		return nil, fmt.Errorf("serve ended with %d before it listened", code)
	}
	done.Go(func() { _, _ = io.Copy(io.Discard, reader) })
	s.say("%s", strings.TrimSpace(first))
	s.url = "http" + strings.TrimSpace(first[strings.LastIndex(first, "http")+len("http"):])
	return func() error {
		cancel()
		done.Wait()
		if code != exitOK {
			return fmt.Errorf("serve ended with %d", code)
		}
		return nil
	}, nil
}

func (s *story) leaveRunning() error {
	s.title("Left running")
	s.say("URL: %s\nKey: %s\n", s.url, s.key)
	s.say("curl -s %s/v1/contracts/support-triage/targets -H 'Authorization: Bearer %s'", s.url, s.key)
	s.say(`curl -s %s/v1/jobs -H 'Authorization: Bearer %s' -H 'Idempotency-Key: mine-1' -H 'Prefer: wait=10' --json '{"contract":"support-triage","input":{"message":"My parcel arrived broken, please refund me."}}'`, s.url, s.key)
	s.say("curl -s %s/v1/jobs -H 'Authorization: Bearer %s'", s.url, s.key)
	s.say("\nPress Ctrl-C to end it.")
	<-s.ctx.Done()
	return nil
}
