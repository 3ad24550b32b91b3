"""Child: the process that plays a side, so that a crash or an endless step ends only it.

It ends with its parent process, whatever it is doing.
"""

from __future__ import annotations

import mmap
import os
import pickle
import struct
import sys
from typing import IO, Any

from parallel_pool._native import lib
from parallel_pool._prover.packing import pack_results, unpack_events
from parallel_pool._prover.player import Player, Result
from parallel_pool._prover.sides import Local
from parallel_pool._prover.target import Native, Reference

# of the file in memory: the event that the child plays
PROGRESS = struct.Struct("q")
# before each answer: its bytes
LENGTH = struct.Struct("q")


def main(reader: int, writer: int, progress: int, parent: int) -> None:
    """Answers requests until the parent closes the pipe."""
    if lib.pp_worker_exit_with(parent) < 0:
        sys.exit(f"process {parent} has ended, or too many threads run to wait for its end")
    memory = mmap.mmap(progress, PROGRESS.size)

    def note(count: int) -> None:
        PROGRESS.pack_into(memory, 0, count)

    with os.fdopen(reader, "rb") as requests, os.fdopen(writer, "wb") as answers:
        target: Native | Reference = pickle.load(requests)
        try:
            side = Local(target)
        except Exception as error:
            _answer(answers, error)
            return
        _answer(answers, side.facts)
        while (request := _next(requests)) is not None:
            _answer(answers, _run(side, request, note))
        side.close()


def _run(side: Local, request: Any, note: Any) -> Any:
    if request[0] == "open":
        return side.open(*request[1:]), side.spaces
    results: list[Result] = []
    player = side.player
    assert isinstance(player, Player)
    for count, event in enumerate(unpack_events(request[1])):
        if player.is_over:
            break
        note(count)
        results.append(player.play(event))
    return pack_results(results)


def _next(requests: IO[bytes]) -> Any:
    try:
        return pickle.load(requests)
    except EOFError:
        return None


def _answer(answers: IO[bytes], value: Any) -> None:
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    answers.write(LENGTH.pack(len(data)) + data)
    answers.flush()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
