package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// reportFile is a file that a flag asks for; an empty path asks for none.
type reportFile struct{ flag, path string }

// distinctFiles refuses two reports to one file, however its path is spelled: the last one written would be all
// that is left. What is no file of bytes, such as a pipe or a terminal, takes one after the other.
func distinctFiles(files ...reportFile) error {
	for i, later := range files {
		for _, earlier := range files[:i] {
			if later.path == "" || earlier.path == "" || !sameFile(earlier.path, later.path) {
				continue
			}
			also := ""
			if later.path != earlier.path {
				also = ", which is " + earlier.path
			}
			return fmt.Errorf("--%s and --%s name the same file, %s%s: give each its own", earlier.flag, later.flag, later.path, also)
		}
	}
	return nil
}

func sameFile(a, b string) bool {
	there, err := os.Stat(a)
	if err != nil {
		return placeOf(a) == placeOf(b) // nothing is there yet
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(there, other) && there.Mode().IsRegular()
}

// placeOf is where a file would be made, by whichever links its folder is reached.
func placeOf(path string) string {
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		folder = filepath.Dir(path) // there is none; who writes there will say so
	}
	if absolute, err := filepath.Abs(folder); err == nil {
		folder = absolute
	}
	return filepath.Join(folder, filepath.Base(path))
}
