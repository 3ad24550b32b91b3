"""Each domain of dm_control's suite plays, is saved and restored: for the sanitizers.

`tests/parity/test_control_suite.py` compares results, in a process that no sanitizer sees.
"""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from parallel_pool._engine import registry
from tests.support.replays import check_replay

IDS = sorted(
    task_id
    for task_id, definition in registry.definitions().items()
    if definition.family == "control_suite" and task_id.startswith("dm_control/")
)


@pytest.mark.skipif(find_spec("dm_control") is None, reason="needs the models of dm_control")
@pytest.mark.quick(2, sanitizers=True)
@pytest.mark.parametrize("task_id", IDS)
def test_episodes_and_snapshots(task_id: str) -> None:
    check_replay(task_id)
