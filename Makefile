# All that people and CI run. `make` alone lists the targets.

# One static binary, and the same kind of build for tests, so that both share one build cache.
export CGO_ENABLED := 0
# The version is handed over below; asking git from within a build fails in a clone that somebody else owns.
export GOFLAGS := $(strip $(GOFLAGS) -buildvcs=false)

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
BUILD   := go build -ldflags '-s -w -X main.version=$(VERSION)'
LINTER  := go tool -modfile=tools.mod golangci-lint

# What to test or measure, and with which further flags: make test PACKAGES=./service/... TESTFLAGS=-run=Race
PACKAGES  ?= ./...
TESTFLAGS ?=
BENCH     ?= .

# Runs a command with a PostgreSQL server up, and FALLPROOF_TEST_DATABASE_URL leading to it.
WITH_POSTGRES := bin/with-postgres

# Both stand outside the PATH of many users; the tests look in the same places.
SERVERS_PATH   := PATH="$$PATH:/usr/sbin:/usr/local/sbin:/usr/local/bin:/opt/homebrew/bin"
FIND_NGINX     := $(SERVERS_PATH) command -v nginx >/dev/null
FIND_PGBOUNCER := $(SERVERS_PATH) command -v pgbouncer >/dev/null

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: demo
demo: build ## the whole story on this machine: certify, fail over, double click, doubt, race
	bin/fallproof demo

.PHONY: build
build: ## the static binary bin/fallproof
	$(BUILD) -o bin/fallproof ./cmd/fallproof

.PHONY: test
test: postgres nginx pgbouncer with-postgres ## everything, on SQLite and on a real PostgreSQL (PACKAGES=, TESTFLAGS=)
	go vet $(PACKAGES)
	$(WITH_POSTGRES) go test -vet=off -timeout 15m $(TESTFLAGS) $(PACKAGES)

.PHONY: chaos
chaos: postgres ## replicas, database and providers broken at random under load (JOBS=, FOR=, SEED=)
	go test ./suites/chaos -count=1 -v -timeout 60m -args -chaos.jobs=$(or $(JOBS),2500) -chaos.time=$(or $(FOR),4m) -chaos.seed=$(or $(SEED),0)

.PHONY: bench
bench: postgres with-postgres ## the benchmarks; they report and do not judge (PACKAGES=, BENCH=)
	$(WITH_POSTGRES) go test -vet=off -timeout 30m -run '^$$' -bench '$(BENCH)' -benchmem -p 1 $(TESTFLAGS) $(PACKAGES)

.PHONY: lint
lint: ## formatting, vet, golangci-lint, tidy modules with the right content
	@unformatted="$$(gofmt -l .)" && \
		if [ -n "$$unformatted" ]; then printf 'not formatted, run gofmt -w on:\n%s\n' "$$unformatted" >&2; exit 1; fi
	go vet ./...
	$(LINTER) run
	go mod tidy -diff
	go mod verify

.PHONY: contracts
contracts: build ## certify the shipped contracts: PROVIDER= one provider, else all; CONFIG= a configuration
	bin/fallproof certify $(if $(PROVIDER),--provider '$(PROVIDER)') $(if $(CONFIG),--config '$(CONFIG)')

.PHONY: cassettes
cassettes: build ## record the cassettes of this repository again, from a simulator on 127.0.0.1:4010
	@bin/fallproof simulate --listen 127.0.0.1:4010 >/dev/null & simulator=$$!; trap 'kill $$simulator' EXIT; \
		until curl -sf http://127.0.0.1:4010/v1/models >/dev/null; do kill -0 $$simulator || exit 1; sleep 0.1; done; \
		bin/fallproof certify --config cassettes/fallproof.yaml --record cassettes

.PHONY: with-postgres
with-postgres:
	go build -o $(WITH_POSTGRES) ./service/store/storetest/pgcluster/with

# $(call install,NAME,PACKAGE) installs a Debian package if that takes no question to anybody. What it brings as a service
# is neither started now nor at the next boot, unless somebody has settled that already (policy-rc.d): tests start their own.
define install
if command -v apt-get >/dev/null; then \
	if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as='sudo -n'; else as=false; fi; \
	if [ "$$as" != false ]; then \
		echo 'installing $(1) for the tests'; \
		policy=/usr/sbin/policy-rc.d; \
		if [ -e $$policy ]; then policy=; else printf '#!/bin/sh\nexit 101\n' | $$as tee $$policy >/dev/null && $$as chmod 755 $$policy; fi; \
		trap 'if [ -n "$$policy" ]; then $$as rm -f $$policy; fi' EXIT; \
		$$as apt-get -q update && $$as env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $(2) && \
			if [ -d /run/systemd/system ]; then $$as systemctl -q disable $(2); fi; \
	fi; \
fi
endef

# Each of these installs what tests would not find; where it cannot, the last line says what to do.
.PHONY: postgres
postgres: with-postgres
	@if $(WITH_POSTGRES) -check 2>/dev/null; then exit 0; fi; \
	$(call install,PostgreSQL,postgresql); \
	$(WITH_POSTGRES) -check

.PHONY: nginx
nginx:
	@if $(FIND_NGINX); then exit 0; fi; \
	$(call install,nginx,nginx); \
	$(FIND_NGINX) || { echo 'nginx is needed and not installed: install it (apt-get install nginx, dnf install nginx or brew install nginx)' >&2; exit 2; }

.PHONY: pgbouncer
pgbouncer:
	@if $(FIND_PGBOUNCER); then exit 0; fi; \
	$(call install,PgBouncer,pgbouncer); \
	$(FIND_PGBOUNCER) || { echo 'PgBouncer is needed and not installed: install it (apt-get install pgbouncer, dnf install pgbouncer or brew install pgbouncer)' >&2; exit 2; }
