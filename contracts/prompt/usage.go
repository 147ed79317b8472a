package prompt

import (
	"fmt"
	"maps"
	"slices"
	"text/template/parse"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/providers"
)

// usage is which top-level fields of an input a set of templates names.
type usage struct {
	all      bool // the input as a whole is used
	fields   map[string]bool
	verbatim map[string]bool // stands in a message as it is, whatever the input
}

func newUsage() usage { return usage{fields: map[string]bool{}, verbatim: map[string]bool{}} }

// Unused lists, sorted, the input's top-level fields that no message uses. It errs only where the
// messages cannot be parsed.
func Unused(c *contracts.Contract, target providers.Target, input map[string]any) ([]string, error) {
	templates, err := Parse(c, target)
	if err != nil {
		return nil, err
	}
	return templates.Unused(input), nil
}

// Unused is as the function of that name.
func (t *Templates) Unused(input map[string]any) []string {
	if t.used.all {
		return nil
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(input)), func(field string) bool { return t.used.fields[field] })
}

// prepare walks one template: it refuses functions that are not allowed, notes the fields that are
// used, and ends every action with textFunction, so that null, numbers and objects come out as JSON
// rather than in Go's spelling.
func prepare(tree *parse.Tree, used *usage) error {
	w := walker{tree: tree, used: used}
	for _, node := range tree.Root.Nodes {
		w.noteVerbatim(node)
	}
	return w.list(tree.Root, true)
}

type walker struct {
	tree *parse.Tree
	used *usage
}

// noteVerbatim takes note of {{ .field }} and {{ $.field }} outside of any branch.
func (w *walker) noteVerbatim(node parse.Node) {
	action, ok := node.(*parse.ActionNode)
	if !ok || len(action.Pipe.Decl) > 0 || len(action.Pipe.Cmds) != 1 || len(action.Pipe.Cmds[0].Args) != 1 {
		return
	}
	switch n := action.Pipe.Cmds[0].Args[0].(type) {
	case *parse.FieldNode:
		if len(n.Ident) == 1 {
			w.used.verbatim[n.Ident[0]] = true
		}
	case *parse.VariableNode:
		if len(n.Ident) == 2 && n.Ident[0] == "$" {
			w.used.verbatim[n.Ident[1]] = true
		}
	}
}

// list and what it calls carry whether the dot is still the whole input.
func (w *walker) list(list *parse.ListNode, atRoot bool) error {
	if list == nil {
		return nil
	}
	for _, node := range list.Nodes {
		if err := w.node(node, atRoot); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) node(node parse.Node, atRoot bool) error {
	switch n := node.(type) {
	case *parse.ActionNode:
		if err := w.pipe(n.Pipe, atRoot); err != nil {
			return err
		}
		if len(n.Pipe.Decl) == 0 {
			w.appendText(n.Pipe)
		}
	case *parse.IfNode:
		return w.branch(&n.BranchNode, atRoot, atRoot)
	case *parse.WithNode:
		return w.branch(&n.BranchNode, atRoot, false)
	case *parse.RangeNode:
		return w.branch(&n.BranchNode, atRoot, false)
	case *parse.TemplateNode:
		return w.refuse(n, "calling another template")
	}
	return nil
}

func (w *walker) branch(n *parse.BranchNode, atRoot, insideAtRoot bool) error {
	if err := w.pipe(n.Pipe, atRoot); err != nil {
		return err
	}
	if err := w.list(n.List, insideAtRoot); err != nil {
		return err
	}
	return w.list(n.ElseList, atRoot)
}

func (w *walker) pipe(pipe *parse.PipeNode, atRoot bool) error {
	for _, command := range pipe.Cmds {
		if err := w.command(command, atRoot); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) command(command *parse.CommandNode, atRoot bool) error {
	args := command.Args
	if key, ok := constantKey(args); ok && w.isRoot(args[1], atRoot) {
		w.used.fields[key] = true
		args = args[:1] // has . "x" and index . "x" use that field alone
	}
	for _, arg := range args {
		if err := w.argument(arg, atRoot); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) argument(arg parse.Node, atRoot bool) error {
	switch n := arg.(type) {
	case *parse.IdentifierNode:
		if !allowed[n.Ident] {
			return w.refuse(n, fmt.Sprintf("function %q", n.Ident))
		}
	case *parse.FieldNode:
		if atRoot {
			w.used.fields[n.Ident[0]] = true
		}
	case *parse.VariableNode:
		if n.Ident[0] == "$" && len(n.Ident) > 1 {
			w.used.fields[n.Ident[1]] = true
		} else if w.isRoot(n, atRoot) {
			w.used.all = true
		}
	case *parse.ChainNode:
		return w.argument(n.Node, atRoot)
	case *parse.PipeNode:
		return w.pipe(n, atRoot)
	case *parse.DotNode:
		w.used.all = w.used.all || atRoot
	}
	return nil
}

func (w *walker) refuse(node parse.Node, what string) error {
	location, _ := w.tree.ErrorContext(node) // message:line:column
	return fmt.Errorf("%s: %s is not possible in a message", location, what)
}

// isRoot reports whether a node is the whole input.
func (w *walker) isRoot(node parse.Node, atRoot bool) bool {
	switch n := node.(type) {
	case *parse.DotNode:
		return atRoot
	case *parse.VariableNode:
		return len(n.Ident) == 1 && n.Ident[0] == "$"
	}
	return false
}

func constantKey(args []parse.Node) (string, bool) {
	if len(args) < 3 {
		return "", false
	}
	function, ok := args[0].(*parse.IdentifierNode)
	if !ok || (function.Ident != "has" && function.Ident != "index") {
		return "", false
	}
	key, ok := args[2].(*parse.StringNode)
	if !ok {
		return "", false
	}
	return key.Text, true
}

func (w *walker) appendText(pipe *parse.PipeNode) {
	call := &parse.CommandNode{
		NodeType: parse.NodeCommand, Pos: pipe.Pos,
		Args: []parse.Node{parse.NewIdentifier(textFunction).SetTree(w.tree).SetPos(pipe.Pos)},
	}
	pipe.Cmds = append(pipe.Cmds, call)
}

// Shown lists, sorted, the fields of an input that are text and stand in a message as they are.
func (t *Templates) Shown(input map[string]any) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(t.used.verbatim)), func(field string) bool {
		_, text := input[field].(string)
		return !text
	})
}
