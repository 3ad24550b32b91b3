"""Environments that tests serve, and what serves them without a network."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from parallel_pool.compat.openenv import OpenEnvApp
from parallel_pool.leases import LeasePool
from tests.faults.lease_envs import Asked
from tests.support.timeouts import wait_for

SPLITS = {"train": [{"id": "a"}, {"id": "b"}], "odd": [{"id": "c"}]}


class Served(Asked):
    """Has the trouble that an action or the option "trouble" asks for, and tasks."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        given = options or {}
        observation, _ = super().reset(seed=seed, options=given.get("trouble"))
        return observation, {"seed": seed, "options": options}

    def list_splits(self) -> list[Any]:
        return ["train", {"name": "odd", "type": "test"}]

    def list_tasks(self, split: str) -> list[Any]:
        return SPLITS[split]

    def num_tasks(self, split: str) -> int:
        return len(SPLITS[split])

    def get_task(self, split: str, index: int) -> Any:
        return SPLITS[split][index]

    def get_task_range(self, split: str, start: int | None, stop: int | None) -> Any:
        return SPLITS[split][start:stop]


def pool_of(count: int = 2, **options: Any) -> LeasePool:
    fns = [lambda number=i: Served(number) for i in range(count)]
    return LeasePool(fns, **{"start_method": "fork", "grace": 0.0, **options})


def run(
    play: Callable[[OpenEnvApp], Coroutine[Any, Any, Any]], count: int = 2, **options: Any
) -> Any:
    """Runs a coroutine function with an app, to which all environments must come back."""

    async def main(app: OpenEnvApp) -> Any:
        return await play(app)

    with pool_of(count) as pool:
        result = asyncio.run(main(OpenEnvApp(pool, **{"token": None, **options})))
        wait_for(lambda: pool.num_free == count)
        return result
