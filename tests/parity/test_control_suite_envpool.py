"""EnvPool's ids of dm_control's tasks have EnvPool's options, observations and actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parallel_pool
from parallel_pool._engine import registry
from tests.support.sampling import thinned

envpool: Any = pytest.importorskip("envpool", reason="EnvPool is in the dependency group bench")

IDS = [
    definition.id
    for definition in registry.builtin().values()
    if definition.family == "control_suite" and "/" not in definition.id
]


@pytest.mark.parametrize("id", thinned(IDS, 8))
def test_specs_are_envpools(id: str) -> None:
    ours, theirs = parallel_pool.make_spec(id), envpool.make_spec(id)
    assert ours.config.frame_skip == theirs.config.frame_skip
    assert ours.config.max_episode_steps == theirs.config.max_episode_steps
    wanted = described(theirs)
    # EnvPool has also what the domain's other tasks observe
    assert described(ours).items() <= wanted.items()
    action, expected = ours.action_array_spec["action"], theirs.action_array_spec["action"]
    assert list(action.shape) == list(expected.shape) and action.dtype == expected.dtype
    # EnvPool has one number where all bounds are equal
    assert np.all(action.minimum == expected.minimum)
    assert np.all(action.maximum == expected.maximum)


def described(spec: Any) -> dict[str, Any]:
    """Returns shapes and dtypes of observations by name."""
    return {
        name: (list(each.shape), each.dtype)
        for name, each in spec.state_array_spec.items()
        if name.startswith("obs:")
    }


def test_every_id_is_envpools() -> None:
    known = set(envpool.list_all_envs())
    assert len(IDS) == 51 and known.issuperset(IDS)
