"""Pictures of MuJoCo tasks equal Gymnasium's, pixel by pixel."""

from __future__ import annotations

import functools
import gc
import importlib.util
import math
import os
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.vector import VectorEnv

import parallel_pool
from parallel_pool import MissingDependencyError, Pool, PoolError, StateError
from parallel_pool._engine import registry
from parallel_pool._engine.pool import write_state
from parallel_pool._families.mujoco_renderer import MODES, Renderer, model_of
from parallel_pool.compat.gymnasium import PoolVectorEnv
from tests.support.same import assert_same
from tests.support.sampling import sampled, thinned

pytestmark = pytest.mark.proven("csrc/envs/mujoco", "csrc/envs/classic_control")

TASKS = [found for found in registry.builtin().values() if found.family == "mujoco"]
IDS = [task.id for task in TASKS if task.reference.startswith("gymnasium")]
# those that `make check` tests
QUICK = ("HalfCheetah-v5",)
ALIASES = [task.id for task in TASKS if task.id not in IDS]

# small, because they are drawn in software
SIZE = {"width": 64, "height": 48}


@functools.cache
def has_opengl() -> bool:
    """Returns whether MuJoCo's own module opens a context."""
    script = "from mujoco.egl import GLContext; GLContext(1, 1).make_current()"
    environment = {**os.environ, "MUJOCO_GL": "egl"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, check=False
    )
    return done.returncode == 0


def needs_opengl(test: Callable[..., None]) -> Callable[..., None]:
    """Marks a test that needs OpenGL. Without it, the test must raise our MissingDependencyError.

    So such a test draws with parallel_pool before it draws with Gymnasium.
    """

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        if has_opengl():
            test(*args, **kwargs)
            return
        with pytest.raises(MissingDependencyError, match="install libegl1"):
            test(*args, **kwargs)

    return run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sets MUJOCO_GL, without which Gymnasium opens a screen, and a folder for MUJOCO_LOG.TXT."""
    monkeypatch.setenv("MUJOCO_GL", "egl")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@contextmanager
def pair(env: str, num_envs: int, **kwargs: Any) -> Iterator[tuple[VectorEnv, VectorEnv]]:
    """Yields Gymnasium's environments and ours, made by the same call and reset with one seed."""
    with warnings.catch_warnings():
        # Gymnasium warns that v4 ids are out of date
        warnings.simplefilter("ignore")
        made = [
            gymnasium.make_vec(env, num_envs, vectorization_mode=mode, **SIZE | kwargs)
            for mode in ("sync", "parallel_pool")
        ]
    try:
        for each in made:
            each.reset(seed=3)
        yield made[0], made[1]
    finally:
        for each in made:
            each.close()
        # Gymnasium's viewers free their OpenGL objects when they are collected, in the context that
        # is current then, which must not be the next test's. For the same reason a test must not
        # have two pairs: its variables keep the first alive.
        made.clear()
        gc.collect()


def advance(*envs: VectorEnv, steps: int = 7) -> None:
    """Steps all environments with the same actions."""
    envs[0].action_space.seed(5)
    for _ in range(steps):
        action = envs[0].action_space.sample()
        for each in envs:
            each.step(action)


def is_drawing(picture: Any) -> bool:
    """Returns whether a picture, and each of its parts, has more than one value."""
    parts = picture if isinstance(picture, tuple) else (picture,)
    return all(np.ptp(part) > 0 for part in parts)


# -------------------------------------------------------------------------------------- pixels --


@pytest.mark.slow
@pytest.mark.parametrize("env", sampled(IDS, QUICK))
@needs_opengl
def test_every_task_looks_the_same(env: str) -> None:
    """After a reset and after steps, colours and depth."""
    with pair(env, 1, render_mode="rgbd_tuple") as (theirs, ours):
        first = ours.render()
        assert_same(first, theirs.render(), "reset")
        assert is_drawing(first[0])
        advance(theirs, ours)
        second = ours.render()
        assert_same(second, theirs.render(), "steps")
        assert not np.array_equal(first[0][1], second[0][1])
        assert ours.metadata == theirs.metadata
        for name in ("width", "height", "camera_id", "camera_name", "render_mode"):
            assert ours.get_attr(name) == theirs.get_attr(name)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@needs_opengl
def test_every_mode(mode: str) -> None:
    with pair("Ant-v5", 1, render_mode=mode) as (theirs, ours):
        assert_same(ours.render(), theirs.render(), "reset")


@pytest.mark.parametrize("mode", MODES)
@needs_opengl
@pytest.mark.slow
def test_every_list(mode: str) -> None:
    with pair("Ant-v5", 1, render_mode=f"{mode}_list", max_episode_steps=2) as (theirs, ours):
        advance(theirs, ours, steps=4)
        drawn = ours.render()
        # frames since the last reset
        assert [len(frames) for frames in drawn] == [2]
        assert_same(drawn, theirs.render(), "list")
        assert_same(ours.render(), ([],), "list again")
        assert ours.metadata == theirs.metadata


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"camera_id": 0}, {"camera_name": "track"}], ids=str)
@needs_opengl
def test_cameras(options: Mapping[str, Any]) -> None:
    assert_looks_the_same(options)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"camera_id": -1},
        {"default_camera_config": None},
        {"default_camera_config": {"distance": 2.5, "azimuth": 20, "elevation": -60.0}},
        {"default_camera_config": {"lookat": np.array([0.1, 0.2, 1.0])}},
        {"default_camera_config": {"type": mujoco.mjtCamera.mjCAMERA_TRACKING, "trackbodyid": 1}},
        {"max_geom": 50},
        {"visual_options": {mujoco.mjtVisFlag.mjVIS_JOINT: True, 0: True}},
        {"visual_options": {mujoco.mjtVisFlag.mjVIS_CONTACTFORCE: True, 14: True}},
        # larger than the model's buffer
        {"width": 700, "height": 20},
        {"width": 1, "height": 1},
        {"frame_skip": 2},
    ],
    ids=str,
)
@needs_opengl
def test_options(options: Mapping[str, Any]) -> None:
    assert_looks_the_same(options)


def assert_looks_the_same(options: Mapping[str, Any]) -> None:
    with pair("Ant-v5", 1, render_mode="rgb_array", **options) as (theirs, ours):
        assert_same(ours.render(), theirs.render(), "reset")
        advance(theirs, ours, steps=40)
        assert_same(ours.render(), theirs.render(), "steps")
        assert ours.metadata == theirs.metadata


@needs_opengl
@pytest.mark.slow
def test_the_free_camera_looks_at_the_first_picture() -> None:
    """Each environment has its own camera, whichever was drawn before."""
    with pair("HalfCheetah-v5", 3, render_mode="rgb_array", reset_noise_scale=0.5) as (
        theirs,
        ours,
    ):
        assert isinstance(theirs, gymnasium.vector.SyncVectorEnv)
        assert isinstance(ours, PoolVectorEnv)
        renderer = Renderer(ours.pool, **SIZE)
        seen = []
        for env_id in (2, 0, 1):
            for drawn in (2, env_id):
                seen.append(renderer.draw(drawn))
                assert_same(seen[-1], theirs.envs[drawn].render(), f"{drawn}")
            advance(theirs, ours, steps=20)
        renderer.close()
        # a new renderer's camera looks at the present positions
        late = Renderer(ours.pool, **SIZE)
        assert not np.array_equal(late.draw(2), theirs.envs[2].render())
        late.close()


@pytest.mark.slow
@needs_opengl
def test_a_picture_after_a_snapshot() -> None:
    with pair("Ant-v5", 2, render_mode="rgb_array", camera_id=0) as (theirs, ours):
        assert isinstance(ours, PoolVectorEnv)
        advance(theirs, ours)
        states = ours.pool.get_state()
        advance(ours)
        ours.reset(seed=9)
        ours.pool.set_state(states)
        assert_same(ours.render(), theirs.render(), "restored")


# --------------------------------------------------------------------------------------- pools --


@pytest.mark.slow
@needs_opengl
def test_any_environments_of_a_pool() -> None:
    with (
        Pool("Ant-v5", 3, seed=3) as pool,
        pair("Ant-v5", 3, render_mode="rgb_array", width=480, height=480) as (theirs, _),
    ):
        pool.reset()
        drawn = pool.render([2, 0])
        expected = theirs.call("render")
        assert_same(drawn, np.stack([expected[2], expected[0]]), "two")


@pytest.mark.slow
@pytest.mark.parametrize("api", ["gym", "dm"])
@needs_opengl
def test_envpool_draws(api: str) -> None:
    size = {"render_width": 64, "render_height": 48}
    options = {"num_envs": 3, "seed": 3, "render_mode": "rgb_array", "render_env_id": 1}
    with (
        Pool("Ant-v5", 3, seed=3) as core,
        parallel_pool.make("Ant-v5", api, **options, **size) as pool,
    ):
        core.reset(), pool.reset()
        free, fixed = Renderer(core, **SIZE), Renderer(core, **SIZE, camera_id=0)
        drawn = pool.render([2, 0])
        assert_same(drawn, np.stack([free.draw(2), free.draw(0)]), "env_ids")
        assert_same(pool.render(1, camera_id=0), fixed.draw(1)[None], "camera_id")
        assert_same(pool.render(), free.draw(1)[None], "render_env_id")
        with pytest.raises(ValueError, match="camera_id=1: choose -1 to 0"):
            pool.render(camera_id=1)
        options |= {"width": 64, "height": 48, "render_camera_id": 0}
        with parallel_pool.make("Ant-v5", api, **options) as pool:
            pool.reset()
            assert_same(pool.render(), fixed.draw(1)[None], "render_camera_id")
        free.close()
        fixed.close()


@pytest.mark.slow
@needs_opengl
def test_a_size_of_0_is_the_tasks_own() -> None:
    with parallel_pool.make("Ant-v5", "gym", render_width=0, render_height=48) as pool:
        pool.reset()
        assert pool.render().shape == (1, 48, 480, 3)


@pytest.mark.parametrize("env", ALIASES)
@needs_opengl
@pytest.mark.slow
def test_ids_of_envpool_alone_look_like_v4(env: str) -> None:
    def draw(task: str) -> Any:
        with parallel_pool.make(task, "gym", **SIZE, seed=1) as pool:
            pool.reset()
            return pool.render()

    drawn = draw(env)
    assert is_drawing(drawn)
    v4 = f"{env.partition('-')[0]}-v4"
    if v4 in IDS:
        assert_same(drawn, draw(v4), v4)


@pytest.mark.slow
@needs_opengl
def test_a_pool_that_drew_can_be_dropped() -> None:
    """Its threads end at once, without the garbage collector."""
    gc.disable()
    try:
        pool = Pool("Ant-v5", 2)
        pool.reset()
        pool.render([1])
        gone = weakref.ref(pool)
        del pool
        assert gone() is None
    finally:
        gc.enable()


@needs_opengl
@pytest.mark.slow
def test_from_any_thread() -> None:
    with Pool("Ant-v5", 2, seed=0) as pool:
        pool.reset()
        renderer = Renderer(pool, **SIZE)
        expected = [renderer.draw(env_id) for env_id in (0, 1)]
        drawn: list[tuple[int, Any]] = []

        def draw(env_id: int) -> None:
            drawn.extend((env_id, renderer.draw(env_id)) for _ in range(5))

        threads = [threading.Thread(target=draw, args=[i % 2]) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(drawn) == 20
        for env_id, picture in drawn:
            assert_same(picture, expected[env_id], f"{env_id}")
        renderer.close()
        # a closed renderer can draw again
        assert_same(renderer.draw(0), expected[0], "again")
        renderer.close()


@needs_opengl
@pytest.mark.slow
def test_others_keep_their_opengl() -> None:
    """Gymnasium's viewers rely on their context being current, and other code may as well."""
    options = {**SIZE, "render_mode": "rgb_array"}
    with Pool("Ant-v5", 1, seed=0) as ants, Pool("HalfCheetah-v5", 1, seed=0) as cheetahs:
        ants.reset(), cheetahs.reset()
        ant, cheetah = Renderer(ants, **SIZE), Renderer(cheetahs, **SIZE)
        drawn = ant.draw(0), cheetah.draw(0)
        swimmer = gymnasium.make("Swimmer-v5", **options)
        swimmer.reset(seed=0)
        alone = swimmer.render()
        context = mujoco.egl.EGL.eglGetCurrentContext()
        assert context
        for _ in range(2):
            assert_same((ant.draw(0), cheetah.draw(0)), drawn, "ours")
            assert_same(swimmer.render(), alone, "theirs")
        ant.close()
        assert_same(cheetah.draw(0), drawn[1], "ours after a renderer was closed")
        assert_same(swimmer.render(), alone, "theirs after a renderer was closed")
        assert mujoco.egl.EGL.eglGetCurrentContext().address == context.address
        swimmer.close()
        cheetah.close()
        assert not mujoco.egl.EGL.eglGetCurrentContext()


# ------------------------------------------------------------------------------------- refused --


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"width": 0}, ValueError, "width=0: choose 1 to 16384"),
        ({"height": 2.5}, TypeError, "height=2.5 is a float: give an integer"),
        ({"max_geom": -1}, ValueError, "max_geom=-1"),
        ({"camera_id": 1}, ValueError, "camera_id=1: choose -1 to 0"),
        ({"camera_id": "0"}, TypeError, "camera_id='0' is a str"),
        ({"camera_name": "trak"}, ValueError, "camera_name='trak': choose 'track'"),
        ({"camera_name": 0}, TypeError, "camera_name=0 is an int"),
        ({"camera_id": 0, "camera_name": "track"}, ValueError, "both name a camera: give one"),
        ({"default_camera_config": 3}, TypeError, "give a dict"),
        ({"default_camera_config": {"dist": 3}}, ValueError, "a camera has azimuth, distance"),
        (
            {"default_camera_config": {"distance": "3"}},
            TypeError,
            "distance='3': give something like",
        ),
        ({"default_camera_config": {"lookat": [0, 0]}}, ValueError, r"lookat=\[0, 0\]: give some"),
        ({"visual_options": [1]}, TypeError, "give a dict"),
        ({"visual_options": {99: True}}, ValueError, "visual_options=99: choose 0 to"),
        ({"visual_options": {1: 2}}, TypeError, "visual_options=2 is an int: give True or False"),
    ],
    ids=str,
)
def test_wrong_options(options: Mapping[str, Any], error: type[Exception], message: str) -> None:
    """They are refused when the environments are made, even if nothing is drawn."""
    for mode in (None, "rgb_array"):
        with pytest.raises(error, match=message):
            parallel_pool.make_vec("Ant-v5", 2, render_mode=mode, **options)
    for api in ("gym", "dm"):
        with pytest.raises(error, match=message):
            parallel_pool.make("Ant-v5", api, **options)


def test_wrong_calls() -> None:
    for mode in ("human", "ansi", "human_list"):
        with pytest.raises(ValueError, match=f"render_mode='{mode}': choose 'rgb_array' or 'depth"):
            parallel_pool.make_vec("Ant-v5", 2, render_mode=mode)
    with pytest.raises(TypeError, match="render_width and width are the same"):
        parallel_pool.make("Ant-v5", "gym", render_width=3, width=3)
    # families that are not drawn by a renderer lack its options
    with pytest.raises(TypeError, match="no option width"):
        parallel_pool.make_vec("CartPole-v1", width=3)
    with pytest.raises(TypeError, match="no option render_width"):
        parallel_pool.make("CartPole-v1", "gym", render_width=3)
    with (
        parallel_pool.make("CartPole-v1", "gym") as pool,
        pytest.raises(ValueError, match="camera_id=0: CartPole-v1 has no cameras"),
    ):
        pool.render(camera_id=0)
    with Pool("Ant-v5", 2) as pool:
        with pytest.raises(ValueError, match="mode='human': choose 'rgb_array'"):
            Renderer(pool, "human")
        with pytest.raises(StateError, match="environment 0 is not reset: there is nothing to see"):
            pool.render()
        pool.reset()
        with pytest.raises(ValueError, match="env_id 2: choose 0 to 1"):
            pool.render([2])
        pool.send(np.zeros((2, 8), np.float32))
        with pytest.raises(StateError, match="environment 1 is in flight"):
            pool.render([1])
        pool.recv()


@pytest.mark.slow
@needs_opengl
def test_too_many_shapes(folder: Path) -> None:
    """MuJoCo draws those that fit. Its warning becomes Python's, and no log file is written."""
    with Pool("Ant-v5", 1) as pool:
        pool.reset()
        renderer = Renderer(pool, **SIZE, max_geom=2)
        with pytest.warns(UserWarning, match="Ant-v5: Pre-allocated visual geom buffer is full"):
            renderer.draw(0)
        renderer.close()
    assert not list(folder.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    "environment",
    [
        # GLVND without a vendor's library
        {"MUJOCO_GL": "egl", "__EGL_VENDOR_LIBRARY_FILENAMES": "/nowhere"},
        {"MUJOCO_EGL_DEVICE_ID": "99"},
        # a screen that does not exist
        {"DISPLAY": ":99"},
    ],
    ids=str,
)
def test_without_opengl(environment: Mapping[str, str]) -> None:
    """Every call raises the error. MuJoCo itself would end the process at the second."""
    script = """
import numpy as np, parallel_pool

env = parallel_pool.make_vec("Ant-v5", 2, render_mode="rgb_array")
env.reset(seed=0)
for _ in range(3):
    try:
        env.render()
    except parallel_pool.MissingDependencyError as error:
        print(error)
    env.step(np.zeros((2, 8)))
env.close()
"""
    names = ("MUJOCO_GL", "DISPLAY", "WAYLAND_DISPLAY")
    kept = {name: value for name, value in os.environ.items() if name not in names}
    done = subprocess.run(
        [sys.executable, "-c", script], env=kept | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    backend = "glfw" if "DISPLAY" in environment else "egl"
    assert len(lines) == 3
    for line in lines:
        assert f"MUJOCO_GL={backend} finds none" in line
        assert "install libegl1 and" in line and "libosmesa6" in line
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("backend", ["egl", "osmesa"])
def test_without_its_library(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", backend)
    monkeypatch.setitem(sys.modules, f"mujoco.{backend}", None)
    with Pool("Ant-v5", 1) as pool:
        pool.reset()
        with pytest.raises(MissingDependencyError, match=f"MUJOCO_GL={backend} finds none"):
            pool.render()


def test_mujoco_itself_needs_what_mujoco_gl_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing mujoco imports its backend, and PyOpenGL raises errors of its own."""

    class Finder:
        @staticmethod
        def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
            if name == "mujoco":
                raise AttributeError("'NoneType' object has no attribute 'glGetError'")

    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    with monkeypatch.context() as patch:
        patch.delitem(sys.modules, "mujoco")
        patch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
        patch.setattr(importlib.util, "find_spec", lambda name: object())
        with pytest.raises(MissingDependencyError, match="imported with MUJOCO_GL=osmesa") as it:
            Pool("Ant-v5")
    assert "libosmesa6" in str(it.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "call",
    [
        "parallel_pool.make_vec('Ant-v5', 2)",
        "parallel_pool.make('Ant-v5', 'gymnasium', num_envs=2)",
        "parallel_pool.Pool('Ant-v5', 2)",
        "gymnasium.make_vec('Ant-v5', 2, vectorization_mode='parallel_pool')",
    ],
)
def test_every_api_says_what_mujoco_gl_needs(call: str) -> None:
    script = f"""
import gymnasium, parallel_pool

try:
    {call}
except parallel_pool.MissingDependencyError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"MUJOCO_GL": "nonsense"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "can't be imported with MUJOCO_GL=nonsense" in done.stdout


def test_an_unknown_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "vulkan")
    with pytest.raises(ValueError, match="MUJOCO_GL='vulkan': choose 'egl' or 'glfw' or 'osmesa'"):
        parallel_pool.make_vec("Ant-v5", 2, render_mode="rgb_array")


def test_without_gymnasiums_renderer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gymnasium's renderer imports imageio and glfw, which may be missing."""
    monkeypatch.setitem(sys.modules, "gymnasium.envs.mujoco.mujoco_rendering", None)
    with Pool("Ant-v5", 1) as pool:
        pool.reset()
        with pytest.raises(MissingDependencyError, match=r"pip install 'parallel_pool\[mujoco\]'"):
            pool.render()


# -------------------------------------------------------------------------------------- expose --

FIELDS = (
    *("qpos", "qvel", "qacc", "ctrl", "act", "time", "xpos", "xquat", "geom_xpos", "geom_xmat"),
    *("cvel", "cinert", "cfrc_ext", "qfrc_actuator", "qfrc_constraint", "qacc_warmstart", "ncon"),
)


@pytest.mark.quick(1)
@pytest.mark.parametrize("env", thinned(IDS, 4))
def test_expose_is_gymnasiums_mjdata(env: str) -> None:
    """All fields that a task or a picture reads; contact forces only if the task reads them."""
    with pair(env, 2) as (theirs, ours):
        assert isinstance(theirs, gymnasium.vector.SyncVectorEnv)
        assert isinstance(ours, PoolVectorEnv)
        pool = ours.pool
        data = mujoco.MjData(model_of(pool))
        for steps in (0, 1, 30):
            advance(theirs, ours, steps=steps)
            for env_id in (1, 0):
                write_state(pool, env_id, data._address)
                expected: Any = theirs.envs[env_id].unwrapped
                for name in FIELDS:
                    if name == "cfrc_ext" and not reads_forces(pool):
                        continue
                    where = f"{name} of {env_id} after {steps}"
                    assert_same(getattr(data, name), getattr(expected.data, name), where)


def reads_forces(pool: Pool) -> bool:
    """Returns whether the task reads contact forces. Otherwise they are not computed."""
    return "contact_cost_weight" in pool.spec.options


def test_expose_refused() -> None:
    with Pool("CartPole-v1", 1) as pool:
        pool.reset()
        with pytest.raises(StateError, match="CartPole-v1 keeps its simulation to itself"):
            write_state(pool, 0, 1)
    other = mujoco.MjData(mujoco.MjModel.from_xml_string("<mujoco><worldbody/></mujoco>"))
    with Pool("Ant-v5", 2) as pool:
        data = mujoco.MjData(model_of(pool))
        address = data._address
        with pytest.raises(StateError, match="environment 1 is not reset: there is nothing to see"):
            write_state(pool, 1, address)
        pool.reset()
        with pytest.raises(ValueError, match="env_id 2: choose 0 to 1"):
            write_state(pool, 2, address)
        with pytest.raises(ValueError, match="address 0"):
            write_state(pool, 0, 0)
        with pytest.raises(TypeError, match="address=inf is a float"):
            write_state(pool, 0, math.inf)  # type: ignore[arg-type]
        with pytest.raises(PoolError, match="can't be exposed: MuJoCo: "):
            write_state(pool, 0, other._address)
        pool.send(np.zeros((2, 8), np.float32))
        with pytest.raises(StateError, match="environment 0 is in flight"):
            write_state(pool, 0, address)
        pool.recv()
        write_state(pool, 0, address)
    with pytest.raises(parallel_pool.ClosedError):
        write_state(pool, 0, address)
