"""Packing: events and results in few large arrays, which pass between processes sooner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from parallel_pool._prover.player import Result
from parallel_pool._prover.script import Event, Reset, Step

# results in a row that are worth a stack
MIN_STACKED = 4


def pack_events(events: Sequence[Event]) -> list[Any]:
    """Returns resets as they are, and the actions of steps in a row as one array."""
    packed: list[Any] = []
    run: list[Any] = []
    for event in [*events, None]:
        if isinstance(event, Step):
            run.append(event.actions)
            continue
        packed += [np.stack(run)] if run else []
        run = []
        if event is not None:
            packed.append(event)
    return packed


def unpack_events(packed: Sequence[Any]) -> list[Event]:
    """Returns what was packed."""
    events: list[Event] = []
    for each in packed:
        events += [each] if isinstance(each, Reset) else [Step(actions) for actions in each]
    return events


def pack_results(results: Sequence[Result]) -> list[Any]:
    """Returns results, those in a row with arrays of the same form stacked."""
    packed: list[Any] = []
    run: list[Result] = []
    form: Any = None
    for result in results:
        other = _form(result)
        if run and other != form:
            packed.append(_stacked(run, form))
            run = []
        run.append(result)
        form = other
    return [*packed, _stacked(run, form)] if run else packed


def unpack_results(packed: Sequence[Any]) -> list[Result]:
    """Returns what was packed."""
    results: list[Result] = []
    for whole, stacks, count in packed:
        if not stacks:
            results += whole
            continue
        for at in range(count):
            arrays = {name: stack[at] for name, stack in stacks.items()}
            results.append({name: arrays.get(name, whole[at].get(name)) for name in whole[at]})
    return results


def _form(result: Result) -> Any:
    return [
        (name, value.dtype.str, value.shape)
        if isinstance(value, np.ndarray) and value.dtype != object
        else name
        for name, value in result.items()
    ]


def _stacked(run: list[Result], form: Any) -> Any:
    """Returns the results without their arrays, the stacks of these arrays, and the number of
    results."""
    names = [each[0] for each in form if isinstance(each, tuple)]
    if len(run) < MIN_STACKED or not names:
        return run, {}, len(run)
    stacks = {name: np.stack([result[name] for result in run]) for name in names}
    whole = [{n: None if n in stacks else v for n, v in result.items()} for result in run]
    return whole, stacks, len(run)
