package main

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"
)

const missingKey = `providers:
  alpha:
    base_url: https://alpha.example/v1
    api_key_env: ALPHA_API_KEY
    models: {large: {}}
routes:
  support-triage: {primary: alpha/large}
`

func TestConfigurationErrorsNameFileAndLine(t *testing.T) {
	s := newTerminal(t)
	s.write("typo.yaml", "server:\n  listne: x\n")
	s.write("missing-key.yaml", missingKey)
	s.write("pasted-key.yaml", strings.ReplaceAll(missingKey, "ALPHA_API_KEY", "PASTED_API_KEY"))
	s.env["PASTED_API_KEY"] = "sk-hunt\u00e9r2"
	s.write("broken.yaml", "contracts: ./mine\n")
	s.write("mine/my-contract/contract.yaml", "name: my-contract\nvalid_for: soon\n")
	before := s.files()
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"serve", "--config", "absent.yaml"}, "absent.yaml: no such file"},
		{[]string{"serve", "--config", "typo.yaml"}, `typo.yaml:2: unknown key "listne"`},
		{[]string{"keys", "list", "--config", "typo.yaml"}, `typo.yaml:2: unknown key "listne"`},
		{[]string{"serve", "--config", "missing-key.yaml"}, "missing-key.yaml:4: provider alpha: environment variable ALPHA_API_KEY is not set"},
		{[]string{"certify", "--config", "missing-key.yaml"}, "missing-key.yaml:4: provider alpha: environment variable ALPHA_API_KEY is not set"},
		{[]string{"serve", "--config", "pasted-key.yaml"}, "pasted-key.yaml:4: provider alpha: the key in environment variable PASTED_API_KEY: character 8 is a letter beyond ASCII"},
		{[]string{"certify", "--config", "pasted-key.yaml"}, "pasted-key.yaml:4: provider alpha: the key in environment variable PASTED_API_KEY: character 8 is a letter beyond ASCII"},
		{[]string{"contracts", "lint", "--config", "broken.yaml"}, "mine/my-contract/contract.yaml:2: "},
		{[]string{"contracts", "lint", "mine/my-contract"}, "mine/my-contract/contract.yaml:2: "},
	} {
		s.Expect(s.refuses(exitUsage, row.args...)).To(gomega.HavePrefix(row.want))
	}
	s.Expect(s.files()).To(gomega.Equal(before), "nothing was created")
}

func TestAStoreThatCannotBeOpenedIsExitTwo(t *testing.T) {
	s := newTerminal(t)
	for url, want := range map[string]string{
		"sqlite:nowhere/x.db": "the store cannot be opened: sqlite nowhere/x.db:",
		"postgres://someone:hunter2@127.0.0.1:1/x?connect_timeout=2": "the store cannot be opened: postgres:",
		"mysql://x": "DATABASE_URL: want sqlite:PATH or postgres://…",
	} {
		s.env["DATABASE_URL"] = url
		line := s.refuses(exitUsage, "serve")
		s.Expect(line).To(gomega.HavePrefix(want))
		s.Expect(line).NotTo(gomega.ContainSubstring("hunter2"))
	}
	s.Expect(s.files()).To(gomega.BeEmpty())
}
