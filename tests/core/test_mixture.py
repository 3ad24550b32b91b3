"""Mixtures: what is refused, options, limits, failures, and the rules of every environment."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

import parallel_pool
from parallel_pool import Pool, each, each_reset, mixed
from parallel_pool._contract import forged, guards, rules
from parallel_pool._families import atari
from parallel_pool.errors import EnvError, MissingDependencyError
from tests.support.mixtures import mixture

SMALL = ("Acrobot-v1", "test/Template-v0")
POLES = ("CartPole-v1", "Acrobot-v1")
FAULTY = ("test/Template-v0", "test/Fault-v0")
# one of whose tasks is saved by callbacks, and others are not
SAVED = ("CartPole-v1", "LunarLander-v3")


def pool(*tasks: str, num_envs: int = 2, **options: Any) -> Pool:
    limit = options.pop("max_episode_steps", None)
    return Pool(mixture(*tasks), num_envs, max_episode_steps=limit, options=options, seed=1)


REFUSED: list[tuple[type[Exception], str, Callable[[], Any]]] = [
    # what is mixed
    (TypeError, r"id=3 is an int: give a string", lambda: mixed(3, SMALL)),  # type: ignore[arg-type]
    (ValueError, r"id='a b': choose letters, digits", lambda: mixed("a b", SMALL)),
    (ValueError, r"the id 'CartPole-v1' is taken", lambda: mixed("CartPole-v1", SMALL)),
    (TypeError, r"tasks='Pong-v5' is a str: give a list", lambda: mixed("A-v0", "Pong-v5")),
    (ValueError, r"there are no tasks", lambda: mixed("A-v0", [])),
    (ValueError, r"no environment 'Pog-v5'", lambda: mixed("A-v0", ["Pog-v5"])),
    (ValueError, r"'Pong-v5' twice: give a dict", lambda: mixed("A-v0", ["Pong-v5", "Pong-v5"])),
    (TypeError, r"task 'a' is an int: give an id", lambda: mixed("A-v0", {"a": 3})),  # type: ignore[dict-item]
    (TypeError, r"options of 'a' are an int", lambda: mixed("A-v0", {"a": ("Pong-v5", 3)})),
    (ValueError, r"is a mixture itself", lambda: mixed("A-v0", [mixture(*SMALL)])),
    # spaces that have nothing in common
    (
        ValueError,
        r"CartPole-v1 and Taxi-v4 can't be mixed: obs has another dtype in each: make a pool",
        lambda: pool("CartPole-v1", "Taxi-v4"),
    ),
    (
        ValueError,
        r"CartPole-v1 and MountainCarContinuous-v0 can't be mixed: the action has another dtype",
        lambda: pool("CartPole-v1", "MountainCarContinuous-v0"),
    ),
    (
        ValueError,
        r"Blackjack-v1 can't be mixed: obs has another kind of space",
        lambda: pool("Taxi-v4", "Blackjack-v1"),
    ),
    (
        ValueError,
        r"spread_v3 has 3 players: only environments with one player can be mixed",
        lambda: pool("CartPole-v1", "mpe/simple_spread_v3"),
    ),
    (
        TypeError,
        r"tasks hold \['CartPole-v1'\], a list: give ids",
        lambda: parallel_pool.mixed("test/lists-v0", [["CartPole-v1"]]),  # type: ignore[list-item]
    ),
    # rows
    (ValueError, r"num_envs=3: .* has 2 tasks: choose a", lambda: pool(*SMALL, num_envs=3)),
    (ValueError, r"task='x': .* has the tasks Acrobot-v1, test", lambda: pool(*SMALL, task="x")),
    (TypeError, r"task=1: .* has the tasks", lambda: pool(*SMALL, task=1)),
    (
        ValueError,
        r"environment 1: task='x'",
        lambda: pool(*SMALL, task=each(["Acrobot-v1", "x"])),
    ),
    (
        ValueError,
        r"task=each_reset\(.*can draw .* at each reset",
        lambda: pool(*SMALL, task=each_reset(list(SMALL))),
    ),
    # options
    (TypeError, r"v0 has no option nope: it has .*gravity", lambda: pool(*POLES, nope=1)),
    (TypeError, r"gravity='x' is a str: give a number", lambda: pool(*POLES, gravity="x")),
    (
        TypeError,
        r"^one has no option nope: it has .*gravity",
        lambda: Pool(parallel_pool.mixed("test/own-v0", {"one": ("CartPole-v1", {"nope": 1})}), 1),
    ),
    (
        ValueError,
        r"give them different obs: choose values with the same spaces",
        lambda: pool("Hopper-v5", "Ant-v5", frame_stack=each([1, 2])),
    ),
    # what other APIs refuse
    (
        ValueError,
        r"is a mixture, and gymnasium.make is for one environment: give the id of one of its",
        lambda: gymnasium.make(mixture(*POLES).id),
    ),
    (
        ValueError,
        r"has no Python environment: .*wrap the vector environment",
        lambda: parallel_pool.make_vec(
            mixture(*POLES).id, 2, wrappers=[gymnasium.wrappers.RecordEpisodeStatistics]
        ),
    ),
    (
        ValueError,
        r"has no Python environment",
        lambda: parallel_pool.make_vec(mixture(*POLES).id, 2, backend="process"),
    ),
    (
        ValueError,
        r"render_mode='rgb_array': choose None",
        lambda: parallel_pool.make_vec(mixture(*POLES).id, 2, render_mode="rgb_array"),
    ),
    (
        ValueError,
        r"num_envs=1: .* has 2 tasks",
        lambda: parallel_pool.make_spec(mixture(*POLES).id),
    ),
]


@pytest.mark.parametrize(("kind", "message", "call"), REFUSED, ids=[each[1] for each in REFUSED])
def test_refusals_say_why(kind: type[Exception], message: str, call: Callable[[], Any]) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_the_same_mixture_may_be_made_twice() -> None:
    tasks = {"small": "FrozenLake-v1", "large": ("FrozenLake-v1", {"map_name": "8x8"})}
    made = mixed("Lakes-v0", tasks)
    assert mixed("Lakes-v0", tasks) is made
    with pytest.raises(ValueError, match="the id 'Lakes-v0' is taken"):
        mixed("Lakes-v0", ["FrozenLake-v1"])
    assert "Lakes-v0" in parallel_pool.list_all_envs()


# ---------------------------------------------------------------------------- rows and tasks --


def test_tasks_are_blocks_of_rows() -> None:
    made = pool("CartPole-v1", "Acrobot-v1", num_envs=6)
    assert made.option_values()["task"].tolist() == ["CartPole-v1"] * 3 + ["Acrobot-v1"] * 3
    assert made.varied == ("task",)
    envs = parallel_pool.make_vec(made.definition.id, 4)
    assert envs.get_attr("task") == ("CartPole-v1",) * 2 + ("Acrobot-v1",) * 2
    np.testing.assert_array_equal(envs.action_space.nvec, [2, 2, 3, 3])  # type: ignore[attr-defined]
    envs.close()


def test_tasks_may_be_given_to_rows() -> None:
    tasks = ["Acrobot-v1", "CartPole-v1", "CartPole-v1"]
    made = pool(*POLES, num_envs=3, task=each(tasks))
    assert made.option_values()["task"].tolist() == tasks
    one = pool(*POLES, num_envs=1, task="CartPole-v1")
    alone = Pool("CartPole-v1", 1, seed=1)
    np.testing.assert_array_equal(one.reset().obs[:, :4], alone.reset().obs)
    assert one.max_episode_steps == 500


def test_multi_game_request_of_ale() -> None:
    """What Arcade-Learning-Environment #694 asks for: games in blocks, and spaces by row."""
    games = {"pong": "ALE/Pong-v5", "breakout": "ALE/Breakout-v5"}
    mixed("Arcade-v0", games)
    envs = parallel_pool.make_vec("Arcade-v0", 4)
    assert envs.get_attr("task") == ("pong", "pong", "breakout", "breakout")
    np.testing.assert_array_equal(envs.action_space.nvec, [6, 6, 4, 4])  # type: ignore[attr-defined]
    _, infos = envs.reset(seed=1)
    assert infos["action_mask"].dtype == np.int8
    assert infos["action_mask"].sum(axis=1).tolist() == [6, 6, 4, 4]
    envs.close()
    full = parallel_pool.make_vec("Arcade-v0", 4, full_action_space=True)
    np.testing.assert_array_equal(full.action_space.nvec, [18] * 4)  # type: ignore[attr-defined]
    _, infos = full.reset(seed=1)
    assert "action_mask" not in infos
    full.close()


def test_each_task_has_its_time_limit() -> None:
    made = pool("CartPole-v1", "MountainCar-v0")
    assert made.max_episode_steps == each([500, 200])
    assert made.varied == ("task", "max_episode_steps")
    tasks = {"short": ("Pendulum-v1", {"max_episode_steps": 3}), "long": "Pendulum-v1"}
    swings = Pool(mixed("Swings-v0", tasks), 2)
    swings.reset()
    for _ in range(3):
        batch = swings.step(np.zeros((2, 1), np.float32))
    assert batch.truncated.tolist() == [True, False]
    for make in (parallel_pool.make_vec, parallel_pool.make_gymnasium):
        envs: Any = make("Swings-v0", num_envs=2)
        envs.reset()
        for _ in range(3):
            result = envs.step(np.zeros((2, 1), np.float32))
        assert result[3].tolist() == [True, False]
        envs.close()
    assert pool(*SMALL, max_episode_steps=9).max_episode_steps == 9


def test_options_reach_the_tasks_that_have_them() -> None:
    # Acrobot has none, so its row shows the mixture's default
    assert pool(*POLES, gravity=3.0).spec.options["gravity"] == each([3.0, 9.8])
    lakes = mixed(
        "TwoLakes-v0", {"a": "FrozenLake-v1", "b": ("FrozenLake-v1", {"map_name": "8x8"})}
    )
    values = Pool(lakes, 4).option_values()
    assert values["map_name"].tolist() == ["4x4", "4x4", "8x8", "8x8"]
    drawn = Pool(
        mixture("Pendulum-v1", "MountainCarContinuous-v0"), 4, options={"g": each_reset(1, 9)}
    )
    drawn.reset(seed=1)
    assert len(set(drawn.option_values()["g"].tolist())) == 4


def test_the_default_of_an_option_is_no_attribute_of_tasks_without_it() -> None:
    # MountainCar's gravity is 0.0025, and no option
    ids = ["CartPole-v1", "MountainCar-v0"]
    envs = parallel_pool.make_vec(mixed("Gravities-v0", ids).id, 2)
    with pytest.raises(
        AttributeError, match="environment 1 of Gravities-v0 is MountainCar-v0, whi"
    ):
        envs.get_attr("gravity")
    envs.close()
    vec_env = parallel_pool.PoolVecEnv("Gravities-v0", 2)
    assert vec_env.get_attr("gravity", [0]) == [9.8]
    with pytest.raises(
        AttributeError, match="environment 1 of Gravities-v0 is MountainCar-v0, whi"
    ):
        vec_env.get_attr("gravity")
    vec_env.close()


# --------------------------------------------------------------------------------- failures --


def test_an_action_of_another_task_is_refused_and_nothing_is_stepped() -> None:
    made = pool("CartPole-v1", "Acrobot-v1", num_envs=4)
    made.reset()
    states = made.get_state()
    message = r"action 2 of environment 1 \(CartPole-v1\) is outside its space: choose 0 to 1"
    for actions in (
        [0, 2, 2, 2],
        np.array([0, 2, 2, 2], np.uint8),
        np.array([[0], [2], [2], [2]])[:, 0],
    ):
        with pytest.raises(ValueError, match=message):
            made.step(np.asarray(actions))
    with pytest.raises(ValueError, match=message):
        made.send(np.array([2]), [1])
    assert made.get_state() == states
    made.step(np.array([0, 1, 2, 2]))


@pytest.mark.parametrize("where", ["step", "reset", "observe"])
def test_one_tasks_failure_leaves_the_others(where: str) -> None:
    made = pool(*FAULTY, num_envs=4, fail_on=where, fail_at_step=2)
    alone = Pool("test/Template-v0", 2, seed=1)
    np.testing.assert_array_equal(made.reset().obs[:2], alone.reset().obs)
    zeros = np.zeros(4, np.int64)
    failed = False
    for _ in range(3):
        try:
            batch = made.reset([2, 3]) if where == "reset" and not failed else made.step(zeros)
        except EnvError as error:
            assert set(error.env_ids) == {2, 3}
            assert "test/Fault-v0: made to fail" in str(error)
            failed, batch = True, error.batch
        if len(batch.reward) == 4:
            np.testing.assert_array_equal(batch.obs[:2], alone.step(zeros[:2]).obs)
    assert failed


def test_a_task_that_cannot_be_made_is_named() -> None:
    with pytest.raises(ValueError, match="choose none, step, reset"):
        pool(*FAULTY, fail_on="x")
    with pytest.raises(Exception, match="environment 1 can't be made: test/Fault-v0: made to fail"):
        pool(*FAULTY, fail_on="init", fail_at_step=1)


def test_a_missing_rom(monkeypatch: pytest.MonkeyPatch) -> None:
    read = atari.read_rom

    def missing(name: str) -> bytes:
        if name == "breakout":
            raise MissingDependencyError("the ROM of breakout comes with ale-py")
        return read(name)

    monkeypatch.setattr(atari, "read_rom", missing)
    games = mixed("NoRom-v0", ["Pong-v5", "Breakout-v5"])
    with pytest.raises(MissingDependencyError, match="the ROM of breakout"):
        Pool(games, 2)
    monkeypatch.undo()
    Pool(games, 2).close()


def test_snapshots_are_of_a_task() -> None:
    made = pool("CartPole-v1", "Acrobot-v1", num_envs=4)
    made.reset()
    states = made.get_state()
    made.set_state([states[1], states[0]], [0, 1])
    with pytest.raises(ValueError, match="of another environment or of other options"):
        made.set_state([states[0]], [2])


def test_games_are_drawn() -> None:
    envs = parallel_pool.make_vec(
        mixture("ALE/Pong-v5", "ALE/Breakout-v5").id, 2, render_mode="rgb_array"
    )
    envs.reset(seed=1)
    alone = parallel_pool.make_vec("ALE/Breakout-v5", 1, render_mode="rgb_array")
    alone.reset(seed=2)
    np.testing.assert_array_equal(envs.render()[1], alone.render()[0])
    envs.close()
    alone.close()


def test_a_spec_is_pickled() -> None:
    spec = parallel_pool.make_spec(mixture(*POLES).id, num_envs=4)
    assert pickle.loads(pickle.dumps(spec)).config == spec.config


# ------------------------------------------------------------- the rules of every environment --

PADDED: list[tuple[tuple[str, ...], str]] = [
    (POLES, "CartPole-v1"),
    # the other task has an info
    (SMALL, "Acrobot-v1"),
    (SMALL, "test/Template-v0"),
    (("FrozenLake-v1", "Taxi-v4"), "FrozenLake-v1"),
    (("Pendulum-v1", "MountainCarContinuous-v0"), "MountainCarContinuous-v0"),
    (SAVED, "CartPole-v1"),
    (SAVED, "LunarLander-v3"),
]
RULES: list[Callable[..., Any]] = [
    *(rules.spaces, rules.rewards, rules.defined_bytes, rules.autoreset),
    *(rules.ended_episodes, rules.time_limit, rules.snapshots, rules.neighbours),
    *(rules.threads, rules.asynchronous, rules.close),
    *(guards.writes, guards.observe, guards.step_many),
]


@pytest.mark.quick(8)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize(("tasks", "task"), PADDED, ids=lambda value: str(value))
def test_rules_of_every_environment(
    tasks: tuple[str, ...], task: str, rule: Callable[..., Any]
) -> None:
    rule(mixture(*tasks), few=True, options={"task": task})


@pytest.mark.quick(1)
@pytest.mark.parametrize(("tasks", "task"), PADDED[:3] + PADDED[5:], ids=lambda value: str(value))
def test_forged_snapshots_do_no_harm(tasks: tuple[str, ...], task: str) -> None:
    forged.snapshots(mixture(*tasks), few=True, options={"task": task})
