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
test: postgres with-postgres ## everything, on SQLite and on a real PostgreSQL (PACKAGES=, TESTFLAGS=)
	go vet $(PACKAGES)
	$(WITH_POSTGRES) go test -vet=off -timeout 15m $(TESTFLAGS) $(PACKAGES)

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

.PHONY: with-postgres
with-postgres:
	go build -o $(WITH_POSTGRES) ./service/store/storetest/pgcluster/with

# Installs PostgreSQL where tests would find none, if that takes no question to anybody; else the last line says what to do.
.PHONY: postgres
postgres: with-postgres
	@if $(WITH_POSTGRES) -check 2>/dev/null; then exit 0; fi; \
	if command -v apt-get >/dev/null; then \
		if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as='sudo -n'; else as=false; fi; \
		if [ "$$as" != false ]; then \
			echo 'installing PostgreSQL for the tests'; \
			$$as apt-get -q update && $$as env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends postgresql; \
		fi; \
	fi; \
	$(WITH_POSTGRES) -check
