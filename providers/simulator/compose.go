package simulator

import "strings"

// produce makes the answer, or the failure that stands for it.
func (w *work) produce() {
	if w.p.kind() == Error200 {
		w.failure = errInside()
		return
	}
	c := newCompletion(w.chat, w.sim.config.Seed)
	c.ID, c.Created = w.id, w.created
	if w.p.kind() == EmptyChoices {
		w.yield = c
		return
	}
	if w.p.kind() == Renamed {
		c.rename(w.p.Variant, w.sim.config.Seed)
	}
	answer := message{Role: "assistant"}
	var finish string
	if w.p.kind() == Refusing {
		finish = answer.refuse(w.p.Variant)
	} else {
		text := w.write()
		text, finish = w.cut(text)
		answer.Content = &text
	}
	c.add(answer, finish)
	w.yield = c
}

// write composes the answer's text, right or wrong as the personality has it.
func (w *work) write() string {
	asked := readPrompt(w.chat, w.p.kind() == Deaf)
	answer := asked.answer()
	wrong := w.p.kind() == Plausible || (w.p.kind() == Flaky && w.sim.roster.stumbles(w.chat.Model))
	if wrong {
		answer.spoil()
	}
	if w.p.kind() == ExtraKey {
		answer.fields.set("confidence", 0.97)
	}
	text := answer.text()
	switch w.p.kind() {
	case Fenced:
		return "```json\n" + text + "\n```"
	case Chatty:
		return "Sure! Here is what I found:\n\n" + text + "\n\nLet me know if you need anything else."
	}
	return text
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
