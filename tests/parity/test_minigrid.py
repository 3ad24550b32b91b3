"""MiniGrid equals minigrid 3.2.0: observations, rewards, ends, infos, pictures and wrappers."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import Any

import minigrid.wrappers
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import ClipReward, RecordEpisodeStatistics, TimeLimit
from minigrid.core.world_object import Lava, Wall

import parallel_pool
from parallel_pool._apis.gymnasium import backends, minigrid_wrappers
from parallel_pool._engine import registry
from parallel_pool._engine.pool import Pool
from parallel_pool.compat.gymnasium import PoolVectorEnv
from parallel_pool.compat.sb3 import PoolVecEnv
from parallel_pool.errors import EnvError, StateError
from tests.support.minigrid_runs import Case, Player, assert_same_run
from tests.support.pairs import pair
from tests.support.same import assert_same
from tests.support.sampling import paired

pytestmark = pytest.mark.proven("csrc/envs/minigrid")

IDS = sorted(id for id in registry.builtin() if id.startswith("MiniGrid-"))
MODES = list(AutoresetMode)


def grid(name: str, **options: Any) -> Case:
    return Case(f"MiniGrid-{name}-v0", options)


PLAIN = [Case(id) for id in IDS]
WITH_OPTIONS = [
    *(Case(id, {"max_steps": 7}, steps=40) for id in IDS[::4]),
    *(Case(id, {"max_episode_steps": 5}, steps=30) for id in IDS[::9]),
    *(Case(id, {"agent_view_size": 3}) for id in IDS[::7]),
    *(Case(id, {"agent_view_size": 9}) for id in IDS[::6]),
    grid("DoorKey-8x8", agent_view_size=31),
    grid("DoorKey-8x8", see_through_walls=True),
    grid("FourRooms", see_through_walls=True),
    grid("MultiRoom-N6", see_through_walls=True, agent_view_size=5),
    grid("Empty-8x8", size=5, agent_start_pos=(2, 3), agent_start_dir=2),
    grid("Empty-8x8", agent_start_pos=None),
    grid("Empty-Random-5x5", agent_start_pos=(1, 2), size=12),
    grid("DoorKey-5x5", size=11),
    grid("FourRooms", agent_pos=(9, 3), max_steps=30),
    grid("FourRooms", agent_pos=(3, 3), goal_pos=(5, 3)),
    grid("LavaGapS5", size=9, obstacle_type=Wall),
    grid("LavaGapS7", obstacle_type=Lava),
    grid("LavaCrossingS9N1", size=15, num_crossings=7),
    grid("LavaCrossingS9N1", obstacle_type="Wall", num_crossings=2),
    grid("SimpleCrossingS9N1", num_crossings=0),
    grid("SimpleCrossingS9N3", num_crossings=50, size=13),
    grid("SimpleCrossingS9N1", obstacle_type=Lava),
    grid("DistShift1", width=12, height=9, strip2_row=4, agent_start_pos=(2, 2)),
    grid("DistShift2", agent_start_pos=None, agent_start_dir=1),
    grid("Dynamic-Obstacles-5x5", n_obstacles=0),
    grid("Dynamic-Obstacles-8x8", n_obstacles=9, agent_start_pos=None),
    grid("Dynamic-Obstacles-8x8", size=7, n_obstacles=4, agent_start_pos=(3, 2)),
    grid("MultiRoom-N2-S4", minNumRooms=2, maxNumRooms=5, maxRoomSize=7),
    grid("MultiRoom-N2-S4", minNumRooms=3, maxNumRooms=3, width=20, height=14),
    grid("KeyCorridorS3R3", obj_type="key"),
    grid("KeyCorridorS3R3", obj_type="box", num_rows=4, room_size=5),
    grid("ObstructedMaze-1Dlhb", key_in_box=False),
    grid("ObstructedMaze-Full", agent_room=(0, 2), num_quarters=3, blocked=False),
    grid("MemoryS13", random_length=True),
    grid("MemoryS7", size=9),
    grid("RedBlueDoors-6x6", size=7),
    grid("Fetch-5x5-N2", size=7, numObjs=9),
    grid("GoToDoor-5x5", size=9),
    grid("GoToObject-6x6-N2", numObjs=7, size=8),
    grid("PutNear-6x6-N2", numObjs=4, size=9),
    grid("LockedRoom", size=22),
]


@pytest.mark.quick(2, sanitizers=12)
@pytest.mark.parametrize(
    ("case", "mode"),
    paired(PLAIN, WITH_OPTIONS, MODES),
    ids=lambda value: value.name if isinstance(value, AutoresetMode) else str(value),
)
def test_run_is_the_same(case: Case, mode: AutoresetMode) -> None:
    assert_same_run(case, mode)


@pytest.mark.quick(3)
@pytest.mark.parametrize("id", IDS)
def test_many_seeds_make_the_same_levels(id: str) -> None:
    with pair(id, 30) as (theirs, ours):
        for seed in (1000, 2000, 2**40):
            assert_same(ours.reset(seed=seed), theirs.reset(seed=seed), f"seed {seed}")
        assert_same(ours.reset(), theirs.reset(), "the next levels")


@pytest.mark.slow
@pytest.mark.parametrize("id", IDS)
def test_thousands_of_steps_are_the_same(id: str) -> None:
    assert_same_run(Case(id, steps=1500, num_envs=3), AutoresetMode.NEXT_STEP, seed=[0, 2**70, 5])


# ----------------------------------------------------------------------------------- wrappers --

WRAPPERS = {each: getattr(minigrid.wrappers, each) for each in minigrid_wrappers.READERS}
IMG, FLAT = WRAPPERS["ImgObsWrapper"], WRAPPERS["FlatObsWrapper"]
FULL, SYMBOLIC = WRAPPERS["FullyObsWrapper"], WRAPPERS["SymbolicObsWrapper"]
HOT, VIEW = WRAPPERS["OneHotPartialObsWrapper"], WRAPPERS["ViewSizeWrapper"]
PARTIAL, RGB = WRAPPERS["RGBImgPartialObsWrapper"], WRAPPERS["RGBImgObsWrapper"]
ACTION, POSITION = WRAPPERS["ActionBonus"], WRAPPERS["PositionBonus"]
RESEED = WRAPPERS["ReseedWrapper"]
TIMED = partial(TimeLimit, max_episode_steps=9)

CHAINS: list[list[Any]] = [
    [IMG],
    [FLAT],
    [partial(FLAT, maxStrLen=120)],
    [FULL],
    [FULL, IMG],
    [FULL, FLAT],
    [SYMBOLIC],
    [SYMBOLIC, IMG],
    [HOT],
    [HOT, IMG],
    [HOT, FLAT],
    [partial(VIEW, agent_view_size=3)],
    [partial(VIEW, agent_view_size=11), HOT, IMG],
    [partial(VIEW, agent_view_size=5), FULL, TIMED, IMG],
    [PARTIAL],
    [partial(PARTIAL, tile_size=5), IMG],
    [partial(PARTIAL, tile_size=3), FLAT],
    [RGB],
    [partial(RGB, tile_size=4), TIMED, IMG],
    [partial(VIEW, agent_view_size=5), partial(RGB, tile_size=2), IMG],
    [ACTION],
    [IMG, POSITION],
    [POSITION, TIMED, ACTION, partial(ClipReward, max_reward=0.9)],
    [partial(ACTION), HOT, partial(POSITION, scale=-0.3), FLAT],
    [RESEED],
    [partial(RESEED, seeds=[3, 2**40, 9], seed_idx=2), FULL, IMG],
    [partial(RESEED, seeds=(5, 6)), ACTION, POSITION],
]
# levels in which all kinds of objects are seen and carried
WRAPPED = (
    "MiniGrid-DoorKey-5x5-v0",
    "MiniGrid-LavaGapS6-v0",
    "MiniGrid-ObstructedMaze-1Dlhb-v0",
    "MiniGrid-Playground-v0",
    "MiniGrid-PutNear-6x6-N2-v0",
)


def _names(value: Any) -> str:
    def name(each: Any) -> str:
        if not isinstance(each, partial):
            return str(each.__name__)
        return f"{each.func.__name__}{list(each.keywords.values())}"

    return value if isinstance(value, str) else "-".join(map(name, value))


@pytest.mark.quick(1, sanitizers=6)
@pytest.mark.parametrize("chain", CHAINS, ids=_names)
@pytest.mark.parametrize("id", WRAPPED)
def test_wrappers_are_fused(id: str, chain: list[Any]) -> None:
    number = CHAINS.index(chain) + WRAPPED.index(id)
    case = Case(id, steps=60, num_envs=3)
    assert_same_run(case, MODES[number % len(MODES)], wrappers=chain)


@pytest.mark.parametrize(
    ("chain", "why"),
    [
        ([IMG, FULL], "can't be native in this order"),
        ([FULL, HOT], "can't be native in this order"),
        ([HOT, partial(VIEW, agent_view_size=5)], "can't be native in this order"),
        ([partial(VIEW, agent_view_size=5), PARTIAL], "does not have the size of ViewSizeWrapper"),
        ([partial(VIEW, agent_view_size=4)], "needs an odd int of 3 to 31"),
        ([partial(FLAT, maxStrLen=50)], "needs an int of 96 to 4096"),
        ([partial(PARTIAL, tile_size=0)], "tile_size=0 needs an int of 1 to 64"),
        ([minigrid.wrappers.NoDeath], "NoDeath is not one of the wrappers"),
        ([ACTION, ACTION], "ActionBonus can't be native twice"),
        ([ACTION, POSITION, ACTION], "ActionBonus can't be native twice"),
        ([RESEED, RESEED], "ReseedWrapper can't be native twice"),
        ([RecordEpisodeStatistics, ACTION], "around a wrapper that changes or counts rewards"),
        ([partial(RESEED, seeds=[])], "needs 1 to 10000 seeds"),
        ([partial(RESEED, seeds=[-1])], "needs ints of 0 to"),
        ([partial(RESEED, seeds=[1], seed_idx=1)], "is no index of its seeds"),
        ([partial(POSITION, scale=float("nan"))], "needs a finite number"),
    ],
    ids=lambda value: "" if isinstance(value, str) else _names(value),
)
def test_other_wrappers_run_in_processes(chain: list[Any], why: str) -> None:
    chosen = backends.choose("MiniGrid-DoorKey-5x5-v0", chain)
    assert chosen.backend == backends.PROCESS
    assert why in chosen.reason


@pytest.mark.slow
@pytest.mark.parametrize("id", ["MiniGrid-Dynamic-Obstacles-8x8-v0", "BabyAI-GoToLocal-v0"])
def test_bonuses_of_thousands_of_steps_are_the_same(id: str) -> None:
    case = Case(id, {"max_steps": 40}, steps=2000, num_envs=3)
    assert_same_run(case, AutoresetMode.NEXT_STEP, wrappers=[ACTION, POSITION])


@pytest.mark.sanitizers
def test_bonuses_are_equal_in_runs_and_one_by_one() -> None:
    """step_many steps environments that are to be reset with the others, and counts nothing."""
    options = {"bonuses": ["position", "action"], "max_steps": 3}
    actions = np.random.default_rng(1).integers(0, 7, (40, 64))
    found = []
    for num_envs in (64, 1):
        rewards = []
        for first in range(0, 64, num_envs):
            seeds = list(range(first, first + num_envs))
            with Pool(
                "MiniGrid-Empty-5x5-v0", num_envs, num_threads=1, seed=seeds, options=options
            ) as pool:
                pool.reset()
                taken = slice(first, first + num_envs)
                rewards.append([pool.step(row[taken]).reward for row in actions])
        found.append(np.concatenate([np.array(each) for each in rewards], axis=1))
    np.testing.assert_array_equal(found[0], found[1])


def test_a_snapshot_holds_counts_and_the_place_among_seeds() -> None:
    options = {"bonuses": "action", "level_seeds": [4, 5, 6], "max_steps": 4}
    actions = np.random.default_rng(1).integers(0, 3, (30, 2))
    with (
        Pool("MiniGrid-Empty-Random-6x6-v0", 2, options=options) as first,
        Pool("MiniGrid-Empty-Random-6x6-v0", 2, options=options) as other,
    ):
        for pool, steps in ((first, 13), (other, 2)):
            pool.reset()
            for action in actions[:steps]:
                pool.step(action)
        other.set_state(first.get_state())
        for action in actions[13:]:
            for one, another in zip(first.step(action), other.step(action), strict=True):
                np.testing.assert_array_equal(one, another)


def test_wrappers_of_minigrid_need_minigrid() -> None:
    assert "is not an environment that minigrid" in backends.choose("CartPole-v1", [IMG]).reason
    shown = {"highlight": False}
    chosen = backends.choose("MiniGrid-DoorKey-5x5-v0", [RGB], {}, shown)
    assert "highlight=False" in chosen.reason


# ----------------------------------------------------------------------------------- pictures --


@pytest.mark.quick(0, sanitizers=4)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"highlight": False, "tile_size": 7},
        {"agent_pov": True, "tile_size": 9},
        {"agent_view_size": 5, "tile_size": 4},
    ],
    ids=str,
)
@pytest.mark.parametrize("id", WRAPPED)
def test_pictures_are_the_same(id: str, options: dict[str, Any]) -> None:
    with pair(id, 2, render_mode="rgb_array", **options) as (theirs, ours):
        assert ours.metadata["render_fps"] == theirs.metadata["render_fps"]
        assert_same(ours.reset(seed=4), theirs.reset(seed=4), "reset")
        player = Player(theirs, 5)
        for step in range(40):
            assert_same(ours.render(), theirs.render(), f"picture {step}")
            actions = player.actions()
            assert_same(ours.step(actions)[0], theirs.step(actions)[0], f"step {step}")


def test_pictures_of_environments_with_bonuses_are_the_same() -> None:
    """Their states are large, and packed in snapshots."""
    id = "MiniGrid-DoorKey-8x8-v0"
    with pair(id, 1, render_mode="rgb_array", wrappers=[ACTION]) as (theirs, ours):
        assert_same(ours.reset(seed=4), theirs.reset(seed=4), "reset")
        assert_same(ours.render(), theirs.render(), "picture")


# --------------------------------------------------------------------------------- attributes --


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    "id", [*WRAPPED, "BabyAI-PutNextS5N2Carrying-v0", "BabyAI-BossLevel-v0", "MiniGrid-MemoryS7-v0"]
)
@pytest.mark.parametrize("chain", [[], [IMG]], ids=_names)
def test_attributes_are_the_same(id: str, chain: list[Any]) -> None:
    names = ("agent_pos", "agent_dir", "mission", "step_count", "max_steps", "carrying")
    carried = set()
    with pair(id, 2, wrappers=chain) as (theirs, ours):
        theirs.reset(seed=5), ours.reset(seed=5)
        player = Player(theirs, 2)
        for _ in range(60):
            for name in names:
                actual, expected = ours.get_attr(name), theirs.get_attr(name)
                assert isinstance(actual, tuple)
                if name == "carrying":
                    actual, expected = (
                        tuple(each and (each.type, each.color) for each in found)
                        for found in (actual, expected)
                    )
                    carried |= {*expected}
                elif name == "agent_pos":
                    expected = tuple(tuple(map(np.int64, place)) for place in expected)
                elif name == "agent_dir":
                    expected = tuple(map(np.int64, expected))
                assert_same(actual, expected, name)
            assert ours.call("step_count") == theirs.get_attr("step_count")
            actions = player.actions()
            theirs.step(actions), ours.step(actions)
    assert len(carried) > 1 or "Memory" in id or "Lava" in id


@pytest.mark.sanitizers
def test_attributes_need_a_reset() -> None:
    envs = parallel_pool.make_vec("BabyAI-BossLevel-v0", 1)
    with closing(envs):
        with pytest.raises(StateError, match="is not reset"):
            envs.get_attr("agent_pos")
        envs.reset(seed=1)
        with pytest.raises(AttributeError, match='backend="process"'):
            envs.get_attr("grid")
        with pytest.raises(AttributeError, match="mission is no method"):
            envs.call("mission", 1)


# ----------------------------------------------------------------------------------- other APIs --


def test_training_libraries_take_images() -> None:
    env = PoolVecEnv("MiniGrid-DoorKey-5x5-v0", 3, layout="image")
    env.seed(1)
    assert env.reset().shape == (3, 7, 7, 3)
    env.close()
    envs = parallel_pool.make("MiniGrid-Fetch-5x5-N2-v0", "gymnasium", num_envs=3, image="full")
    observation, _ = envs.reset()
    assert observation["image"].shape == (3, 5, 5, 3)
    assert observation["mission"].dtype == np.int32
    envs.close()


def test_levels_that_do_not_fit_are_refused() -> None:
    for id, options, why in [
        ("LockedRoom", {"size": 12}, "size=12: choose 13 to 64"),
        ("Empty-5x5", {"size": 100}, "size=100: choose 3 to 64"),
        ("Empty-5x5", {"agent_start_pos": (4, 1)}, r"agent_start_pos=\(4, 1\): choose a cell"),
        ("Empty-5x5", {"agent_start_pos": (0, 0)}, "choose a cell between the walls, or None"),
        ("LavaGapS5", {"obstacle_type": "water"}, "obstacle_type='water': choose lava or wall"),
        ("MemoryS7", {"size": 8}, "size=8: choose an odd number"),
        ("DoorKey-5x5", {"agent_view_size": 4}, "agent_view_size=4, view_size=4: choose odd"),
        ("MultiRoom-N6", {"minNumRooms": 8}, "minNumRooms=8 > maxNumRooms=6"),
        ("KeyCorridorS6R3", {"num_rows": 20}, r"the grid has 16 x 101 cells"),
        ("DoorKey-5x5", {"layout": "flat", "image": "symbolic"}, "layout='flat' holds uint8"),
    ]:
        with pytest.raises(ValueError, match=why):
            PoolVectorEnv(f"MiniGrid-{id}-v0", 1, **options)
    for id, options, why in [
        ("MultiRoom-N6", {"width": 9, "height": 9}, "the grid has no room for so many rooms"),
        ("Empty-Random-5x5", {"size": 3}, "no free cell for the agent"),
        ("DoorKey-5x5", {"size": 4}, "no room for what the level draws|no free cell"),
        ("Fetch-5x5-N2", {"numObjs": 10}, "no free cell for"),
    ]:
        envs = PoolVectorEnv(f"MiniGrid-{id}-v0", 1, **options)
        with closing(envs), pytest.raises(EnvError, match=why):
            envs.reset(seed=1)
