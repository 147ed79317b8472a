package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

// jobsFlags hold for all verbs under jobs.
type jobsFlags struct {
	url  string
	json bool
}

func (p *program) jobsCommand() *cobra.Command {
	var flags jobsFlags
	command := group("jobs", "Look after jobs of a running service",
		p.jobsGetCommand(&flags), p.jobsListCommand(&flags), p.jobsDoubtsCommand(&flags), p.jobsAttemptsCommand(&flags),
		p.jobsResolveCommand(&flags), p.jobsReleaseCommand(&flags), p.jobsCancelCommand(&flags))
	command.Long = "A client of the HTTP API. " + keyVariable + " holds the API key; resolve, release and the cancelling of an\n" +
		"attempt need one with the scope operator."
	for _, verb := range command.Commands() {
		verb.Long = cmp.Or(verb.Long, verb.Short) + "\n\n" + exits{no: "the service says no, or does not answer"}.String()
	}
	command.PersistentFlags().StringVar(&flags.url, "url", "", "address of the service (default "+urlVariable+", else this configuration's listener)")
	command.PersistentFlags().BoolVar(&flags.json, "json", false, "the service's own JSON, for scripts")
	return command
}

func (p *program) jobsGetCommand(flags *jobsFlags) *cobra.Command {
	var wait int
	command := &cobra.Command{
		Use: "get ID", Short: "Show one job", Args: cobra.ExactArgs(1),
		Example: "  fallproof jobs get 0197b1c4-0000-7000-8000-000000000000 --wait 30\n  fallproof jobs get 0197b1c4-0000-7000-8000-000000000000 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			header := http.Header{}
			if wait > 0 {
				header.Set("Prefer", "wait="+strconv.Itoa(wait))
			}
			return p.show(cmd.Context(), flags, http.MethodGet, jobPath(args[0]), header, nil, p.describeJob)
		},
	}
	command.Flags().IntVar(&wait, "wait", 0, "wait so many seconds for the outcome, at most 60")
	return command
}

func (p *program) jobsListCommand(flags *jobsFlags) *cobra.Command {
	var state, contract, cursor string
	var limit int
	command := &cobra.Command{
		Use: "list", Short: "List the key's owner's jobs, newest first", Args: cobra.NoArgs,
		Example: "  fallproof jobs list --state unknown\n  fallproof jobs list --contract invoice-extraction --limit 10 --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := url.Values{}
			for name, value := range map[string]string{"state": state, "contract": contract, "cursor": cursor} {
				if value != "" {
					query.Set(name, value)
				}
			}
			query.Set("limit", strconv.Itoa(limit))
			return p.listJobs(cmd.Context(), flags, "/v1/jobs?"+query.Encode())
		},
	}
	command.Flags().StringVar(&state, "state", "", "only jobs in this state")
	command.Flags().StringVar(&contract, "contract", "", "only this contract's")
	command.Flags().IntVar(&limit, "limit", 50, "how many at most")
	command.Flags().StringVar(&cursor, "cursor", "", "go on after the page that ended with this cursor")
	return command
}

func (p *program) jobsAttemptsCommand(flags *jobsFlags) *cobra.Command {
	return &cobra.Command{
		Use: "attempts ID", Short: "List a job's attempts", Args: cobra.ExactArgs(1),
		Example: "  fallproof jobs attempts 0197b1c4-0000-7000-8000-000000000000",
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.listAttempts(cmd.Context(), flags, jobPath(args[0])+"/attempts")
		},
	}
}

// jobsDoubtsCommand works through the queue of doubts: what blocks each job, since when, and the command that
// ends it.
func (p *program) jobsDoubtsCommand(flags *jobsFlags) *cobra.Command {
	var limit int
	command := &cobra.Command{
		Use: "doubts", Short: "Work through the jobs in doubt, oldest first", Args: cobra.NoArgs,
		Long:    "For each job: what blocks it, since when, what happens next by itself, and the commands that end the doubt.",
		Example: "  fallproof jobs doubts\n  fallproof jobs doubts --limit 1",
		RunE: func(cmd *cobra.Command, _ []string) error {
			path := "/v1/jobs?state=unknown&limit=" + strconv.Itoa(limit)
			return p.show(cmd.Context(), flags, http.MethodGet, path, nil, nil, p.describeDoubts)
		},
	}
	command.Flags().IntVar(&limit, "limit", 10, "how many at most")
	return command
}

func jobPath(id string) string { return "/v1/jobs/" + url.PathEscape(id) }

// show makes one call and prints its answer: as it came, or for people.
func (p *program) show(ctx context.Context, flags *jobsFlags, method, path string, header http.Header, body any, describe func(jsontext.Value) (string, error)) error {
	c, err := p.newClient(flags.url)
	if err != nil {
		return err
	}
	var answer jsontext.Value
	if err := c.call(ctx, method, path, header, body, &answer); err != nil {
		return err
	}
	if flags.json {
		return p.printRaw(answer)
	}
	text, err := describe(answer)
	if err != nil {
		return failed(err)
	}
	return p.print(text)
}

// printRaw prints the service's own JSON; only white space is changed.
func (p *program) printRaw(answer jsontext.Value) error {
	if err := answer.Indent(jsontext.WithIndent("  ")); err != nil {
		return failed(err)
	}
	return p.print(string(answer) + "\n")
}

func (p *program) listJobs(ctx context.Context, flags *jobsFlags, path string) error {
	return list(ctx, p, flags, path, "ID STATE CONTRACT TARGET WON_BY CREATED", func(j shownJob) []string {
		return []string{j.ID, j.State, j.Contract, j.Target, number(j.CompletedBy), stamp(j.CreatedAt)}
	})
}

func (p *program) listAttempts(ctx context.Context, flags *jobsFlags, path string) error {
	return list(ctx, p, flags, path, "NUMBER STATE ROLE TARGET REASON SENDS LATENCY_MS ID", func(a shownAttempt) []string {
		return []string{strconv.Itoa(a.Number), a.State, a.Role, a.Target, text(a.Reason), strconv.Itoa(a.Sends), number(a.LatencyMS), a.ID}
	})
}

func list[T any](ctx context.Context, p *program, flags *jobsFlags, path, headings string, row func(T) []string) error {
	c, err := p.newClient(flags.url)
	if err != nil {
		return err
	}
	var answer jsontext.Value
	if err := c.call(ctx, http.MethodGet, path, nil, nil, &answer); err != nil {
		return err
	}
	if flags.json {
		return p.printRaw(answer)
	}
	var page listOf[T]
	if err := json.Unmarshal(answer, &page); err != nil {
		return failed(err)
	}
	rows := make([][]string, len(page.Items))
	for i, item := range page.Items {
		rows[i] = row(item)
	}
	if err := p.table(headings, rows); err != nil || page.NextCursor == nil {
		return err
	}
	fmt.Fprintf(p.stderr, "there are more: --cursor %s\n", visible(*page.NextCursor))
	return nil
}
