package contracts

// document is contract.yaml as written.
type document struct {
	Name          string             `yaml:"name"`
	Effects       string             `yaml:"effects"`
	ReleaseAfter  string             `yaml:"release_after"`
	Messages      []message          `yaml:"messages"`
	Variants      map[string]variant `yaml:"variants"`
	Schema        string             `yaml:"schema"`
	UnwrapFence   bool               `yaml:"unwrap_fence"`
	Require       []string           `yaml:"require"`
	Sampling      documentSampling   `yaml:"sampling"`
	Checks        []documentCheck    `yaml:"checks"`
	Thresholds    map[string]float64 `yaml:"thresholds"`
	ValidFor      string             `yaml:"valid_for"`
	MutationFloor *float64           `yaml:"mutation_floor"`
	Unordered     []string           `yaml:"unordered"`
	FreeText      []string           `yaml:"free_text"`
	Cases         string             `yaml:"cases"`
}

type (
	message struct {
		Role    string `yaml:"role"`
		Content string `yaml:"content"`
	}
	variant struct {
		Messages []message `yaml:"messages"`
	}
	// The whole numbers are read as float64, because the library would cut 2.5 to 2 without a word.
	documentSampling struct {
		Temperature     float64  `yaml:"temperature"`
		Samples         *float64 `yaml:"samples"`
		MaxOutputTokens *float64 `yaml:"max_output_tokens"`
	}
	documentCheck struct {
		Name string `yaml:"name"`
		Expr string `yaml:"expr"`
	}
)
