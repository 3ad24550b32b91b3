"""A crew: processes that do tasks side by side and end with the one that made them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Self, TypeVar

from parallel_pool.workers.child import blocked

Task = TypeVar("Task")
Result = TypeVar("Result")


class Crew:
    """So many processes; with one, this process does everything itself."""

    def __init__(self, jobs: int) -> None:
        self.executor: ProcessPoolExecutor | None = None
        if jobs > 1:
            spawn = multiprocessing.get_context("spawn")
            self.executor = ProcessPoolExecutor(jobs, spawn, follow)

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

    def __exit__(self, *exception: object) -> None:
        """Waits for tasks that have begun, and leaves out the others."""
        if self.executor is not None:
            self.executor.shutdown(cancel_futures=True)


def follow() -> None:
    """Makes this process end with its parent, however that ends."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
