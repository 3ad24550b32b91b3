# Everything starts here: make demo, make check, make test, make bench.
# Each command sets up what it needs in .venv and repeats nothing that is done.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
# compiling every installed module to byte code would double the time of a first run
PIP := $(RUN) -m pip install --quiet --disable-pip-version-check --no-compile

.DEFAULT_GOAL := help
.PHONY: help demo test check lint format bench build clean

help:
	@echo 'make demo     see it run (two minutes from a fresh clone)'
	@echo 'make check    lint and the quick tests: what to run before a commit'
	@echo 'make test     everything that CI runs: tests, packages, sanitizers'
	@echo 'make bench    measure this machine, side by side with the rivals'
	@echo 'make lint     only style and types;  make format repairs style'
	@echo 'make build    compile the C engine in place;  make clean removes what builds made'

demo: $(VENV)/.demo build
	@$(RUN) -m parallel_pool demo

test: $(VENV)/.dev build
	@$(RUN) .ci/stages.py all

check: $(VENV)/.dev build
	@$(RUN) .ci/stages.py check

lint: $(VENV)/.dev build
	@$(RUN) .ci/stages.py lint

format: $(VENV)/.dev
	@$(RUN) .ci/stages.py format

bench: $(VENV)/.bench build
	@$(RUN) -m benchmarks

# ------------------------------------------------------------------------------------ set-up --

build: | $(VENV)/.tools
	@$(RUN) build_ffi.py

# what builds the engine; with it in place, pip needs no build environment of its own
$(VENV)/.tools:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	  "parallel_pool needs Python 3.11 or newer: make PYTHON=/path/to/python3 ...")'
	@echo 'setting up $(VENV)'
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) 'setuptools >= 80' 'cffi >= 1.17' 'numpy >= 1.26'
	@touch $@

$(VENV)/.demo $(VENV)/.dev $(VENV)/.bench: $(VENV)/.%: $(VENV)/.tools pyproject.toml
	@echo 'installing parallel_pool[$*] into $(VENV)'
	@# the engine compiles while pip downloads; pip then waits for it and reports what went wrong
	@$(RUN) build_ffi.py >/dev/null 2>&1 & $(PIP) --no-build-isolation --editable '.[$*]' && \
	  wait && touch $@

# The MuJoCo that EnvPool was built with, beside the newest: tests and benchmarks put this folder on
# the path of a process. Under its name only when pip has ended well.
$(VENV)/.dev $(VENV)/.bench: | $(VENV)/mujoco-3.6.0

$(VENV)/mujoco-%: | $(VENV)/.tools
	@echo 'installing MuJoCo $* into $@'
	@rm -rf $@.partial && $(PIP) --no-deps --target $@.partial mujoco==$* && mv $@.partial $@

clean:
	rm -rf build dist *.egg-info parallel_pool/_core.*.so parallel_pool/include
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -exec rm -rf {} +
