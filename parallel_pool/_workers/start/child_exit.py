"""Child exit: how children of this process have ended, read before they are reaped.

A child that has ended is a zombie until it is reaped. Only until then can no other process have its
number. `os.waitid` reads how a zombie has ended; Python lacks it on macOS before 3.13. There `peek`
itself reaps the child, and keeps what it learned until `reap`, so that it can be called again. The
number may then belong to another process, but not soon: the system gives out all others first.
"""

from __future__ import annotations

import os

# Wait statuses by process id, of children that `peek` had to reap.
_statuses: dict[int, int] = {}
os.register_at_fork(after_in_child=_statuses.clear)


def peek(pid: int, pidfd: int | None = None) -> tuple[int, int] | None:
    """Returns the process id and the exit code of a child that has ended, -N if signal N killed it.

    Args:
        pid: of the child; -1 for any.
        pidfd: of the same child. If other code has reaped the child, another can have its number.

    Returns:
        None if no such child has ended.

    Raises:
        ChildProcessError: there is no such child: other code has reaped it.
    """
    if not hasattr(os, "waitid"):
        return _peek_by_reaping(pid)
    ended = os.waitid(*_target(pid, pidfd), os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if ended is None:
        return None
    has_exited = ended.si_code == os.CLD_EXITED
    return ended.si_pid, ended.si_status if has_exited else -ended.si_status


def reap(pid: int, pidfd: int | None = None) -> None:
    """Reaps a child that `peek` has returned.

    Raises:
        ChildProcessError: other code has reaped it.
    """
    if hasattr(os, "waitid"):
        os.waitid(*_target(pid, pidfd), os.WEXITED | os.WNOHANG)
    else:
        _statuses.pop(pid, None)


def _target(pid: int, pidfd: int | None) -> tuple[int, int]:
    """Returns the first two arguments of `os.waitid`."""
    if pidfd is not None and hasattr(os, "P_PIDFD"):
        return os.P_PIDFD, pidfd
    return (os.P_ALL, 0) if pid < 0 else (os.P_PID, pid)


def _peek_by_reaping(pid: int) -> tuple[int, int] | None:
    if pid not in _statuses and (pid >= 0 or not _statuses):
        # One call, so that Ctrl-C can't come between waitpid and the entry: the code would be lost.
        # The entry is {0: 0} if no child has ended.
        _statuses.update(map(os.waitpid, (pid,), (os.WNOHANG,)))
        _statuses.pop(0, None)
    if pid < 0:
        pid = next(iter(_statuses), pid)
    return (pid, os.waitstatus_to_exitcode(_statuses[pid])) if pid in _statuses else None
