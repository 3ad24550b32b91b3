# The commands of this project; make alone lists them.
# Each installs what it needs into .venv, and skips what is already done.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
# without --no-compile, pip would compile all modules, which doubles the time of a first run
PIP := $(RUN) -m pip install --quiet --disable-pip-version-check --no-compile

.DEFAULT_GOAL := help
.PHONY: help demo test check prove lint format bench docs build wheels release clean

help:
	@echo 'make demo     watch it run (two minutes from a fresh clone)'
	@echo 'make check    lint and the quick tests: run it before each commit'
	@echo 'make test     everything that CI runs: tests, packages, sanitizers'
	@echo 'make prove    run long tests whose sources changed, for tests/proofs.json'
	@echo 'make bench    compare with other libraries on this machine'
	@echo 'make docs     write the documentation site into build/site/html'
	@echo 'make lint     style and types only;  make format repairs style'
	@echo 'make wheels   build the sdist and the wheels for Linux and macOS into dist/'
	@echo 'make release  build them twice, and test what was built'
	@echo 'make build    compile the C engine in place;  make clean removes build outputs'

demo: $(VENV)/.demo build
	@$(RUN) -m parallel_pool demo

test: $(VENV)/.dev build
	@$(RUN) .ci/stages.py all

check: $(VENV)/.dev build
	@$(RUN) .ci/stages.py check

prove: $(VENV)/.dev build
	@$(RUN) .ci/stages.py prove

# compiler warnings are errors there
test check prove lint: export PP_WERROR := 1

lint: $(VENV)/.dev build
	@$(RUN) .ci/stages.py lint

format: $(VENV)/.dev
	@$(RUN) .ci/stages.py format

bench: $(VENV)/.bench build
	@$(RUN) -m benchmarks

wheels: $(VENV)/.dev
	@rm -rf dist
	@$(RUN) .ci/wheels.py

release: $(VENV)/.dev
	@$(RUN) .ci/stages.py release

docs: $(VENV)/docs-site
	@$(RUN) .ci/stages.py docs

# ------------------------------------------------------------------------------------ setup --

build: | $(VENV)/.tools
	@$(RUN) build_ffi.py

# The packages that build the engine. With them in place, pip needs no build environment of its own.
$(VENV)/.tools:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	  "parallel_pool needs Python 3.11 or newer: make PYTHON=/path/to/python3 ...")'
	@echo 'setting up $(VENV)'
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) 'setuptools >= 80' 'cffi >= 1.17' 'numpy >= 1.26'
	@touch $@

# pyproject.toml defines both: extras are for users, groups for developers.
$(VENV)/.demo: WANTED := --editable '.[demo]'
$(VENV)/.dev: WANTED := --editable '.[all]' --group dev
$(VENV)/.bench: WANTED := --editable '.[demo,mujoco,sb3]' --group bench

$(VENV)/.demo $(VENV)/.dev $(VENV)/.bench: $(VENV)/.tools pyproject.toml
	@echo "installing $(WANTED) into $(VENV)"
	@# the engine compiles while pip downloads; pip waits for it and reports its errors
	@$(RUN) build_ffi.py >/dev/null 2>&1 & $(PIP) --no-build-isolation $(WANTED) && \
	  wait && touch $@

# The pip that Python includes may be too old for dependency groups.
$(VENV)/.dev $(VENV)/.bench: | $(VENV)/.pip-25.1

$(VENV)/.pip-%: | $(VENV)/.tools
	@$(PIP) 'pip >= $*' && touch $@

# The MuJoCo that EnvPool was built with, beside the newest; tests and benchmarks put this folder on
# the path of a process. The folder gets its final name only if pip succeeded.
$(VENV)/.dev $(VENV)/.bench: | $(VENV)/mujoco-3.6.0

$(VENV)/mujoco-%: | $(VENV)/.tools
	@echo 'installing MuJoCo $* into $@'
	@rm -rf $@.partial && $(PIP) --no-deps --target $@.partial mujoco==$* && mv $@.partial $@

# For the tests: the oldest NumPy that we support, and the packages that other Pythons on this
# machine need to run the wheel.
$(VENV)/.dev: | $(VENV)/numpy-1.26.4 $(VENV)/other-pythons

$(VENV)/numpy-%: | $(VENV)/.tools
	@echo 'installing NumPy $* into $@'
	@rm -rf $@.partial && $(PIP) --no-deps --target $@.partial numpy==$* && mv $@.partial $@

$(VENV)/other-pythons: | $(VENV)/.pip-25.1
	@echo 'installing what other Pythons need into $@'
	@$(RUN) .ci/other_pythons.py $@

# Virtual environments of the oldest Python that runs workers and of a new one, with old and new
# packages, in which tests run workers.
$(VENV)/.dev: | $(VENV)/worker-pythons

$(VENV)/worker-pythons: | $(VENV)/.tools
	@echo 'installing what workers of other Pythons need into $@'
	@rm -rf $@.partial && mkdir $@.partial && \
	  $(RUN) -m tests.support.interpreters $@.partial 3.9 3.13 >/dev/null && mv $@.partial $@

# Meta-World pins a MuJoCo that is older than ours. It gets a virtual environment with these two (60
# MB), which finds what else they import in .venv; tests run workers in it.
$(VENV)/.dev: | $(VENV)/meta-world-3.1.1

$(VENV)/meta-world-%: | $(VENV)/.tools
	@echo 'installing Meta-World $* and its MuJoCo into $@'
	@rm -rf $@.partial && $(RUN) -m venv --without-pip $@.partial && \
	  site=$$(echo $@.partial/lib/python*/site-packages) && \
	  $(PIP) --no-deps --target $$site metaworld==$* mujoco==3.3.0 && \
	  echo $(CURDIR)/$(VENV)/lib/python*/site-packages > $$site/after.pth && mv $@.partial $@

# The program that writes the documentation site, in a folder of its own, as it must not change the
# versions of other packages. It neither builds nor imports the engine.
$(VENV)/.dev: | $(VENV)/docs-site

$(VENV)/docs-site: pyproject.toml | $(VENV)/.pip-25.1
	@echo 'installing the program for the site into $@'
	@rm -rf $@ $@.partial && $(PIP) --target $@.partial --group docs && mv $@.partial $@ && touch $@

# The reference of dm_control's suite: the newest dm_control, and the newest MuJoCo that it loads
# with. What else it imports comes with the dm_control of the group integration.
$(VENV)/.dev $(VENV)/.bench: | $(VENV)/dm-control-1.0.50

$(VENV)/dm-control-%: | $(VENV)/.tools
	@echo 'installing dm_control $* and its MuJoCo into $@'
	@rm -rf $@.partial && \
	  $(PIP) --no-deps --target $@.partial dm-control==$* mujoco==3.17.0 && mv $@.partial $@

# The reference of Gymnasium-Robotics' tasks, with the newest MuJoCo with which all of it can be made.
# Its models come with the package of the group test, too.
$(VENV)/.dev $(VENV)/.bench: | $(VENV)/gymnasium-robotics-1.4.2

$(VENV)/gymnasium-robotics-%: | $(VENV)/.tools
	@echo 'installing Gymnasium-Robotics $* and its MuJoCo into $@'
	@rm -rf $@.partial && \
	  $(PIP) --no-deps --target $@.partial gymnasium-robotics==$* mujoco==3.11.0 && \
	  mv $@.partial $@

# Procgen's games, for tests and benchmarks. Its metadata ask for NumPy 1 and gym, which its library
# does not need, so no group can name it. Only Python 3.11 and 3.12 have a wheel; tests of it are
# skipped elsewhere, which is no reason to have no environment.
$(VENV)/.dev $(VENV)/.bench: | $(VENV)/.procgen-0.10.7

$(VENV)/.procgen-%: | $(VENV)/.tools
	@echo 'installing procgen-mirror $*'
	@$(PIP) --no-deps procgen-mirror==$* || echo 'there is no Procgen for this Python'
	@touch $@

# What importing procgen needs, for comparisons in processes of their own.
$(VENV)/.dev $(VENV)/.bench: | $(VENV)/procgen-reference

$(VENV)/procgen-reference: | $(VENV)/.tools
	@echo "installing what Procgen's own loop needs into $@"
	@rm -rf $@.partial && \
	  $(PIP) --no-deps --target $@.partial gym3==0.3.3 gym==0.23.1 gym-notices==0.1.0 && \
	  mv $@.partial $@

# A second checker of types, for tests/package/test_typing.py. Its tests are skipped where npm can't
# install it, which is no reason to have no environment.
$(VENV)/.dev: | $(VENV)/pyright-1.1.414

$(VENV)/pyright-%: | $(VENV)/.tools
	@echo 'installing pyright $* into $@'
	@rm -rf $@.partial; \
	if npm install --silent --fetch-retries=1 --prefix $@.partial pyright@$*; then \
	  mv $@.partial $@; \
	else \
	  rm -rf $@.partial; echo 'npm is missing or failed: nothing is checked with pyright'; \
	fi

# PyInstaller, for a test of frozen programs, which is skipped where it can't be installed; that is no
# reason to have no environment.
$(VENV)/.dev: | $(VENV)/pyinstaller-6.22.3

$(VENV)/pyinstaller-%: | $(VENV)/.tools
	@echo 'installing PyInstaller $* into $@'
	@rm -rf $@.partial; \
	if $(PIP) --target $@.partial pyinstaller==$*; then \
	  mv $@.partial $@; \
	else \
	  rm -rf $@.partial; echo 'PyInstaller is missing: no program is frozen'; \
	fi

# Libraries that train on our pools in integration/. They are installed without dependencies: those
# would replace torch, NumPy and Gymnasium by other versions. CleanRL's metadata ask for Python 3.10,
# which its programs do not need; the examples of Sample Factory are not used.
$(VENV)/.dev: | $(VENV)/training-libraries

TRAINING := cleanrl==1.2.0 rl_games==1.6.5 sample-factory==2.1.1 tianshou==2.0.1 torchrl==0.14.1 \
  annotated-types==0.8.0 colorlog==6.12.0 deepdiff==7.0.1 dill==0.4.1 faster-fifo==1.5.2 \
  flax==0.12.8 graphviz==0.21 gym==0.23.1 gym-notices h5py==3.16.0 hbutils==0.14.2 hoptorch==0.1.4 \
  lz4==4.4.5 msgpack==1.2.4 ordered-set==4.1.0 ormsgpack==1.13.1 overrides==7.7.0 pandas==2.3.3 \
  protobuf==7.36.2 psutil pyarrow==26.0.1 pydantic==2.14.4 pydantic-core==2.50.5 pytz \
  pyvers==0.2.3 sensai-utils==1.6.0 setproctitle signal-slot-mp==1.0.5 tensorboard==2.21.0 \
  tensorboardX==2.6.5 tensordict==0.14.3 threadpoolctl tqdm treescope==0.1.10 treevalue==1.5.0 \
  typing-inspection==0.4.5

$(VENV)/training-libraries: | $(VENV)/.tools
	@echo 'installing training libraries into $@'
	@rm -rf $@.partial && \
	  $(PIP) --no-deps --ignore-requires-python --target $@.partial $(TRAINING) && \
	  rm -rf $@.partial/sf_examples && mv $@.partial $@

# Libraries that train on environments in gymnax's form, with the gymnax whose steps return five
# values. They are installed without dependencies: those would replace JAX by an older version. Their
# tests are skipped where one can't be installed, which is no reason to have no environment.
$(VENV)/.dev: | $(VENV)/rejax-0.1.3

REJAX := chex==0.1.92 decorator==5.3.1 distrax==0.1.9 flax==0.12.8 gast==0.7.0 gymnax==0.0.9 \
  seaborn==0.13.2 six==1.17.0 tfp-nightly==0.26.0.dev20261027 toolz==1.2.0 treescope==0.1.10

$(VENV)/rejax-%: | $(VENV)/.tools
	@echo 'installing rejax $* into $@'
	@rm -rf $@.partial; \
	if $(PIP) --no-deps --target $@.partial rejax==$* $(REJAX); then \
	  mv $@.partial $@; \
	else \
	  rm -rf $@.partial; echo 'a library is missing: nothing is trained with rejax'; \
	fi

# The newest EnvPool needs a newer Python than ours may be; without one it is not compared. ale-py
# has the ROMs, OpenCV is for the comparison of pictures, and an agent in JAX trains on it. It asks
# for a gigabyte of assets.
$(VENV)/.bench: | $(VENV)/envpool-1.2.7

$(VENV)/envpool-%: | $(VENV)/.pip-25.1
	@echo 'installing EnvPool $* into $@'
	@$(RUN) .ci/other_pythons.py $@ 3.12 envpool==$* ale-py cffi cloudpickle \
	  opencv-python-headless jax==0.12.0.1 optax==0.2.8

# Rivals that need old packages, each in a folder of its own. They are installed without
# dependencies, as pip would add a second torch of gigabytes; the packages they import are listed.
$(VENV)/.bench: | $(VENV)/tianshou-2.0.1 $(VENV)/pufferlib-3.0.0

TIANSHOU := deepdiff==7.0.1 h5py==3.16.0 llvmlite==0.50.0 numba==0.68.1 ordered-set==4.1.0 \
  overrides==7.7.0 pandas==2.3.3 protobuf==7.36.2 pytz sensai-utils==1.6.0 tensorboard==2.21.0 tqdm

$(VENV)/tianshou-%: | $(VENV)/.tools
	@echo 'installing Tianshou $* into $@'
	@rm -rf $@.partial && $(PIP) --no-deps --target $@.partial tianshou==$* $(TIANSHOU) && \
	  mv $@.partial $@

# PufferLib exists only as source, and its setup needs torch and downloads libraries of games from
# GitHub. The vectoriser needs neither, so its Python files are copied after pip has unpacked them,
# even if the setup fails.
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
