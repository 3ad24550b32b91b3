"""Ids, names and paths of a megabyte, integers of 5,000 digits: messages show a part of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import parallel_pool
from parallel_pool import __main__ as cli
from parallel_pool import testing
from parallel_pool._engine import variation
from parallel_pool._engine.arguments import MAX_NAME, named
from parallel_pool._engine.pool import Pool
from parallel_pool._engine.specs import Option
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool.compat import sb3
from parallel_pool.compat.ale import AtariVectorEnv
from parallel_pool.compat.gymnasium import PoolVectorEnv
from parallel_pool.compat.pettingzoo import PoolParallelEnv, env, parallel_env
from parallel_pool.leases import LeasePool
from tests.support.sampling import sampled

LONG = "x" * 10**6
HUGE_INT = 10**5000
# characters of a message that lists all options, games or agents
MAX_LETTERS = 3000


def cartpole(**options: Any) -> Any:
    return parallel_pool.make_vec("CartPole-v1", 2, **options)


def particles() -> Any:
    return PoolParallelEnv("mpe2/simple_v3", 2)


def stepped(envs: Any, *arguments: Any, **named: Any) -> None:
    envs.reset()
    envs.step(*arguments, **named)


CALLS: dict[str, Callable[[], Any]] = {
    "make": lambda: parallel_pool.make(LONG, env_type="gym"),
    "make gymnasium": lambda: parallel_pool.make(LONG, env_type="gymnasium"),
    "make type": lambda: parallel_pool.make("CartPole-v1", env_type=LONG),
    "make spec": lambda: parallel_pool.make_spec(LONG),
    "make option": lambda: parallel_pool.make("CartPole-v1", env_type="gym", **{LONG: 1}),
    "make seed": lambda: parallel_pool.make("CartPole-v1", env_type="gym", seed=-HUGE_INT),
    "make num_envs": lambda: parallel_pool.make("CartPole-v1", env_type="gym", num_envs=HUGE_INT),
    "make_vec": lambda: parallel_pool.make_vec(LONG),
    "make_vec module": lambda: parallel_pool.make_vec(f"{LONG}:CartPole-v1"),
    "make_vec id in module": lambda: parallel_pool.make_vec(f"math:{LONG}"),
    "make_vec version": lambda: parallel_pool.make_vec(f"CartPole-v{'1' * 5000}"),
    "make_vec namespace": lambda: parallel_pool.make_vec(f"{LONG}/CartPole-v1"),
    "make_vec hook": lambda: gymnasium.make_vec(LONG, vectorization_mode="parallel_pool"),
    "make_vec option": lambda: cartpole(**{LONG: 1}),
    "make_vec value": lambda: cartpole(sutton_barto_reward=LONG),
    "make_vec num_envs": lambda: parallel_pool.make_vec("CartPole-v1", -HUGE_INT),
    "make_vec backend": lambda: cartpole(backend=LONG),
    "make_vec render_mode": lambda: cartpole(render_mode=LONG),
    "make_vec threads": lambda: cartpole(num_threads=HUGE_INT),
    "make_vec autoreset": lambda: cartpole(autoreset_mode=LONG),
    "make_vec limit": lambda: cartpole(max_episode_steps=-HUGE_INT),
    "vector kwargs": lambda: parallel_pool.make_vec("CartPole-v1", vector_kwargs={LONG: 1}),
    "get_attr": lambda: cartpole().get_attr(LONG),
    "set_attr": lambda: cartpole().set_attr(LONG, 1),
    "call": lambda: cartpole().call(LONG),
    "reset option": lambda: cartpole().reset(options={LONG: 1}),
    "reset value": lambda: cartpole().reset(options={"low": LONG}),
    "reset seed": lambda: cartpole().reset(seed=-HUGE_INT),
    "reset seeds": lambda: cartpole().reset(seed=[HUGE_INT, -HUGE_INT]),
    "actions": lambda: stepped(cartpole(), LONG),
    "huge actions": lambda: stepped(cartpole(), [HUGE_INT, 0]),
    "one huge action": lambda: stepped(cartpole(), HUGE_INT),
    "Pool": lambda: Pool(LONG),
    "Pool id type": lambda: Pool(HUGE_INT),
    "Pool option": lambda: Pool("CartPole-v1", options={LONG: 1}),
    "Pool env_ids": lambda: stepped(Pool("CartPole-v1", 2), [0], [HUGE_INT]),
    "Pool timeout": lambda: stepped(Pool("CartPole-v1", 2), [0, 0], timeout=-HUGE_INT),
    "load": lambda: parallel_pool.load(LONG, "pp_env_x"),
    "load symbol": lambda: parallel_pool.load("x.so", LONG),
    "load_source": lambda: parallel_pool.load_source(f"{LONG}.c"),
    "load_source suffix": lambda: parallel_pool.load_source(f"x.{LONG}"),
    "sb3": lambda: sb3.PoolVecEnv(LONG, 2),
    "sb3 option": lambda: sb3.PoolVecEnv("CartPole-v1", 2, env_kwargs={LONG: 1}),
    "sb3 get_attr": lambda: sb3.PoolVecEnv("CartPole-v1", 2).get_attr(LONG),
    "sb3 env_method": lambda: sb3.PoolVecEnv("CartPole-v1", 2).env_method(LONG),
    "sb3 indices": lambda: sb3.PoolVecEnv("CartPole-v1", 2).get_attr("spec", HUGE_INT),
    "sb3 seed": lambda: sb3.PoolVecEnv("CartPole-v1", 2).seed(-HUGE_INT),
    "pettingzoo": lambda: PoolParallelEnv(LONG, 2),
    "pettingzoo env": lambda: env(LONG),
    "pettingzoo parallel": lambda: parallel_env(LONG),
    "pettingzoo actions": lambda: stepped(particles(), {LONG: [0, 0]}),
    "pettingzoo move": lambda: stepped(env("classic/rps_v2").unwrapped, HUGE_INT),
    "pettingzoo space": lambda: particles().action_space(LONG),
    "ale": lambda: AtariVectorEnv(LONG, 2),
    "ale seed": lambda: AtariVectorEnv("pong", 2).reset(seed=HUGE_INT),
    "processes": lambda: ProcessPool(LONG),
    "processes of no list": lambda: ProcessPool(HUGE_INT),
    "processes of no functions": lambda: ProcessPool([HUGE_INT]),
    "processes of a Python": lambda: ProcessPool([dict], python=f"/{LONG}"),
    "leases": lambda: LeasePool("CartPole-v1", python=LONG),
    "leases option": lambda: LeasePool([dict], **{LONG: 1}),
    "check": lambda: testing.check(HUGE_INT),
    "start method": lambda: ProcessPool([dict], start_method=LONG),
    "each": lambda: cartpole(sutton_barto_reward=variation.each([LONG, LONG])),
    "each of others": lambda: cartpole(**{LONG: variation.each([1, 2])}),
    "each_reset": lambda: variation.each_reset(HUGE_INT, -HUGE_INT),
    "each_reset infinite": lambda: variation.each_reset(0, HUGE_INT),
    "trace": lambda: Pool("CartPole-v1").trace(LONG),
}


# importing Stable-Baselines3 takes two seconds, and makes each later fork slower
QUICK = [call for call in CALLS if not call.startswith("sb3")]


@pytest.mark.quick(1)
@pytest.mark.usefixtures("quiet_gymnasium")
@pytest.mark.parametrize("call", sampled(CALLS, QUICK))
def test_messages_show_a_part_of_what_is_long(call: str) -> None:
    with pytest.raises(Exception) as error:
        CALLS[call]()
    text = str(error.value)
    assert len(text) < MAX_LETTERS, text[:300]
    # Python's own error for an integer of more digits than it converts
    assert "limit (4300" not in text


@pytest.mark.quick(8)
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", LONG),
        ("check", f"{LONG}.c"),
        ("check", f"{LONG}.so"),
        ("check", "CartPole-v1", "--option", LONG),
        ("build", f"{LONG}.c"),
        ("new", f"{LONG}.c"),
        ("new", LONG),
        ("profile", LONG),
        ("demo", "--out", f"a.{LONG}"),
        ("demo", "--out", LONG),
        ("demo", "--seconds", LONG),
        ("bench", LONG),
        ("bench", "--vs", LONG),
        ("bench", "--rounds", LONG),
        ("bench", "--out", LONG),
        ("prove-atari", "--frames", LONG),
    ],
    ids=lambda arguments: "-".join(word[:9] for word in arguments),
)
def test_messages_of_commands_show_a_part_of_what_is_long(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = cli.main(arguments)
    except SystemExit as end:
        status = end.code
    printed = capsys.readouterr()
    assert status in (1, 2)
    assert 0 < len(printed.err + printed.out) < 2 * MAX_LETTERS


@pytest.mark.parametrize("task_id", ["a:b:CartPole-v1", "::", "a:b:c:d"])
@pytest.mark.parametrize(
    "make",
    [
        parallel_pool.make_vec,
        pytest.param(
            lambda *given: sb3.PoolVecEnv(*given), marks=pytest.mark.slow, id="PoolVecEnv"
        ),
        PoolVectorEnv,
    ],
)
def test_several_colons_are_one_error(task_id: str, make: Any) -> None:
    """Gymnasium's own is "too many values to unpack"."""
    message = f"env='{task_id}' has {task_id.count(':')} colons: give an id, or module:id"
    with pytest.raises(gymnasium.error.UnregisteredEnv, match=f"^{re.escape(message)}"):
        make(task_id, num_envs=2) if make is PoolVectorEnv else make(task_id, 2)


def test_named() -> None:
    assert named(Path("/a b/ü.c")) == "/a b/ü.c"
    assert named("a\nb\0c\udcff\ud800") == r"a\nb\x00c\xff\ud800"
    short = named("a" * 500 + "b" * 500)
    assert len(short) < MAX_NAME and short.startswith("aaa") and short.endswith("bbb")


# ------------------------------------------------------------- numbers that are narrowed late --


BOUNDED = Option("push", "float", 0.1, 0.01, 1.0, "")
FREE = Option("push", "float", 0.1, 0.0, 0.0, "")
WHOLE = Option("size", "int", 1, 0.0, 2.0**63, "")
MAX_FLOAT = np.finfo(float).max
# a long double next to a float, which is the float if it is converted
NEXT = 1 + np.finfo(np.longdouble).eps
is_long = pytest.mark.skipif(
    bool(np.finfo(np.longdouble).eps == np.finfo(float).eps), reason="long doubles are doubles here"
)


@pytest.mark.parametrize(
    ("option", "value", "shown"),
    [
        (BOUNDED, 10**400, "push=an integer of 1329 bits: choose 0.01 to 1"),
        (BOUNDED, 7, "push=7.0: choose 0.01 to 1"),
        (BOUNDED, 2**53 + 1, "push=9007199254740993: choose 0.01 to 1"),
        (BOUNDED, np.uint64(2**64 - 1), "push=18446744073709551615: choose 0.01 to 1"),
        (BOUNDED, np.float32(1.0000001), "push=1.000000119"),
        pytest.param(BOUNDED, NEXT, "push=np.longdouble('1.0000000000000000001", marks=is_long),
        (FREE, 10**400, "push=an integer of 1329 bits: choose a number that a float can hold"),
        pytest.param(
            FREE, np.longdouble("-1e4000"), "push=np.longdouble('-1e+4000')", marks=is_long
        ),
        (WHOLE, 2**63, "size=9223372036854775808: choose an integer of 64 bits"),
        (WHOLE, np.uint64(2**64 - 1), "size=18446744073709551615: choose 0 to 9.22337e+18"),
        (WHOLE, 10**400, "size=an integer of 1329 bits: choose 0 to 9.22337e+18"),
    ],
)
def test_options_are_checked_before_they_are_narrowed(
    option: Option, value: Any, shown: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(shown)}"):
        option.check(value)


def test_options_that_are_infinite_stay_so() -> None:
    for value in (np.inf, -np.inf, np.float32(np.inf)):
        assert FREE.check(value) == value
    assert WHOLE.check(np.uint64(2**63 - 1)) == 2**63 - 1


def test_values_of_one_environment_are_shown_as_they_are() -> None:
    message = r"environment 1: g=an integer of 1329 bits: choose -1\.79769e\+308 to 1\.79769e\+308"
    with pytest.raises(ValueError, match=message):
        Pool("Pendulum-v1", 2, options={"g": variation.each([10.0, 10**400])})
    with pytest.raises(ValueError, match=r"each_reset\(0, an integer of 1329 bits\): choose"):
        variation.each_reset(0, 10**400)
