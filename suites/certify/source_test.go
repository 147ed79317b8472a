package certify_test

import (
	"context"
	"net"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/suites/certify"
)

// elsewhere lets answers look as if they came from another machine.
type elsewhere struct {
	providers.Provider
	peer, server string
}

func (e elsewhere) Send(ctx context.Context, request providers.Request) providers.Exchange {
	ex := e.Provider.Send(ctx, request)
	ex.Peer = e.peer
	ex.Header.Set("Server", e.server)
	return ex
}

// A configuration that calls a simulator live forges nothing: what was talked to decides.
func TestLiveIsWhatIsFarAway(t *testing.T) {
	w := newWorld(t)
	rows := []struct {
		name         string
		peer, server string
		source       providers.Source
		allowed      bool
		want         providers.Source
	}{
		{"this machine", "127.0.0.1", "nginx", providers.SourceLive, false, providers.SourceSimulated},
		{"this machine, another address of it", "127.8.8.8", "nginx", providers.SourceLive, false, providers.SourceSimulated},
		{"this machine, by IPv6", "::1", "nginx", providers.SourceLive, false, providers.SourceSimulated},
		{"this machine, mapped", "::ffff:127.0.0.1", "nginx", providers.SourceLive, false, providers.SourceSimulated},
		{"a simulator elsewhere", "203.0.113.7", "fallproof-simulator", providers.SourceLive, false, providers.SourceSimulated},
		{"another machine", "203.0.113.7", "nginx", providers.SourceLive, false, providers.SourceLive},
		{"allowed", "127.0.0.1", "fallproof-simulator", providers.SourceLive, true, providers.SourceLive},
		{"not called live", "203.0.113.7", "nginx", providers.SourceSimulated, false, providers.SourceSimulated},
	}
	for _, own := range ownAddresses(t) {
		rows = append(rows, rows[0])
		rows[len(rows)-1].name, rows[len(rows)-1].peer = "this machine, by an address that others reach it by, "+own, own
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			pair := w.pair("support-triage", "faithful")
			pair.Profile.Source, pair.LiveOnLoopback = row.source, row.allowed
			pair.Client = elsewhere{pair.Client, row.peer, row.server}
			record, _ := w.certify(pair, w.options())
			g.Expect(record.Verdict).To(Equal(certification.Certified))
			g.Expect(record.Source).To(Equal(row.want))
			warned := HaveField("Reason", "not_live")
			if row.want != row.source {
				g.Expect(record.Warnings).To(ContainElement(warned))
			} else {
				g.Expect(record.Warnings).NotTo(ContainElement(warned))
			}
		})
	}
}

// A zone says by which interface an address is reached, not whose it is.
func TestAnAddressWithAZone(t *testing.T) {
	own := netip.MustParseAddr("fe80::1")
	for peer, want := range map[string]OmegaMatcher{
		"fe80::1": Not(BeEmpty()), "fe80::1%eth0": Not(BeEmpty()), "::1%lo": Not(BeEmpty()), "fe80::2%eth0": BeEmpty(), "fe80::2": BeEmpty(),
	} {
		sample := certify.Sample{}
		sample.Seen.Peer = peer
		NewWithT(t).Expect(certify.SimulatedBy(sample, own)).To(want, peer)
	}
}

// The real client says whom it talked to.
func TestTheClientKnowsItsPeer(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	pair := w.pair("support-triage", "faithful")
	pair.Profile.Source = providers.SourceLive
	record, evidence := w.certify(pair, w.options())
	g.Expect(w.samples(evidence)[0].Seen.Peer).To(Equal("127.0.0.1"))
	g.Expect(w.samples(evidence)[0].Seen.Header).To(HaveKeyWithValue("Server", "fallproof-simulator"))
	g.Expect(record.Source).To(Equal(providers.SourceSimulated))
}

// ownAddresses are those of this machine that are no loopback ones.
func ownAddresses(t *testing.T) []string {
	found, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var own []string
	for _, each := range found {
		if network, ok := each.(*net.IPNet); ok && !network.IP.IsLoopback() {
			own = append(own, network.IP.String())
		}
	}
	return own
}
