"""Pool plan: what a pool of worker processes will have, by its arguments."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from parallel_pool._engine import maker, overrides
from parallel_pool._engine.arguments import check_choice, check_count, check_sizes
from parallel_pool._engine.pool import AUTORESET, REWARDS
from parallel_pool._native import ffi, lib
from parallel_pool._workers.pool_arguments import (
    MAX_WORKERS,
    check_branches,
    check_functions,
    check_local,
    check_prepared,
    check_timeouts,
)
from parallel_pool._workers.start import interpreter
from parallel_pool._workers.start.startup import Share

if TYPE_CHECKING:
    from parallel_pool._engine.maker import Maker
    from parallel_pool._workers.start.interpreter import Interpreter


@dataclass(frozen=True)
class PoolPlan:
    """What a `ProcessPool` will have. Nothing is started yet, and all arguments are right.

    Attributes:
        env_fns: functions that make the environments, in order.
        maker: how they do it, as far as that is known.
        num_envs: environments, and those of spare lanes.
        num_workers: worker processes; 0 if this process steps the environments.
        batch_size: rows of one result.
        autoreset: as C has it.
        reward_dtype: as C has it.
        on_death: a pp_on_death.
        reset_arguments: further keyword arguments of the environments' reset.
        timeout: seconds that a step or reset may take; None for no limit.
        start_timeout: seconds in which a worker's environments must be made; None for no limit.
        shares: the environments of each worker, or of this process.
        spares: those of each spare lane, of which there is one for each branch.
        choices: numbers of worker processes that a pool with these arguments could have instead.
    """

    env_fns: list[Callable[[], Any]]
    maker: Maker | None
    num_envs: int
    num_workers: int
    batch_size: int
    autoreset: int
    reward_dtype: int
    on_death: int
    reset_arguments: dict[str, Any]
    timeout: float | None
    start_timeout: float | None
    shares: list[Share]
    spares: list[Share]
    choices: Sequence[int]

    @property
    def num_lanes(self) -> int:
        """Of the workers, or of this process, and spare ones."""
        return len(self.shares) + len(self.spares)


def of(
    env_fns: Sequence[Callable[[], Any] | str],
    *,
    num_workers: int | None,
    batch_size: int | None,
    autoreset: str,
    reward_dtype: str,
    start_method: str | None,
    timeout: float | None,
    start_timeout: float | None,
    on_error: str,
    python: Any,
    reset_arguments: Mapping[str, Any] | None,
    max_branches: int,
    episode_seeds: bool,
    prepare_resets: bool,
    may_have_workers: bool,
) -> PoolPlan:
    """Checks the arguments of a `ProcessPool`, and returns what follows from them.

    Args:
        env_fns, num_workers and others: as for `ProcessPool`.
        may_have_workers: whether worker processes can step the environments.

    Raises:
        TypeError, ValueError: an argument is wrong.
        PoolError: the system lacks what one needs.
    """
    fns = check_functions(env_fns)
    count, spare = len(fns), check_count("max_branches", max_branches, 0, MAX_WORKERS)
    total, rows = check_sizes(count + spare, batch_size)
    workers = _check_workers(num_workers, count, prepare_resets)
    how = maker.of_all(fns)
    arguments = dict(reset_arguments or {})
    mode = check_choice("autoreset", autoreset, AUTORESET)
    reward = check_choice("reward_dtype", reward_dtype, REWARDS)
    on_death = _on_death(on_error, autoreset)
    limit, start_limit = check_timeouts(timeout, start_timeout)
    for_workers = {
        "timeout": timeout,
        "start_timeout": start_timeout,
        "start_method": start_method,
        "python": python,
    }
    if not workers:
        check_local(**for_workers)
    if spare:
        check_branches(workers, count)
    if prepare_resets:
        check_prepared(workers, count, episode_seeds, spare)
    pythons = interpreter.for_each(python, count)
    choices: Sequence[int] = ()
    if may_have_workers and not spare and not prepare_resets:
        is_local = all(value is None for value in for_workers.values())
        choices = _choices(pythons, least=0 if is_local else 1)
    wanted = overrides.workers(workers, count)
    workers = wanted if wanted in choices else workers
    shares = _shared_out(fns, max(1, workers), pythons, spare > 0, prepare_resets)
    # with branches there is a lane for each environment; `Supervisor.adopt` puts in their own
    spares = [replace(shares[0], lane=own, first=own) for own in range(count, total)]
    return PoolPlan(
        env_fns=fns,
        maker=how,
        num_envs=total,
        num_workers=workers,
        batch_size=rows,
        autoreset=mode,
        reward_dtype=reward,
        on_death=on_death,
        reset_arguments=arguments,
        timeout=limit,
        start_timeout=start_limit,
        shares=shares,
        spares=spares,
        choices=choices,
    )


def _check_workers(num_workers: int | None, num_envs: int, prepare_resets: bool) -> int:
    """Returns the number of worker processes; raises TypeError or ValueError."""
    most = num_envs if prepare_resets else min(lib.pp_usable_cores(ffi.NULL), num_envs)
    wanted = most if num_workers is None else num_workers
    found = check_count("num_workers", wanted, 0, MAX_WORKERS)
    if found > num_envs:
        raise ValueError(
            f"num_workers={found} > num_envs={num_envs}: choose num_workers <= num_envs"
        )
    return found


def _choices(pythons: Sequence[Interpreter | None], least: int) -> Sequence[int]:
    """Returns the numbers of workers, from the least on, of which each has one interpreter."""
    count = len(pythons)
    borders = {i for i in range(1, count) if pythons[i] != pythons[i - 1]}
    found = range(least, min(count, MAX_WORKERS) + 1)
    if not borders:
        return found
    return [lanes for lanes in found if borders <= set(_cuts(count, max(1, lanes)))]


def _cuts(count: int, lanes: int) -> list[int]:
    """Returns the first environment of each lane, and the number of them all."""
    return [count * lane // lanes for lane in range(lanes + 1)]


def _on_death(on_error: str, autoreset: str) -> int:
    """Returns what C does with the environments of a worker that dies; raises ValueError."""
    repeats = lib.PP_DEATH_REQUEUE if autoreset == "same_step" else lib.PP_DEATH_REPEAT
    found: int = check_choice(
        "on_error",
        on_error,
        {
            "raise": lib.PP_DEATH_FAIL,
            "restart": repeats,
            "replace": lib.PP_DEATH_REPLACE,
        },
    )
    return found


def _shared_out(
    fns: Sequence[Callable[[], Any]],
    lanes: int,
    pythons: Sequence[Interpreter | None],
    may_branch: bool,
    has_standby: bool,
) -> list[Share]:
    """Returns the environments of each lane; raises ValueError if one has several pythons."""
    cuts = _cuts(len(fns), lanes)
    return [
        Share(lane, a, fns[a:b], interpreter.of_share(pythons[a:b], a), may_branch, has_standby)
        for lane, (a, b) in enumerate(itertools.pairwise(cuts))
    ]
