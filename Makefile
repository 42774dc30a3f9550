# Everything an operator or developer calls; `make` lists it.

BIN := node_modules/.bin
NODE := $(BIN)/node
INSTALLED := node_modules/.installed
NODE_VERSION := $(shell sed -n 's/^ *"node": "\([0-9][0-9.]*\)".*/\1/p' package.json)
NPM_VERSION := 10.9.9

# make test TEST=setup, or TEST='http test/setup.test.ts'
TEST ?= $(wildcard test/*.test.ts)
TEST_FILES = $(foreach name,$(TEST),$(if $(findstring /,$(name)),$(name),test/$(name).test.ts))

.PHONY: help install run test test-faults test-deep check bench sql clean distclean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

install: $(INSTALLED) ## Install the dependencies, Node 22 among them

# npm must run under the same Node as the service: it skips optional packages, such as the HTTP engine, that do not fit
# the Node it runs on. The npm of that Node too: Debian 12's own (9.2) fails on an override of a git dependency.
# --no-save leaves the lockfile as it is.
$(INSTALLED): package.json package-lock.json
	@command -v npm >/dev/null || { echo 'npm is missing: install Node 18 or newer with npm.' >&2; exit 1; }
	@echo 'Installing dependencies …'
	@npm exec --yes --loglevel=error --package=node@$(NODE_VERSION) --package=npm@$(NPM_VERSION) -- \
		npm install --no-save --include=dev --include=optional --no-audit --no-fund --no-progress --loglevel=error
	@test "$$($(NODE) --version)" = v$(NODE_VERSION) || { echo 'Node $(NODE_VERSION) was not installed: see above.' >&2; exit 1; }
	@touch $@

# On a terminal Recoup gets Ctrl-C alone (a job of its own), so that make returns what Recoup returns.
run: $(INSTALLED) ## Start Postgres, server and workers, with demo data at first; Ctrl-C stops them
	@if [ -t 0 ]; then set -m 2>/dev/null; bin/recoup dev; else exec bin/recoup dev; fi

test: $(INSTALLED) ## Run the tests (TEST=name for some)
	@test/run.sh $(TEST_FILES)

# One seed for all of them, printed by each; it chooses the faults and their moments.
test-faults: $(INSTALLED) ## Kill, stop and starve the parts under load for about 10 minutes (RANDOM_SEED=n replays)
	@RANDOM_SEED=$${RANDOM_SEED:-$$(date +%s)} TAP_TIMEOUT=7200 test/run.sh test/faults/faults.test.ts

DEEP := SEGMENT_DEFINITIONS=10000 VOCABULARY_CONDITIONS=5000 INCREMENTAL_STEPS=2880 WALK_CUSTOMERS=1000000 MODEL_BRANDS=5000

test-deep: $(INSTALLED) ## Prove segments and models at length, for about two hours (RANDOM_SEED=n replays)
	@seed=$${RANDOM_SEED:-$$(date +%s)}; echo "RANDOM_SEED=$$seed"; RANDOM_SEED=$$seed $(DEEP) TAP_TIMEOUT=14400 \
		test/run.sh test/segment-laws.test.ts test/incremental.test.ts test/segment-walk.test.ts \
		test/models-naive.test.ts test/vocabulary-naive.test.ts

check: $(INSTALLED) ## Check types, lint, format, generated text and import directions
	$(NODE) $(BIN)/tsc --noEmit
	$(NODE) $(BIN)/tsc --project web/pixel
	$(NODE) $(BIN)/biome ci $$([ -t 1 ] || echo --colors=off)
	bin/recoup docs --check
	REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true $(NODE) $(BIN)/redocly lint docs/openapi.json --config redocly.yaml
	$(NODE) $(BIN)/spectral lint docs/openapi.json --fail-severity warn
	$(NODE) test/layout.test.ts >/dev/null || $(NODE) test/layout.test.ts

bench: $(INSTALLED) ## Run the benchmarks (LONG=1: with ten minutes of memory)
	@$(NODE) bench/all.ts

sql: $(INSTALLED) ## Open a DuckDB prompt with every source and model (BRAND=name when there are several)
	@exec bin/recoup sql $(if $(BRAND),--brand '$(BRAND)')

# The cluster may lie outside of .data, and may still run after a kill.
clean: ## Remove the data folder .data with its Postgres
	@if [ -d .data ]; then $(MAKE) -s $(INSTALLED) && $(NODE) --input-type=module -e " \
		const { removeEmbedded } = await import('./src/store/embedded.ts'); \
		const removed = await removeEmbedded('.data'); \
		if (!removed) console.error('Recoup is running with .data: stop it first.'); \
		process.exitCode = removed ? 0 : 1" && rm -rf .data; fi
	@case "$${DATA_DIR:-.data}" in .data|"$(CURDIR)/.data") ;; \
		*) echo "DATA_DIR=$$DATA_DIR is left as it is: this removes .data only." >&2 ;; esac

distclean: clean ## Remove the installed dependencies as well
	rm -rf node_modules .tap
