"""close_envs: how the environments of a worker process end."""

from __future__ import annotations

import contextlib
from typing import Any

from parallel_pool._workers.start import stray_forks


def close_envs(envs: list[Any], pid: int) -> None:
    """Closes and frees environments; a process that one of them forks ends.

    Args:
        envs: is empty afterwards.
        pid: of this process.
    """
    env = None
    for env in envs:
        # whatever one environment raises, the others must be closed too
        with contextlib.suppress(BaseException):
            env.close()
        stray_forks.exit_if_forked(pid, "close")
    # freed here, so that files which they leave open are written
    env = None
    envs.clear()
    stray_forks.exit_if_forked(pid, "__del__")
