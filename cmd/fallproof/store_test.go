package main

import (
	"os"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/migrations"
	"github.com/fallproof/fallproof/service/api"
)

func TestKeysAreShownOnceAndStoredHashed(t *testing.T) {
	s := newTerminal(t)
	created := s.run("keys", "create", "--owner", "billing", "--scope", "client, operator")
	s.Expect(created.code).To(gomega.Equal(exitOK), created.stderr)
	s.Expect(created.stdout).To(gomega.MatchRegexp(`^fp_[0-9a-f]{64}\n$`), "the key alone")
	s.Expect(created.stderr).NotTo(gomega.ContainSubstring(created.stdout[:67]))
	s.must("keys", "create", "--owner", "other")

	type listed struct {
		ID        string   `json:"id"`
		Owner     string   `json:"owner"`
		Scopes    []string `json:"scopes"`
		CreatedAt string   `json:"created_at"`
		RevokedAt *string  `json:"revoked_at"`
	}
	list := func(args ...string) (keys []listed) {
		text := s.must(append([]string{"keys", "list", "--json"}, args...)...)
		s.Expect(text).NotTo(gomega.ContainSubstring(api.HashKey(created.stdout[:67])))
		s.Expect(json.Unmarshal([]byte(text), &keys)).To(gomega.Succeed())
		return keys
	}
	s.Expect(list()).To(gomega.HaveLen(2))
	billing := list("--owner", "billing")
	s.Expect(billing).To(gomega.HaveLen(1))
	s.Expect(billing[0].Scopes).To(gomega.Equal([]string{"client", "operator"}))
	s.Expect(list("--owner", "other")[0].Scopes).To(gomega.Equal([]string{"client"}))

	content, err := os.ReadFile("fallproof.db")
	s.Expect(err).NotTo(gomega.HaveOccurred())
	s.Expect(string(content)).NotTo(gomega.ContainSubstring(created.stdout[:67]))

	s.must("keys", "revoke", billing[0].ID)
	s.Expect(list("--owner", "billing")[0].RevokedAt).NotTo(gomega.BeNil())
	s.Expect(s.must("keys", "list")).To(gomega.ContainSubstring("billing"))
	s.Expect(s.refuses(exitNo, "keys", "revoke", "nothing")).To(gomega.Equal(`no key has the id "nothing"`))
}

func TestMigrations(t *testing.T) {
	s := newTerminal(t)
	s.Expect(s.refuses(exitNo, "migrate", "status")).To(gomega.ContainSubstring("fallproof migrate up creates it"))
	s.Expect(s.files()).To(gomega.BeEmpty(), "asking creates nothing")
	s.must("migrate", "up")
	var found []migrations.Status
	s.Expect(json.Unmarshal([]byte(s.must("migrate", "status", "--json")), &found)).To(gomega.Succeed())
	s.Expect(found).NotTo(gomega.BeEmpty())
	for _, migration := range found {
		s.Expect(migration.Applied).To(gomega.BeTrue(), migration.Name)
	}
	s.Expect(s.must("migrate", "status")).To(gomega.ContainSubstring(found[0].Name))
	s.must("migrate", "up")
}

func TestLint(t *testing.T) {
	s := newTerminal(t)
	s.Expect(s.must("contracts", "lint")).To(gomega.ContainSubstring("support-triage: good"))
	shipped := os.DirFS(sources + "/contracts/catalog/support-triage")
	s.Expect(os.CopyFS("mine/support-triage", shipped)).To(gomega.Succeed())
	s.Expect(s.must("contracts", "lint", "mine/support-triage")).To(gomega.Equal(s.must("contracts", "lint", "support-triage")))

	s.write("mine/support-triage/schema.json", `{"type": "nonsense"}`)
	broken := s.run("contracts", "lint", "mine/support-triage", "--json")
	s.Expect(broken.code).To(gomega.Equal(exitNo), broken.stderr)
	var told struct {
		Findings []finding `json:"findings"`
	}
	s.Expect(json.Unmarshal([]byte(broken.stdout), &told)).To(gomega.Succeed())
	s.Expect(told.Findings).To(gomega.ContainElement(gomega.And(
		gomega.HaveField("File", "schema.json"), gomega.HaveField("Severity", gomega.BeEquivalentTo("error")))))
	people := s.run("contracts", "lint", "mine/support-triage")
	s.Expect(people.code).To(gomega.Equal(exitNo))
	s.Expect(people.stdout).To(gomega.ContainSubstring("support-triage/schema.json: error: "))
	s.Expect(people.stdout).To(gomega.HaveSuffix("support-triage: has errors\n"))
}
