"""Chrome: writes a record in Chrome's trace format, which ui.perfetto.dev shows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from parallel_pool._engine.outputs import open_without_waiting
from parallel_pool._tracing.record import (
    DELIVER,
    INLINE,
    RECEIVER,
    RECV,
    RESET,
    RESETS,
    SEND,
    SENDER,
    STEP,
    WORK,
    Record,
)

CALL_NAMES = {STEP: "step", INLINE: "step", RECV: "recv", SEND: "send", RESETS: "reset"}


class Event(NamedTuple):
    """An interval in nanoseconds, with what is shown beside its name."""

    start: int
    end: int
    name: str
    arguments: dict[str, int]


def write(path: Path, record: Record) -> None:
    """Writes a record to a file of JSON.

    Times are in microseconds since the trace began. Each thread or worker has a row; intervals of a
    row lie one after another or inside one another.
    """
    with open(path, "w", encoding="ascii", opener=open_without_waiting) as file:
        file.write('{"displayTimeUnit": "ms", "traceEvents": [\n')
        own: dict[str, Any] = {"ph": "M", "pid": record.pid, "tid": 0, "name": "process_name"}
        name = f"parallel_pool {record.setting.name}"
        file.write(json.dumps({**own, "args": {"name": name}}))
        for tid, (name, events) in enumerate(rows(record)):
            about = {"ph": "M", "pid": record.pid, "tid": tid}
            for key, value in (("thread_name", name), ("thread_sort_index", tid)):
                part = "name" if key == "thread_name" else "sort_index"
                file.write(",\n" + json.dumps({**about, "name": key, "args": {part: value}}))
            for event in events:
                entry = {
                    "ph": "X",
                    "pid": record.pid,
                    "tid": tid,
                    "name": event.name,
                    "ts": (event.start - record.start) / 1000,
                    "dur": (event.end - event.start) / 1000,
                }
                if event.arguments:
                    entry["args"] = event.arguments
                file.write(",\n" + json.dumps(entry))
        file.write("\n]}\n")


def rows(record: Record) -> Iterator[tuple[str, Sequence[Event]]]:
    """Yields the name and the events of each row, the caller's first."""
    threads = list(dict.fromkeys(span.thread for span in record.named))
    parts: list[tuple[str, list[Event]]] = []
    for thread in threads:
        own = [_named(span) for span in record.named if span.thread == thread]
        parts.append((f"caller, thread {thread}", own))
    parts.append((record.track_name(SENDER), list(_events(record, SENDER))))
    caller = list(_events(record, RECEIVER))
    others = []
    for name, events in parts:
        # usually one thread receives, sends, and names its own time
        joined = _sorted([*caller, *events])
        if is_nested(joined):
            caller = joined
        else:
            others.append((name, _sorted(events)))
    yield record.track_name(RECEIVER), _sorted(caller)
    yield from others
    for i in range(SENDER + 1, len(record.tracks)):
        yield record.track_name(i), _sorted(_events(record, i))


def _named(span: Any) -> Event:
    return Event(span.start, span.end, span.name, {})


def _events(record: Record, track: int) -> Iterator[Event]:
    for start, end, kind, env_id, count, gaps in record.tracks[track].tolist():
        if kind in (WORK, RESET):
            name = f"environment {env_id}" if count == 1 else f"{count} environments"
            arguments = {"first": env_id} if count > 1 else {}
            yield Event(start, end, f"reset {name}" if kind == RESET else name, arguments)
        elif kind == DELIVER:
            yield Event(start, end, "deliver", {"rows": count})
        else:
            name = CALL_NAMES.get(kind, str(kind))
            arguments = {"environments": count}
            if gaps:
                name, arguments["between_ns"] = f"short {name}s", gaps
            yield Event(start, end, name, arguments)


def _sorted(events: Iterable[Event]) -> list[Event]:
    """Returns events in the order of their beginnings, outer ones first."""
    return sorted(events, key=lambda event: (event.start, -event.end))


def is_nested(events: Sequence[Event]) -> bool:
    """Returns whether sorted events lie one after another or inside one another."""
    open_ends: list[int] = []
    for event in events:
        while open_ends and open_ends[-1] <= event.start:
            open_ends.pop()
        if open_ends and event.end > open_ends[-1]:
            return False
        open_ends.append(event.end)
    return True
