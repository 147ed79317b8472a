package contracts

import (
	"embed"
	"io/fs"
	"sync"
)

//go:embed all:catalog
var embedded embed.FS

// Shipped is the catalogue that comes with the program, read once.
var Shipped = sync.OnceValues(func() (*Catalog, error) {
	root, err := fs.Sub(embedded, "catalog")
	if err != nil {
		return nil, err
	}
	return LoadCatalog(root)
})
