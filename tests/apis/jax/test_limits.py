"""Limits of compiled calls: environments that are late or hang, and pools that are closed."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax.errors import JaxRuntimeError

import parallel_pool
from parallel_pool._engine import closing as pool_closing
from parallel_pool._engine import sharing
from parallel_pool._engine.pool import Pool
from parallel_pool._native import ffi, lib, new_error
from parallel_pool.compat.jax import make_gymnax, xla
from parallel_pool.errors import BusyError, ClosedError, PoolTimeoutError, StateError
from tests.support.jax_scans import scan
from tests.support.timeouts import TEST_TIMEOUT, wait_for

FAULT = Path(__file__).resolve().parents[3] / "csrc" / "envs" / "test" / "fault.c"
ENVS, SLOW_ENV = 3, 1
SHORT_SECONDS, LONG_SECONDS = 0.05, 10 * TEST_TIMEOUT
ZEROS = np.zeros(ENVS, np.int32)
OPTIONS: dict[str, Any] = {"slow_env": SLOW_ENV}
# JAX raises the second one if the program has been called before
ERRORS = (JaxRuntimeError, ValueError)
LATE = rf"no batch of {ENVS} within 0\.05 s: {ENVS} environments are in flight"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gates")


@pytest.fixture(scope="module")
def task_id(folder: Path) -> str:
    """An environment that makes the file "began" and waits for the file "open" in a step."""
    changes = {
        "test/Fault-v0": "own/Gate-v0",
        "pp_env_test_fault_v0": "pp_env_gate",
        '.family = "test",': "",
        "#include <time.h>": "#include <stdio.h>\n#include <time.h>\n#include <unistd.h>",
        "linger(it, env->options[SPIN].i, env->options[SLEEP_MS].i)": (
            f'for (fclose(fopen("{folder / "began"}", "w")); access("{folder / "open"}", F_OK);)'
            " linger(it, 0, 1)"
        ),
    }
    text = FAULT.read_text()
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    path = folder / "gate.c"
    path.write_text(text)
    (found,) = parallel_pool.load_source(path)
    return found


@pytest.fixture
def gate(folder: Path) -> Iterator[Path]:
    """The file for which steps wait; afterwards it is there, so that all threads end."""
    path = folder / "open"
    path.unlink(missing_ok=True)
    (folder / "began").unlink(missing_ok=True)
    yield path
    path.touch()


def wait_for_step(gate: Path) -> None:
    wait_for(gate.with_name("began").exists)


@pytest.fixture
def pool(task_id: str, gate: Path) -> Iterator[Pool]:
    # one thread, so that messages name one environment
    with Pool(task_id, ENVS, num_threads=1, options=OPTIONS) as made:
        made.reset()
        yield made
        gate.touch()


def step_late(functions: Any, handle: Any = None) -> str:
    """Makes a step whose environment is late; returns the text of the error."""
    handle = functions.handle if handle is None else handle
    with pytest.raises(JaxRuntimeError, match=f"DEADLINE_EXCEEDED: {LATE}") as raised:
        jax.block_until_ready(functions.step(handle, ZEROS))
    return str(raised.value)


# --------------------------------------------------------------------------------------- limits --


@pytest.mark.slow
@pytest.mark.parametrize("receives", ["Python", "a program"])
def test_a_late_step_is_an_error_that_loses_nothing(
    receives: str, pool: Pool, gate: Path, task_id: str
) -> None:
    functions = xla(pool, timeout=SHORT_SECONDS)
    step_late(functions)
    wait_for_step(gate)
    # the same words, which name the environment
    with pytest.raises(PoolTimeoutError, match=LATE) as theirs:
        pool.recv(timeout=SHORT_SECONDS)
    assert f"now in a step or reset of environment {SLOW_ENV}" in str(theirs.value)
    with pytest.raises(JaxRuntimeError) as ours:
        jax.block_until_ready(functions.recv(functions.handle))
    assert str(theirs.value) in str(ours.value)
    with pytest.raises(JaxRuntimeError, match="results of an earlier call are pending"):
        jax.block_until_ready(functions.step(functions.handle, ZEROS))
    assert pool.in_flight == ENVS

    gate.touch()
    if receives == "Python":
        found = pool.recv()
    else:
        _, found = xla(pool).recv(functions.handle)
    with Pool(task_id, ENVS, options=OPTIONS) as other:
        other.reset()
        expected = other.step(ZEROS)
    np.testing.assert_array_equal(found.obs, expected.obs)
    _, found = xla(pool, timeout=LONG_SECONDS).step(xla(pool).handle, ZEROS)
    assert found.obs[..., 0].tolist() == [2] * ENVS


@pytest.mark.slow
def test_a_late_step_ends_a_scan(pool: Pool, gate: Path) -> None:
    functions = xla(pool, timeout=SHORT_SECONDS)
    with pytest.raises(JaxRuntimeError, match="DEADLINE_EXCEEDED"):
        jax.block_until_ready(scan(functions.step, functions.handle, np.zeros((9, ENVS), np.int32)))
    gate.touch()
    again = xla(pool, timeout=SHORT_SECONDS)
    # programs that use them are not compiled again
    assert again[1:] == functions[1:]
    handle, found = xla(pool, timeout=LONG_SECONDS).recv(again.handle)
    assert found.obs[..., 0].tolist() == [1] * ENVS
    _, found = scan(xla(pool, timeout=LONG_SECONDS).step, handle, np.zeros((9, ENVS), np.int32))
    assert found.obs[-1, :, 0].tolist() == [10] * ENVS


@pytest.mark.slow
def test_while_a_program_steps_python_is_refused(pool: Pool, gate: Path) -> None:
    functions = xla(pool)
    found = []

    def play() -> None:
        actions = np.zeros((250, ENVS), np.int32)
        found.append(scan(functions.step, functions.handle, actions))
        jax.block_until_ready(found)

    thread = threading.Thread(target=play)
    thread.start()
    wait_for_step(gate)
    with pytest.raises((BusyError, StateError)):
        pool.recv(timeout=0)
    gate.touch()
    thread.join()
    ((handle, results),) = found
    assert results.obs.shape[:2] == (250, ENVS) and int(handle[1]) == 250
    # the handle is that of the last step
    jax.block_until_ready(functions.step(handle, ZEROS))


@pytest.mark.slow
def test_an_asynchronous_step_is_late(task_id: str, gate: Path) -> None:
    options = {"slow_env": -1}
    with Pool(task_id, 4, batch_size=2, num_threads=2, options=options) as pool:
        functions, patient = xla(pool, timeout=SHORT_SECONDS), xla(pool, timeout=LONG_SECONDS)
        handle = functions.async_reset(functions.handle)
        handle, first = patient.recv(handle)
        handle, _ = patient.recv(handle)
        actions = np.zeros(2, np.int32)
        with pytest.raises(JaxRuntimeError, match=r"DEADLINE_EXCEEDED: no batch of 2 .*: 2 env"):
            jax.block_until_ready(functions.step(handle, actions, first.env_id))
        gate.touch()
        handle, found = patient.recv(handle)
        assert sorted(found.env_id.tolist()) == sorted(first.env_id.tolist())
        # a receive waits for the sends of other threads
        with pytest.raises(JaxRuntimeError, match=r"no batch of 2 .*: 0 environments"):
            jax.block_until_ready(functions.recv(handle))


@pytest.mark.slow
def test_a_late_step_of_envpools_functions(task_id: str, gate: Path) -> None:
    env = parallel_pool.make(task_id, env_type="gymnasium", num_envs=ENVS, **OPTIONS)
    with closing(env):
        env.reset()
        handle, recv, _, step = env.xla(timeout=SHORT_SECONDS)
        with pytest.raises(JaxRuntimeError, match=LATE):
            jax.block_until_ready(step(handle, ZEROS))
        gate.touch()
        *_, infos = env.recv()
        assert infos["elapsed_step"].tolist() == [1] * ENVS
        handle, recv, send, _ = env.xla(timeout=LONG_SECONDS)
        _, (*_, infos) = recv(send(handle, ZEROS))
        assert infos["elapsed_step"].tolist() == [2] * ENVS


@pytest.mark.slow
def test_a_late_step_of_a_vector_environment(task_id: str, gate: Path) -> None:
    with closing(parallel_pool.PoolVectorEnv(task_id, ENVS, **OPTIONS)) as envs:
        envs.reset()
        functions = xla(envs, timeout=SHORT_SECONDS)
        step_late(functions)
        gate.touch()
        _, (*_, infos) = xla(envs, timeout=LONG_SECONDS).recv(functions.handle)
        assert infos["count"].tolist() == [1] * ENVS
        gate.unlink()
        step_late(functions, xla(envs).handle)
        gate.touch()
        # Python's reset drops the results
        envs.reset()
        *_, infos = envs.step(ZEROS)
        assert infos["count"].tolist() == [3] * ENVS


@pytest.mark.slow
def test_a_late_pool_is_named_and_the_others_are_not_late(task_id: str, gate: Path) -> None:
    good, bad = (Pool(task_id, ENVS, options={"slow_env": slow}) for slow in (ENVS, SLOW_ENV))
    with good, bad:
        functions, patient = (
            xla([good, bad], timeout=limit) for limit in (SHORT_SECONDS, LONG_SECONDS)
        )
        handles, _ = jax.vmap(patient.reset)(functions.handle)
        both = np.zeros((2, ENVS), np.int32)
        with pytest.raises(JaxRuntimeError, match=f"DEADLINE_EXCEEDED: pool [01] of 2: {LATE}"):
            jax.block_until_ready(jax.vmap(functions.step)(handles, both))
        gate.touch()
        # on a machine that stands still for a moment, the other was late too
        for each in (good, bad):
            if each.in_flight:
                assert each.recv().obs[..., 0].tolist() == [1] * ENVS
        _, found = jax.vmap(patient.step)(xla([good, bad]).handle, both)
        assert found.obs[..., 0].tolist() == [[2] * ENVS] * 2


@pytest.mark.slow
def test_a_late_step_of_gymnaxs_form_may_be_repeated(task_id: str, gate: Path) -> None:
    env, _ = make_gymnax(task_id, num_envs=ENVS, timeout=SHORT_SECONDS, **OPTIONS)
    other, _ = make_gymnax(task_id, num_envs=ENVS, **OPTIONS)
    with closing(env), closing(other):
        keys = jax.random.split(jax.random.key(0), ENVS)
        _, state = jax.vmap(other.reset)(keys)
        step = jax.jit(jax.vmap(env.step))
        for _ in range(2):
            with pytest.raises(ERRORS, match=LATE):
                jax.block_until_ready(step(keys, state, ZEROS))
        gate.touch()

        found: list[Any] = []

        def is_done() -> bool:
            # on a machine that stands still for a moment, a call may be late again
            try:
                found.append(jax.block_until_ready(step(keys, state, ZEROS)))
            except ERRORS as error:
                assert "within 0.05 s" in str(error)
            return bool(found)

        wait_for(is_done)
        expected = jax.vmap(other.step)(keys, state, ZEROS)
        jax.tree.map(np.testing.assert_array_equal, found[0], expected)


CALLS: dict[str, Callable[[Any], Any]] = {
    "xla": lambda timeout: xla(Pool("CartPole-v1", 1), timeout=timeout),
    "xla of several": lambda timeout: xla([Pool("CartPole-v1", 1)], timeout=timeout),
    "EnvPool's": lambda timeout: parallel_pool.make_gymnasium("CartPole-v1").xla(timeout=timeout),
    "gymnax's": lambda timeout: make_gymnax("CartPole-v1", num_envs=1, timeout=timeout),
}


@pytest.mark.parametrize("call", CALLS)
def test_wrong_timeouts_are_refused(call: str) -> None:
    with pytest.raises(ValueError, match="timeout=-1: choose 0 or more seconds, or None"):
        CALLS[call](-1)
    with pytest.raises(ValueError, match="timeout=nan: choose 0 or more seconds, or None"):
        CALLS[call](float("nan"))
    with pytest.raises(TypeError, match="timeout='1' is a str: give seconds"):
        CALLS[call]("1")
    for right in (None, 7, np.float32(2.5), float("inf"), 10**30):
        CALLS[call](right)


# -------------------------------------------------------------------------------------- closing --


def begin(call: Callable[[], Any]) -> tuple[threading.Thread, list[str]]:
    """Makes a call in a thread; returns that, and the list that gets the text of its error."""
    errors: list[str] = []

    def make() -> None:
        try:
            jax.block_until_ready(call())
        except ERRORS as error:
            errors.append(str(error))

    thread = threading.Thread(target=make)
    thread.start()
    return thread, errors


def ends_as_closed(thread: threading.Thread, errors: list[str]) -> None:
    thread.join(TEST_TIMEOUT)
    assert not thread.is_alive()
    assert len(errors) == 1 and "the pool is closed" in errors[0]


def test_closing_ends_a_call_although_its_environment_hangs(pool: Pool, gate: Path) -> None:
    functions = xla(pool, timeout=LONG_SECONDS)
    thread, errors = begin(lambda: functions.step(functions.handle, ZEROS))
    wait_for_step(gate)
    with pytest.warns(RuntimeWarning, match=f"environment {SLOW_ENV} did not return"):
        pool.close(timeout=0)
    ends_as_closed(thread, errors)
    with pytest.raises(JaxRuntimeError, match="the pool is closed"):
        jax.block_until_ready(functions.step(functions.handle, ZEROS))


def test_dropping_ends_a_call_although_its_environment_hangs(
    task_id: str, gate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_closing, "DELETE_TIMEOUT", 0.0)
    pool = Pool(task_id, ENVS, num_threads=1, options=OPTIONS)
    pool.reset()
    functions = xla(pool, timeout=LONG_SECONDS)
    thread, errors = begin(lambda: functions.step(functions.handle, ZEROS))
    wait_for_step(gate)
    with pytest.warns(RuntimeWarning, match=f"environment {SLOW_ENV} did not return"):
        del pool
        gc.collect()
    ends_as_closed(thread, errors)


@pytest.mark.slow
def test_closing_ends_a_call_of_gymnaxs_form(
    task_id: str, gate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its threads have states of the program, whose memory is freed then."""
    monkeypatch.setattr(pool_closing, "CLOSE_TIMEOUT", 0.0)
    env, _ = make_gymnax(task_id, num_envs=ENVS, num_threads=1, timeout=LONG_SECONDS, **OPTIONS)
    keys = jax.random.split(jax.random.key(0), ENVS)
    _, state = jax.vmap(env.reset)(keys)
    step = jax.jit(jax.vmap(env.step))
    thread, errors = begin(lambda: step(keys, state, ZEROS))
    wait_for_step(gate)
    with pytest.warns(RuntimeWarning, match=f"environment {SLOW_ENV} did not return"):
        env.close()
    ends_as_closed(thread, errors)
    with pytest.raises(ERRORS, match="the pool is closed"):
        jax.block_until_ready(step(keys, state, ZEROS))


def test_a_pool_that_is_closed_while_it_is_shared_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By a thread that does not know its number yet, so that C has to be told once more."""
    pool = Pool("CartPole-v1", 1)
    numbers = []

    class Lib:
        def __getattr__(self, name: str) -> Any:
            return getattr(lib, name)

        def pp_xla_share(self, handle: Any, spare: Any, number: Any, error: Any) -> int:
            status: int = lib.pp_xla_share(handle, spare, number, error)
            numbers.append(number[0])
            pool.close()
            return status

    monkeypatch.setattr(sharing, "lib", Lib())
    with pytest.raises(ClosedError):
        xla(pool)
    held = ffi.new("void *[]", 99)
    assert lib.pp_xla_enter(numbers[0], held, new_error()) == lib.PP_ERR_CLOSED
