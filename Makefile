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

# pyproject.toml lists both: extras are the users', groups the developers'
$(VENV)/.demo: WANTED := --editable '.[demo]'
$(VENV)/.dev: WANTED := --editable '.[all]' --group dev
$(VENV)/.bench: WANTED := --editable '.[demo,mujoco,sb3]' --group bench

$(VENV)/.demo $(VENV)/.dev $(VENV)/.bench: $(VENV)/.tools pyproject.toml
	@echo "installing $(WANTED) into $(VENV)"
	@# the engine compiles while pip downloads; pip then waits for it and reports what went wrong
	@$(RUN) build_ffi.py >/dev/null 2>&1 & $(PIP) --no-build-isolation $(WANTED) && \
	  wait && touch $@

# Python brings a pip that does not know dependency groups.
$(VENV)/.dev $(VENV)/.bench: | $(VENV)/.pip-25.1

$(VENV)/.pip-%: | $(VENV)/.tools
	@$(PIP) 'pip >= $*' && touch $@

# The MuJoCo that EnvPool was built with, beside the newest: tests and benchmarks put this folder on
# the path of a process. Under its name only when pip has ended well.
$(VENV)/.dev $(VENV)/.bench: | $(VENV)/mujoco-3.6.0

$(VENV)/mujoco-%: | $(VENV)/.tools
	@echo 'installing MuJoCo $* into $@'
	@rm -rf $@.partial && $(PIP) --no-deps --target $@.partial mujoco==$* && mv $@.partial $@

# The oldest NumPy, and what other Pythons on this machine need to run the wheel: for the tests.
$(VENV)/.dev: | $(VENV)/numpy-1.26.4 $(VENV)/other-pythons

$(VENV)/numpy-%: | $(VENV)/.tools
	@echo 'installing NumPy $* into $@'
	@rm -rf $@.partial && $(PIP) --no-deps --target $@.partial numpy==$* && mv $@.partial $@

$(VENV)/other-pythons: | $(VENV)/.pip-25.1
	@echo 'installing what other Pythons need into $@'
	@$(RUN) .ci/other_pythons.py $@

# Rivals with old packages that ours must not share. Without dependencies, because pip would put a
# second torch of gigabytes beside them: what they import is listed.
$(VENV)/.bench: | $(VENV)/tianshou-2.0.1 $(VENV)/pufferlib-3.0.0

TIANSHOU := deepdiff==7.0.1 h5py==3.16.0 llvmlite==0.50.0 numba==0.68.1 ordered-set==4.1.0 \
  overrides==7.7.0 pandas==2.3.3 protobuf==7.36.2 pytz sensai-utils==1.6.0 tensorboard==2.21.0 tqdm

$(VENV)/tianshou-%: | $(VENV)/.tools
	@echo 'installing Tianshou $* into $@'
	@rm -rf $@.partial && $(PIP) --no-deps --target $@.partial tianshou==$* $(TIANSHOU) && \
	  mv $@.partial $@

# PufferLib comes as source only, and its setup wants torch and loads games' libraries from GitHub.
# The vectoriser needs neither: its Python files are taken as pip unpacks them, however that ends.
PUFFERLIB := gym==0.23.0 gym-notices gymnasium==0.29.1 numpy==1.26.4 psutil

$(VENV)/pufferlib-%: | $(VENV)/.tools
	@echo 'installing PufferLib $* into $@'
	@rm -rf $@.partial && mkdir -p $@.partial/source && \
	  $(PIP) --no-deps --target $@.partial $(PUFFERLIB) && \
	  { TMPDIR=$(abspath $@.partial/source) $(RUN) -m pip download --quiet --no-deps --no-clean \
	    --no-build-isolation --dest $@.partial/source pufferlib==$* >/dev/null 2>&1 || true; } && \
	  cd $@.partial && mkdir -p pufferlib/environments && \
	  cp source/*/pufferlib_*/pufferlib/*.py pufferlib && \
	  cp source/*/pufferlib_*/pufferlib/environments/__init__.py pufferlib/environments && \
	  rm -rf source && cd $(CURDIR) && mv $@.partial $@

clean:
	rm -rf build dist *.egg-info parallel_pool/_core.*.so parallel_pool/include
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -exec rm -rf {} +
