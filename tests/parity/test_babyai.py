"""BabyAI equals minigrid 3.2.0: levels, missions, observations, rewards, ends and pictures."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import Any

import minigrid.wrappers as wrappers
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from minigrid.core.constants import DIR_TO_VEC
from minigrid.core.roomgrid import RoomGrid
from minigrid.minigrid_env import MiniGridEnv
from minigrid.utils.baby_ai_bot import BabyAIBot

import parallel_pool
from parallel_pool._engine import registry
from parallel_pool.compat.gymnasium import PoolVectorEnv
from parallel_pool.errors import EnvError
from tests.support.minigrid_runs import DROP, PICK, Case, Player, as_arrays, assert_same_run
from tests.support.pairs import pair
from tests.support.same import assert_same
from tests.support.sampling import paired

pytestmark = pytest.mark.proven("csrc/envs/minigrid")

IDS = sorted(id for id in registry.builtin() if id.startswith("BabyAI-"))
MODES = list(AutoresetMode)
# those that minigrid's bot does not solve in 400 steps when it strays
UNSOLVED = {"BabyAI-KeyInBox-v0", "BabyAI-PutNextS5N2Carrying-v0"}


def level(name: str, **options: Any) -> Case:
    return Case(f"BabyAI-{name}-v0", options, steps=60, num_envs=3)


PLAIN = [Case(id, steps=60, num_envs=3) for id in IDS]
WITH_OPTIONS = [
    *(Case(id, {"max_steps": 9}, steps=30, num_envs=2) for id in IDS[::9]),
    *(Case(id, {"agent_view_size": 5}, steps=30, num_envs=2) for id in IDS[::10]),
    level("GoToRedBallGrey", room_size=6, num_dists=6),
    level("GoToRedBlueBall", room_size=5, num_dists=2),
    level("GoToLocal", room_size=4, num_dists=1),
    level("GoTo", room_size=5, num_rows=1, num_cols=4, num_dists=3, doors_open=True),
    level("GoToImpUnlock", room_size=5, num_rows=1, num_cols=3),
    level("GoToSeq", room_size=5, num_rows=2, num_cols=1, num_dists=5, instr_kinds=["seq"]),
    level("GoToDoor", num_rows=4, num_cols=3),
    level("Open", room_size=6, num_rows=2, num_cols=2),
    level("OpenDoor", room_size=5, select_by="loc", debug=True),
    level("OpenDoorLoc", select_by=None),
    level("OpenTwoDoors", first_color="grey", strict=True),
    level("OpenTwoDoors", second_color="red", num_rows=2),
    level("OpenRedBlueDoors", first_color=None, second_color=None),
    level("OpenDoorsOrderN2", num_doors=3, debug=True),
    level("ActionObjDoor", num_rows=3, num_cols=4),
    level("FindObjS5", room_size=4),
    level("KeyCorridor", num_rows=2, room_size=4, obj_type="box", num_cols=4),
    level("OneRoomS8", room_size=4),
    level("MoveTwoAcrossS5N2", room_size=6, objs_per_room=4),
    level("PutNextLocal", room_size=7, num_objs=2),
    level("PutNextS5N2", start_carrying=True, objs_per_room=3),
    level("Pickup", room_size=7, num_rows=2),
    level("UnblockPickup", room_size=5, num_cols=2),
    level("PickupLoc", room_size=6, implicit_unlock=False),
    level("PickupDist", debug=True),
    level("Unlock", room_size=6, num_rows=2),
    level("UnlockLocal", distractors=True, room_size=6),
    level("KeyInBox", room_size=4, num_rows=2),
    level("UnlockPickup", distractors=True),
    level("Synth", locked_room_prob=1.0, action_kinds=("goto", "putnext"), num_dists=9),
    level("SynthSeq", instr_kinds=("and", "seq"), action_kinds=["open"], room_size=5),
    level("MiniBossLevel", unblocking=False, locations=False),
    level("BossLevel", unblocking=False, room_size=6, num_dists=5, implicit_unlock=False),
    level("BossLevel", locked_room_prob=0.9, instr_kinds=["action", "action", "and"]),
    level("BossLevelNoUnlock", locations=False, num_cols=2, num_rows=2),
]


@pytest.fixture(autouse=True)
def no_search_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes minigrid reject levels in which it would look for the agent's place for ever.

    So do native levels. It happens in rooms full of objects, as in BabyAI-SynthS5R2-v0.
    """

    def place_agent(self: Any, i: Any = None, j: Any = None, rand_dir: bool = True) -> Any:
        i = self._rand_int(0, self.num_cols) if i is None else i
        j = self._rand_int(0, self.num_rows) if j is None else j
        room, tries = self.room_grid[j][i], 0
        while True:
            MiniGridEnv.place_agent(self, room.top, room.size, rand_dir, max_tries=1000)
            if is_open(self, self.front_pos):
                return self.agent_pos
            tries += 1
            if tries == 1000 and not has_place(self, room):
                raise RecursionError("every place faces an object")

    def is_open(env: Any, at: Any) -> bool:
        found = env.grid.get(*at)
        return found is None or found.type == "wall"

    def has_place(env: Any, room: Any) -> bool:
        (left, top), (width, height) = room.top, room.size
        cells = [(left + x, top + y) for x in range(width) for y in range(height)]
        return any(
            is_open(env, np.add(cell, step))
            for cell in cells
            for step in DIR_TO_VEC
            if env.grid.get(*cell) is None
        )

    monkeypatch.setattr(RoomGrid, "place_agent", place_agent)


class Bot(BabyAIBot):
    """minigrid's bot, which gives up where it would plan for ever."""

    def replan(self, action_taken: Any = None) -> Any:
        self.searches = 0
        return super().replan(action_taken)

    def _shortest_path(self, *args: Any, **kwargs: Any) -> Any:
        self.searches += 1
        if self.searches > 100:
            raise RuntimeError("the bot has no plan")
        return super()._shortest_path(*args, **kwargs)


class Solver(Player):
    """Follows minigrid's own bot, which knows how to solve a level, and strays now and then."""

    def __init__(self, envs: Any, seed: int) -> None:
        super().__init__(envs, seed)
        self._bots: dict[int, Any] = {}
        self._taken: dict[int, int | None] = {}

    def _action(self, env: Any) -> int:
        key = id(env)
        if env.step_count == 0:
            self._bots[key], self._taken[key] = Bot(env), None
        planned = self._planned(key)
        strays = planned is None or self._rng.random() < 0.1
        self._taken[key] = super()._action(env) if strays else planned
        return self._taken[key]  # type: ignore[return-value]

    def _planned(self, key: int) -> int | None:
        """Returns the bot's action; None once it has lost its way, which minigrid's bot may."""
        try:
            return int(self._bots[key].replan(self._taken[key]))
        except Exception:
            self._bots[key] = None
            return None


@pytest.mark.quick(4, sanitizers=10)
@pytest.mark.parametrize(
    ("case", "mode"),
    paired([], [*PLAIN, *WITH_OPTIONS], MODES),
    ids=lambda value: value.name if isinstance(value, AutoresetMode) else str(value),
)
def test_run_is_the_same(case: Case, mode: AutoresetMode) -> None:
    assert_same_run(case, mode)


@pytest.mark.quick(4, sanitizers=10)
@pytest.mark.parametrize("id", IDS)
def test_solved_levels_are_the_same(id: str) -> None:
    assert_same_run(Case(id, steps=50, num_envs=2), MODES[0], player=Solver)


@pytest.mark.quick(3, sanitizers=6)
@pytest.mark.parametrize("id", IDS)
def test_many_seeds_make_the_same_levels(id: str) -> None:
    with pair(id, 20) as (theirs, ours):
        for seed in (1000, 2**40):
            assert_same(ours.reset(seed=seed), theirs.reset(seed=seed), f"seed {seed}")


def test_what_was_carried_before_the_first_step_does_not_count() -> None:
    """minigrid's rule knows only what the agent carried at its own last turn."""
    with pair("BabyAI-PutNextS4N1-v0", 60, start_carrying=True) as (theirs, ours):
        assert_same(ours.reset(seed=5), theirs.reset(seed=5), "reset")
        rewards = []
        for step, action in enumerate((DROP, PICK, DROP)):
            actions = np.full(60, action)
            expected = as_arrays(theirs.step(actions))
            assert_same(ours.step(actions), expected, f"step {step}")
            rewards.append(expected[1].sum())
        assert rewards[0] == 0 < rewards[2]


@pytest.mark.slow
@pytest.mark.parametrize("id", IDS)
def test_thousands_of_solved_steps_are_the_same(id: str) -> None:
    case = Case(id, steps=400, num_envs=3)
    rewards = assert_same_run(case, MODES[0], seed=[0, 2**70, 5], player=Solver)
    assert rewards > 0 or id in UNSOLVED


@pytest.mark.slow
@pytest.mark.parametrize("id", IDS)
def test_thousands_of_wild_steps_are_the_same(id: str) -> None:
    assert_same_run(Case(id, steps=600, num_envs=3), MODES[1], seed=77)


# ------------------------------------------------------------------ observations and pictures --

LONG = partial(wrappers.FlatObsWrapper, maxStrLen=352)
CHAINS: list[list[Any]] = [
    [wrappers.OneHotPartialObsWrapper],
    [wrappers.FullyObsWrapper, LONG],
    [LONG],
    [wrappers.SymbolicObsWrapper],
    [partial(wrappers.RGBImgPartialObsWrapper, tile_size=4)],
    [partial(wrappers.RGBImgObsWrapper, tile_size=3), wrappers.ImgObsWrapper],
    [partial(wrappers.ViewSizeWrapper, agent_view_size=5)],
]
# in the first the agent has an object that the reset's observation still shows in its place
DRAWN = ("BabyAI-PutNextS5N2Carrying-v0", "BabyAI-KeyInBox-v0", "BabyAI-MiniBossLevel-v0")


@pytest.mark.quick(2, sanitizers=5)
@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: str(len(chain)))
@pytest.mark.parametrize("id", DRAWN)
def test_wrappers_are_fused(id: str, chain: list[Any]) -> None:
    assert_same_run(Case(id, steps=40, num_envs=2), MODES[0], wrappers=chain)


@pytest.mark.quick(1, sanitizers=2)
@pytest.mark.parametrize("id", DRAWN)
def test_pictures_are_the_same(id: str) -> None:
    with pair(id, 2, render_mode="rgb_array", tile_size=6) as (theirs, ours):
        assert_same(ours.reset(seed=4), theirs.reset(seed=4), "reset")
        player = Player(theirs, 5)
        for step in range(30):
            assert_same(ours.render(), theirs.render(), f"picture {step}")
            actions = player.actions()
            assert_same(ours.step(actions)[0], theirs.step(actions)[0], f"step {step}")


def test_missions_are_texts_of_their_codes() -> None:
    with parallel_pool.Pool("BabyAI-BossLevel-v0", 8, seed=3) as pool:
        codes = pool.reset().mission
        assert codes.shape == (8, 4)
        texts = pool.texts("mission", codes)
    assert any(", then " in text or " after you " in text for text in texts)
    # four clauses that put an object next to another, all in the longest words
    words = "put a purple ball in front of you next to a purple door in front of you"
    assert len(f"{words} and {words} after you {words} and {words}") <= 352


def test_envpool_options_mean_the_same() -> None:
    """EnvPool has lists as texts with commas, and no color as an empty text."""
    for id, theirs, ours in [
        ("SynthSeq", {"action_kinds": "goto,open"}, {"action_kinds": ["goto", "open"]}),
        ("OpenTwoDoors", {"first_color": ""}, {"first_color": None}),
    ]:
        made = parallel_pool.make_gymnasium(f"BabyAI-{id}-v0", num_envs=6, seed=4, **theirs)
        with closing(made), parallel_pool.Pool(f"BabyAI-{id}-v0", 6, seed=4, options=ours) as pool:
            seen, _ = made.reset()
            assert_same(seen["mission"], pool.reset().mission, id)


def test_snapshots_hold_what_the_rules_remember() -> None:
    """Missions go on in the same way from a snapshot taken in the middle of them."""
    with parallel_pool.Pool("BabyAI-MiniBossLevel-v0", 16, seed=5) as pool:
        pool.reset()
        rng = np.random.default_rng(1)
        for _ in range(40):
            pool.step(rng.integers(0, 7, 16))
        states = pool.get_state()
        actions = rng.integers(0, 7, (60, 16))
        first = [(b.reward.copy(), b.image.copy()) for b in map(pool.step, actions)]
        pool.set_state(states)
        again = [(b.reward.copy(), b.image.copy()) for b in map(pool.step, actions)]
    for one, other in zip(first, again, strict=True):
        assert_same(one, other, "step")


# ----------------------------------------------------------------------------------- errors --


@pytest.mark.parametrize(
    ("name", "options", "why"),
    [
        ("OpenDoor", {"select_by": "size"}, "select_by='size': choose among None, color, loc"),
        ("OpenTwoDoors", {"first_color": "pink"}, "choose among None, red, green, blue"),
        ("KeyCorridor", {"obj_type": "door"}, "obj_type='door': choose among key, ball, box"),
        ("BossLevel", {"action_kinds": ["run"]}, "choose among goto, pickup, open, putnext"),
        ("BossLevel", {"instr_kinds": []}, "choose among action, and, seq"),
        ("GoTo", {"num_rows": 20}, "20 x 3 rooms|the grid has"),
        ("GoToDoor", {"num_rows": 2}, "num_rows=2: choose 3 to 20"),
    ],
)
def test_options_that_do_not_fit_are_refused(name: str, options: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        PoolVectorEnv(f"BabyAI-{name}-v0", 1, **options)


@pytest.mark.quick(1, sanitizers=True)
@pytest.mark.parametrize(
    ("name", "num_envs", "options", "why"),
    [
        (
            "BossLevel",
            1,
            {"num_rows": 1, "num_cols": 1, "locked_room_prob": 1.0},
            "a single room can't be locked",
        ),
        ("GoToLocal", 1, {"room_size": 3}, "no free cell of a room"),
        ("BossLevel", 64, {"layout": "flat", "max_text": 96}, "choose max_text"),
    ],
)
def test_levels_that_can_not_be_made_are_errors(
    name: str, num_envs: int, options: dict[str, Any], why: str
) -> None:
    envs = PoolVectorEnv(f"BabyAI-{name}-v0", num_envs, **options)
    with closing(envs), pytest.raises(EnvError, match=why):
        envs.reset(seed=1)
