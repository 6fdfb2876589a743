# One environment in .venv for everything. Each target installs what it needs, once.
#
#   make demo       a small real model writes JSON under a schema, on this machine's CPU
#   make demo-tools the same model asks a ticket service for things; every check, a lost answer
#   make test       the quick tests             make test-long   the long suites, whole
#   make lint       ruff, mypy, C warnings      make test-c      C unit tests under sanitizers
#   make bench      a table of timings, and a dated record in benchmarks/record
#   make compare    the same questions put to other engines: tables, plots, docs/benchmarks
#   make dist       sdist and wheel             make clean       removes what was made
#
#   TORCH=torch==2.13.0   which PyTorch to install ("" to keep what is in .venv)
#   PIP_ARGS=...          further arguments for pip when it installs PyTorch, such as --index-url
#                         with PyTorch's own CPU index where a plain torch is a CUDA build
#   ARGS=...              further arguments for the command behind demo, demo-tools, test, bench, compare

PYTHON ?= python3
CC ?= cc
VENV ?= .venv
TORCH ?= torch==2.13.0
PIP_ARGS ?=
ARGS ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
NATIVE := pyproject.toml setup.py csrc/binding.py $(wildcard csrc/*.[ch])

.PHONY: help demo demo-tools test test-long test-c lint bench compare dist clean FORCE
.DEFAULT_GOAL := help

help:
	@sed -n 's/^#   //p' Makefile

# ---- the environment: one stamp file for each thing installed

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "$(PYTHON) is older than Python 3.10; choose another: make PYTHON=python3.12 ..."; exit 1; }
	@command -v $(CC) >/dev/null || { echo "a C compiler is needed (looked for $(CC))"; exit 1; }
	@echo "== making $(VENV)"
	$(PYTHON) -m venv $(VENV)
	@touch $@

# Rewritten only when the choice changes, so that another TORCH is installed and the same is not.
$(VENV)/torch-choice: FORCE | $(VENV)/made
	@echo "$(TORCH) $(PIP_ARGS)" | cmp -s - $@ || echo "$(TORCH) $(PIP_ARGS)" > $@

$(VENV)/torch: $(VENV)/torch-choice
	@echo "== installing $(or $(TORCH),no PyTorch) (the largest download)"
	$(if $(strip $(TORCH)),$(PIP) install $(PIP_ARGS) "$(TORCH)")
	@touch $@

$(VENV)/run: $(NATIVE) $(VENV)/torch
	@echo "== building and installing gramlock with what generation needs"
	$(PIP) install --editable ".[cli,hf,tools]"
	@touch $@

$(VENV)/dev: $(VENV)/run
	@echo "== installing what the tests need"
	$(PIP) install --editable ".[cli,hf,tools,dev]"
	@touch $@

$(VENV)/compare: $(VENV)/dev
	@echo "== installing the engines to compare with"
	$(PIP) install --editable ".[compare]"
	@touch $@

$(VENV)/example: $(VENV)/run
	@echo "== installing what the example needs"
	$(PIP) install --editable ".[cli,hf,tools,example]"
	@touch $@

# Linters need neither PyTorch nor a build of the package.
$(VENV)/lint: pyproject.toml | $(VENV)/made
	@echo "== installing the linters"
	$(PIP) install $$($(BIN)/python -c 'import re, pathlib; print(*re.findall(r"\"((?:ruff|mypy)==[^\"]+)\"", pathlib.Path("pyproject.toml").read_text()))') numpy referencing rich typer
	@touch $@

# ---- commands

demo: $(VENV)/run
	$(BIN)/gramlock demo $(ARGS)

demo-tools: $(VENV)/example
	PYTHONPATH=examples $(BIN)/python -m ticket_service $(ARGS)

test: $(VENV)/dev
	$(BIN)/python -m pytest $(ARGS)

test-long: $(VENV)/dev
	$(BIN)/python -m pytest --long $(ARGS)

test-c:
	$(MAKE) -C csrc asan

lint: $(VENV)/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(MAKE) -C csrc lint

bench: $(VENV)/dev
	$(BIN)/python tests/assets.py llama3 mistral-v3 smollm2
	$(BIN)/python -m benchmarks.run $(ARGS)

compare: $(VENV)/compare
	$(BIN)/python tests/assets.py llama3
	$(BIN)/python -c "from gramlock.demo.model import ensure_model; ensure_model()"
	$(BIN)/python -m benchmarks.compare --readme $(ARGS)

dist: $(VENV)/dev
	$(BIN)/python -m build

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache python/gramlock.egg-info
	rm -f python/gramlock/_native*.so
