"""Fixtures that all tests can use."""

import fcntl
import gc
import os
import platform
import signal
import subprocess
import sys
import warnings
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from parallel_pool._apis.common.gymnasium_ids import is_native, registered_id
from parallel_pool._apis.common.import_hook import after_import
from parallel_pool._engine import registry
from parallel_pool._workers.start import forkserver
from tests.support import forked, sampling
from tests.support.proofs import plugin
from tests.support.timeouts import limited

# Shells start background jobs with SIGINT ignored, and Python keeps that: tests of Ctrl-C would
# wait for ever. Processes that tests start inherit what is set here.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Tests run beside each other, and torch's threads would wait by spinning.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A worker imports the test's module, where its environments are, and that imports these. It would
# take as long as everything else that a worker does.
forkserver.PRELOAD += (
    *("asyncio", "pettingzoo", "pytest", "tests.support.same", "tests.support.timeouts"),
    "parallel_pool._apis.gymnasium.process_vector_env",
    "parallel_pool._apis.leases.lease_pool",
    "parallel_pool._apis.openenv.app",
    "parallel_pool._apis.pettingzoo.pool_parallel_env",
    "parallel_pool._testing.inspection",
)

forked.wait_before_forks()


def _quiet_jax() -> None:
    """Lets JAX believe that it warns at every fork: children of tests do not use JAX.

    Its warning would reach later tests of the same process, which look at warnings.
    """
    from jax._src import xla_bridge

    assert xla_bridge._at_fork_handler_installed in (False, True)
    xla_bridge._at_fork_handler_installed = True


after_import("jax", _quiet_jax)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Turns off the garbage collector meanwhile: it would look at all that is collected, often."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    plugin.register(pluginmanager)


@pytest.hookimpl(wrapper=True)  # before proofs and -m look at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, object, object]:
    sampling.mark_slow(items)
    return (yield)


@pytest.fixture(scope="module", autouse=True)
def frozen_garbage_collector() -> None:
    """Makes collections quick: they skip what pytest and earlier modules hold.

    Many tests call `gc.collect()`, which takes a second once all tests and torch are in memory.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def own_ids() -> Iterator[None]:
    """Removes the ids that a module's tests have loaded, or later tests would find them."""
    before, origins_before = dict(registry.loaded_by_id), dict(registry.origins_by_id)
    yield
    for task_id in registry.loaded_by_id.keys() - before.keys():
        for each in (registered_id(task_id), task_id):
            if each in gymnasium.registry and is_native(gymnasium.registry[each]):
                del gymnasium.registry[each]
    registry.loaded_by_id.clear()
    registry.loaded_by_id.update(before)
    registry.origins_by_id.clear()
    registry.origins_by_id.update(origins_before)


@pytest.fixture(autouse=True)
def unchanged_signal_mask() -> Iterator[None]:
    """Fails a test that leaves a signal blocked."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    yield
    left = signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert left == before


@pytest.fixture
def alarm() -> Iterator[None]:
    """Fails a test that hangs."""
    with limited():
        yield


@pytest.fixture
def start() -> Iterator[Any]:
    """Starts workers with a function of `tests.support.workers_targets` as target.

    They end with the test, and must leave nothing behind. Fork servers and the resource tracker
    outlive a test, so they do not count.
    """
    from parallel_pool._workers.start import child_process, launch
    from tests.support.worker_processes import TARGETS, children, kinds

    forkserver.current()
    child_process.tracker_fd()
    # garbage of earlier tests must not be collected while this one runs
    gc.collect()
    before = kinds(), children() - forkserver.unreaped
    started = []

    def start_workers(method: str | None, function: str, *arguments: Any) -> list[Any]:
        workers = launch.start(method, f"{TARGETS}:{function}", arguments, name="test")
        started.extend(workers)
        return workers

    yield start_workers
    while started:
        started.pop().close()
    forkserver.current()
    assert (kinds(), children() - forkserver.unreaped) == before


def no_network() -> list[str]:
    """Returns the words before a command that take the network away; none if that is refused."""
    words = ["unshare", "--map-root-user", "--net"]
    try:
        done = subprocess.run([*words, "true"], check=False, capture_output=True)
    except FileNotFoundError:
        return []
    return words if done.returncode == 0 else []


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An sdist of this tree, and a wheel built from only that sdist, as for a release.

    They are built without a network, where the system lets us take it away.
    The first of several pytest workers builds them, in a folder that all use. The wheel's C is not
    optimised, as that would take four minutes of a core: `make build` does the same with the
    default flags, and all other tests run the result.
    """
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if is_worker else base) / "packages"
    folder.mkdir(exist_ok=True)
    root = Path(__file__).resolve().parent.parent
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not any(folder.glob("*.whl")):
            subprocess.run(
                [
                    *no_network(),
                    *(sys.executable, root / ".ci" / "wheels.py", platform.machine()),
                    *("--out", folder),
                ],
                check=True,
                capture_output=True,
                env={**os.environ, "CFLAGS": f"{os.environ.get('CFLAGS', '')} -O0"},
            )
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Gives the test a working folder of its own, where MuJoCo writes MUJOCO_LOG.TXT."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def quiet_gymnasium() -> Iterator[None]:
    """Ignores warnings about old ids (v0, v4) and states outside the space; tests need both."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="gymnasium")
        warnings.filterwarnings("ignore", message=".*(out of date|precision|not within).*")
        yield


@pytest.fixture
def cartpoles() -> Iterator[Any]:
    """Three CartPoles as a Stable-Baselines3 VecEnv."""
    from parallel_pool.compat.sb3 import PoolVecEnv

    env = PoolVecEnv("CartPole-v1", 3)
    yield env
    env.close()
