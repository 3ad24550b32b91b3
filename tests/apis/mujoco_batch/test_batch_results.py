"""Tasks on `mujoco.batch`: the bits of Gymnasium's task, and of a loop with an mjData per world."""

from __future__ import annotations

import copy
from contextlib import closing
from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.utils import seeding

from parallel_pool._families.mujoco import assets
from parallel_pool.mujoco_batch import BatchVectorEnv, Task
from tests.apis.mujoco_batch.quadrupeds import FRAME_SKIP, GAIN, LIMIT, LOW, MODEL, PUSH, Quadrupeds
from tests.support.same import assert_same

ENVS, SEED = 5, 3


class HalfCheetahs(Task):
    """HalfCheetah-v5."""

    model, frame_skip, max_episode_steps = assets() / "half_cheetah.xml", 5, 30
    own = {"x": ()}  # noqa: RUF012

    def act(self, batch: Any, actions: Any) -> None:
        self.x[:] = batch.qpos[:, 0]
        batch.ctrl[...] = actions
        self.cost = 0.1 * np.square(actions).sum(axis=1)

    def observe(self, batch: Any) -> Any:
        return np.concatenate([batch.qpos[:, 1:], batch.qvel], axis=1)

    def reward(self, batch: Any) -> Any:
        return (batch.qpos[:, 0] - self.x) / (batch.model.opt.timestep * 5) - self.cost

    def reset_worlds(self, batch: Any, ids: Any, rng: Any) -> None:
        batch.qpos[ids] += rng.uniform(-0.1, 0.1, 9)
        batch.qvel[ids] += 0.1 * rng.standard_normal(9)


@pytest.mark.quick(1, sanitizers=True)
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("threads", [1, 3])
def test_half_cheetahs_equal_gymnasiums(mode: str, threads: int) -> None:
    options: Any = {"autoreset_mode": mode}
    theirs = gymnasium.make_vec(
        "HalfCheetah-v5",
        ENVS,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode(mode)},
        max_episode_steps=30,
    )
    actions = np.random.default_rng(1).uniform(-1, 1, (100, ENVS, 6)).astype(np.float32)
    with (
        closing(theirs),
        closing(BatchVectorEnv(HalfCheetahs, ENVS, num_threads=threads, **options)) as envs,
    ):
        assert_same(envs.reset(seed=SEED)[0], theirs.reset(seed=SEED)[0], "results")
        for step, action in enumerate(actions):
            *found, infos = envs.step(action)
            *wanted, their_infos = theirs.step(action)
            assert_same(found, wanted, f"step {step}")
            assert ("final_obs" in infos) == ("final_obs" in their_infos), step
            if "final_obs" in infos:
                assert_same(list(infos["final_obs"]), list(their_infos["final_obs"]), "results")


class AloneQuadruped:
    """One world of `Quadrupeds`, with a model and data of its own."""

    def __init__(self, seed: int) -> None:
        self.file = mujoco.MjModel.from_xml_path(str(MODEL))
        self.rng, _ = seeding.np_random(seed)

    def reset(self) -> Any:
        rng = self.rng
        self.model = model = copy.copy(self.file)
        model.body_mass[1] += 2 * rng.random()
        model.geom_friction[:, 0] *= 0.5 + 1.5 * rng.random()
        model.actuator_gainprm[:, 0] *= (1 - GAIN) + (1 + GAIN - (1 - GAIN)) * rng.random(8)
        self.data = data = mujoco.MjData(model)
        mujoco.mj_setConst(model, data)
        mujoco.mj_resetData(model, data)
        data.qpos[7:] += -0.1 + 0.2 * rng.random(8)
        data.qvel += 0.1 * rng.standard_normal(14)
        self.push = -PUSH + 2 * PUSH * rng.random(3)
        self.late, self.steps = np.zeros(8), 0
        mujoco.mj_forward(model, data)
        return self.seen()

    def step(self, action: Any) -> Any:
        data, x = self.data, self.data.qpos[0]
        data.ctrl[:] = self.late
        self.late = action.astype(np.float64)
        data.xfrc_applied[1, :3] = self.push * (data.sensordata[0] > 0)
        mujoco.mj_step(self.model, data, FRAME_SKIP)
        self.steps += 1
        return self.seen(), data.qpos[0] - x, data.qpos[2] < LOW, self.steps >= LIMIT

    def seen(self) -> Any:
        data = self.data
        values = np.concatenate([data.qpos[2:], data.qvel, data.sensordata]).astype(np.float32)
        return {"late": self.late, "seen": values}


@pytest.mark.sanitizers
@pytest.mark.parametrize("threads", [1, 2])
def test_quadrupeds_equal_a_loop_with_models_of_their_own(threads: int) -> None:
    """Masses, frictions, gains, own values and pushes are each world's own, through resets."""
    alone = [AloneQuadruped(SEED + i) for i in range(ENVS)]
    over = np.zeros(ENVS, bool)
    rng = np.random.default_rng(0)
    ends = []
    with closing(BatchVectorEnv(Quadrupeds, ENVS, num_threads=threads)) as envs:
        found, infos = envs.reset(seed=SEED)
        for i, world in enumerate(alone):
            assert_same({key: found[key][i] for key in found}, world.reset(), "results")
        for step in range(3 * LIMIT):
            action = rng.uniform(-1, 1, (ENVS, 8)).astype(np.float32)
            found, rewards, terminated, truncated, infos = envs.step(action)
            for i, world in enumerate(alone):
                wanted = (world.reset(), 0.0, False, False) if over[i] else world.step(action[i])
                where = f"step {step}, world {i}"
                assert_same({key: found[key][i] for key in found}, wanted[0], where)
                assert (rewards[i], terminated[i], truncated[i]) == wanted[1:], where
                assert infos["mass"][i] == world.model.body_mass[1]
            over = terminated | truncated
            ends += list(zip(terminated[over].tolist(), truncated[over].tolist(), strict=True))
    assert {(True, False), (False, True)} <= set(ends)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_an_episode_does_not_depend_on_the_number_of_worlds(mode: str) -> None:
    """World 2 of six is the only world of another, with its seed and its actions."""
    rng = np.random.default_rng(2)
    options: Any = {"autoreset_mode": mode, "num_threads": 1}
    with (
        closing(BatchVectorEnv(Quadrupeds, 6, **options)) as many,
        closing(BatchVectorEnv(Quadrupeds, 1, **options)) as one,
    ):
        seen, alone = many.reset(seed=10)[0], one.reset(seed=12)[0]
        for step in range(60):
            assert_same({key: seen[key][2:3] for key in seen}, alone, f"step {step}")
            action = rng.uniform(-1, 1, (6, 8)).astype(np.float32)
            seen, rewards, *flags, _ = many.step(action)
            alone, reward, *own, _ = one.step(action[2:3])
            assert_same([rewards[2:3], *(flag[2:3] for flag in flags)], [reward, *own], "results")


@pytest.mark.parametrize("count", [1, 64])
def test_own_values_are_in_place_and_start_at_zero(count: int) -> None:
    with closing(BatchVectorEnv(Quadrupeds, count)) as envs:
        envs.reset(seed=1)
        envs.step(np.ones((count, 8), np.float32))
        assert (envs.task.late == 1).all() and envs.task.late.shape == (count, 8)
        envs.reset()
        assert not envs.task.late.any()
        assert_same(envs.get_attr("late")[0], np.zeros(8), "results")


class Followed(HalfCheetahs):
    """Its first reader of an output is `act`, and the second one `reward`."""

    def act(self, batch: Any, actions: Any) -> None:
        batch.ctrl[...] = actions
        self.x[:] = batch.xpos[:, 1, 0]

    def reward(self, batch: Any) -> Any:
        return batch.geom_xpos[:, 1, 0] - self.x


def test_outputs_are_bound_before_the_first_step_reads_them() -> None:
    with closing(BatchVectorEnv(Followed, 2)) as envs, closing(BatchVectorEnv(Followed, 2)) as late:
        for each in (envs, late):
            each.reset(seed=1)
        assert (envs.task.x == 0).all()
        x = late.batch.get_data(1)
        mujoco.mj_forward(late.batch.model, x)
        envs.step(np.zeros((2, 6), np.float32))
        assert envs.task.x[1] == x.xpos[1, 0] != 0
