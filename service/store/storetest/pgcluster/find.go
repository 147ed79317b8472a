package pgcluster

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// errNotInstalled is one line, because it is all that a failing test should say.
var errNotInstalled = errors.New("PostgreSQL is needed and not installed: install it (apt-get install postgresql, " +
	"dnf install postgresql-server or brew install postgresql), or set " + URLVariable + " to a server that tests may create databases on")

// findServer returns the first of the folders where PostgreSQL may be that holds what a cluster needs.
func findServer(folders []string) (string, error) {
	for _, folder := range folders {
		if isProgram(filepath.Join(folder, "initdb")) && isProgram(filepath.Join(folder, "postgres")) {
			return folder, nil
		}
	}
	return "", errNotInstalled
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// serverFolders lists where PostgreSQL may be, best first: what the user chose by PATH, what the
// installed client reports, then the places that packages use without putting them on the PATH.
func serverFolders() []string {
	folders := filepath.SplitList(os.Getenv("PATH"))
	if reported, err := exec.CommandContext(context.Background(), "pg_config", "--bindir").Output(); err == nil {
		folders = append(folders, strings.TrimSpace(string(reported)))
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",                               // Debian, Ubuntu
		"/usr/pgsql-*/bin",                                        // the RPM packages of the PostgreSQL project
		"/opt/homebrew/opt/postgresql*/bin",                       // Homebrew on Apple silicon
		"/usr/local/opt/postgresql*/bin",                          // Homebrew on Intel
		"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",          // Homebrew on Linux
		"/Applications/Postgres.app/Contents/Versions/[0-9]*/bin", // Postgres.app
		"/usr/local/pgsql/bin",                                    // built from source
	} {
		found, _ := filepath.Glob(pattern) // the only error is a bad pattern, and these are constants
		folders = append(folders, newestFirst(found)...)
	}
	return folders
}

var versionInPath = regexp.MustCompile(`\d+(\.\d+)?`)

// newestFirst orders folders by the version in their path; 9.6 comes after 15, as a number.
func newestFirst(folders []string) []string {
	version := func(folder string) float64 {
		number, err := strconv.ParseFloat(versionInPath.FindString(folder), 64)
		if err != nil {
			return 0 // Homebrew's plain "postgresql" names no version
		}
		return number
	}
	slices.SortStableFunc(folders, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
	return folders
}
