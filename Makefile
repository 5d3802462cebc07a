# Everything is installed into .venv, with the versions in constraints.txt.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
PYTHON ?= python3
RUN := .venv/bin/python -m
INSTALL := $(RUN) pip install -qq --disable-pip-version-check --constraint constraints.txt

.PHONY: help setup demo demo-debates reproduce test test-slow docs tools
.PHONY: bench bench-training bench-analysis bench-serving format clean

help:  ## list these targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/make \1\t\2/p' Makefile | expand -t 16

setup: .venv/dev .venv/kernels  ## create .venv and install treetext with its tools (nothing to do when up to date)

demo: setup  ## train a model on generated texts with hidden trees, show its trees, and read a speech
	@.venv/bin/python examples/demo.py

demo-debates: setup  ## the same on real speeches: make demo-debates CONVOTE=directory-or-archive
	@[ -n "$(CONVOTE)" ] || { echo "CONVOTE: missing; expected the directory or archive of convote v1.1" >&2; exit 2; }
	@PYTHONPATH=. .venv/bin/python examples/demo.py --cell debates/ours-both --data "$(CONVOTE)" --out models/debates

reproduce: setup  ## run a table of a study: make reproduce TABLE=snli DATA=directory, also ONLY=run SEEDS=n AGAIN=1 LIST=1
	@[ -n "$(TABLE)" ] || { echo "TABLE: missing; expected a table, as in make reproduce TABLE=documents LIST=1" >&2; exit 2; }
	@$(RUN) studies $(TABLE) $(if $(DATA),--data "$(DATA)") $(if $(ONLY),--only "$(ONLY)") \
		$(if $(SEEDS),--seeds "$(SEEDS)") $(if $(AGAIN),--again) $(if $(LIST),--list)

test: setup  ## lint, types, tests and doctests
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy
	OMP_NUM_THREADS=1 $(RUN) pytest --numprocesses 2 --dist worksteal

test-slow: setup  ## the tests that take minutes
	$(RUN) pytest -m slow || [ $$? -eq 5 ]  # 5: there are none

docs: setup  ## build the documentation, strictly, into site/
	.venv/bin/python docs/figures.py
	NO_MKDOCS_2_WARNING=1 $(RUN) mkdocs build --strict --quiet
	@echo "To read it, open in a browser: site/index.html"

tools:  ## install what tests look at pages and graphs with: Debian's chromium and graphviz, by apt-get, as root
	@echo "Installing Debian's chromium and graphviz by apt-get. Without them, the tests of pages and graphs are skipped."
	apt-get update
	apt-get install --yes chromium graphviz

bench: .venv/bench  ## compare accuracy, speed and memory with other libraries, into docs/benchmarks.md
	.venv/bin/python benchmarks/trees.py | tee docs/benchmarks.md

bench-training: setup  ## speed and memory of training, into docs/training-speed.md
	.venv/bin/python benchmarks/training.py | tee docs/training-speed.md

bench-analysis: setup  ## speed of the analysis of trees, into docs/analysis-speed.md
	.venv/bin/python benchmarks/analysis.py | tee docs/analysis-speed.md

bench-serving: setup  ## throughput and latency of a server, into docs/serving-speed.md
	.venv/bin/python benchmarks/serving.py | tee docs/serving-speed.md

format: setup  ## format the code and apply safe fixes
	$(RUN) ruff format .
	$(RUN) ruff check --fix .

clean:  ## remove .venv, caches and results
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis dist site
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/dev: pyproject.toml constraints.txt
	@echo "Installing into .venv; the first time, this takes a minute or two."
	$(PYTHON) -m venv .venv
	$(INSTALL) hatchling editables
	$(INSTALL) --no-build-isolation --editable '.[all,dev,docs]'
	@touch $@

# Numba keeps a compiled function until its own file changes, even when a function that it calls has changed.
.venv/kernels: .venv/dev $(wildcard src/treetext/trees/kernels/*.py) src/treetext/trees/tree.py
	@find src -name '*.nb[ci]' -delete
	@touch $@

.venv/bench: .venv/dev
	$(INSTALL) --no-build-isolation --editable '.[bench]'
	$(INSTALL) --no-deps supar
	@touch $@
