"""Damaged snapshots are refused, and of several snapshots all are restored or none.

Only a load callback that fails leaves some of them restored.

tests/contract/test_every_id.py tests what a snapshot restores.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parallel_pool
from parallel_pool._engine import registry
from parallel_pool._engine.pool import Pool
from parallel_pool.errors import PoolError, StateError
from tests.support.same import assert_same

DAMAGED = "the snapshot is damaged: give what get_state returned"

# counts its steps; its load callback copies a snapshot into the state, then fails if it holds 3
FRAIL = """
#include <stdio.h>
#include <string.h>
#include "pp_env.h"

static const pp_field fields[] = {{.name = "obs", .dtype = PP_INT64, .low = 0, .high = 1e9}};

static int reset(pp_env *env, pp_reset *how) {
  (void)how;
  *(int64_t *)env->state = 0;
  return PP_OK;
}

static int step(pp_env *env, const void *action, pp_result *result) {
  (void)action, (void)result;
  ++*(int64_t *)env->state;
  return PP_OK;
}

static int observe(pp_env *env, void *const *rows, bool is_reset) {
  (void)is_reset;
  if (rows[0]) memcpy(rows[0], env->state, 8);
  return PP_OK;
}

static int64_t save(pp_env *env, void *bytes) {
  if (bytes) memcpy(bytes, env->state, 8);
  return 8;
}

static int load(pp_env *env, const void *bytes, int64_t size) {
  memcpy(env->state, bytes, (size_t)size);
  if (*(int64_t *)env->state != 3) return PP_OK;
  snprintf(env->error->text, sizeof(env->error->text), "three is too many");
  return PP_ERR_ENV;
}

const pp_env_def pp_env_frail = {
    .abi = PP_ENV_ABI, .size = sizeof(pp_env_def), .id = "Frail-v0", .family = "mine",
    .reference = "none", .state_size = 8, .num_fields = 1,
    .fields = fields, .reset = reset, .step = step, .observe = observe, .save = save, .load = load,
    .action = {.name = "action", .dtype = PP_INT64, .space = PP_DISCRETE, .n = 2},
};
"""


def played(env: str, num_envs: int = 1, steps: int = 5, **settings: Any) -> Pool:
    pool = Pool(env, num_envs, seed=3, **settings)
    pool.reset()
    for _ in range(steps):
        pool.step(np.zeros(num_envs, np.int64))
    return pool


def flipped(state: bytes, bit: int) -> bytes:
    copy = bytearray(state)
    copy[bit // 8] ^= 1 << bit % 8
    return bytes(copy)


# --------------------------------------------------------------------------------- damage --


@pytest.mark.quick(1)
@pytest.mark.parametrize("env", ["CartPole-v1", "test/Heap-v0", "Pong-v5"])
def test_a_flipped_bit_is_noticed_wherever_it_is(env: str) -> None:
    pool = played(env)
    (state,) = pool.get_state()
    bits = np.arange(8 * len(state))
    if len(bits) > 10_000:
        # all of the engine's part and the end, and samples of the environment's own bytes
        some = np.random.default_rng(1).choice(bits, 2000, replace=False)
        bits = np.concatenate([bits[:1400], some, bits[-600:]])
    for bit in bits.tolist():
        with pytest.raises(ValueError, match=DAMAGED):
            pool.set_state([flipped(state, bit)])
    assert pool.get_state() == [state]
    pool.set_state([state])


def cut(state: bytes) -> bytes:
    return state[:-1]


def lengthened(state: bytes) -> bytes:
    return state + b"\0"


def exchanged(state: bytes) -> bytes:
    """Swaps two neighbouring blocks of the environment's bytes."""
    at = 1000
    return state[:at] + state[at + 64 : at + 128] + state[at : at + 64] + state[at + 128 :]


def mixed(state: bytes) -> bytes:
    """Takes the second half from another state."""
    pool = played("Pong-v5", steps=60)
    (other,) = pool.get_state()
    half = len(state) // 2
    return state[:half] + other[half:]


@pytest.mark.parametrize("damage", [cut, lengthened, exchanged, mixed])
def test_other_damage_is_noticed(damage: Callable[[bytes], bytes]) -> None:
    pool = played("Pong-v5", steps=20)
    (state,) = pool.get_state()
    worse = damage(state)
    assert worse != state
    with pytest.raises(ValueError, match=DAMAGED):
        pool.set_state([worse])
    assert pool.get_state() == [state]


def test_zeros_missing_at_the_end_are_noticed() -> None:
    """The last entry of the diary is less than 1003, so all but two of its eight bytes are zero."""
    pool = played("test/Heap-v0")
    (state,) = pool.get_state()
    for count in range(1, 7):
        assert state.endswith(bytes(count))
        with pytest.raises(ValueError, match=DAMAGED):
            pool.set_state([state[:-count]])


@pytest.mark.parametrize("state", [b"", b"nothing", bytes(184), b"PPE1" * 60])
def test_bytes_that_are_no_snapshot_are_refused(state: bytes) -> None:
    with pytest.raises(ValueError, match="environment 0: these bytes are no snapshot"):
        played("CartPole-v1").set_state([state])


@pytest.mark.parametrize("state", ["text", 184, None, [1, 2]])
def test_other_types_than_bytes_are_type_errors(state: Any) -> None:
    pool = played("CartPole-v1", 2)
    before = pool.get_state()
    pool.step([1, 1])
    after = pool.get_state()
    with pytest.raises(TypeError, match=r"states\[1\]=.* is an? .*: give bytes, as get_state"):
        pool.set_state([before[0], state])
    assert pool.get_state() == after


@pytest.mark.parametrize(
    "kind", [bytearray, memoryview, lambda state: np.frombuffer(state, np.float64)]
)
def test_any_buffer_is_accepted(kind: Callable[[bytes], Any]) -> None:
    pool = played("CartPole-v1", 2)
    before = pool.get_state()
    pool.step([1, 1])
    pool.set_state([kind(state) for state in before])
    assert pool.get_state() == before


def test_pictures_in_a_state_are_packed() -> None:
    pool = played("Pong-v5", steps=50)
    (state,) = pool.get_state()
    # 7.5 KB of it are three Mersenne twisters
    assert len(state) < 16_000


@pytest.mark.quick(1)
@pytest.mark.parametrize("env", ["CartPole-v1", "Pong-v5"])
def test_clones_continue_as_the_original(env: str) -> None:
    pool = played(env, 4)
    pool.step([1, 0, 1, 1])
    pool.clone(1, [0, 3])
    for _ in range(300):
        obs, reward, terminated, truncated, *_ = pool.step([1] * 4)
        for batch in (obs, reward, terminated, truncated):
            np.testing.assert_array_equal(batch[[0, 3]], batch[[1, 1]])
    # the third one is unchanged
    assert env != "CartPole-v1" or not np.array_equal(obs[2], obs[1])


def test_a_clone_into_an_environment_in_flight_changes_nothing() -> None:
    pool = played("CartPole-v1", 3)
    before = pool.get_state([0])
    pool.send([1], [2])
    with pytest.raises(StateError, match="environment 2 is in flight"):
        pool.clone(1, [0, 2])
    pool.recv()
    assert pool.get_state([0]) == before


# ------------------------------------------------------------------------- all or nothing --


def foreign(state: bytes) -> bytes:
    return played("Acrobot-v1").get_state()[0]


@pytest.mark.parametrize("position", [0, 2, 3])
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda state: flipped(state, 1000), "environment {}: " + DAMAGED),
        (lambda state: b"nothing", "environment {}: these bytes are no snapshot"),
        (foreign, "environment {}: the snapshot is of another environment"),
    ],
    ids=["damaged", "nothing", "foreign"],
)
def test_if_one_snapshot_is_bad_no_environment_is_changed(
    position: int, spoil: Callable[[bytes], bytes], message: str
) -> None:
    pool, untouched = played("CartPole-v1", 4), played("CartPole-v1", 4)
    states = pool.get_state()
    for each in (pool, untouched):
        each.step([1, 0, 1, 0])
    states[position] = spoil(states[position])
    for ids in ([0, 1, 2, 3], [3, 2, 1, 0]):
        with pytest.raises(ValueError, match=message.format(ids[position])):
            pool.set_state(states, ids)
        assert pool.get_state() == untouched.get_state()
    for _ in range(30):
        assert_same(pool.step([0, 1, 0, 1]), untouched.step([0, 1, 0, 1]), "afterwards")


def test_if_one_environment_is_in_flight_none_is_changed() -> None:
    pool, twin = played("CartPole-v1", 3), played("CartPole-v1", 3)
    states = pool.get_state()
    for each in (pool, twin):
        each.step([1, 1, 1])
        each.send([1], [2])
    with pytest.raises(StateError, match="environment 2 is in flight"):
        pool.set_state(states)
    assert pool.get_state([0, 1]) == twin.get_state([0, 1])
    assert_same(pool.recv(), twin.recv(), "what was in flight")
    pool.set_state(states)
    assert pool.get_state() == states


def test_if_one_env_id_is_wrong_no_environment_is_changed() -> None:
    pool = played("CartPole-v1", 2)
    states = pool.get_state()
    pool.step([1, 1])
    after = pool.get_state()
    for ids in ([0, 2], [0, -1]):
        with pytest.raises(ValueError, match=f"env_id {ids[1]}"):
            pool.set_state(states, ids)
    assert pool.get_state() == after


@pytest.fixture
def frail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> registry.Definition:
    """An environment whose load callback can fail."""
    source, library = tmp_path / "frail.c", tmp_path / "frail.so"
    source.write_text(FRAIL)
    compiler = shlex.split(os.environ.get("CC") or "cc")
    include = f"-I{parallel_pool.get_include()}"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", include]
    subprocess.run([*compiler, *flags, str(source), "-o", str(library)], check=True)
    monkeypatch.setattr(registry, "loaded_by_id", {})
    return registry.load(library, "pp_env_frail")


def test_environments_before_a_failing_load_callback_are_restored(
    frail: registry.Definition,
) -> None:
    """The environment whose callback fails is as it was before; those after it are unchanged."""
    pool = Pool(frail, 4)
    pool.reset()
    for steps in ([0], [0, 1], [1, 1, 2, 3], [3]):
        for env_id in steps:
            pool.step([0], [env_id])
    assert pool.observe()[0].tolist() == [2, 3, 1, 2]
    states = pool.get_state()
    for _ in range(3):
        pool.step([0] * 4)
    with pytest.raises(PoolError, match="environment 1 can't be restored: three is too many"):
        pool.set_state(states)
    assert pool.observe([0, 2, 3])[0].tolist() == [2, 4, 5]
