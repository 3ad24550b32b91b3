"""An asynchronous pool differs only in the order of rows: each environment's rows are those that
a synchronous pool returns, for any number of threads and any batch size."""

from __future__ import annotations

import numpy as np
import pytest

from parallel_pool._engine.pool import Pool

NUM_ENVS = 13
ROUNDS = 40

IDS = ["Acrobot-v1", "CartPole-v1", "Pendulum-v1", "test/Duel-v0"]


def rows_of(pool: Pool, arrays: tuple[np.ndarray, ...], row: int) -> tuple[bytes, ...]:
    """Returns one row as bytes, without final columns unless its episode has just ended."""
    named = dict(zip([column.name for column in pool.columns], arrays, strict=False))
    ended = named["terminated"][row] or named["truncated"][row]
    return tuple(
        np.ascontiguousarray(array[row]).tobytes()
        for column, array in zip(pool.columns, arrays, strict=True)
        if ended or not column.is_final
    )


def trajectories(
    env: str, autoreset: str, *, batch_size: int, num_threads: int, rounds: int
) -> list[list[tuple[bytes, ...]]]:
    """Returns the rows of each environment in order: all full batches of NUM_ENVS * rounds rows."""
    pool = Pool(
        env,
        NUM_ENVS,
        batch_size=batch_size,
        num_threads=num_threads,
        autoreset=autoreset,
        max_episode_steps=17,
        seed=5,
    )
    # an action depends only on how many rows its environment has returned so far
    space = pool.spec.action_space()
    space.seed(1)
    actions = np.stack([space.sample() for _ in range(101)])
    where = [column.name for column in pool.columns].index("env_id")
    made: list[list[tuple[bytes, ...]]] = [[] for _ in range(NUM_ENVS)]

    pool.send_reset()
    for _ in range(NUM_ENVS * rounds // batch_size):
        arrays = pool.recv()
        env_ids = arrays[where].tolist()
        for row, env_id in enumerate(env_ids):
            made[env_id].append(rows_of(pool, arrays, row))
        pool.send(np.stack([actions[7 * len(made[i]) % 101] for i in env_ids]), env_ids)
    pool.close()
    return made


@pytest.mark.quick(1)
@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
@pytest.mark.parametrize("env", IDS)
def test_only_the_order_of_rows_differs(env: str, autoreset: str) -> None:
    expected = trajectories(env, autoreset, batch_size=NUM_ENVS, num_threads=1, rounds=2 * ROUNDS)
    for batch_size, num_threads in ((1, 2), (5, 4), (12, 3), (NUM_ENVS, 4)):
        found = trajectories(
            env, autoreset, batch_size=batch_size, num_threads=num_threads, rounds=ROUNDS
        )
        # some environments may be ahead of others; on average each has almost ROUNDS rows
        assert max(map(len, found)) >= ROUNDS - 1
        for env_id, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
            length = min(len(ours), len(theirs))
            assert ours[:length] == theirs[:length], f"{env_id=} {batch_size=} {num_threads=}"
