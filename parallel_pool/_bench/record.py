"""The file of the quick benchmark: a machine, and every round of every player on it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import parallel_pool
from parallel_pool._bench import machine
from parallel_pool._bench.outcome import Played, Row, rows_of
from parallel_pool._bench.rounds import Sample

SCHEMA = 1
# what a round's numbers are, in this order
COLUMNS = ["steps", "seconds", "cpu_seconds"]
# no file of a machine has so many bytes, players or rounds
MAX_BYTES, MAX_LETTERS, MAX_ENTRIES = 1_000_000, 1000, 100
REFERENCE = "reference.json"

T = TypeVar("T")


class RecordError(ValueError):
    """A file is not a result of the quick benchmark; the text is a clause that says why."""


@dataclass(frozen=True)
class Measured:
    """What was measured in one scene.

    Attributes:
        name, title, frame_skip: of the scene.
        played: the players; empty if the scene needs a package that is not installed.
        lost: sentences about players that failed.
        lacks: sentences about what is not installed.
    """

    name: str
    title: str
    frame_skip: int
    played: Sequence[Played]
    lost: Sequence[str] = ()
    lacks: Sequence[str] = ()

    @property
    def rows(self) -> list[Row]:
        """A row of each player."""
        return rows_of(self.played)


@dataclass
class Record:
    """The results of one machine.

    Attributes:
        name: of the machine, as in names of files.
        facts: about the machine: `machine.facts`, and `machine.moment` of the start.
        is_complete: False if the run was interrupted.
    """

    name: str
    facts: Mapping[str, Any]
    scenes: list[Measured] = field(default_factory=list)
    is_complete: bool = False

    @property
    def lacks(self) -> list[str]:
        """What was not installed, each once."""
        return list(dict.fromkeys(lack for scene in self.scenes for lack in scene.lacks))


def begun(cores: int) -> Record:
    """Returns a record of this machine, with this many usable cores, without scenes."""
    facts = {**machine.facts(), "cores": cores}
    # a checkout that was only built in place has no metadata
    facts["versions"]["parallel_pool"] = parallel_pool.__version__
    return Record(machine.name(), {**facts, **machine.moment()})


def reference() -> Record:
    """Returns our results, which come with the package."""
    text = files("parallel_pool._bench").joinpath(REFERENCE).read_text("utf-8")
    return from_json(json.loads(text))


def read(path: Path) -> Record:
    """Reads a file.

    Raises:
        RecordError: it can't be read, or it is not a result of the quick benchmark.
    """
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise RecordError(getattr(error, "strerror", None) or str(error)) from None
    if len(text) > MAX_BYTES:
        raise RecordError(f"it has more than {MAX_BYTES} bytes")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"it is not JSON: {error}") from None
    return from_json(data)


def to_text(record: Record) -> str:
    """Returns the file's text; a round is one line's part, not three lines."""
    text = json.dumps(to_json(record), indent=1, allow_nan=False)
    return re.sub(r"\[\s+([-\d.,e\s]+?)\s+\]", lambda m: f"[{' '.join(m[1].split())}]", text) + "\n"


def to_json(record: Record) -> dict[str, Any]:
    """Returns plain data; `from_json` takes it back."""
    return {
        "schema": SCHEMA,
        "name": record.name,
        "machine": dict(record.facts),
        "is_complete": record.is_complete,
        "columns": COLUMNS,
        "scenes": [_scene_to_json(scene) for scene in record.scenes],
    }


def _scene_to_json(scene: Measured) -> dict[str, Any]:
    players = [
        {
            "who": each.who,
            "setting": each.setting,
            "role": each.role,
            "rounds": [
                [sample.steps, round(sample.seconds, 6), round(sample.cpu_seconds, 6)]
                for sample in each.samples
            ],
        }
        for each in scene.played
    ]
    return {
        "name": scene.name,
        "title": scene.title,
        "frame_skip": scene.frame_skip,
        "players": players,
        "lost": list(scene.lost),
        "lacks": list(scene.lacks),
    }


def from_json(data: Any) -> Record:
    """Returns the record that `to_json` wrote.

    Raises:
        RecordError: the data is something else.
    """
    whole = _dict(data, "the file")
    schema = whole.get("schema")
    if schema != SCHEMA:
        raise RecordError(f"its schema is {schema!r:.20}, and this version reads {SCHEMA}")
    if whole.get("columns") != COLUMNS:
        raise RecordError(f"its columns are not {', '.join(COLUMNS)}")
    facts = _dict(whole.get("machine"), "machine")
    for name in ("cpu", "system", "python", "time"):
        _text(facts.get(name), f"machine.{name}")
    _number(facts.get("cores"), "machine.cores")
    versions = _dict(facts.get("versions"), "machine.versions")
    for name, version in versions.items():
        if version is not None:
            _text(version, f"machine.versions.{name}")
    scenes = _list(whole.get("scenes"), "scenes", _scene)
    if not scenes:
        raise RecordError("it has no scenes")
    return Record(_text(whole.get("name"), "name"), facts, scenes, whole.get("is_complete") is True)


def _scene(data: Any, where: str) -> Measured:
    scene = _dict(data, where)
    played = _list(scene.get("players"), f"{where}.players", _played)
    if len({len(each.samples) for each in played}) > 1:
        raise RecordError(f"players of {where} have different numbers of rounds")
    if played and not any(each.role == "ours" for each in played):
        # nothing to compare with
        played = []
    return Measured(
        _text(scene.get("name"), f"{where}.name"),
        _text(scene.get("title"), f"{where}.title"),
        int(_number(scene.get("frame_skip"), f"{where}.frame_skip")),
        played,
        _list(scene.get("lost"), f"{where}.lost", _text),
        _list(scene.get("lacks"), f"{where}.lacks", _text),
    )


def _played(data: Any, where: str) -> Played:
    player = _dict(data, where)
    who, setting, role = (
        _text(player.get(name), f"{where}.{name}") for name in ("who", "setting", "role")
    )
    rounds = _list(player.get("rounds"), f"{where}.rounds", _sample)
    if not rounds:
        raise RecordError(f"{where} has no rounds")
    return Played(who, setting, role, rounds)


def _sample(data: Any, where: str) -> Sample:
    numbers = _list(data, where, _number)
    if len(numbers) != len(COLUMNS):
        raise RecordError(f"{where} has {len(numbers)} numbers, not {len(COLUMNS)}")
    steps, seconds, cpu_seconds = numbers
    return Sample(int(steps), seconds, cpu_seconds)


def _dict(data: Any, where: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise RecordError(f"{where} is no object")
    return data


def _list(data: Any, where: str, read: Callable[[Any, str], T]) -> list[T]:
    if not isinstance(data, list):
        raise RecordError(f"{where} is no array")
    if len(data) > MAX_ENTRIES:
        raise RecordError(f"{where} has {len(data)} entries, more than {MAX_ENTRIES}")
    return [read(each, f"{where}[{i}]") for i, each in enumerate(data)]


def _text(data: Any, where: str) -> str:
    if not isinstance(data, str):
        raise RecordError(f"{where} is no text")
    # a terminal would obey the others
    if not data.isprintable() or len(data) > MAX_LETTERS:
        raise RecordError(f"{where} is not one line of at most {MAX_LETTERS} letters")
    return data


def _number(data: Any, where: str) -> float:
    # sums and ratios of such numbers are finite, too
    if isinstance(data, bool) or not isinstance(data, int | float) or not 1e-9 <= data <= 1e15:
        raise RecordError(f"{where} is not a number from 1e-9 to 1e15")
    return data
