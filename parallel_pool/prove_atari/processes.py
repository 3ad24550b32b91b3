"""Processes that do tasks at the same time, and that end with the process that made them."""

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
    """A number of processes; with one, the calling process does everything itself."""

    def __init__(self, jobs: int) -> None:
        self.executor: ProcessPoolExecutor | None = None
        if jobs > 1:
            spawn = multiprocessing.get_context("spawn")
            # the children see the end of this pipe when this process ends, for whatever reason
            self.their_end, self.our_end = spawn.Pipe(duplex=False)
            self.executor = ProcessPoolExecutor(jobs, spawn, exit_with, (self.their_end,))

    def do(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Yields the function's result for each task, as soon as it is there.

        Raises:
            BrokenProcessPool: one of the processes died.
        """
        if self.executor is None:
            yield from map(function, tasks)
            return
        # submitting starts processes, which inherit that Ctrl-C is blocked: this one handles it
        with blocked({signal.SIGINT}):
            futures = [self.executor.submit(function, task) for task in tasks]
        for future in as_completed(futures):
            yield future.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        """Ends all processes; after an exception, without waiting for their tasks."""
        if self.executor is None:
            return
        if kind is not None:
            self.our_end.close()
        self.executor.shutdown(cancel_futures=True)
        self.our_end.close()
        self.their_end.close()


def exit_with(pipe: Connection) -> None:
    """Makes this process exit when the pipe's other end is closed, as it is with its process."""

    def wait() -> None:
        pipe.poll(None)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
