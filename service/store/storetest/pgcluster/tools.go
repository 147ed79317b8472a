package pgcluster

import (
	"fmt"
	"path/filepath"
)

// Tool returns the path of a program that comes with PostgreSQL, such as pg_dump, of the newest installed
// version: a client reads what an older server holds, not the other way round.
func Tool(name string) (string, error) {
	for _, folder := range newestFirst(serverFolders()) {
		if path := filepath.Join(folder, name); isProgram(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is needed and not installed: it comes with PostgreSQL's client programs", name)
}
