"""Processes that do tasks in parallel, and that end with the process that started them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing.connection import Connection
from typing import Self, TypeVar

from parallel_pool._workers.start.bootstrap import blocked

Task = TypeVar("Task")
Result = TypeVar("Result")


class Processes:
    """A number of processes; if that is one, the calling process does all tasks itself."""

    def __init__(self, jobs: int) -> None:
        self.executor: ProcessPoolExecutor | None = None
        if jobs > 1:
            spawn = multiprocessing.get_context("spawn")
            # the children see the end of this pipe when this process ends, for whatever reason
            self.their_end, self.our_end = spawn.Pipe(duplex=False)
            self.executor = ProcessPoolExecutor(jobs, spawn, exit_with, (self.their_end,))

    def do(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Yields the function's result for each task, as soon as it is known.

        Raises:
            BrokenProcessPool: one of the processes died.
        """
        if self.executor is None:
            yield from map(function, tasks)
            return
        # submitting starts processes, which inherit the blocked SIGINT: this one handles Ctrl-C
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
    """Makes this process exit when the pipe's other end is closed, or its process has ended."""

    def wait() -> None:
        pipe.poll(None)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
