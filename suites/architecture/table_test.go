package architecture

// use says who may import a package.
type use int

const (
	anywhere  use = iota // whatever stands below it
	inTests              // test files, and packages that are themselves for tests
	simulated            // the same, and the command: demo and simulate run on it, and a job never does
	ended                // the command, and suites further down: it stands at the end
)

// row is one step of the order. Packages of one row do not import each other; a name that
// ends in /* stands for every package directly below that has no row of its own.
type row struct {
	packages []string
	use      use
	pure     bool // evidence in, verdict out: imports nothing that reads files, opens connections or starts processes
	job      string
}

// order is the whole module, from what imports nothing of it to what imports everything.
var order = []row{
	{packages: []string{"fixtures"}, job: "real inputs and recorded exchanges, as data"},
	{packages: []string{"migrations"}, job: "the schema, and bringing a database up to it"},
	{packages: []string{"service/store/storetest/pgcluster"}, use: inTests, job: "a real PostgreSQL for any test, hence above them all"},
	{packages: []string{"service/store/storetest/pgcluster/with"}, use: ended, job: "the same for a whole run of tests: a program"},

	{packages: []string{"providers"}, job: "what a provider is, and what its answers mean; knows no contract"},
	{packages: []string{"providers/secrets"}, pure: true, job: "a provider's key, taken out of what is kept"},
	{packages: []string{"providers/openai"}, job: "one wire format"},
	{packages: []string{"providers/cassettes"}, job: "exchanges in files, and played back"},
	{packages: []string{"providers/tokens"}, job: "tokenizers of targets"},
	{packages: []string{"providers/chattemplate"}, job: "prompts as self-hosted models' servers render them"},
	{packages: []string{"providers/simulator"}, use: simulated, job: "providers that behave, and misbehave, on demand"},

	{packages: []string{"contracts/value", "contracts/statistics"}, pure: true, job: "exact JSON values; what a count of good answers proves"},
	{packages: []string{"contracts"}, job: "a contract, its folder and its digests"},
	{packages: []string{"contracts/prompt", "contracts/structure", "contracts/business"}, pure: true, job: "one kind of check each, which knows nothing of the others"},
	{packages: []string{"contracts/binding"}, pure: true, job: "a contract as it applies to one target"},
	{packages: []string{"contracts/mutation"}, pure: true, job: "what a contract's checks are worth, shown by wrong answers"},
	{packages: []string{"contracts/lint"}, job: "what is wrong with a contract before any call is paid for"},
	{packages: []string{"contracts/scaffold"}, job: "the contract that new ones start from"},
	{packages: []string{"contracts/certification"}, pure: true, job: "records, and whether a proof stands"},
	{packages: []string{"contracts/evidence"}, pure: true, job: "what is kept of a run beside its record, without secrets"},
	{packages: []string{"contracts/report"}, pure: true, job: "records and their evidence as people read them"},

	// Above config, which reads the words of a job's life (what to do on doubt or refusal) from it.
	{packages: []string{"service/job"}, pure: true, job: "job, attempt and the one table of transitions"},
	{packages: []string{"service/circuit"}, pure: true, job: "which targets a replica leaves alone for a while"},
	{packages: []string{"service/drift"}, pure: true, job: "whether live answers are still what was certified"},
	{packages: []string{"service/config"}, job: "the configuration file"},
	{packages: []string{"service/store"}, job: "what a store promises"},
	{packages: []string{"service/store/sqlcore"}, job: "what both engines do alike"},
	{packages: []string{"service/store/postgres", "service/store/sqlite"}, job: "one engine each"},
	{packages: []string{"service/store/storetest"}, use: inTests, job: "the suite that every engine passes"},
	{packages: []string{"service/failover"}, pure: true, job: "who is next, and why not the others"},
	{packages: []string{"service/dispatch"}, job: "runs attempts, and completes them by compare-and-swap"},
	{packages: []string{"service/web"}, job: "pages and assets of the dashboard"},
	{packages: []string{"service/api"}, job: "routes, problem details, errors to statuses"},

	{packages: []string{"suites/certify"}, use: ended, job: "judges evidence and writes records; what other suites need certified goes through it"},
	{packages: []string{"suites/*"}, use: ended, job: "what is proven of the whole"},
	{packages: []string{"cmd/fallproof"}, use: ended, job: "wiring"},
}

// hold gives a library to the packages whose job it is to hide it from the others. It binds production
// code; the command, which wires everything, and tests may use what they need.
type hold struct {
	library string // the path that its packages share
	by      []string
	why     string
}

var holds = []hold{
	{"github.com/sashabaranov/go-openai", []string{"providers/openai"}, "its wire format is shaped, and its errors are read, in one place"},
	{"github.com/tiktoken-go/tokenizer", []string{"providers/tokens"}, "a vocabulary takes megabytes and is loaded once"},
	{"github.com/ardanlabs/jinja", []string{"providers/chattemplate"}, "one rendering, held to the reference byte for byte"},
	{"github.com/dlclark/regexp2", []string{"providers/tokens"}, "its patterns may backtrack for ever: where they come from a file they have a time limit"},
	{"github.com/santhosh-tekuri/jsonschema", []string{"contracts/structure"}, "drafts, formats and the order of errors are settled in one place"},
	{"cel.dev/cel-go", []string{"contracts/business"}, "cost limit and helper functions hold for every check"},
	{"github.com/gin-gonic/gin", []string{"service/api", "service/web"}, "HTTP ends at the edge"},
	{"github.com/jackc/pgx", []string{"migrations", "service/store/postgres", "service/store/storetest/pgcluster"}, "the database's errors are translated where they arise"},
	{"modernc.org/sqlite", []string{"service/store/sqlite"}, "the database's errors are translated where they arise"},
	{"github.com/pressly/goose", []string{"migrations"}, "one way to bring a schema up"},
	{"github.com/riverqueue/river/rivermigrate", []string{"migrations"}, "one way to bring a schema up"},
	{"github.com/riverqueue/river", []string{"migrations", "service/store", "service/store/sqlcore", "service/store/postgres", "service/store/sqlite", "service/dispatch"},
		"a doorbell that the store rings and the dispatcher hears"},
	{"github.com/sony/gobreaker", []string{"service/circuit"}, "what counts as a failure of a target is settled in one place"},
	{"github.com/schollz/progressbar", []string{"suites/certify"}, "only a run that people watch has progress"},
	{"gopkg.in/dnaeon/go-vcr.v4", []string{"providers/cassettes"}, "nothing is written before the secrets were taken out"},
	{"github.com/spf13/cobra", []string{"cmd/fallproof"}, "verbs and flags are the command's"},
}

// testLibraries fail, stop or hang the process around them, which in the service must not happen.
var testLibraries = []string{"testing", "github.com/onsi/ginkgo", "github.com/onsi/gomega", "go.uber.org/goleak"}

// outside is what a pure package does without. It covers a package's own imports; what those import answers for itself.
var outside = []string{"database/sql", "net", "net/http", "os", "os/exec", "os/signal", "syscall"}
