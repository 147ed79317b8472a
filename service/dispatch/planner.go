package dispatch

import (
	"context"
	"fmt"
	"sync"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/binding"
	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/prompt"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/chattemplate"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/failover"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// planner finds contracts by digest and binds them to targets, each once. A job's contract is the one
// that was archived with it; a target's profile is the one that is configured today.
type planner struct {
	store  store.Store
	config *config.Config

	served   map[string]served // by contract name
	mu       sync.Mutex
	byDigest map[string]*contracts.Contract
	bindings map[bindingKey]*binding.Binding
	keys     map[bindingKey]certification.Key
}

// served is a contract of the catalogue with what a job keeps of it.
type served struct {
	contract *contracts.Contract
	digest   string
	archive  []byte
}

type bindingKey struct {
	contract string // digest
	target   providers.Target
	profile  string // digest
}

func newPlanner(st store.Store, cfg *config.Config) *planner {
	p := &planner{
		store: st, config: cfg, served: map[string]served{},
		byDigest: map[string]*contracts.Contract{}, bindings: map[bindingKey]*binding.Binding{},
		keys: map[bindingKey]certification.Key{},
	}
	for _, contract := range cfg.Catalog.All() {
		s := served{contract: contract, digest: contract.Digest(), archive: contract.Archive()}
		p.served[contract.Name] = s
		p.byDigest[s.digest] = contract
	}
	return p
}

// brokenContract: an archive that was read and is none.
type brokenContract struct {
	digest string
	cause  error
}

func (e *brokenContract) Error() string { return fmt.Sprintf("contract %s: %v", e.digest, e.cause) }

// contract is the one that a job was created under. An error may pass: the archive could not be read.
func (p *planner) contract(ctx context.Context, digest string) (*contracts.Contract, error) {
	p.mu.Lock()
	known, ok := p.byDigest[digest]
	p.mu.Unlock()
	if ok {
		return known, nil
	}
	archive, err := p.store.ContractContent(ctx, digest)
	if err != nil {
		return nil, fmt.Errorf("contract %s: %w", digest, err)
	}
	contract, err := contracts.FromArchive(archive)
	if err != nil {
		return nil, &brokenContract{digest: digest, cause: err}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.byDigest[digest] = contract
	return contract, nil
}

// bind joins a contract to a target as it is configured today.
func (p *planner) bind(contract *contracts.Contract, digest string, target providers.Target) (*binding.Binding, error) {
	profile, ok := p.config.Profile(target)
	if !ok {
		return nil, fmt.Errorf("target %s is not configured", target)
	}
	return p.bindTo(contract, digest, target, profile)
}

func (p *planner) bindTo(contract *contracts.Contract, digest string, target providers.Target, profile providers.Profile) (*binding.Binding, error) {
	key := bindingKey{digest, target, profile.Digest()}
	p.mu.Lock()
	known, ok := p.bindings[key]
	p.mu.Unlock()
	if ok {
		return known, nil
	}
	bound, err := binding.Bind(contract, target, profile)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bindings[key] = bound
	return bound, nil
}

// key is what a proof for a configured target is asked for today.
func (p *planner) key(contract *contracts.Contract, digest string, target providers.Target) (certification.Key, bool) {
	profile, ok := p.config.Profile(target)
	if !ok {
		return certification.Key{}, false
	}
	of := bindingKey{digest, target, profile.Digest()}
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.keys[of]
	if !ok {
		known = certification.Key{
			Contract: contract.Name, Target: target, EffectiveDigest: contract.EffectiveDigest(target),
			ProfileDigest: of.profile, ProofDigest: contract.ProofDigest(target, profile),
		}
		p.keys[of] = known
	}
	return known, true
}

// candidates are the proofs that a decision about a job wants to see.
func (p *planner) candidates(contract *contracts.Contract, j job.Job) []certification.Key {
	var keys []certification.Key
	for _, target := range failover.Candidates(j.Plan, j.Target) {
		if key, ok := p.key(contract, j.ContractDigest, target); ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// fits says whether a job's request leaves room for its answer in a target's window.
func (p *planner) fits(contract *contracts.Contract, j job.Job, target providers.Target) bool {
	bound, err := p.bind(contract, j.ContractDigest, target)
	if err != nil {
		return true // its attempt says what is wrong
	}
	input, err := decodeInput(j.Input)
	if err != nil {
		return true
	}
	request, err := bound.Request(input)
	return err != nil || prompt.Fits(request, chattemplate.Count)
}

// deadlines are those that a job was accepted with; a provider that came later has today's.
func (p *planner) deadlines(plan job.Plan, provider string) job.Deadlines {
	if kept, ok := plan.Deadlines[provider]; ok {
		return kept
	}
	today := p.config.Providers[provider]
	return job.Deadlines{Timeout: today.Timeout, GiveUp: today.GiveUp, QueueTimeout: today.QueueTimeout}
}
