package pgcluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const (
	memoryFolder = "/dev/shm" // Linux keeps it in memory
	memoryNeeded = 4 << 30    // bytes free there, before a cluster that may grow by 8 MB a database goes there
)

// temporaryFolder is where the user wants temporary files, and without such a wish in memory where there is
// plenty: a database is hundreds of small files, and making it there takes a quarter of the time.
func temporaryFolder() string {
	var there syscall.Statfs_t
	if os.Getenv("TMPDIR") == "" && syscall.Statfs(memoryFolder, &there) == nil &&
		uint64(there.Bavail)*uint64(there.Bsize) >= memoryNeeded { //nolint:unconvert // the types differ from system to system
		return memoryFolder
	}
	return os.TempDir()
}

// maxSocketPath is what a Unix socket's path may measure on the strictest system (macOS: 104 with its final NUL).
const maxSocketPath = 103

// newFolder makes the folder of a cluster: private to the server's account, which must be able to reach
// it, and short enough in name for a socket. The temporary folder of the process may be neither.
func newFolder(owner account) (string, error) {
	parent := temporaryFolder()
	if len(filepath.Join(parent, "fallproof-pg-0123456789", socketName)) > maxSocketPath || (owner != nil && !openToAll(parent)) {
		parent = "/tmp"
	}
	folder, err := os.MkdirTemp(parent, "fallproof-pg-")
	if err != nil {
		return "", fmt.Errorf("making the cluster's folder: %w", err)
	}
	if owner != nil {
		if err := os.Chown(folder, int(owner.Uid), int(owner.Gid)); err != nil {
			return "", errors.Join(fmt.Errorf("handing the cluster's folder to its user: %w", err), os.Remove(folder))
		}
	}
	return folder, nil
}

// openToAll says whether everybody may pass through the folder and all that lie above it.
func openToAll(folder string) bool {
	resolved, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return false
	}
	for at := resolved; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if at == filepath.Dir(at) {
			return true
		}
	}
}
