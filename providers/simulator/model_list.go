package simulator

import "net/http"

type modelList struct {
	Object string      `json:"object"`
	Data   []modelItem `json:"data"`
}

type modelItem struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	OwnedBy string `json:"owned_by"`
}

// listModels names the models that were set, and the personalities, each of which is a model by itself.
func (s *Simulator) listModels(w http.ResponseWriter) {
	list := modelList{Object: "list", Data: []modelItem{}}
	for model := range s.roster.all() {
		list.add(model)
	}
	for _, kind := range Kinds() {
		list.add(string(kind))
	}
	writeJSON(w, http.StatusOK, list)
}

func (l *modelList) add(id string) {
	l.Data = append(l.Data, modelItem{ID: id, Object: "model", OwnedBy: "simulator"})
}
