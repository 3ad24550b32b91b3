"""A processes: processes that do tasks side by side and end with the one that made them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing.connection import Connection
from typing import Self, TypeVar

from parallel_pool.workers.bootstrap import blocked

Task = TypeVar("Task")
Result = TypeVar("Result")


class Processes:
    """So many processes; with one, this process does everything itself."""

    def __init__(self, jobs: int) -> None:
        self.executor: ProcessPoolExecutor | None = None
        if jobs > 1:
            spawn = multiprocessing.get_context("spawn")
            self.theirs, self.leash = spawn.Pipe(duplex=False)
            self.executor = ProcessPoolExecutor(jobs, spawn, follow, (self.theirs,))

    def do(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Yields what the function returns for each task, as they are done.

        Raises:
            BrokenProcessPool: one of the processes has died.
        """
        if self.executor is None:
            yield from map(function, tasks)
            return
        # submitting starts processes, which leave Ctrl-C to this one
        with blocked({signal.SIGINT}):
            futures = [self.executor.submit(function, task) for task in tasks]
        for future in as_completed(futures):
            yield future.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        """Ends all processes; after an exception in the middle of their tasks."""
        if self.executor is None:
            return
        if kind is not None:
            self.leash.close()
        self.executor.shutdown(cancel_futures=True)
        self.leash.close()
        self.theirs.close()


def follow(leash: Connection) -> None:
    """Makes this process end when nobody holds the other end, however its creator ended."""

    def wait() -> None:
        leash.poll(None)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
