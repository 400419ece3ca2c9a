# Every target sets itself up: a local .venv with the pinned packages, made once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
RESULTS := benchmarks/results

# Threads that wait must not take a core from those that work; OpenMP reads this when it loads.
export OMP_WAIT_POLICY ?= PASSIVE
export KMP_BLOCKTIME ?= 0

.DEFAULT_GOAL := help
.PHONY: help demo test coverage fuzz soak lint format bench bench-gpu docs docs-dynamics clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(STAMP)  ## Watch one setting adapt to a low-, a middle- and a high-frequency graph
	$(BIN)/graphfilter demo --out demo --overwrite

test: $(STAMP)  ## Run the tests
	$(BIN)/python -m pytest -q -n auto

coverage: $(STAMP)  ## Run the tests and print the share of lines they reach
	$(BIN)/python -m pytest -q -n auto --cov --cov-report=term

fuzz: $(STAMP)  ## Look for inputs that break it: random ones, a thousand per property
	HYPOTHESIS_PROFILE=fuzz $(BIN)/python -m pytest -q -n auto -m 'hypothesis or fuzz' tests
	$(BIN)/python -m tests.fuzz.run --budget 100000

.PHONY: mutation
mutation: $(STAMP)  ## Apply deliberate faults to a copy, and report which of them the tests notice
	$(BIN)/python tools/mutation.py

soak: $(STAMP)  ## Run for long and kill often: nothing may grow, nothing may be lost
	nice -n 10 $(BIN)/python -m tests.soak --fits 1000 --requests 10000 --kills 200

lint: $(STAMP)  ## Check style (ruff) and types (pyright)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/pyright --project pyrightconfig.tests.json

format: $(STAMP)  ## Format the code and fix what ruff can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)  ## Measure time and memory on the CPU beside peers, and write docs/performance.md
	$(BIN)/python benchmarks/epoch.py --threads 1 --out $(RESULTS)/epoch-cpu.json
	for name in layer memory growth loading contention; do \
		$(BIN)/python benchmarks/$$name.py --out $(RESULTS)/$$name-cpu.json || exit 1; done
	$(BIN)/python benchmarks/write_docs.py

bench-gpu: $(STAMP)  ## The same on a CUDA GPU, and full-batch training at the size of papers100M
	for name in epoch layer memory growth huge; do \
		$(BIN)/python benchmarks/$$name.py --device cuda --out $(RESULTS)/$$name-cuda.json \
			|| exit 1; done
	$(BIN)/python benchmarks/write_docs.py

docs: $(STAMP)  ## Build the documentation site in build/site, without a network, warnings as errors
	$(BIN)/python -m sphinx -W --keep-going -q -c docs -b html . build/site
	@echo "The site: build/site/index.html"

docs-dynamics: $(STAMP)  ## Record again how the filters on the site's first page learn
	$(BIN)/python tools/site_dynamics.py

clean:  ## Remove the local environment and what the demo wrote
	rm -rf $(VENV) demo build/site docs/gallery_pages

$(STAMP): pyproject.toml constraints.txt hatch_build.py src/graphfilter/operators/kernels/native.c
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "graphfilter needs Python 3.11 or newer; try: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable '.[dev]'
	@touch $@
