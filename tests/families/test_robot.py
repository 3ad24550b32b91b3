"""Robots of a user's own: the bits of Gymnasium's task, and of a plain loop with `mujoco`."""

from __future__ import annotations

import copy
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest

import parallel_pool
from parallel_pool import Pool, each, each_reset
from parallel_pool import __main__ as cli
from parallel_pool._engine import registry
from parallel_pool._families.mujoco import assets
from parallel_pool.errors import EnvError
from tests.tools.check_sources import OF_CHECK

pytestmark = pytest.mark.proven(*OF_CHECK, "tests/families/robots")

HERE = Path(__file__).parent / "robots"
DEFAULTS = {"friction": 1.0, "gravity": -9.81, "push": 20.0, "gain": 1.0, "fault": 0.0}


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test loads is known to that test alone."""
    monkeypatch.setattr(registry, "loaded_by_id", {})
    monkeypatch.setattr(registry, "origins_by_id", {})
    before = dict(gymnasium.registry)
    yield
    gymnasium.registry.clear()
    gymnasium.registry.update(before)


@pytest.fixture
def quadruped() -> str:
    (task_id,) = parallel_pool.load_source(HERE / "quadruped.c")
    return task_id


@pytest.fixture
def cheetah(tmp_path: Path) -> Path:
    """A folder with Gymnasium's model and a robot's file."""
    shutil.copy(assets() / "half_cheetah.xml", tmp_path)
    shutil.copy(HERE / "half_cheetah.c", tmp_path)
    return tmp_path


# ------------------------------------------------------------------------------------ Gymnasium --


@pytest.mark.sanitizers
@pytest.mark.filterwarnings("ignore:.*settotalmass")
@pytest.mark.parametrize("seed", [0, 7, 123456789])
def test_a_half_cheetah_equals_gymnasiums(cheetah: Path, seed: int) -> None:
    (task_id,) = parallel_pool.load_source(cheetah / "half_cheetah.c")
    own = gymnasium.make(task_id)
    reference = gymnasium.make("HalfCheetah-v5", max_episode_steps=300)
    actions = np.random.default_rng(seed).uniform(-1, 1, (1000, 6)).astype(np.float32)
    compare(own.reset(seed=seed), reference.reset(seed=seed), "the first reset")
    for step, action in enumerate(actions):
        result = own.step(action)
        compare(result, reference.step(action), f"step {step}")
        if result[2] or result[3]:
            compare(own.reset(), reference.reset(), f"the reset after step {step}")
    own.close()


def compare(own: Any, reference: Any, where: str) -> None:
    """Compares results of Gymnasium's API, with dtypes and infos."""
    assert own[0].dtype == reference[0].dtype and own[0].tobytes() == reference[0].tobytes(), where
    assert own[1:-1] == reference[1:-1], where
    shown = {name: value for name, value in own[-1].items() if not name.startswith("_")}
    assert shown.keys() == reference[-1].keys(), where
    for name, value in reference[-1].items():
        same = np.asarray(shown[name])
        assert same.dtype == np.asarray(value).dtype and same == value, f"{where}: {name}"


# ----------------------------------------------------------------------------------- plain loop --


class Quadruped:
    """The robot of quadruped.c, as one would write it with `mujoco` alone."""

    def __init__(self, rng: np.random.Generator, **options: float) -> None:
        self.rng, self.options = rng, {**DEFAULTS, **options}
        self.file = mujoco.MjModel.from_xml_path(str(HERE / "quadruped.xml"))

    def reset(self) -> dict[str, Any]:
        options, rng = self.options, self.rng
        model = self.model = copy.copy(self.file)
        self.data = data = mujoco.MjData(model)
        self.elapsed = 0
        self.waiting = [np.zeros(model.nu), np.zeros(model.nu)]
        self.payload = rng.uniform(0, 2)
        model.geom_friction[:, 0] *= options["friction"]
        model.actuator_gainprm[:, 0] *= options["gain"]
        model.body("torso").mass[0] += self.payload
        model.opt.gravity[2] = options["gravity"]
        mujoco.mj_setConst(model, data)
        mujoco.mj_resetData(model, data)
        data.qpos[7:] += rng.uniform(-0.1, 0.1, model.nq - 7)
        data.qvel += 0.1 * rng.standard_normal(model.nv)
        mujoco.mj_forward(model, data)
        return self.show()

    def show(self) -> dict[str, Any]:
        data = self.data
        self.x = data.qpos[0]
        touches = [data.sensor(f"touch {foot}").data[0] for foot in ("fl", "fr", "bl", "br")]
        return {
            "obs": np.concatenate([data.qpos[2:], data.qvel, data.sensordata]),
            "feet": np.array([touch > 0 for touch in touches], np.int64),
            "payload": self.payload,
            "spin": np.float32(data.sensor("gyro").data[2]),
        }

    def step(self, action: np.ndarray[Any, Any]) -> tuple[dict[str, Any], float, bool]:
        data, push = self.data, self.options["push"]
        self.waiting.append(action.astype(float))
        data.ctrl[:] = self.waiting.pop(0)
        if self.elapsed % 10 == 0:
            data.body("torso").xfrc_applied[:3] = self.rng.uniform(-push, push, 3)
        self.elapsed += 1
        for _ in range(4):
            mujoco.mj_step(self.model, data)
        quat = data.sensor("orientation").data
        up = 1 - 2 * (quat[1] * quat[1] + quat[2] * quat[2])
        reward = (data.qpos[0] - self.x) * 10 + up
        terminated = up < 0.5 or data.qpos[2] < 0.12
        return self.show(), float(reward), bool(terminated)


def assert_row(batch: Any, row: int, expected: dict[str, Any], where: str) -> None:
    for name, value in expected.items():
        shown = getattr(batch, name)[row]
        assert shown.dtype == np.asarray(value).dtype, f"{where}: {name}"
        assert shown.tobytes() == np.asarray(value).tobytes(), f"{where}: {name}"


VALUES = {
    "none": {},
    "drawn": {
        "friction": each([0.5, 1.0, 2.0]),
        "gravity": each_reset(-12.0, -5.0),
        "gain": each_reset([0.8, 1.0, 1.2]),
    },
}


@pytest.mark.quick(1, sanitizers=True)
@pytest.mark.parametrize("values", VALUES)
def test_a_quadruped_equals_a_plain_loop(quadruped: str, values: str) -> None:
    count, actions = 3, np.random.default_rng(5).uniform(-1, 0.2, (400, 3, 8)).astype(np.float32)
    pool = Pool(quadruped, count, seed=11, options=VALUES[values], num_threads=2)
    loops = [Quadruped(np.random.default_rng(11 + i)) for i in range(count)]
    batch, resets = pool.reset(), [True] * count
    falls = 0
    for step in range(len(actions)):
        for i, loop in enumerate(loops):
            where = f"environment {i}, step {step}"
            if resets[i]:
                drawn = pool.option_values()
                loop.options |= {name: float(drawn[name][i]) for name in DEFAULTS if name in drawn}
                assert_row(batch, i, loop.reset(), where)
            elif step:
                expected, reward, terminated = loop.step(actions[step - 1, i])
                assert_row(batch, i, expected, where)
                assert batch.reward[i] == np.float32(reward), where
                assert batch.terminated[i] == terminated, where
                falls += terminated
        ended = batch.terminated | batch.truncated
        batch = pool.step(actions[step])
        resets = list(ended)
    assert falls > 2
    pool.close()


def test_a_snapshot_brings_back_the_values_of_the_model(quadruped: str) -> None:
    """The values are not in it, and are computed again, on a thread that has others' values."""
    options: dict[str, Any] = {"gravity": each_reset(-12.0, -5.0), "friction": each_reset(0.5, 2.0)}
    actions = np.random.default_rng(1).uniform(-1, 0.2, (60, 4, 8)).astype(np.float32)
    with (
        Pool(quadruped, 4, seed=3, options=options) as pool,
        Pool(quadruped, 4, seed=9, options=options) as other,
    ):
        pool.reset()
        other.reset()
        for action in actions[:20]:
            pool.step(action)
            other.step(action)
        other.set_state(pool.get_state())
        for action in actions[20:]:
            one, two = pool.step(action), other.step(action)
            assert one.obs.tobytes() == two.obs.tobytes()
            assert one.reward.tobytes() == two.reward.tobytes()


def test_the_model_of_the_file_stays_as_it_is(quadruped: str) -> None:
    """Environments without values of their own are not affected by others on the same threads."""
    actions = np.random.default_rng(1).uniform(-1, 0.2, (60, 2, 8)).astype(np.float32)
    with (
        Pool(quadruped, 2, seed=3) as alone,
        Pool(quadruped, 2, seed=3, options={"gravity": each([-9.81, -1.0])}) as mixed,
    ):
        alone.reset()
        mixed.reset()
        for action in actions:
            one, two = alone.step(action), mixed.step(action)
            assert one.obs[0].tobytes() == two.obs[0].tobytes()
        assert one.obs[1].tobytes() != two.obs[1].tobytes()


# --------------------------------------------------------------------------------------- faults --


@pytest.mark.parametrize(("fault", "text"), [(1, "MuJoCo: a knee is broken"), (2, "fault=2")])
def test_an_error_is_that_environments_alone(quadruped: str, fault: int, text: str) -> None:
    options = {"fault": each([0.0, float(fault), 0.0])}
    action = np.zeros((3, 8), np.float32)
    with Pool(quadruped, 3, seed=3, options=options) as pool, Pool(quadruped, 3, seed=3) as sound:
        pool.reset()
        sound.reset()
        for _ in range(2):
            with pytest.raises(EnvError, match=text) as caught:
                pool.step(action)
            assert caught.value.env_ids == (1,)
            batch: Any = caught.value.batch
            assert np.array_equal(batch.obs[[0, 2]], sound.step(action).obs[[0, 2]])
            # the failed one begins a new episode
            batch = pool.step(action)
            assert np.array_equal(batch.obs[[0, 2]], sound.step(action).obs[[0, 2]])
            assert batch.elapsed_step[1] == 0


def test_a_simulation_that_diverges_ends_its_episode(quadruped: str) -> None:
    """MuJoCo resets it, so that the observation is finite; the others go on."""
    options = {"fault": each([0.0, 3.0])}
    action = np.zeros((2, 8), np.float32)
    with Pool(quadruped, 2, seed=3, options=options) as pool, Pool(quadruped, 2, seed=3) as sound:
        pool.reset()
        sound.reset()
        assert math.isnan(pool.step(action).obs[1].sum())
        sound.step(action)
        batch = pool.step(action)
        assert batch.terminated.tolist() == [False, True]
        assert batch.reward[1] == -100 and np.isfinite(batch.obs).all()
        assert batch.obs[0].tobytes() == sound.step(action).obs[0].tobytes()
        assert pool.step(action).elapsed_step.tolist() == [3, 0]


# ----------------------------------------------------------------------------------------- APIs --


@pytest.mark.slow
def test_both_kinds_of_files_pass_all_checks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(HERE, tmp_path, dirs_exist_ok=True)
    file = tmp_path / "my_robot.c"
    assert cli.main(["new", str(file), "--mujoco", str(tmp_path / "quadruped.xml")]) == 0
    for each_file in (file, tmp_path / "quadruped.c"):
        assert cli.main(["check", str(each_file)]) == 0, capsys.readouterr().out


@pytest.mark.sanitizers
@pytest.mark.filterwarnings("ignore:.*settotalmass")
@pytest.mark.parametrize("model", ["half_cheetah.xml", "quadruped.xml", "pendulum.xml"])
def test_a_start_is_simulated(model: str, tmp_path: Path) -> None:
    shutil.copy(assets() / "half_cheetah.xml", tmp_path)
    shutil.copytree(HERE, tmp_path, dirs_exist_ok=True)
    (tmp_path / "pendulum.xml").write_text(
        "<mujoco><worldbody><body name='arm'><joint name='a \"joint\"\\?' axis='0 1 0'/>"
        "<geom size='0.1' pos='0 0 -1'/></body></worldbody>"
        "<actuator><motor joint='a \"joint\"\\?'/></actuator></mujoco>"
    )
    file = tmp_path / "my_robot.c"
    assert cli.main(["new", str(file), "--mujoco", str(tmp_path / model)]) == 0
    (task_id,) = parallel_pool.load_source(file)
    assert task_id == "mine/MyRobot-v0"
    with Pool(task_id, 2, seed=1, options={"mass": each_reset(0.5, 2.0)}) as pool:
        pool.reset()
        action = np.zeros((2, *pool.spec.action_space().shape), np.float32)
        for _ in range(20):
            assert np.isfinite(pool.step(action).obs).all()


@pytest.mark.sanitizers
def test_a_change_of_an_included_file_is_seen(tmp_path: Path) -> None:
    shutil.copytree(HERE, tmp_path, dirs_exist_ok=True)
    parallel_pool.load_source(tmp_path / "quadruped.c")
    defaults = tmp_path / "parts" / "leg_defaults.xml"
    text = defaults.read_text().replace("</mujoco>", "<sensor><clock name='t'/></sensor></mujoco>")
    (task_id,) = parallel_pool.load_source(tmp_path / "quadruped.c")
    with Pool(task_id, 1) as pool:
        before = pool.reset().obs.shape
    defaults.write_text(text)
    (task_id,) = parallel_pool.load_source(tmp_path / "quadruped.c")
    with Pool(task_id, 1) as pool:
        assert pool.reset().obs.shape[1] == before[1] + 1


@pytest.mark.sanitizers
def test_pictures_are_those_of_mujocos_renderer(quadruped: str) -> None:
    pytest.importorskip("mujoco.egl")
    env = gymnasium.make(quadruped, render_mode="rgb_array", camera_name="side")
    env.reset(seed=4)
    first = env.render()
    for _ in range(10):
        env.step(np.full(8, -0.2, np.float32))
    second = env.render()
    assert first.shape == (480, 480, 3) and first.std() > 5 and (first != second).any()
    env.close()
