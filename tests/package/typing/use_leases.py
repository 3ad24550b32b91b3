"""Leases: environments one at a time, for tasks and for threads."""

from __future__ import annotations

from typing import Any, assert_type

from gymnasium import Space

from parallel_pool.leases import AsyncLease, Lease, LeasePool

Step = tuple[Any, float, bool, bool, dict[str, Any]]

pool = LeasePool([lambda: None] * 3, timeout=5, num_workers=3, grace=1)
assert_type(pool.num_envs, int)
assert_type(pool.num_free, int)
assert_type(pool.num_waiting, int)
assert_type(pool.worker_pids, tuple[int | None, ...])
assert_type(pool.closed, bool)
assert_type(pool.num_branches, int)
LeasePool([lambda: None], max_branches=4)
LeasePool("CartPole-v1", 4, num_threads=2, gravity=9.8)

with pool.lease(timeout=1) as env:
    assert_type(env, Lease)
    assert_type(env.env_id, int)
    assert_type(env.reset(seed=1, options={}, retries=2), tuple[Any, dict[str, Any]])
    assert_type(env.step(0, timeout=1), Step)
    assert_type(env.call("render"), Any)
    assert_type(env.kill(), bool)
    with env.branches(2, seed=[1, None], timeout=1) as branches:
        assert_type(branches, list[Lease])
        branches[0].close()


async def play() -> None:
    async with pool, pool.lease() as env:
        assert_type(env, AsyncLease)
        assert_type(env.action_space, Space[Any])
        assert_type(env.observation_space, Space[Any])
        assert_type(await env.reset(seed=1), tuple[Any, dict[str, Any]])
        assert_type(await env.step(0, timeout=1), Step)
        assert_type(await env.call("render", timeout=1), Any)
        async with env.branches(seed=3) as branches:
            assert_type(branches, list[AsyncLease])


pool.close(timeout=1)
