# Everything is done by these targets; CONTRIBUTING.md says when to use which.
SHELL := /bin/bash
GOBIN := $(CURDIR)/.cache/bin
GOLANGCI := $(GOBIN)/golangci-lint
GOLANGCI_VERSION := v2.15.0
RACE := turn record route forward identify serve relay app
FUZZTIME ?= 30s

.PHONY: run build test lint race fuzz bench clients clean

run: build ## start the server
	bin/mooring serve

build: ## bin/mooring, one static file; Go's own cache makes a second build cheap
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o bin/mooring ./cmd/mooring

test: ## what a fresh machine needs, then the whole suite
	scripts/setup-test.sh
	$(MAKE) build clients
	go vet ./...
	scripts/with-postgres.sh scripts/go-test.sh

lint: $(GOLANGCI) ## shape and habits
	$(GOLANGCI) run ./...

$(GOLANGCI):
	GOBIN=$(GOBIN) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

race: ## the rooms with goroutines of their own
	CGO_ENABLED=1 go test -race -shuffle=on $(RACE:%=./internal/%/...)

fuzz: ## every fuzz target for FUZZTIME
	scripts/fuzz.sh $(FUZZTIME)

bench: ## against a direct call and the least that a Go gateway can cost
	go run ./test/bench -rounds 5

clients: test/sdk/js/node_modules/.installed ## the official JavaScript SDKs, pinned, for test/sdk

test/sdk/js/node_modules/.installed: test/sdk/js/package.json test/sdk/js/package-lock.json
	cd test/sdk/js && npm ci --no-audit --no-fund --ignore-scripts
	touch $@

clean:
	rm -rf bin .cache test/sdk/js/node_modules
