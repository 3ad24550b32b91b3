"""What each mechanism of the engine buys: `python -m benchmarks.studies.ablation [--out FILE]`.

The engine is built once as it is and once without each mechanism: the sources have no switches, so
an edit to a copy of a C file takes the mechanism out (`MECHANISMS`; a test holds that each anchor
stands in its file exactly once). All builds play the same scenes from C, in interleaved rounds with
new processes in each. In a round they take many short turns. The fastest of them counts, as other
load makes turns slower and never faster; of CPU time, which suffers less, the median.

The tables show how many times as fast the engine is without the mechanism, and how many times as
much CPU time a step takes then: a mechanism pays where the first is below 1. The column "control"
is the engine built again without an edit: it shows the noise.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.harness.report import share
from benchmarks.harness.toolchain import toolchain
from parallel_pool._bench import machine
from parallel_pool._bench.player_proxy import PlayerProxy
from parallel_pool._bench.rounds import Sample, batches_in, ratio, timed
from parallel_pool._command import until_interrupted
from parallel_pool._families import atari

if TYPE_CHECKING:
    import build_ffi

ROOT = Path(__file__).resolve().parents[2]
PLAYER = Path(__file__).with_name("ablation_player.c")
FULL, CONTROL = "full", "control"
ROUNDS, TURNS, SECONDS = 9, 50, 0.003
QUICK_EFFORT = (1, 2, 0.003)


@dataclass(frozen=True)
class Edit:
    """An anchor in a file below csrc, and the text that replaces it."""

    file: str
    anchor: str
    replacement: str


@dataclass(frozen=True)
class Mechanism:
    """Something that the engine could do without.

    Attributes:
        name: for the table.
        without: what the engine does without it.
        edits: take it out.
    """

    name: str
    without: str
    edits: tuple[Edit, ...]


MECHANISMS = (
    Mechanism(
        "shards",
        "all threads of a lane take from one shard",
        (
            Edit(
                "threads/queue.c",
                "(int64_t)(env_id - queue->first_env) * queue->num_shards / queue->num_envs;",
                "0; (void)env_id;",
            ),
            Edit(
                "threads/queue.c",
                "needed = (uint64_t)((num_envs + num_shards - 1) / num_shards);",
                "needed = (uint64_t)num_envs;",
            ),
        ),
    ),
    Mechanism(
        "leftover",
        "no chunk is cut short",
        (
            Edit(
                "threads/stepper.c",
                "return pp_os_now_roughly() > deadline;",
                "return (void)deadline, false;",
            ),
        ),
    ),
    Mechanism(
        "adaptive chunk",
        "a chunk is 64 environments",
        (
            Edit(
                "threads/cost.c",
                "if (!step) return 1;",
                "return (int32_t)(available < 64 ? available : 64);",
            ),
        ),
    ),
    Mechanism(
        "run entries",
        "a queue entry is one environment",
        (
            Edit(
                "threads/cost.c",
                "int64_t length = step ? PP_CHUNK_MIN_NS * 16 / step : 1;",
                "int64_t length = 1 + 0 * step;",
            ),
        ),
    ),
    Mechanism(
        "idset",
        "environments of an unordered pool are queued in the order received",
        (Edit("threads/queueing.c", "pool->ring.is_ordered || length == 1", "true"),),
    ),
    Mechanism(
        "inline step",
        "small steps go through the queues, too",
        (
            Edit(
                "threads/caller.c",
                "return pool->ring.is_ordered && threads->num_lanes == 1 &&",
                "return false && pool->ring.is_ordered && threads->num_lanes == 1 && count &&",
            ),
        ),
    ),
    Mechanism(
        "choose_shard",
        "the caller of an unordered pool takes from its own shard first",
        (
            Edit(
                "threads/caller.c",
                "if (!pool->ring.is_ordered) choose_shard(threads);",
                "if (false) choose_shard(threads);",
            ),
        ),
    ),
    Mechanism(
        "translation",
        "programs of Atari games are interpreted",
        (
            Edit(
                "envs/atari/console/cartridge.c",
                "if (status >= 0 && !options->interprets) pp_translate(*out);",
                "",
            ),
        ),
    ),
    Mechanism(
        "superinstructions",
        "the interpreter of Atari games runs instructions one by one",
        (
            Edit(
                "envs/atari/console/instruction.c",
                "// longer ones come later",
                "count = 1;",
            ),
        ),
    ),
)


@dataclass(frozen=True)
class Scene:
    """Environments to step, and how.

    Attributes:
        game: ale-py's name of an Atari game.
        variables: of the environment of the process.
    """

    name: str
    task_id: str
    num_envs: int
    batch_size: int
    num_actions: int
    num_threads: int = 2
    game: str = ""
    variables: tuple[tuple[str, str], ...] = ()

    def arguments(self, folder: Path) -> list[str]:
        """Returns the arguments of the player. The folder is for the ROM."""
        sizes = (self.num_envs, self.batch_size, self.num_threads, self.num_actions)
        arguments = [self.task_id, *map(str, sizes)]
        if not self.game:
            return arguments
        rom = folder / f"{self.game}.bin"
        rom.write_bytes(atari.read_rom(self.game))
        return [*arguments, f"rom={rom}"]


SCENES = (
    Scene("CartPole 16", "CartPole-v1", 16, 16, 2),
    Scene("CartPole 64", "CartPole-v1", 64, 64, 2),
    Scene("CartPole 1024", "CartPole-v1", 1024, 1024, 2),
    Scene("CartPole 1024, 1 thread", "CartPole-v1", 1024, 1024, 2, num_threads=1),
    Scene("CartPole 1024/512", "CartPole-v1", 1024, 512, 2),
    Scene("CartPole 4096/2048", "CartPole-v1", 4096, 2048, 2),
    Scene("Acrobot 256", "Acrobot-v1", 256, 256, 3),
    Scene("Acrobot 256/128", "Acrobot-v1", 256, 128, 3),
    Scene("Pong 32", "Pong-v5", 32, 32, 6, game="pong"),
    Scene("Pong 32/16", "Pong-v5", 32, 16, 6, game="pong"),
    Scene(
        *("Pong 32, interpreted", "Pong-v5", 32, 32, 6),
        game="pong",
        variables=(("PP_ATARI_JIT", "0"),),
    ),
)


# ---------------------------------------------------------------------------------- building --


def edited(mechanism: Mechanism) -> dict[str, str]:
    """Returns the texts of the files that a mechanism's edits change, by their path below csrc.

    Raises:
        LookupError: an anchor is not in its file exactly once.
    """
    texts: dict[str, str] = {}
    for edit in mechanism.edits:
        text = texts.get(edit.file) or (ROOT / "csrc" / edit.file).read_text()
        if text.count(edit.anchor) != 1:
            raise LookupError(
                f"{mechanism.name}: {edit.anchor!r} is {text.count(edit.anchor)} times in"
                f" csrc/{edit.file}: change the edit as the file has changed"
            )
        texts[edit.file] = text.replace(edit.anchor, edit.replacement)
    return texts


def build(mechanisms: Sequence[Mechanism], folder: Path) -> dict[str, Path]:
    """Compiles the players: the full engine's, the control's, and one without each mechanism.

    Objects are shared with the module's build. Only the files that an edit changes are compiled
    again, so an edit must be in a C file.
    """
    import build_ffi

    changes: dict[str, dict[str, str]] = {FULL: {}, CONTROL: {}}
    changes |= {each.name: edited(each) for each in mechanisms}
    with toolchain() as tools:
        table = tools.folder / "generated" / "env_table.c"
        build_ffi.write_if_changed(table, build_ffi.environment_table())
        sources = [*build_ffi.c_files(), table, PLAYER]
        objects = {source: tools.compile(source, tools.own_flags) for source in sources}
        programs = {name: folder / name.replace(" ", "-") for name in changes}
        for name, texts in changes.items():
            others = {
                ROOT / "csrc" / path: recompile(tools, ROOT / "csrc" / path, text, programs[name])
                for path, text in texts.items()
            }
            used = map(str, (objects | others).values())
            libraries = [*map(str, build_ffi.numpy_libraries()), "-lm", "-ldl"]
            tools.run([*tools.cc, "-pthread", *used, *libraries, "-o", programs[name]])
        return programs


def recompile(tools: build_ffi.Toolchain, original: Path, text: str, program: Path) -> Path:
    """Compiles a changed copy of a file of csrc for a program; returns its object."""
    copy = program.with_name(f"{program.name}-{original.name}")
    copy.write_text(text)
    target = copy.with_suffix(".o")
    # the file includes headers that lie beside the original
    beside = f"-I{original.parent}"
    tools.run([*tools.cc, *tools.own_flags, "-w", beside, "-c", copy, "-o", target])
    return target


# --------------------------------------------------------------------------------- measuring --


Played = dict[str, list[Sample]]


def play(
    programs: Mapping[str, Path], scene: Scene, folder: Path, effort: tuple[int, int, float]
) -> Played:
    """Measures all builds in a scene; returns the samples of the rounds, by the build's name."""
    arguments = scene.arguments(folder)
    variables = os.environ | dict(scene.variables)
    rounds, turns, seconds = effort
    samples: Played = {name: [] for name in programs}
    for _ in range(rounds):
        # new processes, as a process's speed depends on where its memory lies
        with ExitStack() as stack:
            players = {
                name: stack.enter_context(
                    closing(PlayerProxy(name, [str(path), *arguments], variables).made())
                )
                for name, path in programs.items()
            }
            for name, played in take_turns(players, turns, seconds).items():
                samples[name].append(best(played))
    return samples


def take_turns(players: Mapping[str, PlayerProxy], turns: int, seconds: float) -> Played:
    """Lets players take turns of about this long, each of them with as many batches."""
    # other load can only make a player seem slower, and its turns too short to measure. These first
    # plays are the warm-up, too: memory is touched, and costs are learned
    batches = max(batches_in(player, seconds) for player in players.values())
    names = list(players)
    samples: Played = {name: [] for name in names}
    for i in range(turns):
        for name in names[i % len(names) :] + names[: i % len(names)]:
            samples[name].append(timed(players[name], batches))
    return samples


def best(turns: Sequence[Sample]) -> Sample:
    """Returns a sample of one step: the least wall time and the median CPU time of all turns."""
    seconds = min(1 / each.rate for each in turns)
    return Sample(1, seconds, float(np.median([each.cpu_us for each in turns])) / 1e6)


def row(scene: Scene, played: Played, *, cpu: bool) -> str:
    """Returns a scene's row of one of the tables: the full engine, then ratios to it."""
    full = played[FULL]
    first = (
        f"{np.median([each.cpu_us for each in full]) * 1000:.1f}"
        if cpu
        else f"{np.median([each.rate for each in full]) / 1e6:.2f}"
    )
    others = [samples for name, samples in played.items() if name != FULL]
    if cpu:
        spreads = [ratio(full, each, cpu=True) for each in others]
    else:
        spreads = [ratio(each, full) for each in others]
    return "| " + " | ".join([scene.name, first, *map(share, spreads)]) + " |"


def table(unit: str, names: Sequence[str], rows: Sequence[str]) -> str:
    """Returns a table whose first column of numbers is in this unit."""
    heads = [
        "scene",
        f"full, {unit}",
        *(f"no {name}" if name != CONTROL else name for name in names),
    ]
    return "\n".join(["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads), *rows])


def report(
    commit: str | None,
    mechanisms: Sequence[Mechanism],
    results: Mapping[Scene, Played],
    rounds: int,
) -> str:
    """Returns the page."""
    names = [CONTROL, *(each.name for each in mechanisms)]
    speed = [row(scene, played, cpu=False) for scene, played in results.items()]
    cpu = [row(scene, played, cpu=True) for scene, played in results.items()]
    moment = machine.moment()
    return "\n\n".join(
        [
            "# What each mechanism buys",
            f"{machine.cpu_name()}, {os.cpu_count()} cores, commit {commit}, load"
            f" {moment['load'][0]}, {moment['time']}; `python -m benchmarks.studies.ablation`:"
            f" played from C, the fastest turns of {rounds} interleaved rounds, medians with"
            " quartiles. 1024/512: 1024 environments, batches of 512.",
            "Speed without the mechanism, as a multiple of the full engine's: below 1 it pays.",
            table("M steps/s", names, speed),
            "CPU time of a step without the mechanism, all threads, as a multiple of the full"
            " engine's: above 1 it pays. Spinning counts.",
            table("ns", names, cpu),
            "\n".join(f"- no {each.name}: {each.without}" for each in mechanisms),
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.ablation",
        description="Measures the engine without each of its mechanisms.",
    )
    known = {each.name: each for each in MECHANISMS}
    places = {scene.name: scene for scene in SCENES}
    parser.add_argument("--without", nargs="*", choices=known, metavar="MECHANISM", default=known)
    parser.add_argument("--scenes", nargs="*", choices=places, metavar="SCENE", default=places)
    parser.add_argument("--rounds", type=int, help=f"rounds of each scene ({ROUNDS})")
    parser.add_argument("--quick", action="store_true", help="short rounds: a test run")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the page goes, too")
    options = parser.parse_args(arguments)
    rounds, turns, seconds = QUICK_EFFORT if options.quick else (ROUNDS, TURNS, SECONDS)
    rounds = options.rounds or rounds
    mechanisms = [known[name] for name in options.without]
    # the tree may change while the builds play
    commit = machine.commit()
    results: dict[Scene, Played] = {}
    with tempfile.TemporaryDirectory() as folder:
        programs = build(mechanisms, Path(folder))
        for name in options.scenes:
            scene = places[name]
            results[scene] = play(programs, scene, Path(folder), (rounds, turns, seconds))
            print(row(scene, results[scene], cpu=False), file=sys.stderr, flush=True)
    page = report(commit, mechanisms, results, rounds) + "\n"
    print(page, end="")
    if options.out is not None:
        options.out.write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(until_interrupted(main))
