package deployment

import (
	"os"
	"path/filepath"
	"regexp"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/api"
	"github.com/fallproof/fallproof/service/config"
)

// files are about what is shipped, before anything is served.
func files() {
	It("are accepted by nginx -t", func() {
		output, err := newBalancer().command("-t").CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), "%s", output)
		Expect(string(output)).NotTo(Or(ContainSubstring("[warn]"), ContainSubstring("[error]")))
	})

	It("agree with the service's limits", func() {
		content, err := os.ReadFile(filepath.Join(shipped, "conf.d", "fallproof.conf"))
		Expect(err).NotTo(HaveOccurred())
		setting := func(name string) string {
			found := regexp.MustCompile(`(?m)^    ` + name + ` (\S+);$`).FindSubmatch(content)
			Expect(found).NotTo(BeNil(), name)
			return string(found[1])
		}
		readTimeout, err := time.ParseDuration(setting("proxy_read_timeout"))
		Expect(err).NotTo(HaveOccurred())
		Expect(readTimeout).To(BeNumerically(">=", api.MostWait+20*time.Second), "an answer that waited is heard")
		defaults, err := config.Parse("fallproof.yaml", nil, func(string) string { return "" })
		Expect(err).NotTo(HaveOccurred())
		Expect(setting("client_max_body_size")).To(Equal("1m"))
		Expect(defaults.Server.MaxBodyBytes).To(BeEquivalentTo(1 << 20))
	})
}
