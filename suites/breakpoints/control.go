package breakpoints

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/fallproof/fallproof/providers/simulator"
)

// control is the simulator seen through its control paths.
type control struct{ client }

func (c control) ledger(ctx context.Context, parameters string) ([]simulator.Entry, error) {
	var found simulator.LedgerPage
	err := c.fetch(ctx, "/simulator/ledger?"+parameters, &found)
	return found.Entries, err
}

// arrival returns when the attempt's request has reached the simulator whole.
func (c control) arrival(ctx context.Context, attemptID string) error {
	_, err := c.ledger(ctx, "wait_for=1&timeout=30s&attempt="+url.QueryEscape(attemptID))
	return err
}

// conclusion returns when the attempt's request has ended.
func (c control) conclusion(ctx context.Context, attemptID string) error {
	_, err := c.ledger(ctx, "wait_for=1&timeout=30s&answered=true&attempt="+url.QueryEscape(attemptID))
	return err
}

// release lets the open requests of an attempt answer, and says how many there were.
func (c control) release(ctx context.Context, attemptID string) (int, error) {
	var released struct {
		Released int `json:"released"`
	}
	body, err := json.Marshal(map[string]string{"attempt": attemptID})
	if err != nil {
		return 0, err
	}
	got, err := c.call(ctx, http.MethodPost, "/simulator/release", body)
	if err == nil && got.Status != http.StatusOK {
		err = fmt.Errorf("the simulator answered %s", got)
	}
	return released.Released, errors.Join(err, json.Unmarshal(got.Body, &released))
}

// behave gives the model of a target a personality.
func (c control) behave(ctx context.Context, target, personality string) error {
	body, err := json.Marshal(map[string]string{"personality": personality})
	if err != nil {
		return err
	}
	got, err := c.call(ctx, http.MethodPut, "/simulator/models/"+model(target), body)
	if err == nil && got.Status != http.StatusOK {
		err = fmt.Errorf("the simulator answered %s", got)
	}
	return err
}

// behaviour is the personality that was set for the model of a target; "" where none was.
func (c control) behaviour(ctx context.Context, target string) (string, error) {
	var states struct {
		Models []simulator.ModelState `json:"models"`
	}
	if err := c.fetch(ctx, "/simulator/models", &states); err != nil {
		return "", err
	}
	for _, state := range states.Models {
		if state.Model == model(target) {
			return state.Personality, nil
		}
	}
	return "", nil
}

// model is what a target's model is called on the wire.
func model(target string) string {
	_, name, _ := strings.Cut(target, "/")
	return name
}
