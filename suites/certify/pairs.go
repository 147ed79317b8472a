package certify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/openai"
	"github.com/fallproof/fallproof/service/config"
)

// Selection limits what is certified; empty fields do not.
type Selection struct {
	Provider string
	Target   string // names a pair even where no route does
	Contract string
	Recorded bool // of a replay: the pairs call nobody, and no key need be there
}

func (s Selection) String() string {
	var parts []string
	for _, part := range [][2]string{{"provider", s.Provider}, {"target", s.Target}, {"contract", s.Contract}} {
		if part[1] != "" {
			parts = append(parts, part[0]+" "+part[1])
		}
	}
	return strings.Join(parts, ", ")
}

// Pairs are the pairs that the routes name, as far as they are selected; with a target selected, every
// contract (or the selected one) at that target. They are sorted by target and contract, and call the
// providers as the service does. release closes the connections afterwards.
func Pairs(cfg *config.Config, selection Selection) (pairs []Pair, release func(), err error) {
	if selection.Recorded {
		pairs, err = recordedPairs(cfg, selection)
		return pairs, func() {}, err
	}
	named, err := selection.named(cfg)
	if err != nil {
		return nil, nil, err
	}
	clients := map[string]*openai.Client{}
	keys := cfg.Scrubber()
	release = func() {
		for _, client := range clients {
			client.Close()
		}
	}
	for _, n := range named {
		pair, err := n.pair(cfg)
		if err != nil {
			return nil, nil, err
		}
		provider, _ := cfg.Provider(n.target.Provider)
		if clients[provider.Name] == nil {
			key, err := cfg.APIKey(provider.Name)
			if err != nil {
				return nil, nil, err
			}
			clients[provider.Name] = openai.New(openai.Config{BaseURL: provider.BaseURL, APIKey: key, Secrets: keys})
		}
		pair.Client, pair.Scrub = clients[provider.Name], keys
		pairs = append(pairs, pair)
	}
	return pairs, release, nil
}

func recordedPairs(cfg *config.Config, selection Selection) ([]Pair, error) {
	named, err := selection.named(cfg)
	if err != nil {
		return nil, err
	}
	pairs, keys := make([]Pair, len(named)), cfg.Scrubber() // of such keys as are there: today's requests are compared without them
	for i, n := range named {
		if pairs[i], err = n.pair(cfg); err != nil {
			return nil, err
		}
		pairs[i].Client, pairs[i].Scrub = nobody{}, keys
	}
	return pairs, nil
}

// pair is all of a pair but its client.
func (n namedPair) pair(cfg *config.Config) (Pair, error) {
	profile, ok := cfg.Profile(n.target)
	if !ok {
		return Pair{}, cfg.Undeclared(n.target)
	}
	provider, _ := cfg.Provider(n.target.Provider)
	return Pair{
		Contract: n.contract, Target: n.target, Profile: profile, Timeout: provider.Timeout,
		ServerErrors: provider.ServerErrors, Concurrency: provider.Concurrency, LiveOnLoopback: provider.LiveOnLoopback,
	}, nil
}

// namedPair is a pair before its client was made.
type namedPair struct {
	contract *contracts.Contract
	target   providers.Target
}

func (s Selection) named(cfg *config.Config) ([]namedPair, error) {
	candidates, err := s.candidates(cfg)
	if err != nil {
		return nil, err
	}
	var named []namedPair
	for _, n := range candidates {
		if s.Provider != "" && n.target.Provider != s.Provider {
			continue
		}
		if s.Contract != "" && n.contract.Name != s.Contract {
			continue
		}
		if !slices.Contains(named, n) {
			named = append(named, n)
		}
	}
	if len(named) == 0 {
		return nil, s.nothing(cfg)
	}
	slices.SortFunc(named, func(a, b namedPair) int {
		return cmp.Or(cmp.Compare(a.target.String(), b.target.String()), cmp.Compare(a.contract.Name, b.contract.Name))
	})
	return named, nil
}

// nothing says why no pair is left.
func (s Selection) nothing(cfg *config.Config) error {
	what, why := "nothing to certify", ""
	if limits := s.String(); limits != "" {
		what += " (" + limits + ")"
	}
	if len(cfg.Routes) == 0 {
		why = fmt.Sprintf(", for %s has no routes", cmp.Or(cfg.Path, config.DefaultPath))
	}
	return fmt.Errorf("%s: no route names such a pair%s; name one with --target PROVIDER/MODEL, or add a route", what, why)
}

// candidates are all pairs that may be meant. What does not exist at all is an error of its own.
func (s Selection) candidates(cfg *config.Config) ([]namedPair, error) {
	if _, ok := cfg.Catalog.Get(s.Contract); s.Contract != "" && !ok {
		return nil, fmt.Errorf("contract %q is not known; there are %s", s.Contract, strings.Join(cfg.Catalog.Names(), ", "))
	}
	if _, ok := cfg.Provider(s.Provider); s.Provider != "" && !ok {
		return nil, fmt.Errorf("provider %q is not declared; declared are: %s", s.Provider,
			cmp.Or(strings.Join(slices.Sorted(maps.Keys(cfg.Providers)), ", "), "none"))
	}
	var candidates []namedPair
	if s.Target != "" {
		target, err := providers.ParseTarget(s.Target)
		if err != nil {
			return nil, err
		}
		if _, ok := cfg.Profile(target); !ok {
			return nil, cfg.Undeclared(target)
		}
		for _, c := range cfg.Catalog.All() {
			candidates = append(candidates, namedPair{c, target})
		}
		return candidates, nil
	}
	for _, c := range cfg.Catalog.All() {
		route, ok := cfg.Routes[c.Name]
		if !ok {
			continue
		}
		for _, target := range append([]providers.Target{route.Primary}, route.Fallbacks...) {
			candidates = append(candidates, namedPair{c, target})
		}
	}
	return candidates, nil
}
