"""MuJoCo tasks through the EnvPool API: names of options, and stacked observations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parallel_pool
from parallel_pool._engine import registry
from tests.support.same import assert_same
from tests.support.sampling import MUJOCO_TASKS, sampled, thinned

pytestmark = [pytest.mark.proven("csrc/envs/mujoco"), pytest.mark.usefixtures("own_folder")]

TASKS = [found for found in registry.builtin().values() if found.family == "mujoco"]
IDS = [task.id for task in TASKS]


def played(env: str, steps: int = 30, **options: Any) -> list[Any]:
    """Returns what two environments return, the resets first."""
    pool = parallel_pool.make_gymnasium(env, num_envs=2, seed=4, max_episode_steps=11, **options)
    rng = np.random.default_rng(1)
    shape = (2, *pool.action_space.shape)
    results: list[Any] = [pool.reset()]
    for _ in range(steps):
        results.append(pool.step(rng.uniform(-1, 1, shape).astype(np.float32)))
    pool.close()
    return results


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("env", "one", "other"),
    [
        ("Ant-v5", {"healthy_z_range": (0.3, 1.0)}, {"healthy_z_min": 0.3, "healthy_z_max": 1.0}),
        ("Ant-v5", {"contact_force_range": (-1, 2)}, {"contact_force_max": 2.0}),
        ("Hopper-v4", {"healthy_angle_range": (-0.1, 0.2)}, {"healthy_angle_min": -0.1}),
        ("Ant-v3", {"use_contact_force": False}, {"use_contact_forces": False}),
        ("Ant-v4", {"use_contact_force": True}, {"use_contact_forces": True}),
    ],
    ids=str,
)
def test_names_are_translated(env: str, one: dict[str, Any], other: dict[str, Any]) -> None:
    assert_same(played(env, **one), played(env, **other), env)
    config = parallel_pool.make_spec(env, **one).config
    assert config == parallel_pool.make_spec(env, **other).config
    for name, value in other.items():
        assert getattr(config, name) == value


@pytest.mark.quick(4)
@pytest.mark.parametrize("env", thinned(IDS, 3))
def test_hidden_options_are_not_shown(env: str) -> None:
    spec = parallel_pool.make_spec(env)
    assert not [name for name in spec.config._fields if name.startswith("_") or "digest" in name]
    assert "xml_file" in spec.config._fields and "_link" not in repr(spec)
    # the config makes the same spec again
    assert parallel_pool.make_spec(env, **spec.config._asdict()).config == spec.config


@pytest.mark.parametrize("env", sampled(IDS, MUJOCO_TASKS))
def test_observations_are_stacked_as_in_envpool(env: str) -> None:
    """The oldest is first. The first observation of an episode fills the stack."""
    plain, stacked = played(env), played(env, frame_stack=3)
    shape = plain[0][0].shape[1:]
    assert parallel_pool.make_spec(env, frame_stack=3).observation_space.shape == (3, *shape)
    last = np.zeros((2, 3, *shape))
    for step, (single, several) in enumerate(zip(plain, stacked, strict=True)):
        newest, elapsed = single[0], single[-1]["elapsed_step"]
        last = np.concatenate([last[:, 1:], newest[:, None]], axis=1)
        for env_id in np.flatnonzero(elapsed == 0):
            last[env_id] = newest[env_id]
        assert_same(several[0], last, f"step {step}")
        assert_same(several[1:-1], single[1:-1], f"step {step}")
    assert any(single[-1]["elapsed_step"][0] == 0 for single in plain[1:])


@pytest.mark.parametrize("env", ["Ant-v4", "Ant-v5"])
def test_post_constraint_false_leaves_contact_forces_at_zero(env: str) -> None:
    """EnvPool's option that skips mj_rnePostConstraint."""
    forces = {"use_contact_force": True} if env == "Ant-v4" else {}
    with_them, without = (played(env, post_constraint=on, **forces) for on in (True, False))
    seen = np.stack([step[0] for step in with_them])
    other = np.stack([step[0] for step in without])
    assert np.array_equal(seen[..., :27], other[..., :27])
    assert seen[..., 27:].any() and not other[..., 27:].any()
