package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/providers"
)

// Defaults of what the file does not say.
const (
	DefaultListen    = "127.0.0.1:8080"
	DefaultStoreURL  = "sqlite:fallproof.db"
	defaultMaxBody   = 1 << 20
	defaultShutdown  = 30 * time.Second
	databaseVariable = "DATABASE_URL"
)

// Load reads the file at path. An empty path means [DefaultPath], which may be absent: then there are no
// providers, the shipped catalogue, and SQLite in the working folder. A file that was named must be there.
// A relative path inside the file starts at the file's folder; that of a SQLite database at the working folder.
func Load(path string, getenv func(string) string) (*Config, error) {
	named := path != ""
	if !named {
		path = DefaultPath
	}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		return Parse("", nil, getenv)
	case errors.Is(err, fs.ErrNotExist):
		return nil, &Error{File: path, Message: "no such file"}
	case err != nil:
		return nil, &Error{File: path, Message: err.Error()}
	}
	return Parse(path, data, getenv)
}

// Parse is Load for a file's content. path is only used in errors and to resolve relative paths.
func Parse(path string, data []byte, getenv func(string) string) (*Config, error) {
	r := &reader{file: path}
	c := &Config{Path: path, getenv: getenv}
	file := r.mapping(r.document(data), "server", "store", "contracts", "providers", "routes")
	c.Server = r.server(file["server"])
	c.Store = r.store(file["store"], getenv(databaseVariable))
	c.Providers = r.providers(file["providers"])
	if r.err != nil {
		return nil, r.err
	}
	catalog, err := r.catalog(file["contracts"])
	if err != nil {
		return nil, err
	}
	c.Catalog = catalog
	c.Routes = r.routes(file["routes"], c)
	if r.err != nil {
		return nil, r.err
	}
	return c, nil
}

// catalog is the folder that the file names, else the shipped one.
func (r *reader) catalog(f field) (*contracts.Catalog, error) {
	if !f.present() {
		return contracts.Shipped()
	}
	folder := r.path(f)
	if r.err != nil {
		return nil, r.err
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		r.fail(f.line, "contracts: %s is not a folder", folder)
		return nil, r.err
	}
	catalog, err := contracts.LoadCatalog(os.DirFS(folder))
	var fault *contracts.FileError
	switch {
	case errors.As(err, &fault):
		return nil, &Error{File: filepath.Join(folder, filepath.FromSlash(fault.File)), Line: fault.Line, Message: fault.Message}
	case err != nil:
		r.fail(f.line, "%v in %s", err, folder)
		return nil, r.err
	}
	return catalog, nil
}

func (r *reader) server(f field) Server {
	s := r.mapping(f, "listen", "accept_sources", "max_body", "shutdown_timeout")
	return Server{
		Listen:          r.address(s["listen"], DefaultListen),
		AcceptSources:   r.sources(s["accept_sources"]),
		MaxBodyBytes:    r.bytes(s["max_body"], defaultMaxBody),
		ShutdownTimeout: r.duration(s["shutdown_timeout"], defaultShutdown),
	}
}

// sources default to live alone: what is proven against a simulator opens nothing in production.
func (r *reader) sources(f field) []providers.Source {
	if !f.present() {
		return []providers.Source{providers.SourceLive}
	}
	var sources []providers.Source
	seen := map[string]bool{}
	for _, each := range r.list(f) {
		word := r.word(each, "", string(providers.SourceLive), string(providers.SourceReplay), string(providers.SourceSimulated))
		if seen[word] {
			r.fail(each.line, "accept_sources: %s stands here twice", word)
		}
		seen[word] = true
		sources = append(sources, providers.Source(word))
	}
	if len(sources) == 0 {
		r.fail(f.line, "accept_sources is empty: name at least one of live, replay, simulated")
	}
	return sources
}

func (r *reader) store(f field, environment string) Store {
	s := r.mapping(f, "url", "retention")
	url := r.text(s["url"], DefaultStoreURL)
	if s["url"].present() && !storeURL(url) {
		r.fail(s["url"].line, "store.url: want sqlite:PATH or postgres://…")
	}
	if environment != "" {
		if url = environment; !storeURL(url) {
			r.fault(&Error{Message: databaseVariable + ": want sqlite:PATH or postgres://…"})
		}
	}
	return Store{URL: url, Retention: r.duration(s["retention"], 0)}
}
