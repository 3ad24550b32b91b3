"""The scenes on worker processes: Python environments, plain loops, and other vectorisers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.scenes.python_rivals import (
    plain_loops,
    process_pool,
    puffer_1,
    puffer_2,
    puffer_halves,
    puffer_loop,
    shmem_vector_env,
)
from parallel_pool._bench.contender import Contender, Task
from parallel_pool._bench.outcome import Row
from parallel_pool._bench.python_envs import (
    CART_POLE,
    COSTS,
    EPISODE,
    EXPONENTIAL,
    EXPONENTIAL_TURNS,
    IMAGE,
    IMAGE_TURNS,
)
from parallel_pool._bench.python_players import (
    async_vector_env,
    plain_loop,
    pool_vector_env,
    subproc_vec_env,
)
from parallel_pool._bench.scene import Scene

FAMILIES = ("sb3", "tianshou", "pufferlib")

LOOP, ASYNC, PUFFER_LOOP = plain_loop.name, async_vector_env.name, puffer_loop.name
LOOPS = plain_loops.name
PUFFERS = (puffer_1, puffer_2, puffer_halves)
OTHERS = (subproc_vec_env, shmem_vector_env, *PUFFERS)

NOTES = (
    "oversubscribed: more worker processes than cores",
    "PufferLib's caller spins too, so it uses one process more than the table says; its workers are"
    " stopped while others play, and sleep for the first 10 ms of their next turn",
)


def python_scene(
    name: str,
    title: str,
    task: Task,
    *,
    ours: Contender,
    share: float,
    vs_async: float,
) -> Scene:
    """Returns a scene of ours and all rivals, with a bar against each."""
    # PufferLib needs an older Gymnasium, so it steps older versions of Gymnasium's environments
    is_gymnasiums = task.task_id not in COSTS
    bars: Mapping[str, float] = {ASYNC: vs_async, **{who.name: 1.0 for who in OTHERS}}
    return Scene(
        name=name,
        title=title,
        task=task,
        ours=(ours,),
        rivals=(
            plain_loop,
            plain_loops,
            async_vector_env,
            *OTHERS,
            *([puffer_loop] * is_gymnasiums),
        ),
        bars=bars,
        shares={LOOP: share},
        own_loops={who.name: (PUFFER_LOOP, LOOP) for who in PUFFERS if is_gymnasiums},
        notes=NOTES,
        conclude=conclude,
    )


def conclude(rows: Sequence[Row]) -> list[str]:
    """Returns the notes of a scene."""
    return against_all_cores(rows) + against_own_loops(rows)


def against_all_cores(rows: Sequence[Row]) -> list[str]:
    """Returns a note on our share of the loops on all cores at once.

    The ceiling of the bars, in contrast, is a multiple of the speed of one loop.
    """
    rates = {row.who: row.value.median for row in rows}
    if LOOP not in rates or LOOPS not in rates:
        return []
    shares = [
        f"{row.who} {row.value.median / rates[LOOPS]:.2f}" for row in rows if row.role == "ours"
    ]
    return [
        f"loops on all cores at once reach {rates[LOOPS] / rates[LOOP]:.2f} times one loop; share"
        f" of that: {', '.join(shares)}"
    ]


def against_own_loops(rows: Sequence[Row]) -> list[str]:
    """Returns a note that compares PufferLib with the plain loop over its own Gymnasium."""
    rates = {row.who: row.value.median for row in rows}
    own = [row for row in rows if row.role == "ours"]
    if PUFFER_LOOP not in rates or LOOP not in rates:
        return []
    old, new = rates[PUFFER_LOOP], rates[LOOP]
    parts = [f"{row.who} {row.value.median / new:.2f}x" for row in own]
    parts += [f"{who.name} {rates[who.name] / old:.2f}x" for who in PUFFERS if who.name in rates]
    return [
        f"PufferLib needs Gymnasium 0.29, whose plain loop is {old / new:.2f} times as fast as"
        f" today's; each against its own loop: {', '.join(parts)}"
    ]


def task(task_id: str, num_envs: int, batch_size: int, episode: int = EPISODE) -> Task:
    """Returns a task on two workers."""
    return Task(task_id, num_envs, batch_size, 2, 2, max_episode_steps=episode)


def synthetic(suffix: str, measure: str, image: str, exponential: str) -> tuple[Scene, Scene]:
    """Returns the scenes of synthetic environments; the bars are the same for all measures.

    Args:
        suffix: part of the scenes' names, before the number of environments.
        measure: the quantity of which a step takes 50 us or 1 ms.
        image, exponential: ids of the environments.
    """
    return (
        python_scene(
            f"image{suffix}-64",
            f"84 x 84 x 4 bytes after 50 us of {measure}, 64 envs, 2 workers, sync",
            task(image, 64, 64),
            ours=pool_vector_env,
            share=0.84,
            vs_async=3.9,
        ),
        python_scene(
            f"exponential{suffix}-16",
            f"exponential(1 ms) of {measure}, 16 envs, batch 8, 2 workers, async",
            task(exponential, 16, 8),
            ours=process_pool,
            share=0.84,
            vs_async=1.3,
        ),
    )


RACES = (
    python_scene(
        "cartpole-python-64",
        "CartPole-v1 of gymnasium.make, 64 envs, 2 workers, sync",
        task(CART_POLE, 64, 64, 500),
        ours=pool_vector_env,
        share=0.65,
        vs_async=20,
    ),
    python_scene(
        "cartpole-python-16",
        "CartPole-v1 of gymnasium.make, 16 envs, 2 workers, sync",
        task(CART_POLE, 16, 16, 500),
        ours=pool_vector_env,
        share=0.42,
        vs_async=8,
    ),
    *synthetic("", "CPU time", IMAGE, EXPONENTIAL),
    *synthetic("-turns", "turns of a loop", IMAGE_TURNS, EXPONENTIAL_TURNS),
)
