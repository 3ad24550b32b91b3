"""jax_ppo.py learns CartPole in one compiled program; so it did on both libraries."""

from __future__ import annotations

import json

import numpy as np

from integration.training import jax_ppo


def test_cartpole_is_learned() -> None:
    found = jax_ppo.run("parallel_pool", "CartPole-v1", 1, jax_ppo.Settings())
    assert found["steps"] == 204_800 and len(found["curve"]) == 100
    assert found["evaluated"] >= jax_ppo.GOAL


def test_a_run_can_be_repeated() -> None:
    curves = [
        jax_ppo.run("parallel_pool", "CartPole-v1", 2, jax_ppo.Settings(updates=5))["curve"]
        for _ in range(2)
    ]
    assert curves[0] == curves[1]


def test_the_committed_result_is_of_both_libraries() -> None:
    runs = json.loads(jax_ppo.RESULT.read_text())
    by_library = {
        library: [
            run for run in runs if run["library"] == library and run["task_id"] == "CartPole-v1"
        ]
        for library in jax_ppo.LIBRARIES
    }
    for own in by_library.values():
        assert len({run["seed"] for run in own}) == 10
        # an agent in ten is poor at its end, in either library
        assert sum(run["evaluated"] >= jax_ppo.GOAL for run in own) >= 9
    ours, theirs = (
        np.median([run["seconds"] for run in by_library[library]]) for library in jax_ppo.LIBRARIES
    )
    assert ours < theirs


def test_the_committed_agents_play_pong() -> None:
    """The environments have the same bits, so the same agents come of both libraries."""
    runs = {
        (run["library"], run["seed"]): run
        for run in json.loads(jax_ppo.RESULT.read_text())
        if run["task_id"] == jax_ppo.PONG
    }
    for seed in range(1, 6):
        ours, theirs = (runs[library, seed] for library in jax_ppo.LIBRARIES)
        assert ours["curve"] == theirs["curve"]
        assert ours["evaluated"] >= jax_ppo.PONG_GOAL and ours["seconds"] < theirs["seconds"]
        assert jax_ppo.seconds_until(ours, jax_ppo.PONG_GOAL) is not None
