"""Forged: an environment that is restored from a forged snapshot does no harm."""

from __future__ import annotations

import time
from typing import Any

from parallel_pool._contract import forgery, guards
from parallel_pool._contract.check_names import ADD_CHECK
from parallel_pool._contract.play import Run, require
from parallel_pool._engine import registry
from parallel_pool._engine.specs import Definition
from parallel_pool._prover.contract_error import ContractError
from parallel_pool.errors import EnvError, PoolError

# steps after a forged snapshot
STEPS = 3
# an episode that has ended is in a snapshot only in this mode
MODE = {"autoreset": "next_step"}
# Seconds of this process that an environment may take for what follows a snapshot, and how many
# times as long as after an honest one.
MAX_SECONDS, MAX_TIMES = 2.0, 50


def snapshots(
    env: str | Definition,
    *,
    few: bool = False,
    count: int | None = None,
    told: guards.Told = lambda callback, env_id: None,
    zone: int = guards.ZONE,
    **settings: Any,
) -> int:
    """A forged snapshot is refused, or its state does no harm.

    No callback crashes, writes outside of its memory or loops; it may fail.

    Args:
        count: of snapshots; None: a number that depends on few.
        told, zone: as for `guards.writes`.

    Returns:
        How many forged snapshots were accepted.
    """
    definition = registry.find(env) if isinstance(env, str) else env
    if count is None:
        count = 150 if few else 450
    accepted = _forge(definition, count, settings, told, zone)
    if definition.raw.step_many:
        accepted += _forge(definition, count, settings, told, zone, by_run=True)
    return accepted


def _forge(
    definition: Definition,
    count: int,
    settings: dict[str, Any],
    told: guards.Told,
    zone: int,
    *,
    by_run: bool = False,
) -> int:
    change = ""

    def tell(callback: str, env_id: int) -> None:
        told(callback + (change and f" after a forged snapshot ({change})"), env_id)

    guarded = guards.Guarded(definition, told=tell, zone=zone, by_run=by_run)
    guarded.configure(registry.fill_options(definition, settings.get("options", {})))
    run, accepted = Run(guarded.definition, 2, **{**settings, **guards.GUARDED, **MODE}), 0
    try:
        seen = _seen(run)
        for seed, honest in enumerate(seen):
            usual = _seconds(run, honest)
            for each in forgery.forgeries(
                run.pool,
                honest,
                count // len(seen),
                seed,
                others=seen,
                state_bytes=guarded.state_size,
            ):
                change = each.what
                taken = _seconds(run, each.snapshot)
                accepted += taken > 0
                if guarded.failure is not None:
                    raise ContractError(
                        f"after a forged snapshot ({change}): {guarded.failure}{ADD_CHECK}"
                    )
                require(
                    taken < MAX_SECONDS + MAX_TIMES * usual,
                    f"after a forged snapshot ({change}) {STEPS} steps take {taken:.1f} s of the"
                    f" processor's time: look for a loop that a count in the state ends{ADD_CHECK}",
                )
                change = ""
                run.pool.set_state([honest], [0])
    finally:
        run.pool.close()
    return accepted


def _seen(run: Run) -> list[bytes]:
    """Returns snapshots: never reset, and at the beginning, in the middle and at the end of an
    episode."""
    found = run.pool.get_state([0])
    for rows in (1, 3, guards.LIMIT):
        for _ in range(rows):
            if not (run.ends[0] and run.ends[0][-1]):
                run.step()
        found += run.pool.get_state([0])
    return found


def _seconds(run: Run, snapshot: bytes) -> float:
    """Restores environment 0 and goes on; returns the seconds it took, 0 if it was refused."""
    pool, begun = run.pool, time.process_time()
    try:
        pool.set_state([snapshot], [0])
    except (ValueError, PoolError):
        return 0.0
    try:
        if not pool.needs_reset(0):
            pool.observe([0])
        if pool.definition.raw.render:
            pool.render([0])
        for _ in range(STEPS):
            pool.step(run.action([0]), [0])
    except EnvError:
        # an error does no harm
        pass
    return max(time.process_time() - begun, 1e-9)
