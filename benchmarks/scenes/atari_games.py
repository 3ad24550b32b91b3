"""Measures the usual 57 Atari games: environments against EnvPool and ale-py, and bare frames.

    python -m parallel_pool bench atari-57 atari-57-frames

All environments run at the setting of pong-32-16. For frames, one thread plays the console itself
(atari_frames.c), without an environment, beside `ale_py`'s `act()`. `act()` draws every frame, and
so does the first column of ours.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.report import INK, OURS, QUIET, THEIRS
from benchmarks.harness.toolchain import load
from parallel_pool._bench import race, rivals
from parallel_pool._bench.contender import ROWS, Task
from parallel_pool._bench.outcome import Bar, Outcome, Row
from parallel_pool._bench.rounds import CLOCK, Clock, Player, Sample, Spread, interleave, ratio

NAME, TITLE = "atari-57", "57 Atari games, 32 envs, batch 16, 2 threads, async"
FRAMES_NAME, FRAMES_TITLE = "atari-57-frames", "Frames of 57 Atari games, one thread"

# The games of the Arcade Learning Environment on which agents are usually compared.
GAMES = (
    *("alien", "amidar", "assault", "asterix", "asteroids", "atlantis", "bank_heist"),
    *("battle_zone", "beam_rider", "berzerk", "bowling", "boxing", "breakout", "centipede"),
    *("chopper_command", "crazy_climber", "defender", "demon_attack", "double_dunk", "enduro"),
    *("fishing_derby", "freeway", "frostbite", "gopher", "gravitar", "hero", "ice_hockey"),
    *("jamesbond", "kangaroo", "krull", "kung_fu_master", "montezuma_revenge", "ms_pacman"),
    *("name_this_game", "phoenix", "pitfall", "pong", "private_eye", "qbert", "riverraid"),
    *("road_runner", "robotank", "seaquest", "skiing", "solaris", "space_invaders"),
    *("star_gunner", "surround", "tennis", "time_pilot", "tutankham", "up_n_down", "venture"),
    *("video_pinball", "wizard_of_wor", "yars_revenge", "zaxxon"),
)

SKIP = 4
SOURCE = Path(__file__).with_name("atari_frames.c")
# The columns of the frames scene: the build of the core ("": the best that runs here), and how many
# of SKIP frames are drawn.
COLUMNS = {
    "every frame drawn": ("", SKIP),
    "the same, x86-64-v3": ("v3", SKIP),
    "2 of 4 drawn (less work)": ("", 2),
}
# Bars: median and minimum over the games against EnvPool, median against AtariVectorEnv.
ENVPOOL_MEDIAN, ENVPOOL_MIN, ALE_MEDIAN = 9.0, 5.5, 7.5
# Bars of the frames scene: the median of the first column, and the share of it that the second
# column reaches.
FRAMES_MEDIAN, V3_SHARE = 3.5, 0.8


def task_id(game: str) -> str:
    """Returns EnvPool's name of a game's environment: "BankHeist-v5" for bank_heist."""
    return "".join(word.capitalize() for word in game.split("_")) + "-v5"


def medians(rows: Sequence[Row], name: str) -> list[float]:
    """Returns the median ratios of a column, for the rows that have it."""
    return [row.ratios[name].median for row in rows if name in row.ratios]


def bar(rows: Sequence[Row], name: str, wanted: float, what: str, choose: Any = np.median) -> Bar:
    """Returns a bar on the median of a column, or on what `choose` returns for it."""
    found = medians(rows, name)
    reached = float(choose(found)) if found else None
    return Bar(f"{what} of {len(found)} games vs {name}", wanted, reached)


# -------------------------------------------------------------------------------- environments --


def task(game: str) -> Task:
    """Returns the task of a game."""
    import parallel_pool

    actions = int(parallel_pool.make_spec(task_id(game)).action_space.n)
    return Task(task_id(game), 32, 16, 2, actions, 27000, frame_skip=SKIP)


def race_of(
    game: str, families: Collection[str], effort: race.Effort, clock: Clock
) -> dict[str, list[Sample]]:
    """Measures all players on one game; returns their samples by name."""
    wanted = [who for who in (rivals.envpool, rivals.ale) if who.family in families]
    contenders = [rivals.envpool_api, *(who for who in wanted if race.is_installed(who))]
    with ExitStack() as stack:
        players = {
            who.name: stack.enter_context(race.playing(who, task(game))) for who in contenders
        }
        return interleave(players, effort.rounds, effort.seconds, turns=effort.turns, clock=clock)


def row_of(game: str, samples: Mapping[str, Sequence[Sample]]) -> Row:
    """Returns the row of a game: our speed, and how many times faster it is than each rival."""
    own, *others = samples
    mine = samples[own]
    return Row(
        who=game,
        setting=own,
        role="ours",
        value=Spread.of(sample.rate for sample in mine),
        cpu_us=Spread.of(sample.cpu_us for sample in mine),
        ratios={name: ratio(mine, samples[name]) for name in others},
        cpu_ratios={name: ratio(mine, samples[name], cpu=True) for name in others},
    )


def run(
    families: Collection[str],
    effort: race.Effort,
    *,
    games: Sequence[str] = GAMES,
    clock: Clock = CLOCK,
    tick: race.Tick = lambda text: None,
) -> Outcome:
    """Measures the environments of all games, one game after another."""
    rows = []
    for game in games:
        rows.append(row_of(game, race_of(game, families, effort, clock)))
        tick(game)
    bars = [
        bar(rows, rivals.envpool.name, ENVPOOL_MEDIAN, "median"),
        bar(rows, rivals.envpool.name, ENVPOOL_MIN, "least", min),
        bar(rows, rivals.ale.name, ALE_MEDIAN, "median"),
    ]
    return Outcome(NAME, TITLE, "env steps/s", SKIP, effort.rounds, rows, bars, comparison="x {}")


# -------------------------------------------------------------------------------------- frames --


@cache
def library() -> ctypes.CDLL:
    """Compiles and loads atari_frames.c."""
    import build_ffi

    atari = build_ffi.CSRC / "envs" / "atari"
    base = build_ffi.CSRC / "base"
    memory = build_ffi.CSRC / "os" / "code_memory.c"
    loaded = load(SOURCE, [*sorted(base.glob("*.c")), memory, *sorted(atari.rglob("*.c"))])
    loaded.frames_create.restype = ctypes.c_void_p
    loaded.frames_play.restype = ctypes.c_int64
    return loaded


def random_actions(choices: Sequence[int]) -> bytes:
    """Returns uniformly drawn choices; the draws depend only on how many choices there are."""
    drawn = np.random.default_rng(0).integers(len(choices), size=ROWS * 8)
    return np.array(choices, np.uint8)[drawn].tobytes()


class Console:
    """Plays on our console. A batch is one agent step; `play` counts frames as steps."""

    children: Sequence[int] = ()

    def __init__(self, game: str, actions: bytes, build: str, drawn: int) -> None:
        from parallel_pool._families.atari import read_rom

        rom = read_rom(game)
        made = library().frames_create(
            rom, ctypes.c_size_t(len(rom)), game.encode(), build.encode()
        )
        if not made:
            raise RuntimeError(f"{game}: no console of build {build!r}")
        self._it = ctypes.c_void_p(made)
        self._actions, self._drawn, self._at = actions, drawn, 0

    def play(self, batches: int) -> int:
        frames = 0
        while batches:
            part = self._actions[self._at : self._at + batches]
            frames += library().frames_play(self._it, part, len(part), SKIP, self._drawn)
            self._at = (self._at + len(part)) % len(self._actions)
            batches -= len(part)
        return frames

    def close(self) -> None:
        library().frames_destroy(self._it)


class Act:
    """Plays with ale_py's `act()`, which draws every frame."""

    children: Sequence[int] = ()

    def __init__(self, game: str) -> None:
        import ale_py

        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self.ale = ale_py.ALEInterface()
        self.ale.setInt("random_seed", 1)
        self.ale.setFloat("repeat_action_probability", 0.0)
        self.ale.loadROM(ale_py.roms.get_rom_path(game))
        self.actions = random_actions([action.value for action in self.ale.getMinimalActionSet()])
        self._at = 0

    def play(self, batches: int) -> int:
        ale, actions, frames = self.ale, self.actions, 0
        for i in range(self._at, self._at + batches):
            action = actions[i % len(actions)]
            for _ in range(SKIP):
                if ale.game_over():
                    break
                ale.act(action)
                frames += 1
            if ale.game_over():
                ale.reset_game()
        self._at = (self._at + batches) % len(actions)
        return frames

    def close(self) -> None:
        del self.ale


class ThreadClock(Clock):
    """Takes this thread's CPU time for wall time, so that other load does not count."""

    def wall(self) -> float:
        return time.thread_time()


def frames_row(game: str, effort: race.Effort, clock: Clock) -> Row:
    """Returns the row of a game: the rate of `act()`, and how many times faster each column is."""
    act = Act(game)
    players: dict[str, Player] = {"act": act}
    for name, (build, drawn) in COLUMNS.items():
        players[name] = Console(game, act.actions, build, drawn)
    samples = interleave(players, effort.rounds, effort.seconds, turns=effort.turns, clock=clock)
    for player in players.values():
        player.close()
    theirs = samples.pop("act")
    return Row(
        who=game,
        setting="ale_py act()",
        role="only",
        value=Spread.of(sample.rate for sample in theirs),
        ratios={name: ratio(ours, theirs) for name, ours in samples.items()},
    )


def run_frames(
    effort: race.Effort,
    *,
    games: Sequence[str] = GAMES,
    clock: Clock | None = None,
    tick: Callable[[str], None] = lambda text: None,
) -> Outcome:
    """Measures the frames of all games, one game after another."""
    rows = []
    for game in games:
        rows.append(frames_row(game, effort, clock or ThreadClock()))
        tick(game)
    drawn, v3, _ = COLUMNS
    kept = [row.ratios[v3].median / row.ratios[drawn].median for row in rows]
    median = float(np.median(medians(rows, drawn)))
    bars = [
        Bar(f"median of {len(rows)} games, every frame drawn", FRAMES_MEDIAN, median),
        Bar("share of that on x86-64-v3", V3_SHARE, float(np.median(kept))),
    ]
    return Outcome(
        FRAMES_NAME, FRAMES_TITLE, "frames/s", 1, effort.rounds, rows, bars, comparison="{}"
    )


# --------------------------------------------------------------------------------------- chart --


def draw(outcome: Outcome, file: Path) -> None:
    """Draws how many times faster ours is in each game, sorted by that factor."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(name for row in outcome.rows for name in row.ratios))
    rows = sorted(outcome.rows, key=lambda row: row.ratios[names[0]].median)
    figure = Figure(figsize=(9, 0.17 * len(rows) + 1.2), dpi=110, layout="constrained")
    ax = figure.subplots()
    places = np.arange(len(rows))
    for name, colour, marker in zip(names, (OURS, THEIRS, QUIET), "osD", strict=False):
        values = [row.ratios[name].median for row in rows]
        label = f"{name} (median {np.median(values):.1f})"
        ax.plot(values, places, marker, color=colour, markersize=4, label=label)
    ax.set_yticks(places, [row.who for row in rows], fontsize=7, color=INK)
    ax.set_ylim(-1, len(rows))
    ax.set_xlim(left=0)
    ax.axvline(1, color=QUIET, linewidth=0.8)
    ax.grid(axis="x", alpha=0.3)
    ax.set_title(f"{outcome.title}: times faster than", loc="left", fontsize=10, color=INK)
    ax.legend(loc="lower right", fontsize=8)
    figure.savefig(file)
