package config

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
)

// ContractsFolder is the folder that the file names for contracts, whether or not it is there yet; "" where it
// names none, or where there is no file. The rest of the file is not looked at.
func ContractsFolder(path string) (string, error) {
	file := cmp.Or(path, DefaultPath)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && path == "" {
		return "", nil
	}
	if err != nil {
		return "", &Error{File: file, Message: err.Error()}
	}
	r := &reader{file: file}
	for _, entry := range r.entries(r.document(data)) {
		if entry.key == "contracts" {
			folder := r.path(entry)
			return folder, r.err
		}
	}
	return "", r.err
}
