package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/openai"
	"github.com/fallproof/fallproof/providers/secrets"
	"github.com/fallproof/fallproof/service/circuit"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

// Defaults of Options. A lost replica's attempts are in doubt within a lease and a sweep.
const (
	DefaultLease = 15 * time.Second
	DefaultRenew = 5 * time.Second
	DefaultSweep = 5 * time.Second
)

// lastWords is how long a shutdown that ran out of time still has to store that attempts are in doubt.
const lastWords = 5 * time.Second

// Options are what a dispatcher is made of.
type Options struct {
	Store  store.Store
	Config *config.Config
	Client func(provider string) providers.Provider // nil = OpenAI-compatible clients from Config
	Logger *slog.Logger                             // nil = slog.Default()

	Lease time.Duration // on each attempt that runs here; 0 = DefaultLease
	Renew time.Duration // how often leases are renewed; 0 = DefaultRenew
	Sweep time.Duration // how often what is overdue is looked for; 0 = DefaultSweep
	Net   time.Duration // how often a waiter looks for himself, in case he was not told; 0 = DefaultNet
}

// Dispatcher is one replica's share of the service. It is safe for concurrent use.
type Dispatcher struct {
	options Options
	store   store.Store
	config  *config.Config
	log     *slog.Logger
	bootID  string // of this incarnation: a restart under the same host name is another one

	planner *planner
	clients map[string]providers.Provider
	idle    []func() // closes the clients that were made here
	slots   map[string]*slots
	flights *flights
	bells   *bells
	steps   inHand

	circuits   *circuit.Circuits
	intake     context.Context // ends when nothing new is taken in
	stopIntake context.CancelFunc
	sending    context.Context // ends when connections are closed
	hangUpAll  context.CancelFunc
	life       context.Context // ends when nothing more is stored
	die        context.CancelFunc

	leasesKept chan struct{} // closed when the renewing has ended
	swept      chan struct{} // closed when the sweeping has ended
	tended     chan struct{} // closed when the looking after proofs has ended
	watched    chan struct{} // closed when the watching has ended
	watching   watching
	stopQueue  func(context.Context) error
}

// New prepares a dispatcher; it runs nothing before Start. It errs where a provider's API key is
// declared, and missing or malformed.
func New(options Options) (*Dispatcher, error) {
	options.Lease = cmp.Or(options.Lease, DefaultLease)
	options.Renew = cmp.Or(options.Renew, min(DefaultRenew, options.Lease/3))
	options.Sweep = cmp.Or(options.Sweep, DefaultSweep)
	options.Net = cmp.Or(options.Net, DefaultNet)
	options.Logger = cmp.Or(options.Logger, slog.Default())
	d := &Dispatcher{
		options: options, store: options.Store, config: options.Config, bootID: newID(),
		planner: newPlanner(options.Store, options.Config),
		clients: map[string]providers.Provider{}, slots: map[string]*slots{},
		flights: newFlights(), bells: newBells(), steps: inHand{refs: map[job.Ref]bool{}},
		circuits: circuit.New(circuitOf(options.Config)), leasesKept: make(chan struct{}),
		swept: make(chan struct{}), tended: make(chan struct{}), watched: make(chan struct{}), watching: watching{err: errNotWatching},
	}
	d.log = options.Logger.With("boot_id", d.bootID)
	keys := options.Config.Scrubber()
	for name, provider := range options.Config.Providers {
		client, err := d.client(provider, keys)
		if err != nil {
			return nil, err
		}
		d.clients[name], d.slots[name] = client, newSlots(provider.Concurrency)
	}
	d.intake, d.stopIntake = context.WithCancel(context.Background())
	d.sending, d.hangUpAll = context.WithCancel(context.Background())
	d.life, d.die = context.WithCancel(context.Background())
	return d, nil
}

func (d *Dispatcher) client(provider config.Provider, keys secrets.Scrubber) (providers.Provider, error) {
	if d.options.Client != nil {
		return d.options.Client(provider.Name), nil
	}
	key, err := d.config.APIKey(provider.Name)
	if err != nil {
		return nil, err
	}
	client := openai.New(openai.Config{BaseURL: provider.BaseURL, APIKey: key, Secrets: keys})
	d.idle = append(d.idle, client.Close)
	return client, nil
}

// BootID names this incarnation in leases and histories.
func (d *Dispatcher) BootID() string { return d.bootID }

// Start works the doorbells until Shutdown, and sweeps at once and from then on. Where it errs, nothing was begun that would be
// abandoned. It is called once.
func (d *Dispatcher) Start(ctx context.Context) error {
	go d.keepLeases()
	go d.watch()
	go d.keepSweeping()
	go d.keepTending()
	// River's own context is not ctx: its end would cut work off in the middle. Shutdown ends it.
	stop, err := d.store.StartQueue(context.WithoutCancel(ctx), d.queueConfig())
	if err != nil {
		d.stopIntake()
		d.die()
		<-d.leasesKept
		<-d.swept
		<-d.tended
		<-d.watched
		return fmt.Errorf("the queue in the database did not start: %w", err)
	}
	d.stopQueue = stop
	if err := d.sweep(ctx); err != nil { // one attempt that cannot be swept keeps nobody from starting
		d.log.Warn("the first sweep did not finish", "error", err)
	}
	d.log.Info("dispatcher started", "providers", len(d.clients))
	return nil
}

// Shutdown stops intake and waits for the attempts that run here until ctx ends; the rest it leaves in
// doubt, with the reason. Its error says that this was so. It is called once.
func (d *Dispatcher) Shutdown(ctx context.Context) error {
	d.flights.close()
	d.stopIntake()
	if d.stopQueue == nil {
		d.die()
		return nil
	}
	stopped := make(chan error, 1)
	go func() { stopped <- d.stopQueue(context.WithoutCancel(ctx)) }() // its workers only wait for slots, and were woken
	err := d.flights.wait(ctx)
	d.hangUpAll()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	if err != nil {
		err = errors.Join(errors.New("attempts were left in doubt"), err, d.flights.wait(last))
	}
	d.die()
	<-d.leasesKept
	<-d.swept
	<-d.tended
	<-d.watched
	select {
	case stopErr := <-stopped:
		err = errors.Join(err, stopErr)
	case <-last.Done():
		err = errors.Join(err, errors.New("the queue did not stop in time"))
	}
	for _, closeIdle := range d.idle {
		closeIdle()
	}
	d.log.Info("dispatcher stopped", "error", err)
	return err
}
