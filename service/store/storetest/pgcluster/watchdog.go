package pgcluster

import (
	"context"
	"fmt"
	"io"
	"os/exec"
)

// The watchdog is a shell that waits for the end of its standard input, whose other end only this process
// holds. The system closes that end when the process is gone, by whatever death, and no thread or signal handler
// of ours has to live to see it (a parent-death signal would be bound to one thread, and exists on Linux alone).
//
// It goes by the server's own pid file, so that restarts need not be told to it. The wait is bounded
// because a dead server that nobody reaps still answers kill -0. A server that has not written its pid file
// yet ends by itself when it finds its folder gone.
const watchdogScript = `
cat >/dev/null
if read -r pid <"$0/data/postmaster.pid"; then
	kill -QUIT "$pid"
	tries=0
	while [ "$tries" -lt 100 ] && kill -0 "$pid"; do
		sleep 0.1
		tries=$((tries + 1))
	done
fi
rm -rf "$0"
`

// watchdog removes a cluster, folder and server, once this process is gone or lets it.
type watchdog struct {
	command *exec.Cmd
	leash   io.WriteCloser
}

func startWatchdog(folder string, as account) (*watchdog, error) {
	command := prepare(exec.CommandContext(context.Background(), "/bin/sh", "-c", watchdogScript, folder), as, "/")
	leash, err := command.StdinPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("starting the watchdog of the cluster: %w", err)
	}
	return &watchdog{command: command, leash: leash}, nil
}

// release lets the watchdog do its work now, and returns when it is done. Its exit code is no news: it
// may lack the right to remove the folder itself, which the caller then does.
func (w *watchdog) release() {
	_ = w.leash.Close()
	_ = w.command.Wait()
}
