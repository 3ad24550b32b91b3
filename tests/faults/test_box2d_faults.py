"""Failures of Box2D's environments: another library, missing packages, wrong options, extremes."""

from __future__ import annotations

import math
import re
import struct
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import Box2D
import gymnasium
import numpy as np
import pytest

import parallel_pool
from parallel_pool._contract.forgery import sealed
from parallel_pool._engine.pool import Pool
from parallel_pool._families import box2d, box2d_memory
from parallel_pool._families.box2d_renderer import Renderer
from parallel_pool._native import lib
from parallel_pool.errors import EnvError, MissingDependencyError, UnprovenError

LANDER = "LunarLander-v3"
CONTINUOUS = "LunarLanderContinuous-v3"
WALKER = "BipedalWalker-v3"
IDS = (LANDER, CONTINUOUS, WALKER, "BipedalWalkerHardcore-v3")
HEADER = Path(__file__).parents[2] / "csrc" / "envs" / "box2d" / "library.h"


@pytest.fixture
def unproven() -> Iterator[None]:
    """The library is looked at again, in this test and afterwards."""
    box2d.link_or_reason.cache_clear()
    yield
    box2d.link_or_reason.cache_clear()


# ------------------------------------------------------------------------------------ library --


def test_names_are_those_of_c() -> None:
    """In the same order; an array stands for several names."""
    header = HEADER.read_text()
    (body,) = re.findall(r"typedef struct box2d_library \{(.*?)\n\}", header, re.DOTALL)
    for name, value in re.findall(r"(BOX2D_\w+) = (\d+)", header):
        body = body.replace(name, value)
    members = parse(body)
    names = list(box2d.NAMES)
    for name, count in members:
        taken, names = names[:count], names[count:]
        assert taken == [name] if count == 1 else len(taken) == count, (name, taken)
    assert not names


def parse(body: str) -> list[tuple[str, int]]:
    """Returns the members of a struct and how many elements each has."""
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL)
    found = []
    for line in filter(None, (each.strip() for each in body.split(";"))):
        match = re.search(r"\(\*(\w+)\)\(", line) or re.search(r"(\w+)(?:\[(\d+)\])?$", line)
        assert match is not None, line
        found.append((match[1], int(match[2] or 1) if match.re.groups > 1 else 1))
    return found


@pytest.mark.sanitizers
@pytest.mark.parametrize("times", [30, pytest.param(200, marks=pytest.mark.slow)])
def test_the_places_are_found_again(times: int) -> None:
    """What freed worlds have left in memory does not matter."""
    first = box2d.probe(Box2D)
    for _ in range(times):
        again = box2d.probe(Box2D)
        places = [
            dict(zip(box2d.NAMES, struct.unpack(f"<{len(box2d.NAMES)}q", each), strict=True))
            for each in (first, again)
        ]
        for name in box2d.NAMES:
            # definitions are made anew, and allocated sizes are rounded up
            if not re.search("body$|_fixture$|_joint$|^edge$|^polygon$|_size$", name):
                assert places[0][name] == places[1][name], name
        assert places[0]["fixture_body"] == places[1]["fixture_body"]


def changed(link: bytes, name: str, by: int) -> bytes:
    """Returns a link with one number changed."""
    numbers = list(struct.unpack(f"<{len(box2d.NAMES)}q", link))
    numbers[box2d.NAMES.index(name)] += by
    return struct.pack(f"<{len(box2d.NAMES)}q", *numbers)


# places that are read or written inside of a body
@pytest.mark.parametrize("name", ["position", "angle", "velocity", "force", "inverse_inertia"])
def test_a_wrong_place_is_noticed(name: str) -> None:
    link = changed(box2d.probe(Box2D), name, 4)
    with pytest.raises(UnprovenError, match="does not step LunarLander-v3 as Gymnasium does"):
        box2d.prove(link)
    # and it can't be used
    with pytest.raises(TypeError, match="_link can't be given"):
        Pool(LANDER, options={"_link": link})


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("name", "other", "reason"),
    [
        ("joint_angle", "joint_speed", "does not step BipedalWalker-v3 as Gymnasium does"),
        ("left_shin_joint", "left_thigh_joint", "does not step BipedalWalker-v3 as Gymnasium does"),
        ("hull_fixture", "left_thigh_fixture", "does not step BipedalWalker-v3 as Gymnasium does"),
        ("num_nodes", "node_room", "fails: .*tree of an empty world has"),
    ],
)
def test_a_mixed_up_place_is_noticed(name: str, other: str, reason: str) -> None:
    link = box2d.probe(Box2D)
    numbers = dict(zip(box2d.NAMES, struct.unpack(f"<{len(box2d.NAMES)}q", link), strict=True))
    with pytest.raises(UnprovenError, match=reason):
        box2d.prove(changed(link, name, numbers[other] - numbers[name]))


def check_refusal(reason: str) -> None:
    """Pools refuse the library, and make_vec falls back to worker processes."""
    for id in IDS:
        with pytest.raises(UnprovenError, match=f"Box2D .*{reason}.*parallel_pool.make_vec"):
            Pool(id)
        with pytest.raises(ValueError, match=f"backend='native', but Box2D .*{reason}"):
            parallel_pool.make_vec(id, 2, backend="native")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            env = parallel_pool.make_vec(id, 2, num_workers=1)
        try:
            assert env.backend == "process" and re.search(reason, env.backend_reason)
            env.reset(seed=3)
            theirs = gymnasium.make_vec(id, 2, vectorization_mode="sync")
            np.testing.assert_array_equal(env.reset(seed=3)[0], theirs.reset(seed=3)[0])
            theirs.close()
        finally:
            env.close()


@pytest.mark.slow
def test_a_library_without_a_symbol_is_refused(
    unproven: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(box2d.FUNCTIONS, "edge_set", "_ZN11b2EdgeShape11SetTwoSidedE")
    check_refusal("has no symbol _ZN11b2EdgeShape11SetTwoSidedE")


@pytest.mark.slow
def test_another_simulation_is_refused(unproven: None, monkeypatch: pytest.MonkeyPatch) -> None:
    play = box2d.play

    def other(trial: box2d.Trial) -> Iterator[Any]:
        for i, (action, row) in enumerate(play(trial)):
            yield action, (row if i < 30 else (row[0], row[1] + 1e-9, row[2]))

    monkeypatch.setattr(box2d, "play", other)
    check_refusal(r"does not step LunarLander-v3 as Gymnasium does \(step 30\)")


@pytest.mark.parametrize("symbol", ["TREE_INIT", "REPORT"])
def test_a_library_without_another_symbol_is_refused(
    symbol: str, unproven: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(box2d, symbol, "_ZN7b2World11GetFixturesEv")
    with pytest.raises(UnprovenError, match="has no symbol _ZN7b2World11GetFixturesEv"):
        Pool(WALKER)


def test_a_table_without_a_function_is_refused(
    unproven: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(box2d, "REPORT", box2d.FUNCTIONS["world_step"])
    with pytest.raises(UnprovenError, match="another table of virtual functions, _ZTV30SwigDir"):
        Pool(WALKER)


@pytest.mark.parametrize("members", [{}, {"_Box2D": SimpleNamespace(__file__="/none/Box2D.so")}])
def test_a_package_with_other_names_is_refused(
    members: dict[str, Any], unproven: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "Box2D", SimpleNamespace(**members))
    with pytest.raises(UnprovenError, match="Box2D of no version can't be probed"):
        Pool(LANDER)


@pytest.mark.parametrize(
    ("memories", "reason"),
    [
        ([b"\0" * 64], "0 places"),
        ([struct.pack("<2f", 1.5, 1.5)], "2 places"),
        ([struct.pack("<2f", 1.5, 0), struct.pack("<2f", 0, 1.5)], "0 places"),
    ],
)
def test_a_place_must_be_the_only_one(memories: list[bytes], reason: str) -> None:
    values = [struct.pack("<f", 1.5)] * len(memories)
    with pytest.raises(UnprovenError, match=f"has {reason} that may hold a torque"):
        box2d_memory.find(memories, values, "a torque")


def test_neighbors_must_be_in_one_block() -> None:
    first, second = SimpleNamespace(this=4096), SimpleNamespace(this=1 << 20)
    for pair in ((first, second), (first, first)):
        with pytest.raises(UnprovenError, match=r"puts neighbors [0-9]+ bytes apart"):
            box2d_memory.blocks(pair)


def test_only_one_flag_may_change() -> None:
    assert box2d.find_flag(b"\x01\x22", b"\x01\x20") == (1, 2)
    for on, off in ((b"\1\2", b"\0\0"), (b"\0", b"\2"), (b"\3", b"\0"), (b"\1", b"\1")):
        with pytest.raises(UnprovenError, match="no single flag"):
            box2d.find_flag(on, off)


# ------------------------------------------------------------------------------------ packages --


def test_without_box2d_the_error_says_how_to_install_it(
    unproven: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "Box2D", None)
    cure = re.escape("pip install 'parallel_pool[box2d]'")
    for make in (
        lambda: Pool(LANDER),
        lambda: parallel_pool.make_vec(LANDER, 2),
        lambda: parallel_pool.make(CONTINUOUS, env_type="gymnasium", num_envs=2),
        lambda: Pool(WALKER),
        lambda: parallel_pool.make_vec(IDS[3], 2),
    ):
        with pytest.raises(MissingDependencyError, match=f"Box2D is not installed.*{cure}"):
            make()


def test_without_pygame_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with Pool(LANDER) as pool:
        monkeypatch.setitem(sys.modules, "pygame", None)
        with pytest.raises(MissingDependencyError, match=r"pip install 'parallel_pool\[box2d\]'"):
            Renderer(pool)
        with pytest.raises(ValueError, match="mode='ansi': choose 'human' or 'rgb_array'"):
            Renderer(pool, "ansi")


# ------------------------------------------------------------------------------------- options --


@pytest.mark.parametrize("gravity", [0, -12, 1.5, -12.5, math.nan, math.inf, -math.inf])
def test_gravity_is_refused_where_gymnasium_refuses_it(gravity: float) -> None:
    with pytest.raises(AssertionError):
        gymnasium.make(LANDER, gravity=gravity)
    with pytest.raises(ValueError, match=r"gravity=.*: choose a number between -12 and 0"):
        Pool(LANDER, options={"gravity": gravity})


@pytest.mark.parametrize(
    ("option", "wrong"),
    [
        *(("gravity", "-10"), ("wind_power", None), ("continuous", 1), ("enable_wind", "yes")),
        *(("_link", b""), ("_link", b"\0" * 8 * len(box2d.NAMES)), ("_link", "")),
    ],
)
def test_options_of_wrong_types_are_refused(option: str, wrong: Any) -> None:
    with pytest.raises(TypeError, match=option):
        Pool(LANDER, options={option: wrong})


@pytest.mark.parametrize("name", ["wind_power", "turbulence_power"])
def test_wind_that_float32_cannot_hold_fails_as_in_gymnasium(name: str) -> None:
    """In the first step, which ends the reset."""
    options = {"enable_wind": True, name: 1e300}
    env = gymnasium.make(LANDER, **options)
    with pytest.raises((TypeError, OverflowError)):
        env.reset(seed=0)
    with Pool(LANDER, 2, seed=0, options=options) as pool:
        for _ in range(3):
            with pytest.raises(EnvError, match="too large for Box2D's float32"):
                pool.reset()
            states = pool.get_state()
        pool.set_state(states)


@pytest.mark.slow
def test_extreme_winds_reach_no_assertion() -> None:
    """An assertion of Box2D would end the process: it raises a C++ exception without the GIL.

    Few steps, because one of a body at a NaN position takes milliseconds.
    """
    script = """
        import numpy as np
        from parallel_pool._engine.pool import Pool
        rng = np.random.default_rng(1)
        for case in range(16):
            power, twist = 10.0 ** rng.uniform(10, 38.5, 2) * rng.choice([-1, 0, 1], 2)
            if case < 4:
                power, twist = [(np.inf, 1), (1, np.inf), (np.nan, 1), (1, np.nan)][case]
            options = {"enable_wind": True, "wind_power": power, "turbulence_power": twist}
            pool = Pool("LunarLander-v3", 2, seed=case, num_threads=2, options=options)
            for _ in range(12):
                try:
                    pool.step(rng.integers(0, 4, 2))
                except Exception as error:
                    assert "float32" in str(error), error
            pool.close()
        print("done")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "done"), done.stderr


@pytest.mark.quick(0)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("motor", range(4))
def test_actions_that_reach_an_assertion_are_refused(motor: int, dtype: type) -> None:
    """Before anything is stepped. Gymnasium raises an AssertionError, and its walker is lost."""
    action = np.zeros((2, 4), dtype)
    wrong = action.copy()
    wrong[1, motor] = np.nan
    theirs = [gymnasium.make(WALKER) for _ in range(2)]
    for i, env in enumerate(theirs):
        env.reset(seed=i)
    with Pool(WALKER, 2, seed=0) as pool:
        pool.reset()
        message = rf"the action of environment 1 is NaN \(element {motor}\): send numbers"
        with pytest.raises(ValueError, match=message):
            pool.step(wrong)
        for _ in range(3):
            expected = [env.step(row)[0] for env, row in zip(theirs, action, strict=True)]
            np.testing.assert_array_equal(pool.step(action).obs, expected)
        with pytest.raises(AssertionError, match="LengthSquared"):
            theirs[1].step(wrong[1])


@pytest.mark.slow
def test_no_other_action_reaches_an_assertion() -> None:
    """Extreme actions, which change between extremes."""
    script = """
        import numpy as np
        from parallel_pool._engine.pool import Pool
        numbers = np.array([np.inf, -np.inf, 0, 1, -1, 1e300, -1e300, 5e-324, -5e-324])
        rng = np.random.default_rng(1)
        for id in ("BipedalWalker-v3", "BipedalWalkerHardcore-v3"):
            with Pool(id, 8, seed=1, num_threads=2) as pool:
                pool.reset()
                for _ in range(300):
                    pool.step(rng.choice(numbers, (8, 4)))
        print("done")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "done"), done.stderr


# ----------------------------------------------------------------------------------- snapshots --

# C's snapshot_end: a pp_rng, and the number of actions
END_BYTES = 48


def check_damaged(pool: Pool, damaged: Sequence[bytes]) -> None:
    """Snapshots whose checksums fit are refused and change nothing, and the environment goes on."""
    good, before = pool.get_state(), pool.observe().obs
    for each in damaged:
        with pytest.raises(ValueError, match="not the record of an episode"):
            pool.set_state([sealed(each)])
        np.testing.assert_array_equal(pool.observe().obs, before)
        pool.set_state(good)
    pool.step([pool.spec.action_space().sample()])


@pytest.mark.parametrize("id", [LANDER, CONTINUOUS])
def test_damaged_records_are_refused(id: str) -> None:
    with Pool(id, 1, seed=1) as pool:
        pool.reset()
        for _ in range(10):
            pool.step([pool.spec.action_space().sample()])
        (good,) = pool.get_state()
        size = 16 if id == CONTINUOUS else 1
        actions = len(good) - END_BYTES - 10 * size
        damaged = [
            good[:actions] + good[actions + 1 :],
            good[:actions] + b"\0" * size + good[actions:],
            good[:-END_BYTES] + good[1 - END_BYTES :],
            good[:actions],
            *(good[:-8] + struct.pack("<q", count) for count in (-1, -2, 9, 11, 2**62, -(2**63))),
            # a generator that repeats itself
            good[:-END_BYTES] + bytes(40) + good[-8:],
        ]
        if id == LANDER:
            damaged.append(good[:actions] + b"\4" + good[actions + 1 :])
        check_damaged(pool, damaged)


# C's snapshot_end of the walker has the number of free nodes at its end; they are before it
WALKER_END_BYTES = 56
COMMANDS_BYTES = 20


def test_damaged_records_of_walkers_are_refused() -> None:
    with Pool(WALKER, 1, seed=1) as pool:
        (never,) = pool.get_state()
        pool.reset()
        for _ in range(10):
            pool.step([pool.spec.action_space().sample()])
        (good,) = pool.get_state()
        end = len(good) - WALKER_END_BYTES
        nodes = struct.unpack("<q", good[-8:])[0]
        actions = end - 2 * nodes - 10 * COMMANDS_BYTES
        damaged = [
            good[:actions] + good[actions + 1 :],
            good[:actions] + b"\0" * COMMANDS_BYTES + good[actions:],
            good[:end],
            good[:end] + bytes(40) + good[-16:],
            # a torque beyond the largest, NaN, and signs that are none
            good[:actions] + struct.pack("<f", 80.5) + good[actions + 4 :],
            good[:actions] + struct.pack("<f", np.nan) + good[actions + 4 :],
            good[: actions + 16] + b"\2" + good[actions + 17 :],
            # a node twice, and one beyond the last
            good[: end - 2] + good[end - 4 : end - 2] + good[end:],
            good[: end - 2] + struct.pack("<h", nodes) + good[end:],
            good[: end - 2] + struct.pack("<h", -1) + good[end:],
            *(good[:-8] + struct.pack("<q", count) for count in (0, 8, 12, 32, 1024, -16, 2**62)),
            *(
                good[:-16] + struct.pack("<q", count) + good[-8:]
                for count in (-1, -2, 9, 11, 2**62, -(2**63))
            ),
        ]
        check_damaged(pool, damaged)
        pool.set_state([never])
        assert pool.needs_reset(0)


# C's snapshot_head: where it has the phase of the environment
PHASE_AT = 132


@pytest.mark.parametrize("id", [LANDER, WALKER])
def test_an_episode_without_a_record_is_refused(id: str) -> None:
    """The snapshot is of an environment that was never reset, but says otherwise."""
    with Pool(id, 1, seed=1) as pool:
        (never,) = pool.get_state()
        pool.reset()
        seeded = pool.get_state()[0][:PHASE_AT]
        before = pool.observe().obs
        for phase in (lib.PP_RUNNING, lib.PP_ENDED):
            forged = seeded + struct.pack("<i", phase) + never[PHASE_AT + 4 :]
            with pytest.raises(ValueError, match="an episode goes on, and has none"):
                pool.set_state([sealed(forged)])
            np.testing.assert_array_equal(pool.observe().obs, before)
        pool.set_state([sealed(seeded + struct.pack("<i", lib.PP_FRESH) + never[PHASE_AT + 4 :])])
        assert pool.needs_reset(0)


@pytest.mark.parametrize("id", [LANDER, WALKER])
def test_a_record_that_goes_on_after_the_end_is_refused(id: str) -> None:
    """No environment does, and so no test says that Box2D then reaches no assertion."""
    lander = id == LANDER
    with Pool(id, 1, seed=1) as pool:
        pool.reset()
        idle = [0] if lander else np.zeros((1, 4), np.float32)
        while not pool.needs_reset(0):
            pool.step(idle)
        (good,) = pool.get_state()
        size, end = (1, END_BYTES) if lander else (COMMANDS_BYTES, WALKER_END_BYTES)
        numbers = struct.unpack("<q" if lander else "<qq", good[40 - end :])
        behind = good[len(good) - end - (0 if lander else 2 * numbers[1]) : 40 - end]
        head = good[: len(good) - len(behind) - 8 * len(numbers)]
        longer = struct.pack("<q", numbers[0] + 3) + good[len(good) - 8 * (len(numbers) - 1) :]
        if lander:
            longer = longer[:8]
        pool.set_state([good])
        with pytest.raises(ValueError, match=r"ends after \d+ of \d+ actions"):
            pool.set_state([sealed(head + bytes(3 * size) + behind + longer)])
        pool.reset()
        pool.step(idle)
