package simulator

import (
	"cmp"
	"slices"
	"strings"
)

// produce makes the answer, or the failure that stands for it.
func (w *work) produce() {
	if w.p.kind() == Error200 {
		w.failure = errInside()
		return
	}
	h := w.sim.hostOf(w.chat.Model, w.p)
	c := newCompletion(w.chat, h.count(w.chat.messages()), w.sim.config.Seed)
	c.ID, c.Created = w.id, w.created
	if w.p.kind() == EmptyChoices {
		w.yield = c
		return
	}
	if w.p.kind() == Renamed {
		c.rename(w.p.Variant, w.sim.config.Seed)
	}
	if w.p.kind() == Retuned {
		c.SystemFingerprint = cmp.Or(w.p.Variant, fingerprint(c.Model+" retuned", w.sim.config.Seed))
	}
	if w.p.kind() == Anonymous {
		c.Model, c.SystemFingerprint = "", ""
	}
	answer := message{Role: "assistant"}
	var finish string
	if w.p.kind() == Refusing {
		finish = answer.refuse(w.p.Variant)
	} else {
		var text string
		text, finish = w.write()
		answer.Content = &text
	}
	c.add(answer, finish)
	w.yield = c
}

// write composes the answer's text, right or wrong as the personality has it, and says why it ended.
func (w *work) write() (text, finish string) {
	asked := readPrompt(w.understood(), w.p.kind() == Deaf)
	asked.unbound, asked.dutiful = w.p.kind() == Unenforcing, w.p.kind() == Complying
	answer := asked.answer()
	if w.errs() {
		answer.spoil()
	}
	if w.p.kind() == ExtraKey {
		answer.fields.set("confidence", 0.97)
	}
	w.bendFields(asked, answer)
	text, bent := w.bendText(asked, answer.text())
	if bent != "" {
		return text, bent
	}
	return w.cut(text)
}

// understood is the request with what the model sees of its messages.
func (w *work) understood() *chatRequest {
	if w.p.kind() != Obeying {
		return w.chat
	}
	cut := *w.chat
	cut.Messages = slices.Clone(cut.Messages)
	for i, m := range w.sim.hostOf(w.chat.Model, w.p).seen(w.chat.messages()) {
		cut.Messages[i].Content = messageText(m.Content)
	}
	return &cut
}

// errs says whether this answer is one of the wrong ones.
func (w *work) errs() bool {
	switch w.p.kind() {
	case Plausible:
		return true
	case Flaky:
		return w.sim.roster.stumbles(w.chat.Model, cmp.Or(w.p.Count, 5))
	case Turning:
		return w.sim.roster.count(w.chat.Model) >= int64(cmp.Or(w.p.Count, 50))
	}
	return false
}

// cut ends the text early where the personality or the request's own limit says so.
func (w *work) cut(text string) (string, string) {
	if w.p.kind() == Truncating {
		if w.p.Variant == variantParses {
			// As models do that run into a loop of white space: nothing of the JSON itself is missing.
			return text + strings.Repeat("\n  ", 64), finishLength
		}
		return prefix(text, len(text)/2), finishLength
	}
	limit, given := w.chat.maxTokens()
	if n := countText(text); given && n > limit {
		return prefix(text, len(text)*limit/n), finishLength
	}
	return text, finishStop
}
