"""Contract: what every native environment keeps, checked by pools whose results must agree.

The checks know nothing of an environment except its definition. Each takes an id or a definition;
`few` makes it short, for environments whose steps are expensive; `settings` are those of the pools,
such as their options. A check raises `ContractError` where an environment breaks the contract. What
it returns are facts that only the environment's author can judge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from parallel_pool._contract.play import SEED, Row, Run, require, same, same_rows
from parallel_pool._engine.buffers import Array
from parallel_pool._engine.specs import Definition
from parallel_pool._engine.trees import nest
from parallel_pool.errors import ClosedError, StateError

# a poisoned byte: no bool, no small number, no sensible float
POISON = 0xAB


def spaces(env: str | Definition, *, few: bool = False, **settings: Any) -> int:
    """Spaces hold every observation, and arrays have the dtypes and shapes of their fields.

    Returns:
        How many episodes ended.
    """
    run = Run(env, 2 if few else 5, **settings)
    pool, spec = run.pool, run.pool.spec
    space, ends = spec.observation_space(), 0
    for field, column in zip(spec.fields, pool.columns, strict=False):
        players = (spec.num_players,) if field.per_player else ()
        require(
            (column.name, column.dtype, column.shape)
            == (field.name, field.dtype, (*players, *field.shape)),
            f"the column of {field.name} is {column}",
        )
    for _ in range(40 if few else 120):
        batch = run.step()
        require(len(batch) == len(pool.columns), "a batch lacks columns")
        for column, array in zip(pool.columns, batch, strict=True):
            shape = (pool.num_envs, *column.shape)
            require(
                (array.dtype, array.shape) == (column.dtype, shape),
                f"{column.name} has dtype {array.dtype} and shape {array.shape}",
            )
            flags = array.flags
            require(
                flags.c_contiguous and flags.writeable and flags.aligned,
                f"{column.name} is not a plain array",
            )
        for row in range(pool.num_envs):
            _check_observation(run, space, batch, row, is_final=False)
            if pool.autoreset == "same_step" and run.ends[row][-1]:
                _check_observation(run, space, batch, row, is_final=True)
            ends += run.ends[row][-1]
    return ends


def _check_observation(
    run: Run, space: Any, batch: tuple[Any, ...], row: int, *, is_final: bool
) -> None:
    """Refuses an observation that its space does not hold; names the element."""
    spec, pool = run.pool.spec, run.pool
    values = {
        column.name: array[row]
        for column, array in zip(pool.columns, batch, strict=True)
        if 0 <= column.field < len(spec.observations) and column.is_final == is_final
    }
    for field in spec.observations:
        if field.texts is not None:
            codes = np.asarray(values[field.name])[None]
            (values[field.name],) = field.texts.of_rows(codes)
    # a scalar of an array is no ndarray; Gymnasium's Box wants one
    single = list(values) == ["obs"]
    seen = (
        values["obs"]
        if single
        else nest(
            {
                name: value if isinstance(value, str) else np.asarray(value)[()]
                for name, value in values.items()
            }
        )
    )
    if space.contains(seen):
        return
    at = f"environment {row}, step {int(run.steps[row])}"
    for field in spec.observations:
        value = np.asarray(values[field.name])
        if field.space_kind == "box":
            low, high = (np.broadcast_to(b, value.shape) for b in (field.low, field.high))
            wrong = np.argwhere(~((value >= low) & (value <= high)))
            for where in (tuple(int(axis) for axis in each) for each in wrong[:1]):
                index = f"[{', '.join(map(str, where))}]" if where else ""
                require(
                    False,
                    f"{field.name}{index} is {value[where]:.9g}, and its space is"
                    f" {low[where]:.9g} to {high[where]:.9g} ({at}): limit the value in observe or"
                    " step, or widen low and high in fields",
                )
    require(
        False,
        f"the observation {seen!r} is not in {space} ({at}): limit it in observe or step, or change"
        " its space in fields",
    )


def rewards(env: str | Definition, *, few: bool = False, **settings: Any) -> None:
    """Rewards and discounts are numbers."""
    run = Run(env, 2 if few else 5, reward_dtype="float64", **settings)
    for _ in range(40 if few else 120):
        batch = run.step()
        for name in ("reward", "discount"):
            values = run.engine(batch, name)
            for row in np.argwhere(~np.isfinite(values))[:1]:
                require(
                    False,
                    f"the {name} of environment {row[0]} is {values[tuple(row)]} at step"
                    f" {int(run.steps[row[0]])}: look for a division by 0 or a root of a negative"
                    " number",
                )


def poison(arrays: Sequence[Array]) -> None:
    """Overwrites arrays with bytes that no environment writes."""
    for array in arrays:
        array.view(np.uint8).fill(POISON)


def defined_bytes(
    env: str | Definition, *, some: bool = False, few: bool = False, **settings: Any
) -> None:
    """A block that is used again shows nothing of what it held, not even what the user wrote.

    Args:
        some: steps some of the environments, so that rows lie where rows of others were.
    """
    count = 2 if few else 5
    clean, dirty = Run(env, count, **settings), Run(env, count, **settings)
    rounds, places = (20 if few else 120), set()
    ids = list(range(count - 1))
    clean.step()
    dirty.step()
    for i in range(rounds):
        ours = list(clean.step_some(ids) if some else clean.step())
        theirs = list(dirty.step_some(ids) if some else dirty.step())
        del ours
        poison(theirs)
        places.add(theirs[0].ctypes.data)
        del theirs
        same(
            clean,
            dirty.made,
            clean.made,
            f"round {i}, with memory that held other bytes before (a callback does not write every"
            " byte of every field)",
        )
        clean.forget()
        dirty.forget()
    # blocks have been used again
    require(len(places) < rounds / 2, "the engine used no block again")


# --------------------------------------------------------------------------------- episodes --


def autoreset(env: str | Definition, *, few: bool = False, **settings: Any) -> None:
    """A mode returns what "disabled" returns when it is reset where that mode resets."""
    disabled, following, same_step = (
        Run(env, 2 if few else 5, autoreset=mode, max_episode_steps=17, **settings).play(
            60 if few else 300
        )
        for mode in ("disabled", "next_step", "same_step")
    )
    same(following, following.made, disabled.made, 'autoreset "next_step"')
    require(following.ends == disabled.ends, "episodes end at other steps")

    # same_step: a row has the next episode's first observation and the ended episode's flags
    fields = len(same_step.pool.spec.fields)
    first_final = [column.is_final for column in same_step.pool.columns].index(True)
    for env_id, rows in enumerate(same_step.made):
        expected: list[Row] = []
        history = disabled.made[env_id]
        at = 0
        while at + 1 < len(history):
            ended = disabled.ends[env_id][at]
            fields_now = history[at + 1][:fields] if ended else history[at][:fields]
            final = history[at][:fields] if ended else (b"",) * fields
            expected.append((*fields_now, *history[at][fields:first_final], *final))
            at += 2 if ended else 1
        what = f'autoreset "same_step": environment {env_id}'
        same_rows(same_step, rows[: len(expected)], expected, what)
        require(sum(same_step.ends[env_id][: len(expected)]) >= 2, f"{what}: too few episodes")


def ended_episodes(env: str | Definition, *, few: bool = False, **settings: Any) -> None:
    """Autoreset "disabled" refuses to step an episode that has ended, and changes nothing."""
    # some episodes are over after a step, so this limit is the one that all reach together
    settings = {**settings, "autoreset": "disabled", "max_episode_steps": 1}
    count = 2 if few else 5
    run = Run(env, count, **settings)
    _refuses(run, range(count))
    run.play(2)
    require(
        all(run.pool.needs_reset(env_id) for env_id in range(count)),
        "an episode goes on beyond the time limit",
    )
    _refuses(run, [1])
    require(run.pool.in_flight == 0, "a refused step is in flight")
    run.play(2)
    # the same as without the refused calls
    other = Run(env, count, **settings).play(4)
    same(run, run.made, other.made, "after steps that were refused")


def _refuses(run: Run, env_ids: Any) -> None:
    """Steps environments that need a reset, which must be a StateError that says so."""
    try:
        run.pool.step(run.action(env_ids), env_ids)
    except StateError as error:
        require("reset" in str(error), f"a step before a reset says {error}")
    else:
        require(False, "a step is taken before a reset")


def time_limit(env: str | Definition, *, few: bool = False, **settings: Any) -> bool:
    """The step that reaches the limit is truncated, and terminated too if its episode ends there.

    All other flags are as without a limit.

    Returns:
        Whether an episode ended by itself.
    """
    rounds, count = 60 if few else 300, 2 if few else 5
    settings = {**settings, "autoreset": "disabled"}
    free = Run(env, count, max_episode_steps=0, **settings)
    flags: list[list[tuple[bool, bool]]] = [[] for _ in range(count)]
    for _ in range(rounds):
        for env_id, pair in free.flags(free.step()).items():
            flags[env_id].append(pair)
    # row 0 is the reset, so the index of a row is the number of its step in the first episode
    lasts = [next((t for t, f in enumerate(of) if any(f)), rounds) for of in flags]
    for limit in sorted({5, min(lasts) - 1, min(lasts), min(lasts) + 1}):
        if not 0 < limit < rounds:
            continue
        run = Run(env, count, max_episode_steps=limit, **settings)
        require(run.pool.max_episode_steps == limit, f"the time limit is not {limit}")
        for step in range(limit + 1):
            for env_id, (terminated, truncated) in run.flags(run.step()).items():
                if step <= lasts[env_id]:
                    own = flags[env_id][step]
                    expected = (own[0], own[1] or step == limit)
                    require(
                        (terminated, truncated) == expected,
                        f"with a time limit of {limit}, (terminated, truncated) of environment"
                        f" {env_id} at step {step} is {(terminated, truncated)}, and should be"
                        f" {expected}",
                    )
    return min(lasts) < rounds


def default_limit(env: str | Definition, *, few: bool = False, **settings: Any) -> None:
    """The default time limit is that of the definition."""
    run = Run(env, 2 if few else 5, **settings)
    limit = run.pool.definition.max_episode_steps
    require(run.pool.max_episode_steps == limit, f"the time limit is not {limit}")
    free = Run(env, 1, max_episode_steps=0, **settings)
    require(free.pool.max_episode_steps is None, "max_episode_steps=0 is a limit")
    if limit and limit <= 1000 and not few:
        elapsed = max(int(run.engine(run.step(), "elapsed_step").max()) for _ in range(limit + 2))
        require(elapsed <= limit, f"an episode took {elapsed} steps, and the limit is {limit}")


# -------------------------------------------------------------------------------- snapshots --


def snapshots(env: str | Definition, *, few: bool = False, **settings: Any) -> None:
    """A snapshot restores an environment exactly.

    Whatever was played since, and into any environment of this pool or of another.
    """
    # a limit shorter than any pendulum takes to fall
    rounds, moments, count = (24 if few else 50), [0, 1, 2, 5, 6, 7], 2 if few else 5
    settings = {**settings, "max_episode_steps": 5}
    run = Run(env, count, **settings)
    other = Run(env, count, **{**settings, "seed": 99, "num_threads": 3}).play(14)
    all_ids = np.arange(count)
    kept = []
    for at in range(rounds):
        if at in moments:
            observed = run.pool.observe() if at else None
            kept.append((at, run.pool.get_state(), run.steps.copy(), observed))
        run.step()
    history = run.made
    # a snapshot of each kind: never reset, within an episode, and at the end of one
    kinds = {ends[at - 1] for ends in run.ends for at in moments[1:]}
    require(kinds == {False, True}, "no snapshot within an episode, or none at its end")

    for at, states, steps, observed in kept:
        for target, env_ids in ((run, all_ids), (run, np.roll(all_ids, 1)), (other, all_ids)):
            target.pool.set_state(states, env_ids)
            require(
                target.pool.get_state(env_ids) == states,
                f"the snapshot of a state that was restored (row {at}) has other bytes",
            )
            if observed is not None:
                seen = target.pool.observe(env_ids)
                require(
                    [a.tobytes() for a in seen] == [a.tobytes() for a in observed],
                    f"a state that was restored (row {at}) is observed otherwise: is all that the"
                    " environment knows in its state?",
                )
            target.forget()
            for env_id, origin in zip(env_ids, all_ids, strict=True):
                # continue with the origin's actions: 13 and 7 are those of Run.action
                offset = 13 * (origin - env_id) * pow(7, -1, len(target.actions))
                target.steps[env_id] = steps[origin] + offset % len(target.actions)
            length = min(12 if few else 30, rounds - at)
            target.play(length)
            for env_id, origin in zip(env_ids, all_ids, strict=True):
                same_rows(
                    run,
                    target.without_ids(target.made[env_id]),
                    run.without_ids(history[origin][at : at + length]),
                    f"after the snapshot of row {at} (is all that the environment knows in its"
                    f" state?): environment {env_id}",
                    with_ids=False,
                )


# ------------------------------------------------------------------------------ determinism --


def seeds(
    env: str | Definition, *, few: bool = False, warm_up: int = 20, **settings: Any
) -> dict[str, bool]:
    """The same seed gives the same results: in a new pool, in a list, and in a later reset.

    Args:
        warm_up: rows that are played before the later reset.

    Returns:
        "another seed", "no seed": whether the results are the same with these, as they are if
        nothing is random.
    """
    rounds, count = 30 if few else 60, 2 if few else 5
    run = Run(env, count, **settings).play(rounds)
    listed = Run(env, count, **{**settings, "seed": [SEED + i for i in range(count)]})
    hint = " (do all random numbers come from env->rng, and does every reset set all of the state?)"
    same(run, listed.play(rounds).made, run.made, f"a second pool with the same seeds{hint}")
    # a reset with a seed at any time equals a new pool with that seed
    late = Run(env, count, **{**settings, "seed": 5}).play(warm_up)
    late.forget()
    late.steps[:] = 0
    late.take(late.pool.reset(seed=SEED))
    same(run, late.play(rounds - 1).made, run.made, f"after a later reset with the same seed{hint}")
    others = Run(env, count, **{**settings, "seed": SEED + 1000}).play(rounds)
    # without a seed there is fresh entropy
    fresh = [Run(env, count, **{**settings, "seed": None}).play(rounds) for _ in range(2)]
    return {
        "another seed": others.made == run.made,
        "no seed": fresh[0].made == fresh[1].made,
    }


def neighbours(env: str | Definition, *, few: bool = False, **settings: Any) -> None:
    """Environment i is environment 0 of a pool with seed + i: neighbours change nothing."""
    rounds, count = 30 if few else 60, 2 if few else 5
    run = Run(env, count, **settings).play(rounds)
    for i in range(count):
        alone = Run(env, 1, **{**settings, "seed": SEED + i})
        alone.actions = np.roll(alone.actions, -13 * i, axis=0)
        alone.play(rounds)
        same_rows(
            run,
            run.without_ids(run.made[i]),
            alone.without_ids(alone.made[0]),
            f"environment {i} among {count} differs from the same one alone (is there a variable"
            " outside of the state?)",
            with_ids=False,
        )


def threads(env: str | Definition, *, few: bool = False, **settings: Any) -> None:
    """The number of threads changes nothing."""
    rounds, count = (20, 4) if few else (60, 11)
    settings = {**settings, "max_episode_steps": 13}
    run = Run(env, count, num_threads=1, **settings).play(rounds)
    for number in (2, 3, 4):
        other = Run(env, count, num_threads=number, **settings).play(rounds)
        same(
            run,
            other.made,
            run.made,
            f"with {number} threads (is there a variable outside of the state?)",
        )


def asynchronous(env: str | Definition, *, few: bool = False, **settings: Any) -> None:
    """An asynchronous pool differs in order only."""
    rounds, count = (15, 4) if few else (40, 11)
    settings = {**settings, "max_episode_steps": 13}
    # an environment may run ahead of all others
    expected = Run(env, count, **settings).play(3 * rounds)
    for batch_size, number in ((1, 1), (2, 2), (3, 3), (count - 1, 4)):
        run = Run(env, count, batch_size=batch_size, num_threads=number, **settings)
        run.play_async(rounds)
        require(max(map(len, run.made)) >= rounds - 1, "too few rows")
        for env_id, (ours, theirs) in enumerate(zip(run.made, expected.made, strict=True)):
            length = min(len(ours), len(theirs))
            what = f"batch_size={batch_size}, num_threads={number}: environment {env_id}"
            same_rows(run, ours[:length], theirs[:length], what)


def runs(env: str | Definition, *, few: bool = False, **settings: Any) -> None:
    """step_many equals step and observe, whichever environments of a run have just ended."""
    rounds, count = (15, 6) if few else (45, 24)
    settings = {"num_threads": 2, **settings, "max_episode_steps": 13}
    what = "stepped by step_many, beside environments whose episode has ended (run->ended)"
    # an environment of an unordered pool may run ahead of the others
    single = _play_in_turn(Run(env, count, **settings), 2 * rounds, -1)
    in_runs = _play_in_turn(Run(env, count, **settings), 2 * rounds, 1)
    same(in_runs, in_runs.made, single.made, what)
    for batch_size in (7, count - 1) if settings.get("autoreset") != "disabled" else ():
        batch_size = min(batch_size, count - 1)
        run = Run(env, count, batch_size=batch_size, **settings).play_async(rounds)
        for env_id, (ours, theirs) in enumerate(zip(run.made, single.made, strict=True)):
            length = min(len(ours), len(theirs))
            where = f"batch_size={batch_size}, {what}: environment {env_id}"
            same_rows(run, ours[:length], theirs[:length], where)


def _play_in_turn(run: Run, rounds: int, direction: int) -> Run:
    """Plays a synchronous pool, whose environments start, and reach a time limit, at three times.

    Only environments with consecutive ids are stepped in runs, so with direction=-1 none are.
    """
    all_ids, some_ended = np.arange(run.pool.num_envs), False
    # Even episodes of one step, which take two rows, end at different times.
    starts = np.array([0, 3, 8])[all_ids % 3]
    for at in range(rounds):
        batch = run.step(all_ids[at >= starts][::direction])
        ended = run.engine(batch, "terminated") | run.engine(batch, "truncated")
        some_ended |= bool(ended.any() and not ended.all())
    require(some_ended, "no environment ended an episode beside others that did not")
    return run


# ------------------------------------------------------------------------------------ close --


def close(env: str | Definition, *, few: bool = False, **settings: Any) -> None:
    """Close ends all calls and leaves the arrays."""
    count = 2 if few else 5
    run = Run(env, count, **settings)
    batch = run.step()
    before = [array.copy() for array in batch]
    states = run.pool.get_state()
    # with environments in flight, and twice
    run.pool.send(run.action(range(count)))
    run.pool.close()
    run.pool.close()
    require(run.pool.closed, "the pool is not closed")
    calls: dict[str, Callable[[], Any]] = {
        "step": lambda: run.pool.step(run.action(range(count))),
        "send": lambda: run.pool.send(run.action([0]), [0]),
        "recv": run.pool.recv,
        "reset": run.pool.reset,
        "get_state": run.pool.get_state,
        "set_state": lambda: run.pool.set_state(states),
        "observe": run.pool.observe,
    }
    for name, call in calls.items():
        try:
            call()
        except ClosedError:
            continue
        require(False, f"{name} works after close")
    for array, copy in zip(batch, before, strict=True):
        require(array.tobytes() == copy.tobytes(), "close changed an array")
        array.view(np.uint8).fill(0)
