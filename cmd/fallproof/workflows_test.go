package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/config"
)

// workflow is what of a GitHub workflow these tests look at.
type workflow struct {
	Name        string            `yaml:"name"`
	On          map[string]any    `yaml:"on"`
	Permissions map[string]string `yaml:"permissions"`
	Env         map[string]string `yaml:"env"`
	Jobs        map[string]struct {
		TimeoutMinutes int `yaml:"timeout-minutes"`
		Steps          []struct {
			Name  string            `yaml:"name"`
			Uses  string            `yaml:"uses"`
			Shell string            `yaml:"shell"`
			Env   map[string]string `yaml:"env"`
			Run   string            `yaml:"run"`
		} `yaml:"steps"`
	} `yaml:"jobs"`
}

func workflows(t *testing.T) map[string]workflow {
	t.Helper()
	g := gomega.NewWithT(t)
	files, err := filepath.Glob(filepath.Join(sources, ".github", "workflows", "*"))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	read := map[string]workflow{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		var flow workflow
		g.Expect(yaml.Unmarshal(text, &flow)).To(gomega.Succeed(), file)
		read[filepath.Base(file)] = flow
	}
	return read
}

func TestWorkflowsAreWhatTheySay(t *testing.T) {
	g := gomega.NewWithT(t)
	all := workflows(t)
	g.Expect(all).To(gomega.HaveLen(3))
	g.Expect(all["ci.yml"].On).To(gomega.HaveKey("pull_request"))
	g.Expect(all["contracts-pull-request.yml"].On).To(gomega.HaveKey("pull_request"))
	g.Expect(all["contracts-nightly.yml"].On).To(gomega.HaveKey("schedule"))
	for name, flow := range all {
		g.Expect(flow.On).NotTo(gomega.HaveKey("pull_request_target"), "foreign code does not meet secrets: %s", name)
		g.Expect(flow.Permissions).To(gomega.Equal(map[string]string{"contents": "read"}), name)
		for _, job := range flow.Jobs {
			g.Expect(job.TimeoutMinutes).To(gomega.BeNumerically(">", 0), name)
			for _, step := range job.Steps {
				g.Expect(step.Uses == "").NotTo(gomega.Equal(step.Run == ""), "%s: %s", name, step.Name)
				if step.Uses != "" {
					g.Expect(step.Uses).To(gomega.MatchRegexp(`^actions/[a-z-]+@(v\d+|[0-9a-f]{40})$`), name)
				}
				g.Expect(step.Run).NotTo(gomega.ContainSubstring("${{"), "what comes from outside goes through the environment: %s", name)
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(sources, ".github", "workflows", "contracts-pull-request.yml"))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(string(text)).NotTo(gomega.ContainSubstring("secrets."))
	g.Expect(string(text)).To(gomega.ContainSubstring("--replay"))
	_, err = os.Stat(filepath.Join(sources, ".ci", "run"))
	g.Expect(err).NotTo(gomega.HaveOccurred())
}

// call finds the program's calls in a script; a backslash joins lines.
var call = regexp.MustCompile(`bin/fallproof ((?:"[^"]*"|[^"|&;\n>])*)`)

// Every call in a workflow has a verb and flags that exist.
func TestWorkflowsCallWhatExists(t *testing.T) {
	found := 0
	for name, flow := range workflows(t) {
		for _, job := range flow.Jobs {
			for _, step := range job.Steps {
				script := strings.ReplaceAll(step.Run, "\\\n", " ")
				for _, match := range call.FindAllStringSubmatch(script, -1) {
					found++
					t.Run(name+"/"+step.Name, func(t *testing.T) {
						g := gomega.NewWithT(t)
						quoted := regexp.MustCompile(`"[^"]*"`).ReplaceAllString(match[1], "X")
						command, rest, err := (&program{getenv: os.Getenv}).root().Find(strings.Fields(quoted))
						g.Expect(err).NotTo(gomega.HaveOccurred())
						g.Expect(command.Name()).To(gomega.Equal("certify"))
						g.Expect(command.ParseFlags(rest)).To(gomega.Succeed())
						g.Expect(command.Flags().Args()).To(gomega.BeEmpty())
						g.Expect(command.ValidateFlagGroups()).To(gomega.Succeed())
					})
				}
			}
		}
	}
	gomega.NewWithT(t).Expect(found).To(gomega.Equal(2))
}

// The job fails for a rejection and for a run that could not be made, and warns of what is inconclusive; the
// summary is shown each time.
func TestWorkflowsExitCodes(t *testing.T) {
	for name, flow := range workflows(t) {
		for _, job := range flow.Jobs {
			for _, step := range job.Steps {
				if !strings.Contains(step.Run, "bin/fallproof") {
					continue
				}
				for _, row := range []struct {
					code, want int
					summary    bool
				}{{exitOK, 0, true}, {exitNo, 1, true}, {exitUsage, 2, false}, {exitInconclusive, 0, true}} {
					t.Run(fmt.Sprintf("%s, exit %d", name, row.code), func(t *testing.T) {
						s := newTerminal(t)
						stub := "#!/bin/sh\necho \"$@\" >arguments\n"
						if row.summary {
							stub += "echo '| matrix |' >summary.md\n"
						}
						s.write("bin/fallproof", stub+fmt.Sprintf("exit %d\n", row.code))
						s.Expect(os.Chmod("bin/fallproof", 0o700)).To(gomega.Succeed())
						s.write("step-summary", "before\n")
						// As the runner starts a step whose shell is bash.
						s.Expect(step.Shell).To(gomega.Equal("bash"))
						s.write("script.sh", step.Run)
						command := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "script.sh")
						command.Env = append(os.Environ(), "GITHUB_STEP_SUMMARY=step-summary", "CONFIG=a config.yaml", "CASSETTES=the tapes")
						output, _ := command.CombinedOutput()
						s.Expect(command.ProcessState.ExitCode()).To(gomega.Equal(row.want), string(output))
						s.Expect(strings.Contains(string(output), "::warning ")).To(gomega.Equal(row.code == exitInconclusive))
						summary, err := os.ReadFile("step-summary")
						s.Expect(err).NotTo(gomega.HaveOccurred())
						s.Expect(strings.Contains(string(summary), "before\n| matrix |\n")).To(gomega.Equal(row.summary))
						arguments, err := os.ReadFile("arguments")
						s.Expect(err).NotTo(gomega.HaveOccurred())
						s.Expect(string(arguments)).To(gomega.HavePrefix("certify --config a config.yaml --"))
						if strings.Contains(name, "nightly") {
							s.Expect(string(arguments)).To(gomega.MatchRegexp(`--run nightly-\d{4}-\d\d-\d\d `))
						}
					})
				}
			}
		}
	}
}

// The pull request's own call, with the folder that is committed: what it says on the first one.
func TestCommittedCassettesReplay(t *testing.T) {
	s := newTerminal(t)
	flow := workflows(t)["contracts-pull-request.yml"]
	path := filepath.Join(sources, flow.Env["CONFIG"])
	c, err := config.Load(path, s.getenv)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	s.Expect(c.Providers).NotTo(gomega.BeEmpty())
	code, output := s.certify("--config", path, "--replay", filepath.Join(sources, flow.Env["CASSETTES"]), "--json", "records.json")
	s.Expect(code).To(gomega.Equal(exitOK), "%s\nwhere the contract, the probes or the wire format changed: make cassettes", output)
	for _, record := range s.records("records.json") {
		s.Expect(record.Source).To(gomega.Equal("replay"))
		s.Expect(record.Verdict).To(gomega.Equal("certified"))
		s.Expect(record.warned("recorded_simulated")).To(gomega.BeTrue())
	}
	files, err := filepath.Glob(filepath.Join(sources, flow.Env["CASSETTES"], "*.*.*.yaml"))
	s.Expect(err).NotTo(gomega.HaveOccurred())
	size := int64(0)
	for _, file := range files {
		info, err := os.Stat(file)
		s.Expect(err).NotTo(gomega.HaveOccurred())
		size += info.Size()
	}
	s.Expect(size).To(gomega.BeNumerically("<", 1<<20), "small enough for everybody's clone")
}
