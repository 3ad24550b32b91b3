"""What holds for all tests."""

import signal
from collections.abc import Iterator

import pytest

from tests.patience import limited

# Shells start background jobs with Ctrl-C ignored, and Python then leaves it so: tests of Ctrl-C
# would wait for ever. Processes that tests start inherit what is set here.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def own_signals() -> Iterator[None]:
    """Whatever a test interrupts, it leaves no signal blocked."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    yield
    left = signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert left == before


@pytest.fixture
def alarm() -> Iterator[None]:
    """A test that hangs fails."""
    with limited():
        yield
