"""Tasks on `mujoco.batch` in the APIs: training, tensors, pictures, MuJoCo's viewer."""

from __future__ import annotations

import contextlib
import sys
from contextlib import closing
from types import ModuleType, SimpleNamespace
from typing import Any

import mujoco
import numpy as np
import pytest

from parallel_pool.mujoco_batch import BatchVecEnv, BatchVectorEnv, WorldRandom, WorldView
from tests.apis.mujoco_batch.quadrupeds import Quadrupeds
from tests.contract.sliders import Sliders
from tests.parity.test_mujoco_rendering import needs_opengl
from tests.support.docstrings import run_example
from tests.support.same import assert_same


@pytest.mark.slow
def test_stable_baselines3_trains() -> None:
    from stable_baselines3 import PPO

    with closing(BatchVecEnv(Quadrupeds, 8, seed=0)) as envs:
        model = PPO("MultiInputPolicy", envs, n_steps=16, batch_size=64, seed=0, device="cpu")
        model.learn(256)
        assert envs.env_method("render", indices=[0]) == [None]
        assert envs.has_attr("model") and not envs.has_attr("no_such_name")


def test_arguments_have_stable_baselines3s_names() -> None:
    with closing(BatchVecEnv(Sliders, n_envs=3)) as envs:
        assert envs.num_envs == 3
    with pytest.raises(TypeError, match="num_envs has Stable-Baselines3's name here: give n_envs"):
        BatchVecEnv(Sliders, num_envs=3)
    with pytest.raises(TypeError, match="autoreset_mode is always SAME_STEP for Stable-Baselines"):
        BatchVecEnv(Sliders, 3, autoreset_mode="NextStep")
    with pytest.raises(ValueError, match="n_envs=0: choose 1 or more"):
        BatchVecEnv(Sliders, 0)


def test_tensors_share_the_arrays() -> None:
    import torch

    with closing(BatchVectorEnv(Sliders, 3)) as envs, closing(BatchVectorEnv(Sliders, 3)) as twin:
        tensors = envs.torch()
        assert_same(tensors.reset(seed=1)[0].numpy(), twin.reset(seed=1)[0], "results")
        seen, rewards, *_ = tensors.step(torch.tensor([1, 0, 2]))
        assert_same([seen.numpy(), rewards.numpy()], list(twin.step([1, 0, 2])[:2]), "results")


@pytest.mark.sanitizers
@needs_opengl
def test_chosen_worlds_are_drawn() -> None:
    options: Any = {"render_mode": "rgbd_tuple", "width": 64, "height": 48, "camera_name": "side"}
    with closing(BatchVectorEnv(Quadrupeds, 5, **options)) as envs:
        envs.reset(seed=1)
        for _ in range(10):
            envs.step(np.ones((5, 8), np.float32))
        pictures = envs.render()
        (colours, depth), *_ = envs.pool.call("render", env_ids=[3])
        assert colours.shape == (48, 64, 3) and depth.shape == (48, 64) and len(pictures) == 5
        assert np.array_equal(colours, pictures[3][0]) and np.array_equal(depth, pictures[3][1])
        assert not np.array_equal(colours, pictures[0][0])


@pytest.mark.sanitizers
@needs_opengl
@pytest.mark.parametrize("camera_id", [0, -1])
def test_objects_are_those_of_mujocos_renderer(
    camera_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the first picture and those after it."""
    from mujoco.egl import GLContext
    from mujoco.rendering.classic import gl_context

    # it was chosen when MuJoCo was imported
    monkeypatch.setattr(gl_context, "GLContext", GLContext)
    options: Any = {"width": 64, "height": 48, "camera_id": camera_id}
    # the camera of `mujoco.Renderer`
    free = {"lookat": [0, 0, 0.5], "distance": 3.0, "azimuth": 30.0, "elevation": -20.0}
    options["default_camera_config"] = free
    with closing(
        BatchVectorEnv(Quadrupeds, 3, render_mode="segmentation_array", **options)
    ) as envs:
        envs.reset(seed=1)
        camera = mujoco.MjvCamera()
        for name, value in free.items():
            setattr(camera, name, value)
        model = envs.batch.model
        with closing(mujoco.Renderer(model, 48, 64)) as renderer:
            renderer.enable_segmentation_rendering()
            for _ in range(2):
                for _ in range(10):
                    envs.step(np.ones((3, 8), np.float32))
                for world, picture in enumerate(envs.render()):
                    data = mujoco.MjData(model)
                    envs.batch.get_data(world, data)
                    mujoco.mj_forward(model, data)
                    renderer.update_scene(data, camera if camera_id < 0 else camera_id)
                    assert_same(picture, renderer.render(), "results")
                    # the ground, some parts, and perhaps nothing
                    assert len(np.unique(picture[..., 0])) > 3


@pytest.mark.sanitizers
@needs_opengl
def test_depths_and_colours_are_those_of_gymnasiums_renderer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In the first picture and those after it."""
    from gymnasium.envs.mujoco.mujoco_rendering import MujocoRenderer

    monkeypatch.setenv("MUJOCO_GL", "egl")
    options: Any = {"width": 64, "height": 48, "camera_id": 0}
    with closing(BatchVectorEnv(Quadrupeds, 3, render_mode="rgbd_tuple", **options)) as envs:
        envs.reset(seed=1)
        data = mujoco.MjData(envs.batch.model)
        with closing(MujocoRenderer(envs.batch.model, data, **options)) as renderer:
            for _ in range(2):
                for _ in range(10):
                    envs.step(np.ones((3, 8), np.float32))
                for world, picture in enumerate(envs.render()):
                    envs.batch.get_data(world, data)
                    mujoco.mj_forward(envs.batch.model, data)
                    assert_same(picture, renderer.render("rgbd_tuple"), "results")
                    assert len(np.unique(picture[1])) > 3


def test_render_modes_are_named() -> None:
    modes = "'rgb_array' or 'depth_array' or 'rgbd_tuple' or 'segmentation_array'"
    with pytest.raises(ValueError, match=f"mode='nosuch': choose {modes}"):
        BatchVectorEnv(Quadrupeds, 2, render_mode="nosuch")


class Window:
    """Stands for the window of `mujoco.viewer`."""

    def __init__(self, model: Any, data: Any) -> None:
        self.model, self.data, self.shown, self.is_there = model, data, [], True

    def is_running(self) -> bool:
        return self.is_there

    def lock(self) -> Any:
        return contextlib.nullcontext()

    def sync(self) -> None:
        self.shown.append((self.data.qpos.copy(), self.data.xpos.copy()))

    def close(self) -> None:
        self.is_there = False


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> list[Window]:
    """The windows that were opened, which stand for MuJoCo's own."""
    opened: list[Window] = []

    def launch_passive(model: Any, data: Any) -> Window:
        opened.append(Window(model, data))
        return opened[-1]

    viewer: Any = ModuleType("mujoco.viewer")
    viewer.launch_passive = launch_passive
    monkeypatch.setitem(sys.modules, "mujoco.viewer", viewer)
    monkeypatch.setattr(mujoco, "viewer", viewer, raising=False)
    return opened


def test_the_viewer_shows_one_world_beside_the_batch(windows: list[Window]) -> None:
    with closing(BatchVectorEnv(Quadrupeds, 4)) as envs:
        envs.reset(seed=1)
        with envs.view(2) as view:
            for _ in range(3):
                envs.step(np.ones((4, 8), np.float32))
                view.update()
            (window,) = windows
            assert view.is_open and len(window.shown) == 4
            assert_same(window.shown[-1][0], envs.batch.qpos[2], "results")
            assert window.model.body_mass[1] == envs.batch.expand("body_mass")[2, 1]
            # whoever moves the robot in the window changes nothing in the batch
            before = envs.batch.state.copy()
            window.data.qpos[:] = 0
            assert_same(envs.batch.state, before, "results")
        assert not view.is_open
        view.update()
        assert len(window.shown) == 4
        for wrong in (4, -5, "a"):
            with pytest.raises((IndexError, TypeError, ValueError)):
                envs.view(wrong)  # type: ignore[arg-type]


def test_the_viewers_example_runs(windows: list[Window], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looks closes the window after some steps."""
    monkeypatch.setattr(Window, "is_running", lambda self: len(self.shown) < 5)
    assert run_example("WorldView", WorldView, {"Balance": Quadrupeds}) == ""
    (window,) = windows
    assert len(window.shown) == 5


def test_draws_are_each_worlds_own() -> None:
    """Those of one generator do not depend on the others, whatever is drawn."""

    def drawn(seeds: list[int]) -> list[Any]:
        rng = WorldRandom([np.random.default_rng(seed) for seed in seeds])
        assert len(rng) == len(seeds) == len(list(rng))
        return [
            *(rng.random(), rng.random(3), rng.uniform(-1, [1, 2], 2), rng.standard_normal((2, 2))),
            *(rng.normal(1, 2), rng.integers(5), rng.integers(3, 9, (2,))),
        ]

    together, alone = drawn([1, 2, 3]), drawn([2])
    for many, one in zip(together, alone, strict=True):
        assert many.dtype == one.dtype and len(many) == 3
        assert_same(many[1:2], one, "results")
    reference = np.random.default_rng(2)
    assert alone[0][0] == reference.random()
    assert_same(alone[1][0], reference.random(3), "results")


def test_a_world_answers_for_itself() -> None:
    with closing(BatchVectorEnv(Quadrupeds, 2)) as envs:
        envs.reset(seed=[7, 8])
        envs.step(np.zeros((2, 8), np.float32))
        assert envs.np_random_seed == (7, 8)
        model, data = envs.get_attr("model")[1], envs.get_attr("data")[1]
        assert model.body_mass[1] == envs.batch.expand("body_mass")[1, 1]
        assert_same(data.qpos, envs.batch.qpos[1], "results")
        mine = SimpleNamespace(**dict.fromkeys(("spec", "render_mode")))
        assert [envs.get_attr(name)[0] for name in vars(mine)] == [None, None]


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_the_pool_counts_the_steps_of_each_episode(mode: str) -> None:
    """With SAME_STEP the row of an episode's last step has its number, too."""
    with closing(BatchVectorEnv(Sliders, 1, autoreset_mode=mode)) as envs:
        envs.reset(seed=1)
        found = [int(envs.pool.step([0]).elapsed_step[0]) for _ in range(11)]
    whole = [1, 2, 3, 4, 5]
    assert found == ([*whole, 0, *whole] if mode == "NextStep" else [*whole, *whole, 1])


def test_a_trace_blames_no_world_for_the_time_of_all() -> None:
    with closing(BatchVectorEnv(Sliders, 3, num_threads=1)) as envs:
        envs.reset(seed=1)
        with envs.trace() as trace:
            for _ in range(4):
                envs.step([1, 1, 1])
            envs.reset()
        report = trace.report()
        # the last one is of a reset
        assert report.steps == 15 and "slowest" not in str(report)
        assert "3 x Sliders" in str(report)
