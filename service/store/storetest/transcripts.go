package storetest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/onsi/gomega"
)

// transcriptsFolder is seen from the folder of an engine's package, where its tests run.
const transcriptsFolder = "../storetest/testdata/races"

// runTranscripts replays the classic interleavings. Each file says at its top what is at stake; both engines
// must write the same bytes. `go test ./service/store/sqlite -run TestStore/transcripts -rewrite` writes them
// anew, and `git diff` then says what changed.
func runTranscripts(t *testing.T, open func(testing.TB) Backend) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(transcriptsFolder, "*.txt"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d transcripts in %s: %v", len(files), transcriptsFolder, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			s := &stageplay{world: &world{Gomega: gomega.NewWithT(t), Backend: open(t), t: t, ctx: t.Context()}}
			defer s.end()
			datadriven.RunTest(t, file, func(t *testing.T, line *datadriven.TestData) string {
				s.world.t, s.world.Gomega = t, gomega.NewWithT(t)
				words := []string{line.Cmd}
				for _, arg := range line.CmdArgs {
					words = append(words, arg.Key)
				}
				return s.perform(words)
			})
		})
	}
}
