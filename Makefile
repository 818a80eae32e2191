# SPDX-License-Identifier: Apache-2.0
# `make demo` and `make test` set up what they need; `make help` lists the rest.

SWIFTFLAGS ?=
BENCHMARKFLAGS ?=
FUZZFLAGS ?=
READERSFLAGS ?= --seed 2 --cases 1000000
PROMISESFLAGS ?= --calls 1000000
TORTUREFLAGS ?=
PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
export SWIFTFLAGS JOBS
play = swift run -j $(JOBS) --package-path Playgrounds

# Every target is a command.
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' Makefile)

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: setup ## Run the demo against a local server
	$(play) Demo

service: setup ## Run a service under load while the APIs that it asks fail in turn
	$(play) Service

test: setup-test ## Run the tests
	.ci/test plain

setup: ## Install what building needs
	@.ci/setup build

setup-test: ## Install what the tests need
	@.ci/setup test

build: setup ## Build everything, warnings being errors
	swift build -j $(JOBS) --build-tests -Xswiftc -warnings-as-errors --explicit-target-dependency-import-check error

program: setup
	swift build -c release -j $(JOBS) --product lastro --static-swift-stdlib --scratch-path .build-release

install: program ## Install lastro, its man page and completions: make install [PREFIX=/usr/local] [DESTDIR=…]
	.ci/install .build-release/release/lastro "$(DESTDIR)$(PREFIX)"

package: program ## Build .build-release/lastro_VERSION_ARCHITECTURE.deb, which needs no Swift
	@.ci/setup package
	.ci/deb .build-release/release/lastro .build-release

lint: ## Check format, imports, lengths and the shape of types
	.ci/lint

format: ## Format the sources
	swift format -i -r Package.swift Sources Tests Playgrounds

docs: setup ## Build the site of all guides and references, .build/documentation/site
	.ci/docs

api: setup ## Renew Docs/API, the text of the public declarations
	.ci/symbols
	python3 .ci/api.py update

freeze: setup ## Write Docs/Frozen.txt, the names of a version that is released, which stay
	.ci/symbols
	python3 .ci/api.py freeze

pages: setup ## Run the guides' pages against a server on this machine
	$(play) Pages

simulation: setup-test ## Simulate outages, overload and storms, and write Docs/Simulation.md
	LASTRO_RENEW=1 .ci/test plain --filter SimulationPageTests

chat: setup ## Chat over WebSocket in this terminal: make chat URL=wss://… [NAME=…]
	$(play) Pages chat $(URL) $(NAME)

browse: setup ## Browse Gemini in this terminal: make browse [URL=gemini://…]
	$(play) Pages browse $(URL)

consumer: setup ## Build and run README's example as a user's package would
	swift build -j $(JOBS) --package-path Tests/Consumer
	python3 .ci/programs.py Tests/Consumer/.build/debug/ReadmeExample

tsan: setup-test ## Run the tests under ThreadSanitizer, but for those that Tests/Sanitizers names
	.ci/test thread

asan: setup-test ## Run the tests under AddressSanitizer and LeakSanitizer
	.ci/test address

slow: setup-test ## Run the tests at the lowest priority, beside four busy loops
	.ci/test slow

model: setup-test ## Verify the model of a host's pool with spin
	Tests/Models/check

# Debian 13 has no dante-server: Debian 12's package file installs there and runs.
newer: ## Build and run the tests on Debian 13, made in .systems; needs root
	mkdir -p .systems && cd .systems && apt-get download -q dante-server
	SWIFTFLAGS="$${SWIFTFLAGS:--Xswiftc -wmo -Xswiftc -disable-batch-mode -Xswiftc -num-threads -Xswiftc $(JOBS)}" \
	  GIVEN='.systems/dante-server_*.deb' .ci/system trixie reader \
	  sh -c 'apt-get install -q ./dante-server_*.deb && cd lastro && .ci/setup test && curl --version && .ci/test plain'

firsthour: ## Follow the first guide, and run README's commands and the guides' samples, on bare Debian 12 and 13; needs root
	.ci/firsthour

fuzz: asan = --product lastro --sanitize address --scratch-path .build-asan
fuzz: setup-test ## Send mutated answers to lastro batch under AddressSanitizer: make fuzz [FUZZFLAGS="--seed 2 --case 17"]
	.ci/build $(asan)
	.build-peers/bin/python Tests/Fuzz/run "$$(swift build --show-bin-path $(SWIFTFLAGS) $(asan))/lastro" $(FUZZFLAGS) </dev/null

readers: setup-test ## Compare Lastro's readers with those of others: make readers [READERSFLAGS="--seed 3 --cases 100000"]
	SWIFTFLAGS= .ci/build -c release --product LastroReaders --scratch-path .build-release -Xswiftc -gnone
	.build-readers/bin/python Tests/Readers/run --program .build-release/release/LastroReaders $(READERSFLAGS)

promises: setup ## Simulate calls with random faults, optimized, and check what must always hold: make promises [PROMISESFLAGS="--calls 50000"]
	SWIFTFLAGS= .ci/build -c release --product LastroPromises --scratch-path .build-release -Xswiftc -gnone
	.build-release/release/LastroPromises $(PROMISESFLAGS)

torture: setup-test build ## Fail each system call and each allocation of the command line once: make torture [TORTUREFLAGS="--calls get"]
	.build-peers/bin/python Tests/Torture/run "$$(swift build --show-bin-path)/lastro" $(TORTUREFLAGS)

autobahn: program ## Run the Autobahn test suite against lastro ws; needs Python 2.7, takes half an hour
	Tests/Autobahn/run .build-release/release/lastro

benchmarks: ## Compare with libcurl and other clients; takes the better part of an hour
	@.ci/setup benchmarks
	Benchmarks/run $(BENCHMARKFLAGS)

allocations: program ## Count the allocations and instructions of a fetch; fails if there are too many allocations
	@.ci/setup benchmarks
	LASTRO=.build-release/release/lastro Benchmarks/run allocations

benchmarks-smoke: ## Run a few requests of each benchmark, to see that they work
	@.ci/setup benchmarks
	Benchmarks/run --smoke --results Benchmarks/build/smoke $(BENCHMARKFLAGS)

check: ## Everything continuous integration checks, in about half an hour
	bash .ci/run

long: ## What takes hours: newer systems, slow runs, soaks, fuzzing, Autobahn, benchmarks; goes on where it was ended
	.ci/long

clean: ## Remove what was built
	rm -rf .build .build-tsan .build-asan .build-headers .build-release .systems Playgrounds/.build Tests/Consumer/.build Benchmarks/.build Benchmarks/build
