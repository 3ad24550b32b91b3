"""Tensors: what holds without `TorchEnv`, and what it adds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.error import NoAsyncCallError
from gymnasium.vector import AutoresetMode

import parallel_pool
from parallel_pool._engine.pool import Pool
from parallel_pool.compat.torch import TorchEnv
from parallel_pool.errors import EnvError, StateError
from tests.faults.misuse import assert_refused, sends, twins
from tests.support.interrupts import Interrupter
from tests.support.same import assert_same

IDS = ["CartPole-v1", "Pendulum-v1", "Pong-v5", "Ant-v5", "mpe/simple_tag_v3"]


def numbers(value: Any) -> Any:
    """Returns a result with arrays in place of tensors."""
    if isinstance(value, torch.Tensor):
        return value.numpy()
    if isinstance(value, dict):
        return {name: numbers(each) for name, each in value.items()}
    if isinstance(value, tuple):
        parts = [numbers(each) for each in value]
        return value._make(parts) if hasattr(value, "_make") else tuple(parts)
    return value


# ------------------------------------------------------------------------- arrays as they come --


@pytest.mark.parametrize("env", IDS)
@pytest.mark.parametrize("make", [torch.from_numpy, torch.from_dlpack])
def test_every_column_is_a_tensor_without_a_copy(env: str, make: Callable[..., Any]) -> None:
    with Pool(env, 2, autoreset="same_step", statistics=True) as pool:
        batch = pool.reset()
        for column, array in zip(pool.columns, batch, strict=True):
            tensor = make(array)
            assert tensor.data_ptr() == array.ctypes.data, column.name
            assert array.ctypes.data % 64 == 0


@pytest.mark.parametrize("make", [torch.from_numpy, torch.from_dlpack, torch.as_tensor])
def test_kept_tensors_never_change(make: Callable[..., Any]) -> None:
    """Of any view, after the arrays are dropped, and after the pool is."""
    kept = []
    with Pool("CartPole-v1", 3, seed=0) as pool:
        pool.reset()
        for step in range(200):
            tensor = make(pool.step(np.full(3, step % 2)).obs)[1:, ::2]
            kept.append((tensor, tensor.clone()))
    del pool
    assert all(torch.equal(*pair) for pair in kept)


def test_what_autograd_saves_never_changes() -> None:
    weight = torch.ones(4, requires_grad=True)
    losses, clones = [], []
    with Pool("CartPole-v1", 3, seed=0) as pool:
        pool.reset()
        for step in range(50):
            seen = torch.from_numpy(pool.step(np.full(3, step % 2)).obs)
            clones.append(((weight * seen.clone()) ** 2).sum())
            losses.append(((weight * seen) ** 2).sum())
            del seen
    (one,) = torch.autograd.grad(torch.stack(losses).sum(), weight)
    (other,) = torch.autograd.grad(torch.stack(clones).sum(), weight)
    assert torch.equal(one, other)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8])
def test_tensors_are_actions(dtype: torch.dtype) -> None:
    with Pool("CartPole-v1", 3, seed=0) as ours, Pool("CartPole-v1", 3, seed=0) as theirs:
        ours.reset()
        theirs.reset()
        for step in range(9):
            actions = [step % 2, 1, 0]
            found = ours.step(torch.tensor(actions, dtype=dtype))
            assert_same(tuple(found), tuple(theirs.step(actions)), f"step {step}")


# --------------------------------------------------------------------------------- TorchEnv --

MAKERS: dict[str, Callable[[], Any]] = {
    "vector": partial(parallel_pool.PoolVectorEnv, "Hopper-v5", 3),
    "same step": partial(
        parallel_pool.PoolVectorEnv,
        "CartPole-v1",
        3,
        max_episode_steps=7,
        autoreset_mode=AutoresetMode.SAME_STEP,
    ),
    "workers": partial(
        parallel_pool.PoolVectorEnv, [lambda: gymnasium.make("Pendulum-v1")] * 3, num_workers=1
    ),
    "pool": partial(Pool, "Pendulum-v1", 3, seed=1),
    "gymnasium": partial(parallel_pool.make_gymnasium, "Ant-v4", num_envs=3, seed=1),
    "dm_env": partial(parallel_pool.make_dm, "CartPole-v1", num_envs=3, seed=1),
}


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", MAKERS)
def test_results_are_those_of_the_environments(name: str) -> None:
    with closing(MAKERS[name]()) as theirs, closing(MAKERS[name]()) as own:
        ours = TorchEnv(own)
        seed = {"seed": 3} if name in ("vector", "same step", "workers") else {}
        assert_same(numbers(ours.reset(**seed)), theirs.reset(**seed), "reset")
        space = own.spec.action_space() if name == "pool" else None
        space = space or getattr(own, "single_action_space", gymnasium.spaces.Discrete(2))
        space.seed(0)
        for step in range(20):
            actions = torch.from_numpy(np.array([space.sample() for _ in range(3)]))
            found = ours.step(actions)
            assert_same(numbers(found), theirs.step(actions.numpy()), f"step {step}")
        first = found.observation.obs if name == "dm_env" else found[0]
        assert isinstance(first, torch.Tensor)
        assert "TorchEnv(" in repr(ours)


def test_an_asynchronous_loop() -> None:
    with parallel_pool.make_gymnasium("CartPole-v1", num_envs=6, batch_size=2) as env:
        ours = env.torch()
        ours.async_reset()
        for _ in range(50):
            observations, *_, info = ours.recv()
            assert observations.shape == (2, 4) and info["env_id"].dtype == torch.int32
            ours.send((observations[:, 2] > 0).int(), info["env_id"])
        assert ours.is_async and ours.spec is env.spec


def test_actions_may_need_a_gradient() -> None:
    with closing(parallel_pool.PoolVectorEnv("Pendulum-v1", 2).torch()) as envs:
        envs.reset(seed=0)
        mean = torch.zeros(2, 1, requires_grad=True)
        observations, *_ = envs.step(mean + 0.5)
        assert not observations.requires_grad


ZEROS = torch.zeros(2, 1)
UNREADABLE = [
    (ZEROS.to("meta"), r"torch.float32 on meta .*: give a tensor with values, on the CPU"),
    (ZEROS.bfloat16(), r"torch.bfloat16 .*: give actions\.float\(\)"),
    (ZEROS.to(torch.float8_e4m3fn), r"torch.float8_e4m3fn .*: give actions\.float\(\)"),
    (ZEROS.to(torch.float8_e5m2fnuz), r"torch.float8_e5m2fnuz .*: give actions\.float\(\)"),
    (ZEROS.to_sparse(), r"of torch.sparse_coo, .*: give actions\.to_dense\(\)"),
    (
        torch.quantize_per_tensor(ZEROS, 1.0, 0, torch.qint8),
        r"torch.qint8 .*: give actions\.dequantize\(\)",
    ),
    (torch.complex(ZEROS, ZEROS).conj(), r"complex64 .*: give actions\.resolve_conj\(\)"),
]


@pytest.mark.parametrize("is_wrapped", [True, False])
@pytest.mark.parametrize(("actions", "text"), UNREADABLE)
def test_other_tensors_are_refused_with_the_cure(
    actions: torch.Tensor, text: str, is_wrapped: bool
) -> None:
    """Given to `TorchEnv`, or to the environments themselves."""
    with closing(parallel_pool.PoolVectorEnv("Pendulum-v1", 2)) as envs:
        envs.reset(seed=0)
        states = envs.pool.get_state()
        with pytest.raises(TypeError, match=text):
            (envs.torch() if is_wrapped else envs).step(actions)
        assert envs.pool.get_state() == states


def test_a_cure_for_each_part_of_a_tensor() -> None:
    """Several may be needed, and NumPy reads what they give."""
    actions = torch.zeros(2, 1, dtype=torch.bfloat16, requires_grad=True)
    with closing(parallel_pool.PoolVectorEnv("Pendulum-v1", 2)) as envs:
        envs.reset(seed=0)
        with pytest.raises(TypeError, match=r"give actions\.detach\(\)\.float\(\): "):
            envs.step(actions)
        envs.step(actions.detach().float())


@pytest.mark.parametrize(
    "dtype",
    [np.dtypes.StringDType(), "U4", "S4", "M8[s]", "m8[s]", complex, [("a", "i4")], "V4"],
    ids=str,
)
def test_arrays_of_other_dtypes_are_refused(dtype: Any) -> None:
    """In their own words, whatever methods their dtype lacks."""
    with closing(parallel_pool.PoolVectorEnv("Pendulum-v1", 2)) as envs:
        envs.reset(seed=0)
        actions = np.zeros((2, 1), dtype)
        for given in (actions, list(actions)):
            with pytest.raises(TypeError, match=r"dtype .*: give real numbers"):
                envs.step(given)


@pytest.mark.parametrize("envs", [None, 3, "CartPole-v1", [], np.zeros(2)])
def test_what_is_no_environment_is_refused(envs: Any) -> None:
    with pytest.raises(TypeError, match=r"^envs=.* has no reset\(\): give a Pool, a vector env"):
        TorchEnv(envs)


@pytest.mark.parametrize("device", [None, "nowhere", 1.5])
def test_what_is_no_device_is_refused(device: Any) -> None:
    with (
        closing(parallel_pool.PoolVectorEnv("CartPole-v1", 2)) as envs,
        pytest.raises(TypeError, match=r"^device=.*: give 'cpu'"),
    ):
        TorchEnv(envs, device)


def test_failures_bring_tensors() -> None:
    with Pool("test/Fault-v0", 2, options={"fail_on": "step", "fail_env": 1}) as pool:
        envs = TorchEnv(pool)
        envs.reset()
        with pytest.raises(EnvError) as caught:
            envs.step(torch.zeros(2, dtype=torch.int32))
        assert isinstance(caught.value.batch.reward, torch.Tensor)


def test_infos_without_a_dtype_of_pytorchs_stay_arrays() -> None:
    class Tells(gymnasium.Env[Any, Any]):
        observation_space = gymnasium.spaces.Box(0, 1, (1,))
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, **_: Any) -> Any:
            return np.zeros(1, np.float32), {}

        def step(self, action: Any) -> Any:
            infos = {"long": np.longdouble(3), "swapped": np.array([4], ">i4"), "plain": 5.0}
            return np.ones(1, np.float32), 2.0, False, False, infos

    with parallel_pool.PoolVectorEnv([Tells] * 2, num_workers=0).torch() as envs:
        envs.reset()
        observations, *_, infos = envs.step(torch.tensor([0, 1]))
        assert isinstance(observations, torch.Tensor) and isinstance(infos["plain"], torch.Tensor)
        assert infos["long"].dtype == np.longdouble and infos["long"].tolist() == [3, 3]
        assert infos["swapped"].ravel().tolist() == [4, 4]


def test_failures_with_a_class_of_their_own_bring_tensors() -> None:
    class Fails(gymnasium.Env[Any, Any]):
        observation_space = gymnasium.spaces.Box(0, 1, (1,))
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, **_: Any) -> Any:
            return np.zeros(1, np.float32), {}

        def step(self, action: Any) -> Any:
            if action:
                raise KeyError("asked for")
            return np.ones(1, np.float32), 2.0, False, False, {}

    with parallel_pool.PoolVectorEnv([Fails] * 2, num_workers=0).torch() as envs:
        envs.reset()
        with pytest.raises(KeyError, match="asked for") as caught:
            envs.step(torch.tensor([0, 1]))
        failed = caught.value.__cause__
        assert isinstance(failed, EnvError) and failed.env_ids == (1,)
        arrays = [each for each in failed.batch if np.ndim(each)]
        assert arrays and all(isinstance(each, torch.Tensor) for each in arrays)


# --------------------------------------------------------------------------------- rollouts --


def test_rollouts_are_tensors_of_the_memory_that_is_written() -> None:
    plain, envs = (parallel_pool.make_vec("CartPole-v1", 3, backend="native") for _ in range(2))
    with closing(plain), envs.torch() as tensors:
        plain.reset(seed=1)
        tensors.reset(seed=1)
        shown = []

        def policy(observations: torch.Tensor) -> Any:
            shown.append(observations)
            return (observations[:, 0] > 0).long(), {"value": observations.sum(1)}

        rollout = tensors.rollout(8).collect(policy)
        wanted = plain.rollout(8).collect(
            lambda one: ((one[:, 0] > 0).astype(np.int64), {"value": one.sum(1)})
        )
        for name in ("observations", "next_observations", "actions", "rewards", "resets"):
            assert_same(numbers(getattr(rollout, name)), getattr(wanted, name), name)
        assert_same(numbers(rollout.extras)["value"].shape, (8, 3), "extras")
        assert rollout.extras["value"].dtype == torch.float32
        assert [one.data_ptr() for one in shown] == [one.data_ptr() for one in rollout.observations]


def test_pools_have_no_rollouts() -> None:
    with Pool("CartPole-v1", 3) as pool, pytest.raises(TypeError, match="make_vec"):
        TorchEnv(pool).rollout(8)


# -------------------------------------------------------------------------------------- Ctrl-C --


@pytest.mark.parametrize("api", ["pool", "vector"])
def test_ctrl_c_while_results_become_tensors_loses_none(api: str) -> None:
    def made() -> Any:
        if api == "pool":
            return Pool("test/Fault-v0", 2, num_threads=1)
        return parallel_pool.make_vec("test/Fault-v0", 2, backend="native", num_threads=1)

    with closing(made()) as twin, TorchEnv(made()) as envs:
        envs.reset(seed=1)
        twin.reset(seed=1)
        is_pool = api == "pool"
        send = envs.send if is_pool else envs.step_async
        receive = envs.recv if is_pool else envs.step_wait
        actions = torch.zeros(2, dtype=torch.int64)
        place, is_cut = 0, True
        while is_cut:
            place += 1
            send(actions)
            try:
                result, is_cut = Interrupter(place).run(receive), False
            except KeyboardInterrupt:
                result, is_cut = receive(), True
            assert_same(numbers(result), twin.step(numbers(actions)), f"place {place}")
            try:
                result = Interrupter(place).run(envs.step, actions)
            except KeyboardInterrupt:
                is_cut = True
                try:
                    result = receive()
                except (StateError, NoAsyncCallError):
                    # it was not sent
                    result = envs.step(actions)
            assert_same(numbers(result), twin.step(numbers(actions)), f"step, place {place}")
    assert place > 20


def test_a_tensor_that_requires_its_gradient_is_refused() -> None:
    tensor = torch.zeros((3, 1), requires_grad=True)
    message = r"actions are a torch\.Tensor .*, which NumPy can't read: give actions\.detach\(\)"
    assert_refused("Pendulum-v1", sends(tensor), TypeError, message)
    with twins("Pendulum-v1") as (pool, untouched):
        pool.reset(), untouched.reset()
        expected = untouched.step(tensor.detach().numpy())
        assert_same(pool.step(tensor.detach()), expected, "a tensor")
