"""Stack, Frames and BatchMemory: the arrays of a batch, stored once and in memory used again."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import parallel_pool
from parallel_pool._apis.cluster.batch_memory import BatchMemory
from parallel_pool._apis.cluster.frames import Frames, may_be_stacks
from parallel_pool._apis.cluster.stack import Stack


def stacked(rows: list[Any]) -> Any:
    """Returns what a stack makes of some steps, as arrays."""
    stack = Stack(len(rows))
    for step, row in enumerate(rows):
        stack.put(step, row)
    return BatchMemory().copy(stack.arrays())


def shifting(steps: int, resets: dict[int, list[int]], shape: Any = (40, 40)) -> list[Any]:
    """Returns stacks of three frames of 4 environments, some of which begin anew at some steps."""
    rng = np.random.default_rng(0)
    found = [rng.integers(255, size=(4, 3, *shape), dtype=np.uint8)]
    for step in range(1, steps):
        fresh = rng.integers(255, size=(4, 1, *shape), dtype=np.uint8)
        now = np.concatenate([found[-1][:, 1:], fresh], axis=1)
        for row in resets.get(step, []):
            now[row] = rng.integers(255, size=(3, *shape), dtype=np.uint8)
        found.append(now)
    return found


@pytest.mark.parametrize("resets", [{}, {3: [1]}, {1: [0], 2: [0, 3], 5: [2]}], ids=str)
@pytest.mark.parametrize("shape", [(40, 40), (41, 25), (1100,)], ids=str)
def test_frames_are_stored_once(resets: dict[int, list[int]], shape: Any) -> None:
    rows = shifting(8, resets, shape)
    assert may_be_stacks(rows[0])
    stack = Stack(8)
    # the memory is used again
    for _ in range(2):
        for step, row in enumerate(rows):
            stack.put(step, row)
        found = stack.arrays()
        assert isinstance(found, Frames)
        count = 4 * (3 + 7) + sum(2 * len(each) for each in resets.values())
        assert len(found.frames) == count
        assert found.shape == (8, *rows[0].shape) and found.nbytes == np.stack(rows).nbytes
        copy = BatchMemory().copy({"a": found})["a"]
        np.testing.assert_array_equal(copy, np.stack(rows))
        chosen = np.array([0, 5, 31])
        np.testing.assert_array_equal(found.rows(chosen), copy.reshape(-1, *copy.shape[2:])[chosen])


def test_frames_are_compared_by_their_bits() -> None:
    """Here -0.0 in one step and 0.0 in the next, in frames without whole words of 8 bytes."""
    rows = [np.zeros((2, 4, 1025), np.float32) for _ in range(2)]
    rows[0][0, 1] = -0.0
    stack = Stack(2)
    for step, row in enumerate(rows):
        stack.put(step, row)
    copy = BatchMemory().copy(stack.arrays())
    np.testing.assert_array_equal(np.signbit(copy), np.signbit(np.stack(rows)))


def test_observations_that_share_no_frames_are_arrays() -> None:
    rng = np.random.default_rng(0)
    rows = [rng.random((4, 3, 200)) for _ in range(5)]
    stack = Stack(5)
    for step, row in enumerate(rows):
        stack.put(step, row)
    assert isinstance(stack.arrays(), np.ndarray)
    np.testing.assert_array_equal(stack.arrays(), np.stack(rows))
    # and again, after a batch of frames
    rows = shifting(5, {2: [0, 1, 2]})
    np.testing.assert_array_equal(stacked(rows), np.stack(rows))


@pytest.mark.parametrize(
    "shape", [(4, 3), (4, 1, 2000), (4, 17, 2000), (4, 3, 8)], ids=["2d", "one", "many", "small"]
)
def test_what_is_no_stack_of_frames(shape: tuple[int, ...]) -> None:
    assert not may_be_stacks(np.zeros(shape))


def test_trees_and_all_dtypes() -> None:
    rows = [
        ({"x": np.arange(3) + i, "y": (np.float32(i), np.array(["a" * (i + 1), "b"]))}, [i, 2 * i])
        for i in range(4)
    ]
    found = stacked(rows)
    for name in ("x",):
        np.testing.assert_array_equal(found[0][name], np.stack([row[0][name] for row in rows]))
    assert found[0]["y"][0].dtype == np.float32
    assert found[0]["y"][1].tolist()[3] == ["aaaa", "b"]
    np.testing.assert_array_equal(found[1], [[0, 0], [1, 2], [2, 4], [3, 6]])
    with pytest.raises(ValueError, match=r"step 1 of a batch has an array of shape \(3,\)"):
        stacked([np.zeros(2), np.zeros(3)])


def test_a_dtype_that_changes_is_that_of_numpys_stack() -> None:
    rows = [np.zeros(2, np.int32), np.full(2, 0.5, np.float32)]
    found = stacked(rows)
    np.testing.assert_array_equal(found, np.stack(rows))
    assert found.dtype == np.stack(rows).dtype


def test_arrays_that_somebody_holds_are_never_written_to() -> None:
    memory = BatchMemory()
    kept = []
    for i in range(20):
        arrays = memory.copy({"a": np.full(1000, i), "b": np.full((3, 5), i, np.uint8)})
        assert arrays["a"].flags.writeable and arrays["a"].flags.aligned
        if i % 3:
            kept.append((i, arrays["a"][10:20].reshape(2, 5)))
        del arrays
        gc.collect()
    assert all((view == i).all() for i, view in kept)


def test_memory_is_used_again() -> None:
    memory = BatchMemory()
    addresses = set()
    for i in range(20):
        array = memory.copy(np.full(100_000, i))
        addresses.add(array.ctypes.data)
        assert (array == i).all()
    assert len(addresses) <= 3
    assert len(memory.blocks) <= 4
    del array
    # blocks of another size replace them
    for _ in range(4):
        memory.copy(np.zeros(7))
    assert all(block.owner.nbytes < 100 for block in memory.blocks)


def test_frames_of_an_atari_game() -> None:
    envs = parallel_pool.PoolVectorEnv("Pong-v5", 3, max_episode_steps=9)
    observations, _ = envs.reset(seed=0)
    stack, rows = Stack(30), []
    for step in range(30):
        stack.put(step, observations)
        rows.append(observations)
        observations, *_ = envs.step([step % 6] * 3)
    envs.close()
    found = stack.arrays()
    assert isinstance(found, Frames) and 2 * found.frames.nbytes < found.nbytes
    np.testing.assert_array_equal(BatchMemory().copy(found), np.stack(rows))
