package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fallproof/fallproof/service/store"
)

// jobsChannel carries ids of jobs that have changed and nothing else: a payload ends at 8,000 bytes, and
// whoever needs more reads it.
const jobsChannel = "fallproof_jobs"

// errDeaf says that PostgreSQL took LISTEN and NOTIFY, and no notification came.
var errDeaf = errors.New("notifications do not arrive: something between here and PostgreSQL swallows them, such as a connection pooler in transaction mode")

// ears hear what other processes announce, over a connection that is not the pool's.
//
// A connection that died without a word looks as one on which nothing happens, and a pooler in transaction
// mode takes a LISTEN that nobody will ever hear. So the ears also listen on a channel of their own,
// notify it through the pool, and believe that they hear only while they hear that.
type ears struct {
	pool    *pgxpool.Pool
	channel string // ours alone

	every         time.Duration // between two tests
	within        time.Duration // how long an echo may take
	pause, pauses time.Duration // before listening anew: the first one, the longest one
}

func newEars(pool *pgxpool.Pool) ears {
	return ears{
		pool: pool, channel: "fallproof_echo_" + strings.ToLower(rand.Text()),
		every: 10 * time.Second, within: 3 * time.Second, pause: 100 * time.Millisecond, pauses: 30 * time.Second,
	}
}

// listen hears until ctx ends, and begins anew whenever it cannot.
func (e ears) listen(ctx context.Context, watcher store.Watcher) {
	pause := e.pause
	for {
		heard, err := e.session(ctx, watcher)
		if ctx.Err() != nil {
			return
		}
		watcher.State(err)
		if heard {
			pause = e.pause
		}
		timer := time.NewTimer(jittered(pause))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		pause = min(2*pause, e.pauses)
	}
}

// jittered is half of a pause to all of it: replicas that lost one database do not come back in step.
func jittered(pause time.Duration) time.Duration {
	extra, err := rand.Int(rand.Reader, big.NewInt(int64(pause/2)+1))
	if err != nil { // documented never to happen
		return pause
	}
	return pause/2 + time.Duration(extra.Int64())
}

// session listens on one connection until it breaks; heard says whether it ever did hear.
func (e ears) session(ctx context.Context, watcher store.Watcher) (heard bool, err error) {
	conn, err := e.open(ctx)
	if err != nil {
		return false, err
	}
	defer hangUp(conn)
	if err := e.subscribe(ctx, conn, jobsChannel); err != nil {
		return false, err
	}
	watcher.State(nil)
	watcher.Changed("") // whatever was announced before went unheard

	ctx, end := context.WithCancelCause(ctx)
	echoes, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		end(e.hear(ctx, conn, watcher, echoes))
	}()
	end(e.keepTesting(ctx, echoes))
	<-ended
	return true, context.Cause(ctx)
}

// hear passes on what arrives, until nothing can any more.
func (e ears) hear(ctx context.Context, conn *pgx.Conn, watcher store.Watcher, echoes chan<- string) error {
	for {
		notification, err := conn.WaitForNotification(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("the connection that listens has ended: %w", err)
		case notification.Channel == jobsChannel:
			watcher.Changed(notification.Payload)
		default:
			select {
			case echoes <- notification.Payload:
			default: // one that nobody waits for any more
			}
		}
	}
}

// keepTesting returns when an echo fails to come, or when ctx ends.
func (e ears) keepTesting(ctx context.Context, echoes <-chan string) error {
	ticker := time.NewTicker(e.every)
	defer ticker.Stop()
	for test := 1; ; test++ {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := e.call(ctx, strconv.Itoa(test)); err != nil {
			continue // the pool's trouble says nothing about the ears
		}
		if err := e.await(ctx, echoes, strconv.Itoa(test)); err != nil {
			return err
		}
	}
}

func (e ears) await(ctx context.Context, echoes <-chan string, wanted string) error {
	timer := time.NewTimer(e.within)
	defer timer.Stop()
	for {
		select {
		case echo := <-echoes:
			if echo == wanted {
				return nil
			}
		case <-timer.C:
			return errDeaf
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// open returns a connection that was heard an echo on. No other channel is listened to before: a LISTEN
// through a pooler stays with a server connection that others go on to use.
func (e ears) open(ctx context.Context) (*pgx.Conn, error) {
	conn, err := e.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := e.firstTest(ctx, conn); err != nil {
		hangUp(conn)
		return nil, err
	}
	return conn, nil
}

func (e ears) firstTest(ctx context.Context, conn *pgx.Conn) error {
	if err := e.subscribe(ctx, conn, e.channel); err != nil {
		return err
	}
	if err := e.call(ctx, "0"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, e.within)
	defer cancel()
	if _, err := conn.WaitForNotification(ctx); errors.Is(err, context.DeadlineExceeded) {
		return errDeaf
	} else if err != nil {
		return err
	}
	return nil
}

func (e ears) subscribe(ctx context.Context, conn *pgx.Conn, channel string) error {
	ctx, cancel := context.WithTimeout(ctx, e.within)
	defer cancel()
	_, err := conn.Exec(ctx, "LISTEN "+channel)
	return err
}

// call notifies the ears through the pool.
func (e ears) call(ctx context.Context, echo string) error {
	ctx, cancel := context.WithTimeout(ctx, e.within)
	defer cancel()
	_, err := e.pool.Exec(ctx, "SELECT pg_notify($1, $2)", e.channel, echo)
	return err
}

// deaf says whether PostgreSQL can be reached and its notifications cannot.
func (e ears) deaf(ctx context.Context) bool {
	conn, err := e.open(ctx)
	if err != nil {
		return errors.Is(err, errDeaf)
	}
	hangUp(conn)
	return false
}

const connectLimit = 10 * time.Second

// connect is as the pool does it, with probes that notice a peer that is gone.
func (e ears) connect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	config := e.pool.Config().ConnConfig
	config.RuntimeParams["application_name"] = "fallproof listen"
	dialer := &net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3,
	}}
	config.DialFunc = pgconn.DialFunc(dialer.DialContext)
	return pgx.ConnectConfig(ctx, config)
}

// hangUp says goodbye for a moment at most; what cannot be said is for the server's own probes.
func hangUp(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}
