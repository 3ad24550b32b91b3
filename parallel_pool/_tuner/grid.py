"""Grid: the settings that are worth a try, from what the first run has found."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from parallel_pool._tuner.setting import Setting

# From this share of the time on, the caller's own code, or calls, are all that can gain.
DOMINANT_SHARE = 0.95
# settings that are tried at most
MAX_SETTINGS = 16
# a worker for each environment is tried up to so many for each core
WORKERS_PER_CORE = 4
# a number of the script's arguments is tried as these multiples of what it is
MULTIPLES = (0.5, 1, 2, 4)


def settings(facts: Mapping[str, Any], numbers: Mapping[str, int]) -> list[Setting]:
    """Returns all settings that may be worth a try: the script as it is first, then those that
    change one thing, then those that change several; of each first what the trace advises.

    Args:
        facts: of the first run.
        numbers: of the script's arguments that may change, as they are.
    """
    found = [Setting()]
    choices = itertools.product(*(_numbers(name, value) for name, value in numbers.items()))
    for (math_threads, is_passive), pool, chosen in itertools.product(
        _maths(facts), _pools(facts), choices
    ):
        own = tuple(pair for pair in chosen if pair is not None)
        setting = Setting(**pool, math_threads=math_threads, is_passive=is_passive, numbers=own)
        if setting not in found:
            found.append(setting)
    found[1:] = sorted(found[1:], key=lambda setting: _distance(setting, facts))
    return found[:MAX_SETTINGS]


def first(found: Sequence[Setting], most: int) -> list[Setting]:
    """Returns the settings of the first round: the script as it is, and at most so many others.

    Those that change one thing are among them even if they are more.
    """
    alone = sum(len(setting.changes()) <= 1 for setting in found)
    return list(found[: max(alone, 1 + most)])


def combined(gains: Mapping[Setting, float]) -> Setting:
    """Returns the setting with the best of all changes that gain something, each made alone."""
    changes: dict[str, Any] = {}
    for setting, gain in sorted(gains.items(), key=lambda pair: -pair[1]):
        if gain > 1:
            changes = {**setting.changes(), **changes}
    return Setting.of_changes(changes)


def _distance(setting: Setting, facts: Mapping[str, Any]) -> tuple[int, int]:
    """Returns how many things a setting changes, and whether what the trace advises is not one."""
    changes = setting.changes()
    return (len(changes), not facts["change"].items() <= changes.items())


def _pools(facts: Mapping[str, Any]) -> list[dict[str, int]]:
    """Returns arguments of pools to try."""
    # torch's threads may be why the caller's own code takes so long
    if facts["outside"] >= DOMINANT_SHARE and (facts["math_threads"] or 1) == 1:
        return [{}]
    cores, count = facts["cores"], facts["num_envs"]
    if facts["unit"] == "thread":
        counts, name = {1, cores // 2, cores}, "num_threads"
    else:
        counts, name = {0, 1, cores // 2, cores}, "num_workers"
        if count <= WORKERS_PER_CORE * cores:
            counts.add(count)
    counts |= {value for key, value in facts["change"].items() if key == name}
    least = 0 if name == "num_workers" else 1
    counts = {each for each in counts if least <= each <= count and each != facts["count"]}
    choices = facts.get("choices")
    tried = sorted(counts if choices is None else counts.intersection(choices))
    return [{}, *({name: each} for each in tried)]


def _maths(facts: Mapping[str, Any]) -> list[tuple[int | None, bool]]:
    """Returns torch's threads, and whether they sleep while they wait, to try."""
    now, cores = facts["math_threads"], facts["cores"]
    if now is None or facts["outside"] <= 1 - DOMINANT_SHARE or cores == 1:
        return [(None, False)]
    others = sorted({1, cores // 2, cores} - {0, now})
    passive: list[tuple[int | None, bool]] = [(None, True)] if now > 1 else []
    passive += [(each, True) for each in others if each > 1]
    return [(None, False), *((each, False) for each in others), *passive]


def _numbers(name: str, value: int) -> Sequence[tuple[str, int] | None]:
    """Returns other values of a number of the script's arguments; None for that it has."""
    tried = {max(1, int(value * each)) for each in MULTIPLES} - {value}
    return [None, *((name, each) for each in sorted(tried))]
