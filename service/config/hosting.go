package config

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/chattemplate"
	"github.com/fallproof/fallproof/providers/tokens"
)

// hostingKeys are what models may declare that are hosted by oneself.
var hostingKeys = []string{"chat_template", "bos_token", "eos_token", "add_bos", "control_tokens", "token_tolerance", "native"}

// filePrefix introduces a path where a word could stand as well.
const filePrefix = "file:"

// mostFile bounds a template or a tokenizer.
const mostFile = 256 << 20

// hosting adds to a profile what its model's own files say. A file is read once, here: whoever edits it
// changes the profile with the next start, and its proofs with it.
func (r *reader) hosting(profile *providers.Profile, s map[string]field) {
	profile.BOSToken, profile.EOSToken = r.text(s["bos_token"], ""), r.text(s["eos_token"], "")
	profile.AddBOS = r.boolean(s["add_bos"])
	profile.ControlTokens = r.word(s["control_tokens"], "", providers.ControlTokensKeep, providers.ControlTokensBreak)
	profile.Native = r.word(s["native"], "", providers.NativeLlamaCpp, providers.NativeVLLM)
	profile.TokenTolerance = r.share(s["token_tolerance"])
	if f := s["tokenizer"]; strings.HasPrefix(profile.Tokenizer, filePrefix) {
		profile.Tokenizer, profile.TokenizerFile = providers.TokenizerOwn, r.fileAt(f)
		if r.err == nil {
			r.broken(f, second(tokens.Of(*profile)))
		}
	}
	if f := s["chat_template"]; f.present() {
		r.chatTemplate(profile, f)
	} else if profile.ControlTokens == providers.ControlTokensBreak {
		r.fail(s["control_tokens"].line, "%s: without chat_template nobody can tell which they are", s["control_tokens"].name)
	}
}

// chatTemplate reads a Jinja file, or the template inside a tokenizer_config.json. BOS and EOS that are not
// declared are those of such a file in the same folder, where there is one.
func (r *reader) chatTemplate(profile *providers.Profile, f field) {
	file := r.fileAt(f)
	if r.err != nil {
		return
	}
	beside := file
	if !strings.HasSuffix(file.Name, ".json") {
		var err error
		beside, err = readFile(filepath.Join(filepath.Dir(file.Name), chattemplate.ConfigName))
		if errors.Is(err, fs.ErrNotExist) {
			beside.Content = "{}"
		} else if err != nil {
			r.broken(f, err)
			return
		}
	}
	said, err := chattemplate.ReadConfig(beside.Content)
	if err != nil {
		r.fail(f.line, "%s: %s: %v", f.name, beside.Name, err)
		return
	}
	if beside == file {
		file = providers.NewFile(file.Name, said.Template)
	}
	profile.ChatTemplate = file
	if profile.BOSToken == "" {
		profile.BOSToken = said.BOSToken
	}
	if profile.EOSToken == "" {
		profile.EOSToken = said.EOSToken
	}
	chat, err := chattemplate.Of(*profile)
	if err != nil {
		r.broken(f, err)
		return
	}
	if profile.ControlTokens == providers.ControlTokensBreak {
		profile.Breaks = strings.Join(chat.Breakable(), "\n")
	}
}

// file reads what a field names by file:PATH.
func (r *reader) fileAt(f field) providers.File {
	text := r.text(f, "")
	path, named := strings.CutPrefix(text, filePrefix)
	if !named || path == "" {
		r.fail(f.line, "%s: want file:PATH", f.name)
		return providers.File{}
	}
	file, err := readFile(r.resolve(path))
	r.broken(f, err)
	return file
}

func readFile(path string) (providers.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > mostFile {
		return providers.File{}, errors.New(path + " is larger than 256 MiB")
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return providers.File{Name: path}, err
	}
	return providers.NewFile(path, string(content)), nil
}

// broken puts an error of a file at the field that names it.
func (r *reader) broken(f field, err error) {
	if err != nil {
		message, _, _ := strings.Cut(err.Error(), "\n")
		r.fail(f.line, "%s: %s", f.name, message)
	}
}

func second[T any](_ T, err error) error { return err }

// share is a number of more than 0 and at most 1; 0 where it is absent.
func (r *reader) share(f field) float64 {
	if !f.present() {
		return 0
	}
	share := 0.0
	switch node := f.node.(type) {
	case *ast.FloatNode:
		share = node.Value
	case *ast.IntegerNode:
		if node.Token.Value == "1" {
			share = 1
		}
	}
	if !(share > 0 && share <= 1) || math.IsNaN(share) {
		r.fail(f.line, "%s: want a share of more than 0 and at most 1, such as 0.10", f.name)
		return 0
	}
	return share
}
