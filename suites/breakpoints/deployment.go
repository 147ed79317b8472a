package breakpoints

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// Deployment is a running service with a simulator behind it. [Deployment.Discover] fills in what is not
// said.
type Deployment struct {
	URL       string // of the API
	Key       string // an API key with the scopes client and operator
	Simulator string // the simulator's root, with or without /v1

	Contract string // whose route the scenarios use; "" = the first that has a certified fallback
	Input    string // JSON text of an input that the simulator answers well; "" = one of ours, for the shipped contracts

	Primary     string // the route's primary
	Fallback    string // the first fallback that is eligible
	MaxAttempts int    // the route's cap

	Patience time.Duration // how long to wait for something to happen; longer than the primary's soft deadline
}

// defaultPatience is beyond the default soft deadline of a provider.
const defaultPatience = 2 * time.Minute

// inputs are for the shipped contracts.
var inputs = map[string]string{
	"support-triage": `{"message": "Hello, order #B-5521 was to come on Monday and has not arrived yet. Where is it? Thanks, Zoë"}`,
	"invoice-extraction": `{"document": "Nordlicht Supplies Ltd\nInvoice No. NS-2041\nDate: 2026-03-04\nDue: 2026-04-03\nCurrency: EUR\n\n` +
		`Desk lamp  2 x 40.00  80.00\nCable  3 x 5.00  15.00\n\nSubtotal 95.00\nVAT 20% 19.00\nTotal 114.00"}`,
}

// Discover finds what the scenarios need: a contract with a route whose primary and one eligible
// fallback are served by the simulator under different names.
func (d *Deployment) Discover(ctx context.Context) error {
	d.URL = strings.TrimRight(d.URL, "/")
	d.Simulator = strings.TrimSuffix(strings.TrimRight(d.Simulator, "/"), "/v1")
	if d.Patience == 0 {
		d.Patience = defaultPatience
	}
	names, err := d.candidates(ctx)
	if err != nil {
		return err
	}
	var why []string
	for _, name := range names {
		reason, err := d.settleOn(ctx, name)
		if err != nil {
			return err
		}
		if reason == "" {
			return nil
		}
		why = append(why, name+": "+reason)
	}
	return fmt.Errorf("no contract of %s can be used (%s)", d.URL, strings.Join(why, "; "))
}

func (d *Deployment) api() client { return client{base: d.URL, key: d.Key} }

func (d *Deployment) control() control { return control{client{base: d.Simulator}} }

func (d *Deployment) candidates(ctx context.Context) ([]string, error) {
	if d.Contract != "" {
		return []string{d.Contract}, nil
	}
	var found page[contractView]
	if err := d.api().fetch(ctx, "/v1/contracts", &found); err != nil {
		return nil, err
	}
	var names []string
	for _, each := range found.Items {
		names = append(names, each.Name)
	}
	return names, nil
}

// settleOn takes a contract, or says why it will not do.
func (d *Deployment) settleOn(ctx context.Context, name string) (reason string, err error) {
	var contract contractView
	if err := d.api().fetch(ctx, "/v1/contracts/"+name, &contract); err != nil {
		return "", err
	}
	var targets page[targetView]
	if err := d.api().fetch(ctx, "/v1/contracts/"+name+"/targets", &targets); err != nil {
		return "", err
	}
	input := strings.TrimSpace(cmp.Or(d.Input, inputs[name]))
	switch {
	case contract.Route == nil:
		return "it has no route", nil
	case contract.Route.MaxAttempts < 2:
		return "its route allows one attempt only", nil
	case contract.Route.OnRefusal == "fallback":
		return "its route goes round refusals", nil
	case input == "":
		return "an input of it has to be given", nil
	}
	primary := contract.Route.Primary
	at := slices.IndexFunc(targets.Items, func(t targetView) bool {
		return t.Role == "fallback" && t.Eligible && model(t.Target) != model(primary)
	})
	if at < 0 {
		return "no fallback of its route is eligible under another model name than the primary's", nil
	}
	d.Contract, d.Input, d.Primary, d.Fallback, d.MaxAttempts = name, input, primary, targets.Items[at].Target, contract.Route.MaxAttempts
	return "", d.reach(ctx)
}

// reach makes sure that the simulator is one before anything is changed.
func (d *Deployment) reach(ctx context.Context) error {
	if _, err := d.control().behaviour(ctx, d.Primary); err != nil {
		return fmt.Errorf("no simulator answers at %s: %w", d.Simulator, err)
	}
	var input map[string]any
	if err := json.Unmarshal([]byte(d.Input), &input); err != nil {
		return fmt.Errorf("the input is not a JSON object: %w", err)
	}
	return nil
}
