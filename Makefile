# Everything is done by these targets; CONTRIBUTING.md says when to use which.
SHELL := /bin/bash
GOBIN := $(CURDIR)/.cache/bin
GOLANGCI := $(GOBIN)/golangci-lint
GOLANGCI_VERSION := v2.15.0
OAUTH2_PROXY_VERSION := v7.15.6
RACE := turn record route forward identify serve relay search workspace edge openid upstream app
FUZZTIME ?= 30s
UI := internal/web/ui
UI_SOURCES := $(wildcard $(UI)/*.json $(UI)/*.ts $(UI)/*.html) $(shell find $(UI)/src $(UI)/public $(UI)/scripts 2>/dev/null)

# A target that failed halfway would count as made the next time.
.DELETE_ON_ERROR:

.PHONY: run build ui test-ui test lint race fuzz bench eval eval-docs sdks clients test-clients browser oauth2-proxy try-edge e2e screenshots docs prices fault soak load size clean

run: build ## start the server
	bin/mooring serve

build: ui ## bin/mooring, one static file; Go's own cache makes a second build cheap
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o bin/mooring ./cmd/mooring

ui: internal/web/dist/index.html ## the pages, built once: npm runs only where their sources have changed

# The folders among the sources tell of files that were removed.
internal/web/dist/index.html: $(UI)/node_modules/.installed $(UI_SOURCES)
	cd $(UI) && npm run --silent build
	touch $@

# As the lock says, but not by `npm ci`, which wants the packages of other systems in the lock too.
$(UI)/node_modules/.installed: $(UI)/package.json $(UI)/package-lock.json
	cd $(UI) && npm install --no-save --no-audit --no-fund --ignore-scripts --loglevel=error
	touch $@

test-ui: $(UI)/node_modules/.installed ## types and unit tests of the pages
	cd $(UI) && npm run --silent check && npm test --silent

test: ## what a fresh machine needs, then the whole suite
	scripts/setup-test.sh
	$(MAKE) build sdks browser test-ui
	go vet ./...
	scripts/with-postgres.sh scripts/go-test.sh

lint: $(GOLANGCI) $(UI)/node_modules/.installed ## shape and habits
	$(GOLANGCI) run ./...
	cd $(UI) && npm run --silent check

$(GOLANGCI):
	GOBIN=$(GOBIN) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

race: ## the rooms with goroutines of their own
	CGO_ENABLED=1 go test -race -shuffle=on $(RACE:%=./internal/%/...)

fuzz: ## every fuzz target for FUZZTIME
	scripts/fuzz.sh $(FUZZTIME)

bench: ## against a direct call and the least that a Go gateway can cost
	go run ./test/bench -rounds 5

fault: ## what is lost when replicas, PostgreSQL, connections, upstreams and disks fail: 50 times each; N=n, ONLY=name, SEED=n
	scripts/setup-test.sh
	go run ./test/fault $(if $(N),-n $(N)) $(if $(ONLY),-only $(ONLY)) $(if $(SEED),-seed $(SEED))

soak: ## half an hour of half load on each store, and what is left of it; N, ONLY, SEED as above, D=duration
	scripts/setup-test.sh
	go run ./test/soak $(if $(D),-d $(D)) $(if $(N),-n $(N)) $(if $(ONLY),-only $(ONLY)) $(if $(SEED),-seed $(SEED))

load: ## thousands of slow streams, a million sessions; N, ONLY, SEED as above. It takes 40 GB of disk for a while
	scripts/setup-test.sh
	go run ./test/load $(if $(N),-n $(N)) $(if $(ONLY),-only $(ONLY)) $(if $(SEED),-seed $(SEED))

size: ## what conversations cost each store, in bytes, rows and log, as docs/scale.md has it; N=chats SEED=n
	scripts/setup-test.sh
	go run ./test/size $(if $(N),-sessions $(N)) $(if $(SEED),-seed $(SEED))

eval: ## how well conversations are told apart, on the kept traces and on made-up traffic; SEED=n makes up one more
	rm -rf .cache/traces && mkdir -p .cache/traces
	for seed in 1 2 3 $(SEED); do go run ./test/traces -seed $$seed -out .cache/traces/$$seed || exit 1; done
	go build -o .cache/mooring-eval ./cmd/mooring
	@echo && echo "The kept traces:" && .cache/mooring-eval eval --baselines test/traces/testdata
	@echo && echo "Made-up traffic, seeds 1 2 3 $(SEED):" && .cache/mooring-eval eval --baselines .cache/traces/*

eval-docs: ## the same, into docs/identification.md
	scripts/eval-docs.sh

sdks: test/sdk/js/node_modules/.installed ## the official JavaScript SDKs, pinned, for test/sdk

test/sdk/js/node_modules/.installed: test/sdk/js/package.json test/sdk/js/package-lock.json
	cd test/sdk/js && npm ci --no-audit --no-fund --ignore-scripts
	touch $@

clients: .cache/clients/.installed ## released command-line clients, pinned, for test/clients: 1.4 GB, Linux on x64

# Not `npm ci`, which wants the packages of other systems in the lock too.
.cache/clients/.installed: test/clients/package.json test/clients/package-lock.json
	mkdir -p $(@D)
	cp $^ $(@D)
	cd $(@D) && npm install --no-save --no-audit --no-fund --ignore-scripts --omit=optional --loglevel=error
	touch $@

test-clients: clients ## the tests with those clients; `make test` passes them over where they are missing
	MOORING_TEST_CLIENTS=required go test -count=1 -timeout 30m ./test/clients/...

browser: test/e2e/node_modules/.installed ## what drives Chromium, pinned, for test/e2e

test/e2e/node_modules/.installed: test/e2e/package.json test/e2e/package-lock.json
	cd test/e2e && npm ci --no-audit --no-fund --ignore-scripts
	touch $@

oauth2-proxy: $(GOBIN)/oauth2-proxy ## the identity proxy of test/edge, pinned; its first build takes minutes, so `make test` passes that test over where it is missing

$(GOBIN)/oauth2-proxy:
	GOBIN=$(GOBIN) go install github.com/oauth2-proxy/oauth2-proxy/v7@$(OAUTH2_PROXY_VERSION)

# Not `go run`, which fails whenever it is interrupted.
try-edge: build ## the tenant edge on this machine, with a provider and two web UIs: says what to open and what to type
	go build -o .cache/try-edge ./test/edge/try
	.cache/try-edge

e2e: build browser ## the pages in a real browser
	scripts/setup-test.sh
	MOORING_TEST_E2E=required go test -count=1 -timeout 10m -v ./test/e2e

screenshots: build browser ## the pictures in docs/images
	scripts/setup-test.sh
	node test/e2e/screenshots.mjs

docs: ## what is generated in docs: the keys of the configuration, the signals of clients
	go test ./internal/config ./internal/identify -run 'TestGenerated|TestDocumented' -update

prices: ## the list of model prices in internal/price, of the version that the script names; needs npm
	node scripts/prices.mjs

clean:
	rm -rf bin .cache test/sdk/js/node_modules test/e2e/node_modules test/e2e/out $(UI)/node_modules
	find internal/web/dist -mindepth 1 ! -name .gitkeep -delete
