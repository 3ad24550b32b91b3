"""Forged snapshots of Atari and MuJoCo environments do no harm, though their checksums fit.

Each value on which memory accesses or loops depend is refused if it is out of range. The process
lives on with all others.

parallel_pool/_contract/forged.py does the same with random values, for every id.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from ale_py import roms

from parallel_pool._contract.forgery import HEAD_BYTES, literal, sealed, unpacked
from parallel_pool._engine import registry
from parallel_pool._engine.pool import Pool
from parallel_pool._engine.specs import Definition
from parallel_pool._families import mujoco as family
from parallel_pool.errors import EnvError
from tests.support.c_library import compile_c
from tests.support.forked import in_child
from tests.support.sampling import sampled

NO_STATE = "the snapshot is damaged, it holds no state of"


def state_of(pool: Pool, snapshot: bytes) -> bytearray:
    """Returns the environment's own part of a snapshot."""
    own = snapshot[HEAD_BYTES + 8 * pool.spec.num_players :]
    return bytearray(unpacked(own) if pool.state_size >= 4096 else own)


def unsealed(pool: Pool, snapshot: bytes, state: bytes) -> bytes:
    """Returns the snapshot with another state; its checksum does not fit yet."""
    packed = literal(bytes(state)) if pool.state_size >= 4096 else bytes(state)
    return snapshot[: HEAD_BYTES + 8 * pool.spec.num_players] + packed


def forged(pool: Pool, snapshot: bytes, state: bytes) -> bytes:
    return sealed(unsealed(pool, snapshot, state))


def action_of(pool: Pool) -> Any:
    spec = pool.spec
    players = (spec.num_players,) if spec.num_players > 1 else ()
    return np.zeros((1, *players, *spec.action.shape), spec.action.dtype)


def played(env: str | Definition, steps: int = 30, **settings: Any) -> Pool:
    pool = Pool(env, 1, seed=1, **settings)
    pool.reset()
    for _ in range(steps):
        pool.step(action_of(pool))
    return pool


def check_alive(pool: Pool, states: Sequence[bytes]) -> None:
    """Restores forged states, plays on from those that are accepted, and goes on as before."""
    (honest,) = pool.get_state()
    for state in states:
        try:
            pool.set_state([forged(pool, honest, state)])
            pool.observe()
            for _ in range(4):
                pool.step(action_of(pool))
        except (ValueError, EnvError):
            pass
        pool.set_state([honest])
    pool.step(action_of(pool))


# ---------------------------------------------------------------------------------------- Atari --

# a member of C's pp_console, and a value that it never has
CONSOLE = [
    *(("machine.carry", 2), ("machine.overflow", 2), ("machine.decimal", 255)),
    *(("machine.interrupt", 2), ("machine.cycle", 76), ("machine.cycle", 2**32 - 1)),
    *(("machine.last_line", 0), ("machine.last_line", 2**16 - 1), ("machine.timer_shift", 32)),
    *(("machine.timer_shift", 1), ("machine.timer_read", 2), ("machine.ended", 2)),
    *(("machine.partial", 2), ("machine.dumped", 2), ("machine.tia.from[5]", 161)),
    *(("machine.tia.drawn", -1), ("machine.tia.drawn", 161), ("machine.tia.stale", 64)),
    *(("machine.tia.shown", 64), ("machine.tia.seen", 128), ("machine.tia.cut", 255)),
    *(("machine.tia.reg.starring", 2), ("machine.tia.reg.star", 4), ("machine.tia.reg.gray", 2)),
    *(("machine.tia.reg.position[4]", 160), ("machine.tia.reg.motion[0]", 16)),
    *(("machine.banks.slice[0]", 4), ("machine.banks.slice[3]", 2)),
    *(("machine.banks.dpc.counter[7]", 2048), ("machine.banks.dpc.fraction", 2**64 - 1)),
    *(("is_undrawn[0]", 2), ("shown", 2), ("last_was_short", 2)),
    *(("held_action", 18), ("difficulty", 1)),
    *(("mode", 2), ("score.score", 2**31 - 1), ("score.reward", -(2**31))),
    *(
        ("scores.score[3]", 2**31 - 1),
        ("scores.kept[0]", 2**31 - 1),
        ("cache_at", 0),
        ("cache_at", 8),
    ),
    *(("system_random.next", 625), ("action_random.next", 2**32 - 1)),
    # of the members behind the console in envpool.c
    *(("oldest", -1), ("oldest", 4), ("oldest", 2**31 - 1), ("has_power", 2), ("has_power", 0)),
]
# values that only together are none
TOGETHER = [
    {"is_undrawn[0]": 1, "before_undrawn[0].last_line": 0},
    {"is_undrawn[1]": 1, "before_undrawn[1].partial": 1},
    {"machine.partial": 1, "machine.tia.line_start": -228},
    {"machine.partial": 1, "machine.tia.line_start": 2**30},
    {"machine.partial": 1, "machine.tia.line_start": 1},
    {"machine.partial": 1, "machine.used": 2**31},
    {"machine.partial": 1, "machine.cycle": 2**31},
    {"machine.partial": 1, "machine.tia.reg.moved": -(2**31)},
    {"machine.timer_shift": 0, "machine.timer_set": 2**31},
]
MEMBERS = sorted(
    {member for member, _ in CONSOLE} | {member for each in TOGETHER for member in each}
)


class Places:
    """Where a state of <Game>-v5 has its members."""

    def __init__(self, folder: Path) -> None:
        own = {"oldest", "has_power"}
        members = [member for member in MEMBERS if member not in own]
        rows = ", ".join(
            f"offsetof(pp_console, {member}), sizeof(((pp_console *)0)->{member})"
            for member in members
        )
        sizes = "sizeof(pp_console), offsetof(pp_console, screen), sizeof(pp_mt19937)"
        ffi, library = compile_c(
            folder,
            "#include <stddef.h>\n#include <stdint.h>\n"
            '#include "envs/atari/console/console.h"\n'
            f"const int64_t places[] = {{{rows}, {sizes}}};",
            f"extern const int64_t places[{2 * len(members) + 3}];",
        )
        *found, console, self.screens, generator = ffi.unpack(library.places, 2 * len(members) + 3)
        self.of = {member: (found[2 * i], found[2 * i + 1]) for i, member in enumerate(members)}
        # noop_random, lives, reward, oldest, has_power
        self.random = console
        self.of |= {
            "oldest": (console + generator + 8, 4),
            "has_power": (console + generator + 12, 1),
        }

    def put(self, state: bytearray, member: str, value: int) -> None:
        at, size = self.of[member]
        state[at : at + size] = (value % 256**size).to_bytes(size, "little")


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    return Places(tmp_path_factory.mktemp("places"))


@pytest.fixture(scope="module")
def pong() -> Iterator[Pool]:
    with played("Pong-v5") as pool:
        yield pool


def refuse(pool: Pool, places: Places, values: dict[str, int]) -> None:
    (honest,) = pool.get_state()
    state = state_of(pool, honest)
    for member, value in values.items():
        places.put(state, member, value)
    with pytest.raises(ValueError, match=NO_STATE):
        pool.set_state([forged(pool, honest, state)])
    assert pool.get_state() == [honest]


@pytest.mark.quick(29)
@pytest.mark.parametrize(("member", "value"), CONSOLE)
def test_values_that_no_console_has_are_refused(
    member: str, value: int, pong: Pool, places: Places
) -> None:
    refuse(pong, places, {member: value})


@pytest.mark.parametrize("values", TOGETHER, ids=str)
def test_values_that_do_not_fit_together_are_refused(
    values: dict[str, int], pong: Pool, places: Places
) -> None:
    refuse(pong, places, values)


def test_a_generator_of_zeros_is_refused(pong: Pool, places: Places) -> None:
    """The number of no-ops would be drawn again without end."""
    (honest,) = pong.get_state()
    state = state_of(pong, honest)
    state[places.random : places.random + 2500] = bytes(2500)
    with pytest.raises(ValueError, match="only zeros"):
        pong.set_state([forged(pong, honest, state)])


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("game", "slices"),
    [
        ("MontezumaRevenge-v5", (8, 5, 6, 7)),
        ("MontezumaRevenge-v5", (4, 5, 6, 6)),
        ("Robotank-v5", (4, 5, 6, 7)),
        ("Asteroids-v5", (8, 9, 10, 11)),
        ("Asteroids-v5", (1, 2, 3, 4)),
        ("Asteroids-v5", (0, 1, 2, 7)),
        ("Solaris-v5", (16, 17, 18, 19)),
        ("Pitfall2-v5", (255, 0, 1, 2)),
    ],
)
def test_banks_that_a_cartridge_does_not_have_are_refused(
    game: str, slices: Sequence[int], places: Places
) -> None:
    with played(game, 2) as pool:
        (honest,) = pool.get_state()
        state = state_of(pool, honest)
        at = places.of["machine.banks.slice[0]"][0]
        state[at : at + 4] = bytes(slices)
        with pytest.raises(ValueError, match=r"slice|bank"):
            pool.set_state([forged(pool, honest, state)])


def test_a_console_without_power_runs_no_frame(pong: Pool, places: Places) -> None:
    """Such a state is that of an environment that was never reset, but its phase may be forged."""
    (honest,) = pong.get_state()
    state = bytearray(len(state_of(pong, honest)))
    at, size = places.of["cache_at"]
    state[at : at + size] = state_of(pong, honest)[at : at + size]
    # of zeros the generator of no-ops is none
    state[places.random] = 1
    state[places.random + 8] = 1
    pong.set_state([forged(pong, honest, state)])
    with pytest.raises(EnvError, match="never switched on: reset"):
        pong.step(action_of(pong))
    pong.reset()
    pong.set_state([honest])


GAMES = [
    *("Pong-v5", "MontezumaRevenge-v5", "Robotank-v5", "Pitfall2-v5", "Klax-v5", "Asteroids-v5"),
    *("Breakout-v5", "ALE/Pong-v5", "atari/pong_v3", "atari/warlords_v3", "atari/tennis_v3"),
]


@pytest.mark.slow
@pytest.mark.parametrize("env", sampled(GAMES, {"Pong-v5", "MontezumaRevenge-v5", "atari/pong_v3"}))
def test_no_forged_console_ends_the_process(env: str, places: Places) -> None:
    """Changes what is in front of the pictures, and what is behind them."""

    def forge() -> None:
        choose = random.Random(3)
        with played(env) as pool:
            state = bytes(state_of(pool, pool.get_state()[0]))
            behind = places.random

            def states() -> Iterator[bytes]:
                for _ in range(250):
                    copy = bytearray(state)
                    width = choose.choice((1, 2, 4, 8))
                    before = choose.random() < 0.8
                    at = choose.randrange(places.screens // width) * width
                    if not before:
                        at = min(behind + choose.randrange(2600), len(state) - width)
                    value = choose.choice((1, 2, 2**15, 2**31 - 1, 2**63, 2**64 - 1, None))
                    number = choose.getrandbits(64) if value is None else value
                    copy[at : at + width] = (number % 256**width).to_bytes(width, "little")
                    yield bytes(copy)

            check_alive(pool, list(states()))

    in_child(forge)


def test_no_forged_state_of_a_vector_env_ends_the_process(places: Places) -> None:
    """AtariVectorEnv's environments have no id of their own."""
    rom = Path(roms.get_rom_path("pong")).read_bytes()

    def forge() -> None:
        choose = random.Random(5)
        with played(
            registry.builtin()["_AleVector-v0"], options={"game": "pong", "rom": rom}
        ) as pool:
            state = bytes(state_of(pool, pool.get_state()[0]))
            states = []
            for _ in range(150):
                copy = bytearray(state)
                # what is in front of the pictures, and what is between them
                start, room = choose.choice(((0, places.screens), (places.random, 2600)))
                at = start + choose.randrange(room)
                copy[at] = choose.getrandbits(8)
                states.append(bytes(copy))
            check_alive(pool, states)

    in_child(forge)


# --------------------------------------------------------------------------------- board games --


@pytest.mark.parametrize("env", ["classic/tictactoe_v3", "classic/connect_four_v3"])
def test_rows_of_a_game_that_is_over_and_goes_on_are_written(env: str) -> None:
    """The engine decides which games it resets, not the state."""
    with Pool(env, 4, seed=1, autoreset="next_step") as pool:
        pool.reset()
        (going_on,) = pool.get_state([0])
        actions = np.zeros((4, 2), np.int64)
        # each player's own column, until one has won
        for turn in range(8):
            if pool.needs_reset(0):
                break
            actions[:, turn % 2] = turn % 2 + (3 * (turn // 2) if "tic" in env else 0)
            pool.step(actions)
        assert pool.needs_reset(0)
        (over,) = pool.get_state([0])
        pool.set_state([forged(pool, going_on, state_of(pool, over))] * 4)
        batch = pool.step(np.full((4, 2), 2, np.int64))
        assert batch.observation.any()
        np.testing.assert_array_equal(batch.observation, pool.observe().observation)


# --------------------------------------------------------------------------------------- MuJoCo --

# C's state_head: whether the episode has steps, and which of two states is the current one
HEAD = struct.Struct("<ii")


@pytest.mark.quick(4)
@pytest.mark.parametrize("head", [(1, 2), (1, -1), (0, 2**31 - 1), (2, 0), (-1, 1)])
@pytest.mark.parametrize("env", ["Ant-v5", "Humanoid-v5"])
def test_a_state_that_is_none_of_the_two_is_refused(env: str, head: tuple[int, int]) -> None:
    with played(env, 3) as pool:
        (honest,) = pool.get_state()
        state = state_of(pool, honest)
        HEAD.pack_into(state, 0, *head)
        with pytest.raises(ValueError, match=NO_STATE):
            pool.set_state([forged(pool, honest, state)])
        assert pool.get_state() == [honest]


@pytest.mark.parametrize("env", sampled(["Ant-v5", "Humanoid-v5", "Pusher-v5"], {"Ant-v5"}))
def test_numbers_that_no_simulation_has_end_no_process(env: str) -> None:
    """MuJoCo resets a simulation whose numbers are huge or NaN; `write_state` does not."""

    def forge() -> None:
        choose = random.Random(4)
        numbers = (np.nan, np.inf, -np.inf, 1e300, -1e12, 9.9e9, 5e-324)
        with played(env, 5) as pool:
            state = bytes(state_of(pool, pool.get_state()[0]))
            count = (len(state) - HEAD.size) // 8

            def states() -> Iterator[bytes]:
                for head in ((0, 0), (1, 0), (0, 1), (1, 1)):
                    for number in numbers:
                        yield HEAD.pack(*head) + struct.pack("<d", number) * count
                    yield HEAD.pack(*head) + choose.randbytes(8 * count)
                for _ in range(60):
                    copy = bytearray(state)
                    at = HEAD.size + 8 * choose.randrange(count)
                    struct.pack_into("<d", copy, at, choose.choice(numbers))
                    yield bytes(copy)

            check_alive(pool, list(states()))

    in_child(forge)


DELAYED = """
<mujoco>
  <worldbody>
    <body name="torso" pos="0 0 1">
      <freejoint/><geom size="0.1"/>
      <body><joint name="joint"/><geom size="0.1" pos="0.2 0 0"/></body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="joint" ctrlrange="-1 1"/>
    <motor joint="joint" ctrlrange="-1 1" nsample="4" delay="0.004"/>
  </actuator>
</mujoco>
"""


@pytest.mark.quick(6)
@pytest.mark.skipif(not hasattr(mujoco.MjModel, "nhistory"), reason="MuJoCo without delays")
@pytest.mark.parametrize("cursor", [-1.0, 4.0, -2e9, np.nan, np.inf])
@pytest.mark.parametrize("which", [0, 1])
def test_cursors_of_delayed_signals_are_in_range(cursor: float, which: int, tmp_path: Path) -> None:
    """MuJoCo writes where they point."""
    file = tmp_path / "delayed.xml"
    file.write_text(DELAYED)
    with played("Ant-v5", 3, options={"xml_file": str(file)}) as pool:
        model, _ = family.load(file, False)
        spec = family.state_spec(family.INPUTS)
        cursors = family.find_cursors(model, spec)
        assert (cursors["cursors"], cursors["cursor0_length"]) == (1, 4)
        (honest,) = pool.get_state()
        state = state_of(pool, honest)
        place = cursors["cursor0"] + which * mujoco.mj_stateSize(model, spec)
        at = HEAD.size + 8 * place
        assert struct.unpack_from("<d", state, at)[0] in range(4)
        struct.pack_into("<d", state, at, cursor)
        with pytest.raises(ValueError, match="cursor 0 of 4 signals"):
            pool.set_state([forged(pool, honest, state)])


def test_an_info_that_is_no_integer_is_refused() -> None:
    with played("InvertedPendulum-v5", 2) as pool:
        (honest,) = pool.get_state()
        state = state_of(pool, honest)
        # infos are between carry and the observation, which has four numbers
        struct.pack_into("<d", state, len(state) - 5 * 8, np.nan)
        with pytest.raises(ValueError, match="reward_survive=nan"):
            pool.set_state([forged(pool, honest, state)])
