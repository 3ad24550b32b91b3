"""Endings: how a process has ended, in words."""

from __future__ import annotations

import signal


def signal_name(number: int) -> str:
    """Returns the name of a signal, such as SIGSEGV; that of a real-time signal is its number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
