package pgcluster

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// account is whom the server runs as; nil means as ourselves.
type account = *syscall.Credential

// serverAccount finds somebody to run the server, which refuses to run as root.
func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(found.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(found.Gid, 10, 32)
		if uidErr == nil && gidErr == nil && uid != 0 {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("PostgreSQL refuses to run as root, and this machine has neither a user postgres nor a user nobody: add one, or run the tests as another user")
}

// prepare makes a command run as the account, inside the cluster's folder, with messages in English and
// none of the caller's PG* variables, which would change the server's behaviour.
//
// It also gets a process group of its own: an interrupt typed at a terminal goes to the whole group of
// the test, and the server has to outlive it by as long as the test's own clean-up takes.
func prepare(command *exec.Cmd, as account, folder string) *exec.Cmd {
	command.Dir = folder
	command.SysProcAttr = &syscall.SysProcAttr{Credential: as, Setpgid: true}
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "PG") && !strings.HasPrefix(variable, "LC_") && !strings.HasPrefix(variable, "LANG") {
			command.Env = append(command.Env, variable)
		}
	}
	command.Env = append(command.Env, "LC_ALL=C", "HOME="+folder)
	return command
}
