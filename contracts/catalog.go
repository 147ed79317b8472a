package contracts

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// Catalog is a set of contracts by name.
type Catalog struct {
	contracts map[string]*Contract
}

// LoadCatalog reads each folder directly below fsys as a contract of the folder's name. Files beside
// the folders, and hidden folders such as .git, are not contracts and are left alone.
func LoadCatalog(fsys fs.FS) (*Catalog, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, fmt.Errorf("contracts: %w", err)
	}
	catalog := &Catalog{contracts: map[string]*Contract{}}
	for _, entry := range entries {
		if !entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		c, err := Load(fsys, entry.Name())
		if err != nil {
			return nil, err
		}
		if c.Name != entry.Name() {
			return nil, &FileError{
				File: entry.Name() + "/" + contractFile, Line: c.Line("$.name"),
				Message: fmt.Sprintf("name is %q: a contract is named as its folder", c.Name),
			}
		}
		catalog.contracts[c.Name] = c
	}
	if len(catalog.contracts) == 0 {
		return nil, errors.New("contracts: no contract folder found")
	}
	return catalog, nil
}

// Get finds a contract by name.
func (c *Catalog) Get(name string) (*Contract, bool) {
	found, ok := c.contracts[name]
	return found, ok
}

// Names are the contracts' names, sorted.
func (c *Catalog) Names() []string { return slices.Sorted(maps.Keys(c.contracts)) }

// All are the contracts, sorted by name.
func (c *Catalog) All() []*Contract {
	all := make([]*Contract, 0, len(c.contracts))
	for _, name := range c.Names() {
		all = append(all, c.contracts[name])
	}
	return all
}
