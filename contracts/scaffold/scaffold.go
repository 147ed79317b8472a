// Package scaffold is the contract that new ones start from: small, commented, and sound from the first
// minute, so that an author changes a thing that works.
//
// It promises a folder that lint finds nothing wrong with, whose checks refuse more wrong answers than the
// usual floor demands. What it says about orders is an example to be replaced.
package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fallproof/fallproof/contracts"
)

//go:embed template
var template embed.FS

// placeholder is the template's own name.
const placeholder = "my-contract"

// ExistsError says that there is something in the way; nothing was written.
type ExistsError struct{ Path string }

func (e *ExistsError) Error() string { return e.Path + " exists already; nothing was written" }

// Write makes the folder dir/name and returns its files, relative to it. It never writes over anything: an
// *[ExistsError] where the folder is there already.
func Write(dir, name string) ([]string, error) {
	if !contracts.ValidName(name) {
		return nil, fmt.Errorf("name %q: want lower-case letters, digits and hyphens, at most 64", name)
	}
	root := filepath.Join(dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.Mkdir(root, 0o755); errors.Is(err, fs.ErrExist) {
		return nil, &ExistsError{root}
	} else if err != nil {
		return nil, err
	}
	var written []string
	source, err := fs.Sub(template, "template")
	if err != nil { // unreachable: it is embedded
		return nil, err
	}
	err = fs.WalkDir(source, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || file == "." {
			return err
		}
		path := filepath.Join(root, filepath.FromSlash(file))
		if entry.IsDir() {
			return os.Mkdir(path, 0o755)
		}
		content, err := fs.ReadFile(source, file)
		if err != nil {
			return err
		}
		written = append(written, file)
		return os.WriteFile(path, bytes.ReplaceAll(content, []byte(placeholder), []byte(name)), 0o644)
	})
	return written, err
}
