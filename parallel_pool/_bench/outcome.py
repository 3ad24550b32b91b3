"""The result of one scene as plain data, as the JSON file holds it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from parallel_pool._bench.rounds import Sample, Spread, ratio

FASTER = "{} is faster"


@dataclass
class Row:
    """One contender at one setting.

    Attributes:
        who, setting: as the table shows them.
        role: "ours"; "same" or "best" setting of a rival, "same = best" if they are equal; "only"
            if it has no settings.
        value: in the outcome's unit.
        cpu_us: microseconds of CPU time per environment step, all threads and processes.
        ratios: how many times faster each of ours is, by name.
        cpu_ratios: how many times less CPU time each of ours takes, by name.
        samples: the value of each round.
    """

    who: str
    setting: str
    role: str
    value: Spread
    cpu_us: Spread | None = None
    ratios: dict[str, Spread] = field(default_factory=dict)
    cpu_ratios: dict[str, Spread] = field(default_factory=dict)
    samples: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Played:
    """What one contender did at one setting: its sample of each round.

    Attributes:
        who, setting, role: as in `Row`.
    """

    who: str
    setting: str
    role: str
    samples: Sequence[Sample]


def rows_of(played: Iterable[Played]) -> list[Row]:
    """Returns a row of each contender of the same rounds, with the ratios of ours to it."""
    everyone = list(played)
    ours = [each for each in everyone if each.role == "ours"]
    return [_row(each, ours if each.role != "ours" else ()) for each in everyone]


def _row(one: Played, ours: Sequence[Played]) -> Row:
    own = one.samples
    return Row(
        who=one.who,
        setting=one.setting,
        role=one.role,
        value=Spread.of(sample.rate for sample in own),
        cpu_us=Spread.of(sample.cpu_us for sample in own),
        ratios={each.who: ratio(each.samples, own) for each in ours},
        cpu_ratios={each.who: ratio(each.samples, own, cpu=True) for each in ours},
        samples=[sample.rate for sample in own],
    )


@dataclass
class Bar:
    """A goal, and the value that was reached (None if it was not measured)."""

    what: str
    wanted: float
    reached: float | None
    at_least: bool = True
    unit: str = "x"

    @property
    def is_met(self) -> bool | None:
        """Whether the goal was reached; None if it was not measured."""
        if self.reached is None:
            return None
        return self.reached >= self.wanted if self.at_least else self.reached < self.wanted

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<"
        text = f"{self.what} {sign} {self.wanted:g}{self.unit}"
        if self.reached is None:
            return f"{text}: not measured"
        return f"{text}: {self.reached:.3g}{self.unit}, {'met' if self.is_met else 'NOT met'}"


@dataclass
class Outcome:
    """All results of one scene.

    Attributes:
        name, title: of the scene.
        unit: of the rows' values, such as "env steps/s".
        frame_skip: frames of one step; 1 where there are none.
        rounds: number of rounds.
        notes: what a reader must know, such as rivals that are not installed.
        moment: time, commit and load of the machine.
        comparison: heading of the columns of ratios, with "{}" for the name. If it is not the
            default, the rows are games, and the scene has a picture of its own.
    """

    name: str
    title: str
    unit: str
    frame_skip: int
    rounds: int
    rows: list[Row]
    bars: list[Bar]
    notes: list[str] = field(default_factory=list)
    moment: dict[str, Any] = field(default_factory=dict)
    comparison: str = FASTER

    @property
    def is_of_games(self) -> bool:
        """Whether rows are games."""
        return self.comparison != FASTER

    def to_json(self) -> dict[str, Any]:
        """Returns plain data; `from_json` takes it back."""
        data = asdict(self)
        for bar, plain in zip(self.bars, data["bars"], strict=True):
            plain["met"] = bar.is_met
        return data

    @staticmethod
    def from_json(data: dict[str, Any]) -> Outcome:
        """Returns the outcome that `to_json` wrote."""
        rows = []
        for row in data["rows"]:
            known: dict[str, Any] = {**row, "value": Spread(**row["value"])}
            known["cpu_us"] = row["cpu_us"] and Spread(**row["cpu_us"])
            for key in ("ratios", "cpu_ratios"):
                known[key] = {name: Spread(**each) for name, each in row[key].items()}
            rows.append(Row(**known))
        bars = [Bar(**{k: v for k, v in bar.items() if k != "met"}) for bar in data["bars"]]
        return Outcome(**{**data, "rows": rows, "bars": bars})


def reached(rows: Iterable[Row], rival: str, *, cpu: bool = False) -> float | None:
    """Returns how many times faster our slowest row is than the rival's best; None without rows.

    Args:
        cpu: compares CPU time per step instead of wall time.
    """
    theirs = [row for row in rows if row.who == rival]
    compared = [row.cpu_ratios if cpu else row.ratios for row in theirs]
    medians = [each.median for ratios in compared for each in ratios.values()]
    return min(medians, default=None)
