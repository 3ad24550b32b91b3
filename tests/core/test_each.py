"""each() and each_reset(): what they refuse, what pools show, snapshots and specs."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from stable_baselines3.common.vec_env import VecEnv

import parallel_pool
from parallel_pool import Pool, PoolVecEnv, each, each_reset
from parallel_pool._engine.variation import Each, EachReset


def make(task_id: str, num_envs: int = 2, **options: Any) -> None:
    limit = options.pop("max_episode_steps", None)
    Pool(task_id, num_envs, max_episode_steps=limit, options=options).close()


REFUSED: list[tuple[type[Exception], str, Callable[[], Any]]] = [
    # the forms themselves
    (TypeError, r"each\('abc'\): that is a str: give a list", lambda: each("abc")),
    (TypeError, r"each\(3\): that is an int", lambda: each(3)),  # type: ignore[arg-type]
    (ValueError, r"each\(\[\]\) has no values", lambda: each([])),
    (TypeError, r"each\(\[...\]\) holds each\(\[1\]\)", lambda: each([each([1])])),
    (TypeError, r"holds each_reset\(1, 2\)", lambda: each([each_reset(1, 2)])),
    (TypeError, r"each_reset\(\[...\]\) holds each", lambda: each_reset([each([1])])),
    (TypeError, r"that is an int: give a list of values", lambda: each_reset(3)),
    (TypeError, r"high='a' is a str: give a number", lambda: each_reset(1, "a")),
    (TypeError, r"low=True is a bool", lambda: each_reset(True, 2)),
    (TypeError, r"log=1 is an int", lambda: each_reset(1, 2, log=1)),  # type: ignore[arg-type]
    (TypeError, r"log=True needs a range", lambda: each_reset([1, 2], log=True)),
    (ValueError, r"each_reset\(2, 1\): choose finite low <= high", lambda: each_reset(2, 1)),
    (ValueError, r"choose finite low <= high", lambda: each_reset(0.0, float("inf"))),
    (ValueError, r"choose finite low <= high", lambda: each_reset(float("nan"), 1.0)),
    (ValueError, r"log=True\): choose low > 0", lambda: each_reset(0, 1, log=True)),
    # in a pool
    (
        ValueError,
        r"gravity=each\(\[1.0\]\) has 1 values for num_envs=2: give one for each environment",
        lambda: make("CartPole-v1", gravity=each([1.0])),
    ),
    (
        TypeError,
        r"environment 1: gravity='x' is a str: give a number",
        lambda: make("CartPole-v1", gravity=each([1.0, "x"])),
    ),
    (
        ValueError,
        r"environment 1: masscart=0.0: choose more than 0, at most",
        lambda: make("CartPole-v1", masscart=each([1, 0])),
    ),
    (
        ValueError,
        r"masscart=-1.0: choose more than 0",
        lambda: make("CartPole-v1", masscart=each_reset(-1, 1)),
    ),
    (
        ValueError,
        r"sutton_barto_reward=each_reset\(\[True, False\]\): CartPole-v1 can draw gravity, .*"
        r"max_episode_steps at each reset",
        lambda: make("CartPole-v1", sutton_barto_reward=each_reset([True, False])),
    ),
    (
        ValueError,
        r"Acrobot-v1 can draw max_episode_steps at each reset",
        lambda: make("Acrobot-v1", gravity=each_reset(1, 2)),
    ),
    (
        TypeError,
        r"^CartPole-v1 has no option nope: it has force_mag, gravity",
        lambda: make("CartPole-v1", nope=each([1, 2])),
    ),
    (
        ValueError,
        r"Ant-v5: frame_stack=1 of environment 0 and 2 of environment 1 give them different obs",
        lambda: make("Ant-v5", frame_stack=each([1, 2])),
    ),
    (
        ValueError,
        r"FrozenLake-v1: desc='SFG' of environment 0 and 'SFFG' of environment 2 give them",
        lambda: make("FrozenLake-v1", 3, desc=each([["SFG"], ["FSG"], ["SFFG"]])),
    ),
    (
        ValueError,
        r"LunarLander-v3: continuous=False of environment 0 and True of environment 1 give them "
        r"different action",
        lambda: make("LunarLander-v3", continuous=each([False, True])),
    ),
    (
        ValueError,
        r"ram_info=False of environment 0 and True of environment 1 give them different infos",
        lambda: make("ALE/Pong-v5", ram_info=each([False, True])),
    ),
    (
        ValueError,
        r"environment 1: FrozenLake-v1: map_name=9x9: choose 4x4 or 8x8",
        lambda: make("FrozenLake-v1", map_name=each(["4x4", "9x9"])),
    ),
    (
        ValueError,
        r"_link=each\(\[1, 2\]\): all environments of Ant-v5 share _link",
        lambda: make("Ant-v5", _link=each([1, 2])),
    ),
    (ValueError, "rom=each.*share rom", lambda: make("Pong-v5", rom=each([b"", b""]))),
    (
        ValueError,
        r"max_episode_steps of environment 1=-2: choose 0 or more",
        lambda: make("CartPole-v1", max_episode_steps=each([1, -2])),
    ),
    (
        ValueError,
        r"max_episode_steps=each\(\[1\]\) has 1 values",
        lambda: make("CartPole-v1", max_episode_steps=each([1])),
    ),
    (
        TypeError,
        r"max_episode_steps=1.5 is a float: give an integer",
        lambda: make("CartPole-v1", max_episode_steps=each_reset(1.5, 2)),
    ),
    (
        ValueError,
        r"max_episode_steps=each_reset\(1, 2, log=True\): log=True is for floats",
        lambda: make("CartPole-v1", max_episode_steps=each_reset(1, 2, log=True)),
    ),
    (TypeError, r"num_envs=each\(\[1\]\) is an Each", lambda: Pool("CartPole-v1", each([1]))),  # type: ignore[arg-type]
    # in the APIs
    (
        ValueError,
        r"gravity=each\(\[1.0\]\) has 1 values for num_envs=2",
        lambda: parallel_pool.make("CartPole-v1", "gym", num_envs=2, gravity=each([1.0])),
    ),
    (
        ValueError,
        r"max_episode_steps of environment 0=0: choose 1 or more",
        lambda: parallel_pool.make(
            "CartPole-v1", "gym", num_envs=2, max_episode_steps=each([0, 1])
        ),
    ),
    (
        ValueError,
        r"max_episode_steps=0: choose 1 or more, or -1 for none",
        lambda: parallel_pool.make_vec("CartPole-v1", 2, max_episode_steps=each_reset(0, 4)),
    ),
    (
        ValueError,
        r"max_episode_steps=each\(\[3, 4\]\) and TimeLimit\(9\): give one of them",
        lambda: parallel_pool.make_vec(
            "CartPole-v1",
            2,
            max_episode_steps=each([3, 4]),
            wrappers=[lambda_limit()],
        ),
    ),
    (
        ValueError,
        r"only native environments draw values at each reset, but backend='process' was asked for",
        lambda: parallel_pool.make_vec("Pendulum-v1", 2, backend="process", g=each_reset(1, 2)),
    ),
    (
        ValueError,
        r"g=each\(\[1\]\) has 1 values for num_envs=2",
        lambda: parallel_pool.make_vec("Pendulum-v1", 2, backend="process", g=each([1])),
    ),
]


def lambda_limit() -> Any:
    import functools

    return functools.partial(gymnasium.wrappers.TimeLimit, max_episode_steps=9)


@pytest.mark.quick(16)
@pytest.mark.parametrize(("kind", "message", "call"), REFUSED, ids=[it[1] for it in REFUSED])
def test_refusals_say_why(kind: type[Exception], message: str, call: Callable[[], Any]) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_forms_are_values() -> None:
    assert repr(each((1, 2.5))) == "each([1, 2.5])"
    assert each(np.arange(3)) == each(range(3)) == each([0, 1, 2])
    assert each(np.eye(2)) == each([[1.0, 0.0], [0.0, 1.0]])
    assert repr(each_reset(np.float64(1), 2)) == "each_reset(1.0, 2)"
    assert repr(each_reset(1.0, 2.0, log=True)) == "each_reset(1.0, 2.0, log=True)"
    assert repr(each_reset([1, 3])) == "each_reset([1, 3])"
    for form in (each([1, 2]), each_reset(1, 2), each_reset([3, 4])):
        assert pickle.loads(pickle.dumps(form)) == form


def test_a_plain_list_stays_one_value() -> None:
    with Pool("FrozenLake-v1", 3, options={"desc": ["SFG", "FFF", "HHF"]}) as pool:
        assert pool.varied == ()
        assert pool.option_values() == {}
        assert pool.spec.options["desc"] == "SFG\nFFF\nHHF"


def test_values_are_shown() -> None:
    with Pool(
        "FrozenLake-v1",
        3,
        seed=1,
        max_episode_steps=each([5, None, 0]),
        options={
            "success_rate": each_reset(0.2, 0.4),
            "is_slippery": each([True, True, False]),
            "map_name": each(["4x4"] * 3),
            "desc": each([["SG"], ["GS"], ["FG"]]),
        },
    ) as pool:
        assert pool.max_episode_steps == each([5, None, 0])
        assert pool.spec.options["success_rate"] == each_reset(0.2, 0.4)
        assert pool.spec.options["is_slippery"] == each([True, True, False])
        # all values are the same
        assert pool.spec.options["map_name"] == "4x4"
        assert set(pool.varied) == {"desc", "is_slippery", "success_rate", "max_episode_steps"}
        with pytest.raises(parallel_pool.StateError, match="not reset"):
            pool.option_values()
        pool.reset()
        values = pool.option_values()
        assert values["is_slippery"].tolist() == [True, True, False]
        assert values["max_episode_steps"].tolist() == [5, 0, 0]
        assert values["desc"].tolist() == ["SG", "GS", "FG"]
        assert values["success_rate"].dtype == np.float64
        assert pool.option_values([2])["desc"].tolist() == ["FG"]
        assert pool.options_of(1)["success_rate"] == values["success_rate"][1]
        pool.send([0, 0, 0])
        with pytest.raises(parallel_pool.StateError, match="in flight"):
            pool.option_values([0])


@pytest.mark.sanitizers
def test_thousands_of_values_share_what_configure_makes() -> None:
    count = 3000
    options = {
        "gravity": each(np.linspace(1, 20, count)),
        "sutton_barto_reward": each([True] * count),
    }
    with Pool("CartPole-v1", count, options=options, seed=0) as pool:
        pool.reset()
        pool.step(np.zeros(count, np.int64))
        assert pool.option_values()["gravity"][-1] == 20
    # as many configurations
    with Pool("MountainCar-v0", count, options={"goal_velocity": each(range(count))}) as pool:
        pool.reset()
        pool.step(np.zeros(count, np.int64))


def test_snapshots_hold_drawn_values() -> None:
    options = {"gravity": each_reset(1.0, 20.0), "masspole": each([0.1, 0.2, 0.1])}
    arguments: dict[str, Any] = {"options": options, "max_episode_steps": each_reset(2, 9)}
    with Pool("CartPole-v1", 3, seed=4, **arguments) as pool:
        fresh = pool.get_state()
        pool.reset()
        states, values = pool.get_state(), pool.option_values()
        first = [pool.step([0, 1, 0]) for _ in range(30)]
        pool.set_state(states)
        assert {k: v.tolist() for k, v in pool.option_values().items()} == {
            k: v.tolist() for k, v in values.items()
        }
        for before, after in zip(first, [pool.step([0, 1, 0]) for _ in range(30)], strict=True):
            assert all(a.tobytes() == b.tobytes() for a, b in zip(before, after, strict=True))
        # environments 0 and 2 have the same options, environment 1 has others
        pool.set_state([states[0]], [2])
        assert pool.options_of(2) == {**pool.options_of(2), "gravity": values["gravity"][0]}
        with pytest.raises(ValueError, match="of other options"):
            pool.clone(0, [1])
        with Pool("CartPole-v1", 3, seed=8, **arguments) as other:
            other.set_state(states)
            assert other.option_values()["gravity"].tolist() == values["gravity"].tolist()
            other.set_state(fresh)
            other.reset()
            assert other.option_values()["gravity"].tolist() == values["gravity"].tolist()
        wider = {**options, "gravity": each_reset(1.0, 30.0)}
        with (
            Pool("CartPole-v1", 3, options=wider, max_episode_steps=each_reset(2, 9)) as other,
            pytest.raises(ValueError, match="of other options"),
        ):
            other.set_state(states)


def test_snapshots_of_lunar_landers_replay_with_the_drawn_gravity() -> None:
    options = {"gravity": each_reset(-11.0, -1.0)}
    with Pool("LunarLander-v3", 2, seed=4, options=options) as pool:
        pool.reset()
        pool.step([2, 1])
        states, obs = pool.get_state(), [pool.step([0, 3]).obs for _ in range(20)]
        pool.reset()
        pool.set_state(states)
        for expected in obs:
            assert pool.step([0, 3]).obs.tobytes() == expected.tobytes()


def test_gymnasiums_spec_makes_the_same_again() -> None:
    env = gymnasium.make_vec(
        "CartPole-v1",
        3,
        vectorization_mode="parallel_pool",
        gravity=each([9.8, 1.6, 3.7]),
        length=each_reset(0.3, 0.7),
        max_episode_steps=each([5, -1, 7]),
    )
    assert env.spec.kwargs["gravity"] == each([9.8, 1.6, 3.7])
    assert "gravity=each([9.8, 1.6, 3.7])".replace("=", "': ") in str(env.spec)
    for spec in (env.spec, pickle.loads(pickle.dumps(env.spec))):
        again = gymnasium.make_vec(spec)
        assert again.get_attr("gravity") == (9.8, 1.6, 3.7)
        assert again.pool.max_episode_steps == each([5, 0, 7])
        assert again.get_attr("max_episode_steps") == (5, 0, 7)
        with pytest.raises(parallel_pool.StateError, match="not reset"):
            again.get_attr("length")
        again.reset(seed=1)
        env.reset(seed=1)
        assert again.get_attr("length") == env.get_attr("length")
        assert len(set(env.get_attr("length"))) == 3
        again.close()
    # what depends on options that differ is no constant
    with pytest.raises(AttributeError):
        env.get_attr("polemass_length")
    env.close()


def test_get_attr_shows_physics_that_gymnasium_has_as_attributes() -> None:
    env = gymnasium.make_vec("CartPole-v1", 2, vectorization_mode="parallel_pool", masspole=0.4)
    assert env.get_attr("total_mass") == (1.4, 1.4)
    assert env.get_attr("polemass_length") == (0.2, 0.2)
    env.close()


def test_envpool_pools_show_the_values() -> None:
    env = parallel_pool.make(
        "CartPole-v1",
        env_type="gymnasium",
        num_envs=3,
        gravity=each([9.8, 1.6, 3.7]),
        length=each_reset(0.3, 0.7),
        max_episode_steps=each([3, 4, 5]),
    )
    assert env.config["gravity"] == each([9.8, 1.6, 3.7])
    assert env.spec.config.max_episode_steps == each([3, 4, 5])
    assert "length=each_reset(0.3, 0.7)" in repr(env.spec)
    spec = pickle.loads(pickle.dumps(env.spec))
    assert spec.config == env.spec.config
    env.reset()
    ends = [env.step(np.zeros(3, np.int64))[3].tolist() for _ in range(5)]
    assert [list(each).index(True) for each in zip(*ends, strict=True)] == [2, 3, 4]
    env.close()


def test_sb3_has_values_of_each_environment() -> None:
    env: VecEnv = PoolVecEnv(
        "Pendulum-v1", 3, g=each([1.0, 2.0, 3.0]), max_episode_steps=each_reset(5, 9), seed=3
    )
    env.reset()
    assert env.get_attr("g") == [1.0, 2.0, 3.0]
    assert env.get_attr("g", [2]) == [3.0]
    limits = env.get_attr("_max_episode_steps")
    assert env.env_is_wrapped(gymnasium.wrappers.TimeLimit) == [True] * 3
    lengths = [0, 0, 0]
    for step in range(9):
        _, _, dones, _ = env.step(np.zeros((3, 1), np.float32))
        for i in np.flatnonzero(dones):
            lengths[i] = lengths[i] or step + 1
    assert lengths == limits
    env.close()


def test_pictures_show_each_environments_options() -> None:
    env = gymnasium.make_vec(
        "CartPole-v1",
        2,
        vectorization_mode="parallel_pool",
        render_mode="rgb_array",
        length=each([0.5, 1.5]),
    )
    env.reset(seed=1)
    plain = gymnasium.make("CartPole-v1", render_mode="rgb_array")
    pictures = env.render()
    for i, length in enumerate([0.5, 1.5]):
        plain.reset(seed=1 + i)
        plain.unwrapped.length = length  # type: ignore[attr-defined]
        assert np.array_equal(pictures[i], plain.render())
    env.close()


def test_agents_of_particle_worlds_have_values_of_each_environment() -> None:
    env = parallel_pool.PoolParallelEnv(
        "mpe/simple_spread_v3", 2, local_ratio=each([0.0, 1.0]), max_cycles=each([3, 5])
    )
    env.reset(seed=0)
    assert env.pool.option_values()["local_ratio"].tolist() == [0.0, 1.0]
    ends = []
    for _ in range(5):
        actions = {agent: np.zeros(2, np.int64) for agent in env.possible_agents}
        ends.append(env.step(actions)[3]["agent_0"].tolist())
    assert ends[2] == [True, False] and ends[4][1]
    env.close()


def test_types_are_public() -> None:
    assert isinstance(each([1]), Each)
    assert isinstance(each_reset(1, 2), EachReset)
