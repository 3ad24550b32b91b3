"""Compiled programs on CUDA: the bits of the CPU, and its errors.

The tests with the fixture `gpu` need a GPU. Without one, they run on a stand-in for CUDA's driver
in a process of their own, beside other tests of JAX: `tests/support/late_cuda.py`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.errors import JaxRuntimeError

import parallel_pool
from parallel_pool._engine.error_slot import check, error_slot
from parallel_pool._engine.pool import Pool
from parallel_pool._native import lib
from parallel_pool.compat.jax import make_gymnax, xla
from parallel_pool.errors import StateError
from tests.support.jax_scans import compare
from tests.support.same import assert_same

HERE = "tests/apis/jax/test_xla_cuda.py"


def run_late(*arguments: str) -> str:
    """Runs tests on the stand-in for CUDA's driver; returns what pytest says."""
    plugins = ["-p", "tests.support.late_cuda", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *plugins, "-q", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=550)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def numbers_of(text: str) -> dict[str, int]:
    """Returns what pytest's last lines count."""
    found = re.findall(r"(\d+) (passed|skipped|failed|copies|faults)", text)
    return {name: int(number) for number, name in found}


@pytest.fixture
def gpu(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Makes a GPU JAX's device, or the CPU with the stand-in."""
    if request.config.pluginmanager.has_plugin("late_cuda"):
        yield jax.devices("cpu")[0]
        return
    try:
        device = jax.devices("cuda")[0]
    except RuntimeError:
        pytest.skip("needs a GPU, and JAX's plugin for CUDA")
    with jax.default_device(device):
        yield device


# ----------------------------------------------------------------------------- on any machine --


@pytest.mark.parametrize("name", ["send", "reset", "recv", "step", "observe"])
def test_a_program_is_lowered_for_cuda(name: str) -> None:
    with Pool("CartPole-v1", 2) as pool:
        functions = xla(pool)
        actions = (jnp.zeros(2, np.int32),) if name in ("send", "step") else ()
        function = getattr(functions, name, None) or (
            lambda handle: xla_calls(pool).observe(handle, [0])
        )
        traced = jax.jit(function).trace(functions.handle, *actions)
        text = traced.lower(lowering_platforms=("cuda",)).as_text()
        assert f"@parallel_pool_{name}" in text


def xla_calls(pool: Pool) -> Any:
    from parallel_pool._apis.jax.calls import Calls

    return Calls(pool, [0])


@pytest.mark.slow
def test_programs_on_a_late_device() -> None:
    """A GPU that makes copies as late as it may: all tests with the fixture `gpu`."""
    found = numbers_of(run_late(HERE, "-k", "on_a_gpu"))
    assert found["passed"] > 5
    assert found["copies"] > 100
    assert found["faults"] == 0
    assert "skipped" not in found
    assert "failed" not in found


@pytest.mark.slow
@pytest.mark.parametrize(
    "file, marks",
    [("test_jax", "not slow"), ("test_vmap", ""), ("test_gymnax", "not slow"), ("test_limits", "")],
)
def test_all_of_jax_on_a_late_device(file: str, marks: str) -> None:
    found = numbers_of(run_late(f"tests/apis/jax/{file}.py", "-m", marks))
    assert found["passed"] > 5
    assert found["copies"] > 100
    assert found["faults"] == 0


# ---------------------------------------------------------------------------------- on a GPU --


@pytest.mark.parametrize("env", ["CartPole-v1", "Pong-v5", "Hopper-v5"])
def test_a_scan_has_the_bits_of_python_on_a_gpu(gpu: Any, env: str) -> None:
    with jax.enable_x64(True):
        compare(env, 40)


def test_a_policy_between_steps_on_a_gpu(gpu: Any) -> None:
    """Actions are results of kernels that the stream has yet to run when the call is queued."""
    count = 64

    def decide(observations: Any, busy: Any) -> Any:
        # long work whose result is in the actions, in integers, so that all devices have its bits
        for _ in range(4):
            busy = (busy @ busy) % 7
        return (observations[:, 2] > 0).astype(np.int32) ^ (busy[0, :count] % 2), busy

    with (
        closing(parallel_pool.make_vec("CartPole-v1", count)) as ours,
        closing(parallel_pool.make_vec("CartPole-v1", count)) as theirs,
    ):
        functions = xla(ours)

        @jax.jit
        def play(handle: Any, busy: Any) -> Any:
            handle, (observations, _) = functions.reset(handle, jnp.arange(count))

            def once(carry: Any, _: Any) -> Any:
                handle, observations, busy = carry
                actions, busy = decide(observations, busy)
                handle, (observations, *rest) = functions.step(handle, actions)
                return (handle, observations, busy), (observations, rest[0], rest[1], actions)

            return lax.scan(once, (handle, observations, busy), length=100)

        size = count if gpu.platform == "cpu" else 1024
        start = jnp.arange(size * size, dtype=np.int32).reshape(size, size) % 5
        _, results = play(functions.handle, start)
        observations, rewards, terminated, actions = map(np.asarray, results)
        expected, _ = theirs.reset(seed=list(range(count)))
        for step in range(100):
            expected, reward, ended, _, _ = theirs.step(actions[step])
            assert_same(observations[step], expected, str(step))
            assert_same(rewards[step], reward.astype(np.float32), str(step))
            assert_same(terminated[step], ended, str(step))
        assert 0 < actions.mean() < 1


def test_an_asynchronous_pool_on_a_gpu(gpu: Any) -> None:
    env = parallel_pool.make("CartPole-v1", env_type="gymnasium", num_envs=6, batch_size=3, seed=3)
    twin = parallel_pool.make("CartPole-v1", env_type="gymnasium", num_envs=6, seed=3)
    env.async_reset()
    expected: dict[int, list[Any]] = {i: [] for i in range(6)}
    first, _ = twin.reset()
    for i in range(6):
        expected[i].append(first[i])
    for _ in range(20):
        observations, *_ = twin.step(np.ones(6, np.int32))
        for i in range(6):
            expected[i].append(observations[i])
    handle, recv, send, _ = env.xla()
    seen = dict.fromkeys(range(6), 0)
    for _ in range(12):
        handle, (observations, _, _, _, info) = jax.jit(recv)(handle)
        ids = info["env_id"]
        for row, env_id in enumerate(np.asarray(ids).tolist()):
            assert_same(np.asarray(observations[row]), expected[env_id][seen[env_id]], str(env_id))
            seen[env_id] += 1
        handle = jax.jit(send)(handle, jnp.ones(3, np.int32), ids)
    jax.block_until_ready(handle)
    env.close()
    twin.close()


def test_several_pools_on_a_gpu(gpu: Any) -> None:
    make = partial(Pool, "Pendulum-v1", 4)
    pools, twins = [make() for _ in range(3)], [make() for _ in range(3)]
    functions = xla(pools)
    seeds = np.arange(12).reshape(3, 4)
    handles, _ = jax.vmap(functions.reset)(functions.handle, jnp.asarray(seeds))
    torques = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4, 1)
    step = jax.jit(jax.vmap(functions.step))
    for _ in range(5):
        handles, batch = step(handles, jnp.asarray(torques))
    for i, twin in enumerate(twins):
        twin.reset(seed=seeds[i].tolist())
        for _ in range(5):
            expected = twin.step(torques[i])
        assert_same(np.asarray(batch.obs[i]), expected.obs, str(i))
    for pool in (*pools, *twins):
        pool.close()


def test_states_on_a_gpu(gpu: Any) -> None:
    env, params = make_gymnax("CartPole-v1", num_envs=4)
    with Pool("CartPole-v1", 4, autoreset="same_step") as twin:
        keys = jax.vmap(jax.random.key)(jnp.arange(4))
        observations, states = jax.vmap(env.reset, in_axes=(0, None))(keys, params)
        assert_same(np.asarray(observations), twin.reset(seed=list(range(4))).obs, "reset")
        step = jax.jit(jax.vmap(env.step, in_axes=(0, 0, 0, None)))
        first = None
        for number in range(6):
            observations, states, *_ = step(keys, states, jnp.ones(4, int), params)
            expected = twin.step(np.ones(4, np.int64))
            assert_same(np.asarray(observations), expected.obs, str(number))
            if first is None:
                first = states
        # the same state twice
        again = step(keys, first, jnp.ones(4, int), params)
        once_more = step(keys, first, jnp.ones(4, int), params)
        assert_same(np.asarray(again[0]), np.asarray(once_more[0]), "again")
    env.close()


def test_errors_end_the_program_on_a_gpu(gpu: Any) -> None:
    with Pool("CartPole-v1", 3) as pool:
        functions = xla(pool)
        handle, _ = functions.reset(functions.handle)
        step = jax.jit(functions.step)
        with pytest.raises(JaxRuntimeError, match=r"action 7 of environment 1"):
            jax.block_until_ready(step(handle, jnp.array([0, 7, 0])))
        # nothing has changed
        after, _ = jax.block_until_ready(step(handle, jnp.array([0, 1, 0])))
        with pytest.raises(JaxRuntimeError, match=r"this handle is of call"):
            jax.block_until_ready(step(handle, jnp.array([0, 1, 0])))
    with pytest.raises(JaxRuntimeError, match=r"the pool.* is closed"):
        jax.block_until_ready(step(after, jnp.array([0, 1, 0])))


def test_the_driver_is_loaded_once_on_a_gpu(gpu: Any, request: pytest.FixtureRequest) -> None:
    with Pool("CartPole-v1", 3) as pool:
        functions = xla(pool)
        jax.block_until_ready(jax.jit(functions.reset)(functions.handle))
    plugin = request.config.pluginmanager.get_plugin("late_cuda")
    path = plugin.late_cuda.path if plugin else "libcuda.so.1"
    with pytest.raises(StateError, match=r"CUDA's driver is loaded already"):
        check(lib.pp_xla_cuda_driver(str(path).encode(), error_slot.raw))


def test_an_error_in_a_scan_on_a_gpu(gpu: Any) -> None:
    """It ends the program at once: no later call is made."""
    with Pool("CartPole-v1", 3) as pool:
        functions = xla(pool)
        actions = np.zeros((30, 3), np.int32)
        actions[9, 2] = -1

        @jax.jit
        def play(handle: Any, actions: Any) -> Any:
            handle, _ = functions.reset(handle)
            return lax.scan(functions.step, handle, actions)

        with pytest.raises(JaxRuntimeError, match=r"action -1 of environment 2"):
            jax.block_until_ready(play(functions.handle, actions))
        # two calls of the reset, and nine steps
        assert int(xla(pool).handle[1]) == 11
