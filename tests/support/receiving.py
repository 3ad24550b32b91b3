"""A thread that receives from a pool, for tests of what other threads may do meanwhile."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from parallel_pool.errors import ClosedError, PoolTimeoutError, StateError
from tests.support.timeouts import TEST_TIMEOUT


def wait_until_receiving(pool: Any) -> None:
    """Waits until another thread is in recv. Nothing may be in flight."""
    while True:
        try:
            pool.recv(timeout=0)
        except PoolTimeoutError:
            continue
        except StateError as error:
            assert "another thread is receiving from this pool: let one thread" in str(error)
            return


@contextlib.contextmanager
def receiving(pool: Any) -> Iterator[list[Any]]:
    """Runs recv in another thread during the block; the list gets the batch it receives.

    The block must send to enough environments for one batch.
    """
    received: list[Any] = []

    def receive() -> None:
        while not received:
            try:
                received.append(pool.recv(timeout=600))
            except ClosedError:
                return
            except StateError:
                # the main thread may be receiving
                continue

    thread = threading.Thread(target=receive)
    thread.start()
    wait_until_receiving(pool)
    yield received
    thread.join(TEST_TIMEOUT)
    if thread.is_alive():
        pytest.fail("the other thread has received nothing")
