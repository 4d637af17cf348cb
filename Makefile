KUBERNETES := v1.37.1
STAGING    := v0.37.1
GOLANGCI   := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
# Later versions need a later Go.
GORELEASER := go run github.com/goreleaser/goreleaser/v2@v2.16.0

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
REPORTS := $(CURDIR)/bin/fidelity
PLAY    := rm -rf $(REPORTS) && mkdir -p $(REPORTS) && \
	FIDELITY_REPORT=$(REPORTS) $(MAKE) --no-print-directory play
# The program under test of other modules, which would each link another one.
PLUGIN  := KUBECTL_RECONCILE=$(CURDIR)/bin/kubectl-reconcile
ASSETS  := KUBEBUILDER_ASSETS=$$(bin/kubectl-reconcile envtest-assets --dir $(CURDIR)/bin/envtest)
# Programs that tests run for a second or two take a sixth less CPU time if they collect garbage less often.
BRIEF   := GOGC=400
SHOW    := go -C test/realcluster run ./fidelity
# The linker aligns functions to 32 bytes by default: 16 make the program smaller by 1.2 MB.
LDFLAGS := -s -w -funcalign=16 -X github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli.version=$(VERSION)
# Nothing is inlined in the packages of these modules: the program is smaller by 8 MB, and not measurably slower (see
# docs/performance.md).
NOINLINE := k8s.io sigs.k8s.io google.golang.org go.etcd.io github.com/google
GCFLAGS  := $(foreach module,$(NOINLINE),-gcflags=$(module)/...=-l)
# grpcnotrace leaves out grpc's pages that show traces, which nothing serves: because of their templates the linker
# would have to keep all methods of all types (see test/size.sh).
TAGS    := grpcnotrace

# TESTFLAGS are for each go test, RACE for those of pkg/: -race, or nothing.
TESTFLAGS ?=
RACE      ?=

.PHONY: help build install size test race test-docs test-clients compare-envtest realcluster test-real test-plans test-recordings test-takeover test-copies fidelity lint tidy reference schemas chromium pictures man bench bench-real bench-replay bench-tree soak snapshot release krew test-snapshot release-check clean

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

build: ## build bin/kubectl-reconcile
	CGO_ENABLED=0 go build -tags '$(TAGS)' $(GCFLAGS) -ldflags '$(LDFLAGS)' -o bin/kubectl-reconcile ./cmd/kubectl-reconcile

install: ## install kubectl-reconcile to GOBIN, where kubectl finds it if that is on PATH
	CGO_ENABLED=0 go install -tags '$(TAGS)' $(GCFLAGS) -ldflags '$(LDFLAGS)' ./cmd/kubectl-reconcile

size: ## check that the linker leaves out what is not called, and that the program is no larger than it may be
	TAGS='$(TAGS)' GCFLAGS='$(GCFLAGS)' LDFLAGS='$(LDFLAGS)' test/size.sh

test: test-library test-programs ## run the tests

.PHONY: test-library test-programs play

test-library:
	go test $(TESTFLAGS) $(RACE) ./pkg/...

race: ## run the tests of pkg/ under the race detector
	$(MAKE) --no-print-directory test-library RACE=-race

# The scripts start many processes: nothing else is tested beside them. Half of the time they wait.
test-programs: ## run the tests of what is not in pkg/
	go test -timeout 30m $(TESTFLAGS) ./cmd/kubectl-reconcile/internal/... ./test/... ./krew
	$(BRIEF) go test $(TESTFLAGS) -parallel 4 ./cmd/kubectl-reconcile

test-docs: ## run the blocks of the documentation, and compare what they print with what is shown
	DOCS=1 $(BRIEF) go test -count=1 $(TESTFLAGS) -parallel 4 -run '^TestDocs$$' ./cmd/kubectl-reconcile

# The go command does not see that the program has changed: it is outside of these modules. So nothing is cached.
test-clients: build ## run the real kubectl, a controller-runtime manager and the tests of a kubebuilder project against sandbox
	$(PLUGIN) $(BRIEF) go -C test/kubectl test -count=1 $(TESTFLAGS) ./...
	$(PLUGIN) $(BRIEF) go -C test/controllerruntime test -count=1 $(TESTFLAGS) ./...
	$(ASSETS) $(BRIEF) go -C test/envtest test -count=1 $(TESTFLAGS) ./internal/...
	$(ASSETS) $(BRIEF) KUBECTL_RECONCILE_CONTROLLERS='*' KUBECTL_RECONCILE_NODES=3 \
		go -C test/envtest test -count=1 $(TESTFLAGS) ./internal/...

compare-envtest: build realcluster ## run controller-runtime's own suites, and a kubebuilder project, with envtest's programs and with ours
	$(PLUGIN) go -C test/envtest run ./compare -envtest "$$(go -C test/realcluster run ./build)"

realcluster: ## build a real control plane into the user's cache folder, unless it is there
	go -C test/realcluster run ./build

test-real: realcluster ## compare the sandbox and replays of recordings with a real control plane, request by request and scenario by scenario
	$(PLAY) ; tested=$$? ; $(SHOW) -check ../../docs/fidelity.md $(REPORTS) && exit $$tested

# No other package of the module is tested beside the plans, the scenarios and the recordings, whose races it would decide;
# those wait more than they work.
play: build
	@failed=0; export $(PLUGIN) $(BRIEF); \
	go -C test/realcluster test -count=1 -timeout 30m -p 3 -parallel 6 $(TESTFLAGS) \
		$$(go -C test/realcluster list ./... | grep -v -e /scenarios$$ -e /plans$$ -e /recording$$) || failed=1; \
	go -C test/realcluster test -count=1 -timeout 30m $(TESTFLAGS) ./plans || failed=1; \
	go -C test/realcluster test -count=1 -timeout 30m $(TESTFLAGS) -skip '^TestCopiesStayStill$$' ./scenarios || failed=1; \
	go -C test/realcluster test -count=1 -timeout 30m $(TESTFLAGS) ./recording || failed=1; \
	exit $$failed

test-plans: build realcluster ## compare the plans of diff -f with what a real control plane then does
	$(PLUGIN) $(BRIEF) go -C test/realcluster test -count=1 -timeout 30m $(TESTFLAGS) ./plans

test-recordings: build realcluster ## record a real control plane, also while it and the recorder are killed, and replay that
	$(PLUGIN) $(BRIEF) go -C test/realcluster test -count=1 -timeout 30m $(TESTFLAGS) ./recording

test-takeover: build realcluster ## play every scenario with the plugin writing in kube-controller-manager's place
	SCENARIOS_SIDES=real,plugin $(PLUGIN) go -C test/realcluster test -count=1 -timeout 30m -run TestScenarios ./scenarios

test-copies: build realcluster ## copy the end of every scenario into the sandbox, where all controllers must have nothing to write
	$(PLUGIN) go -C test/realcluster test -count=1 -timeout 60m -run '^TestCopiesStayStill$$' ./scenarios

fidelity: realcluster ## do the same as test-real and write docs/fidelity.md
	$(PLAY) && $(SHOW) -write ../../docs/fidelity.md $(REPORTS)

lint: ## run the linters of .golangci.yml
	go run $(GOLANGCI) run ./...
	cd test/realcluster && go run $(GOLANGCI) run ./...

# A release sets the date, which is in man pages, and the flag by which it shares compiled packages with its build.
DATE     ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
TRIMPATH ?=
PAGES    := CGO_ENABLED=0 go run -tags '$(TAGS)' $(GCFLAGS) $(TRIMPATH) ./cmd/kubectl-reconcile/internal/reference

reference: ## write docs/reference, a page for each command, from the help of the commands
	$(PAGES) -markdown docs/reference

schemas: ## write docs/*.schema.json from the types of documents and their comments
	go test -run '^TestSchemas$$' ./pkg/inspect/v1alpha1 $(patsubst %,./cmd/kubectl-reconcile/internal/%,session compare run version) -update

chromium: ## install the browser in which pictures are tested, where that is possible
	test/chromium.sh

pictures: build chromium ## draw the pictures of docs/images from real runs, and look at them; it needs script(1)
	$(PLUGIN) test/pictures.sh
	go test -count=1 $(TESTFLAGS) -run '^TestInBrowser$$' -v ./test/picture

man: ## write man pages into bin/man, from the help of the commands
	$(PAGES) -man bin/man -version '$(VERSION)' -date '$(DATE)'

bench-real: build ## measure the sandbox beside a real control plane
	$(PLUGIN) go -C test/realcluster run ./bench

SOAK  := 30m
KILLS := 10

soak: build realcluster ## let all controllers work on a real control plane for SOAK (30m) whose kube-apiserver is killed KILLS (10) times
	$(PLUGIN) go -C test/realcluster run ./soak -for $(SOAK) -kills $(KILLS)

bench-tree: build ## measure tree, status, why and diff beside peers on a real kube-apiserver with 80,000 objects
	$(PLUGIN) go -C test/realcluster run ./benchtree

bench: build ## measure start, memory, throughput and the cost of tracing
	$(PLUGIN) test/bench.sh

bench-replay: build ## measure recordings: writing, reading, seeking, serving a million events
	$(PLUGIN) test/benchreplay.sh

# One platform in .ci/run, all without: TARGETS=linux_amd64.
TARGETS ?=

snapshot: ## build the archives and packages of a release into dist/, of all platforms or of TARGETS, and publish nothing
	GORELEASER='$(GORELEASER)' test/release.sh $(TARGETS)

HOST := $(shell go env GOOS)_$(shell go env GOARCH)

test-snapshot: ## build such archives for this machine, twice with the same bytes, unpack and run them, install them by krew; check types for other platforms
	$(MAKE) --no-print-directory snapshot TARGETS='$(HOST)' && mkdir -p bin && mv dist/checksums.txt bin
	$(MAKE) --no-print-directory snapshot TARGETS='$(HOST)' && diff bin/checksums.txt dist/checksums.txt
	SNAPSHOT=$(CURDIR)/dist go test $(TESTFLAGS) -count=1 ./test/release
	SNAPSHOT=$(CURDIR)/dist KUBECTL=$(wildcard $(CURDIR)/bin/test/kubectl) go -C test/krew test $(TESTFLAGS) -count=1 ./...

release-check: ## vet the program for all platforms, or TARGETS, and build a snapshot twice, in two folders, which must have the same bytes; half an hour
	GORELEASER='$(GORELEASER)' test/releasecheck.sh $(TARGETS)

krew: ## fill the manifests of krew/ with the checksums of dist/, as an index in dist/krew-index
	go run ./krew -checksums dist/checksums.txt -out dist/krew-index

# The notes are the version's part of CHANGELOG.md.
release: ## build, sign and draft the release of the tag that is checked out, as .github/workflows/release.yml does
	notes=$$(mktemp) && awk -v version="$$(git describe --exact-match --tags | sed 's/^v//')" \
		'/^## / { on = index($$0, version) } on && !/^## /' CHANGELOG.md >"$$notes" && test -s "$$notes" && \
	$(GORELEASER) release --clean --release-notes "$$notes" && rm "$$notes"
	$(MAKE) --no-print-directory krew

tidy: ## re-pin every staging module of Kubernetes, then tidy
	go mod edit -require k8s.io/kubernetes@$(KUBERNETES)
	go mod download k8s.io/kubernetes
	for m in $$(sed -nE 's#^[[:space:]]+(k8s.io/[a-z-]+) v0.0.0$$#\1#p' "$$(go env GOMODCACHE)/k8s.io/kubernetes@$(KUBERNETES)/go.mod"); do \
		go mod edit -require "$$m@$(STAGING)"; \
	done
	go mod tidy

clean: ## remove what was built
	rm -rf bin dist
