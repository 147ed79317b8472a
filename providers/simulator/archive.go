package simulator

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// archive is what a provider remembers: which requests it had, and the works that were to be stored.
type archive struct {
	mu       sync.Mutex
	heard    []mention
	finished []*work // completions, in the order of their requests
	works    map[string]filed
}

// mention is a request of which a question may be about.
type mention struct {
	model, attempt string
	metadata       map[string]string
}

type filed struct {
	work     *work
	finished bool
}

func newArchive() *archive { return &archive{works: map[string]filed{}} }

// hear remembers that a request was made, whatever becomes of it.
func (a *archive) hear(x *exchange) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.heard = append(a.heard, mention{x.request.Model, x.r.Header.Get(AttemptHeader), x.request.Metadata})
}

// file makes a background response known from the start. Everything else is not before it is finished.
func (a *archive) file(w *work) {
	if !w.background() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.works[w.id] = filed{work: w}
}

// finish stores what was asked to be stored and yielded something that can be.
func (a *archive) finish(w *work) {
	if !w.stored() || (w.response == nil && w.failure != nil) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.works[w.id] = filed{work: w, finished: true}
	if w.response == nil {
		at, _ := slices.BinarySearchFunc(a.finished, w, func(a, b *work) int { return cmp.Compare(a.seq(), b.seq()) })
		a.finished = slices.Insert(a.finished, at, w)
	}
}

// find fetches a work by its id from those that a path shows.
func (a *archive) find(path, id string) (f filed, found bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f, found = a.works[id]
	return f, found && f.work.path() == path
}

// newest is the last finished work that a path shows.
func (a *archive) newest(path string) (f filed, found bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, each := range a.works {
		later := f.work == nil || each.work.seq() > f.work.seq()
		if each.finished && each.work.path() == path && later {
			f, found = each, true
		}
	}
	return f, found
}

// completions copies the stored ones, oldest first.
func (a *archive) completions() []*work {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.finished)
}

// subject tells which model and attempt a question is about: by the id that it names, else by the
// metadata that it asks for, else by the attempt that it says it belongs to.
func (a *archive) subject(r *http.Request, metadata map[string]string) (model, attempt string) {
	model, attempt = r.URL.Query().Get("model"), r.Header.Get(AttemptHeader)
	a.mu.Lock()
	defer a.mu.Unlock()
	id := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	if f, found := a.works[id]; found {
		return f.work.chat.Model, f.work.record.entry.AttemptID
	}
	for _, m := range slices.Backward(a.heard) {
		about := attempt != "" && m.attempt == attempt
		if len(metadata) > 0 {
			about = includes(m.metadata, metadata)
		}
		if about && (model == "" || model == m.model) {
			return m.model, m.attempt
		}
	}
	return model, attempt
}

// includes says whether everything wanted is there.
func includes(metadata, wanted map[string]string) bool {
	for key, value := range wanted {
		if there, found := metadata[key]; !found || there != value {
			return false
		}
	}
	return true
}
