"""Pictures of MuJoCo environments, drawn by the renderer of the Gymnasium tasks that they equal."""

from __future__ import annotations

import contextlib
import copy
import importlib
import inspect
import os
import threading
import warnings
import weakref
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool.envs.mujoco import INSTALL, OPENGL, listening
from parallel_pool.errors import MissingDependencyError
from parallel_pool.specs import Option

if TYPE_CHECKING:
    from parallel_pool.buffers import Array
    from parallel_pool.pool import Pool

MODES = ("rgb_array", "depth_array", "rgbd_tuple")

# what the task's class in Gymnasium gives to the free camera
TASKS_OWN: Mapping[str, Any] = MappingProxyType({})

# what Gymnasium's environments are told about pictures, and its defaults
OPTIONS: Mapping[str, Any] = MappingProxyType(
    {
        "width": 480,
        "height": 480,
        "camera_id": None,
        "camera_name": None,
        "default_camera_config": TASKS_OWN,
        "max_geom": 1000,
        "visual_options": None,
    }
)

PIXELS = {name: Option(name, "int", 480, 1, 2**14, "pixels") for name in ("width", "height")}
MAX_GEOM = Option("max_geom", "int", 1000, 1, 10**7, "shapes in one picture")

BACKENDS = ("egl", "glfw", "osmesa")


class Painter:
    """Draws the environments of a pool; after the same steps, pixel by pixel what Gymnasium draws.

    All are drawn in one OpenGL context. Each has a camera of its own, for Gymnasium's free camera
    looks at where an environment's bodies were in its first picture.
    """

    def __init__(
        self,
        pool: Pool,
        mode: str = "rgb_array",
        *,
        width: int = 480,
        height: int = 480,
        camera_id: int | None = None,
        camera_name: str | None = None,
        default_camera_config: Mapping[str, Any] | None = TASKS_OWN,
        max_geom: int = 1000,
        visual_options: Mapping[int, bool] | None = None,
    ) -> None:
        """Checks the options, which are Gymnasium's; OpenGL waits for the first picture.

        Args:
            pool: of MuJoCo environments.
            mode: "rgb_array", "depth_array" or "rgbd_tuple".
            width, height: of a picture, in pixels.
            camera_id, camera_name: one of the model's cameras, by the one or the other; an id of -1
                or neither is the free camera.
            default_camera_config: attributes of the free camera (`mujoco.MjvCamera`); if it is not
                given, those of the task's class in Gymnasium.
            max_geom: shapes that a picture can have.
            visual_options: flags of `mujoco.MjvOption` by their number, `mujoco.mjtVisFlag`.

        Raises:
            TypeError, ValueError: an option is wrong.
        """
        import mujoco  # type: ignore[import-untyped]

        if mode not in MODES:
            raise ValueError(f"mode={mode!r}: choose {' or '.join(map(repr, MODES))}")
        self._mujoco = mujoco
        self._pool = pool
        self._mode = mode
        self._model = model_of(pool)
        self._size = PIXELS["width"].check(width), PIXELS["height"].check(height)
        self._max_geom = MAX_GEOM.check(max_geom)
        self._camera_id = self._choose_camera(camera_id, camera_name)
        if default_camera_config is TASKS_OWN:
            default_camera_config = camera_of_task(pool.definition.id)
        self._camera_config = self._check_camera(default_camera_config)
        self._flags = self._check_flags(visual_options)
        # made for the first picture
        self._renderer: Any = None
        self._data: Any = None
        self._free: weakref.finalize[[Any, str], Painter] | None = None
        # by environment; the first that was drawn comes first
        self._cameras: dict[int, Any] = {}
        self._backend = choose_backend()
        # the data and the context are one for all, and may be used by one thread at a time
        self._lock = threading.Lock()

    # ------------------------------------------------------------------------------- options --

    def _choose_camera(self, camera_id: int | None, name: str | None) -> int:
        """Returns the id of a camera of the model, -1 for the free one."""
        if camera_id is not None and name is not None:
            raise ValueError(
                f"camera_id={camera_id!r} and camera_name={name!r} both say which: give one"
            )
        if camera_id is not None:
            return self.check_camera_id(camera_id)
        if name is None:
            return -1
        if not isinstance(name, str):
            raise TypeError(f"camera_name={name!r} is a {type(name).__name__}: give a string")
        found = self._mujoco.mj_name2id(self._model, self._mujoco.mjtObj.mjOBJ_CAMERA, name)
        if found < 0:
            known = [self._model.camera(i).name for i in range(self._model.ncam)]
            choice = " or ".join(map(repr, filter(None, known))) or "none, as the model has none"
            raise ValueError(f"camera_name={name!r}: choose {choice}")
        return int(found)

    def check_camera_id(self, camera_id: int) -> int:
        """Returns the id of a camera, -1 for the free one; raises TypeError or ValueError."""
        option = Option("camera_id", "int", -1, -1, self._model.ncam - 1, "")
        return int(option.check(camera_id))

    def _check_camera(self, config: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Returns a copy of the free camera's attributes, which a camera takes."""
        if config is None:
            return None
        if not isinstance(config, Mapping):
            kind = type(config).__name__
            raise TypeError(f"default_camera_config={config!r} is a {kind}: give a dict")
        camera = self._mujoco.MjvCamera()
        known = [name for name in dir(camera) if not name.startswith("_")]
        for name, value in config.items():
            if name not in known:
                raise ValueError(
                    f"default_camera_config has {name!r}: a camera has {', '.join(known)}"
                )
            try:
                setattr(camera, name, value)
            except (TypeError, ValueError) as error:
                like = getattr(camera, name)
                raise type(error)(
                    f"default_camera_config has {name}={value!r}: give something like {like!r}"
                ) from None
        return copy.deepcopy(dict(config))

    def _check_flags(self, flags: Mapping[int, bool] | None) -> dict[int, bool]:
        """Returns a copy of flags that a picture has."""
        if not isinstance(flags, Mapping | None):
            kind = type(flags).__name__
            raise TypeError(f"visual_options={flags!r} is a {kind}: give a dict")
        count = len(self._mujoco.MjvOption().flags)
        number = Option("visual_options", "int", 0, 0, count - 1, "")
        value = Option("visual_options", "bool", False, 0, 0, "")
        return {
            int(number.check(flag)): bool(value.check(on)) for flag, on in (flags or {}).items()
        }

    # ------------------------------------------------------------------------------ pictures --

    def paint(
        self, env_id: int, action: Array | None = None, *, camera_id: int | None = None
    ) -> Any:
        """Draws one environment.

        Args:
            env_id: the environment.
            action: not shown.
            camera_id: another camera than the painter's own.

        Returns:
            "rgb_array": uint8 (height, width, 3); "depth_array": float32 (height, width), OpenGL's
            depth from 0 (near) to 1 (far); "rgbd_tuple": both.

        Raises:
            StateError: the environment is in flight, or was never reset.
            MissingDependencyError: there is no OpenGL; the message says what to install.
        """
        chosen = self._camera_id if camera_id is None else self.check_camera_id(camera_id)
        with self._lock:
            if self._renderer is None:
                self._make()
            self._pool.expose(env_id, self._data._address)
            self._renderer.camera_id = chosen
            with own_context(self._backend), listening() as texts:
                try_backend(self._backend)
                paint = self._paint_again if self._cameras else self._paint_first
                picture = paint(env_id)
        for text in texts:
            warnings.warn(f"{self._pool.definition.id}: {text}", stacklevel=2)
        return picture

    def _make(self) -> None:
        """Makes what is needed, but for OpenGL."""
        try:
            rendering: Any = importlib.import_module("gymnasium.envs.mujoco.mujoco_rendering")
        except ImportError as error:
            raise MissingDependencyError(
                f"Gymnasium's renderer can't be imported ({error}): {INSTALL}"
            ) from error
        width, height = self._size
        # others may draw from the same model in other sizes
        model = copy.copy(self._model)
        buffer = model.vis.global_
        buffer.offwidth = max(buffer.offwidth, width)
        buffer.offheight = max(buffer.offheight, height)
        self._data = self._mujoco.MjData(model)
        self._renderer = rendering.MujocoRenderer(
            model,
            self._data,
            self._camera_config,
            width,
            height,
            self._max_geom,
            visual_options=self._flags,
        )

    def _paint_first(self, env_id: int) -> Any:
        """Draws the first picture, for which the renderer opens a context."""
        with environment("MUJOCO_GL", self._backend):
            picture = self._renderer.render(self._mode)
        viewer = self._renderer.viewer
        self._cameras[env_id] = viewer.cam
        self._free = weakref.finalize(self, free, viewer, self._backend)
        # what is left at exit, Gymnasium and MuJoCo free in their own order
        self._free.atexit = False
        return picture

    def _paint_again(self, env_id: int) -> Any:
        viewer = self._renderer.viewer
        viewer.make_context_current()
        viewer.cam = self._camera(env_id)
        return self._renderer.render(self._mode)

    def _camera(self, env_id: int) -> Any:
        """Returns the camera of an environment; in its first picture it sees it as it is now."""
        camera = self._cameras.get(env_id)
        if camera is None:
            # beyond what it looks at, all depends on the model only
            camera = copy.copy(next(iter(self._cameras.values())))
            if "lookat" not in (self._camera_config or {}):
                camera.lookat[:] = np.median(self._data.geom_xpos, axis=0)
            self._cameras[env_id] = camera
        return camera

    def close(self) -> None:
        """Lets go of OpenGL."""
        with self._lock:
            if self._free is not None:
                self._free()
            self._renderer = self._data = self._free = None
            self._cameras = {}


# ------------------------------------------------------------------------------------- OpenGL --


def choose_backend() -> str:
    """Returns the module of mujoco's that opens OpenGL contexts: MUJOCO_GL, or by the screen.

    Raises:
        ValueError: MUJOCO_GL names none.
    """
    given = os.environ.get("MUJOCO_GL")
    if not given:
        return "glfw" if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") else "egl"
    if given not in BACKENDS:
        raise ValueError(f"MUJOCO_GL={given!r}: choose {' or '.join(map(repr, BACKENDS))}")
    return given


def load_backend(backend: str) -> Any:
    """Returns that module; raises MissingDependencyError if it finds no library."""
    try:
        return importlib.import_module(f"mujoco.{backend}")
    # PyOpenGL has AttributeErrors for libraries that are not there, among others
    except Exception as error:
        raise no_opengl(backend, error) from error


def try_backend(backend: str) -> None:
    """Opens a context, once; raises MissingDependencyError if that fails.

    MuJoCo must not be asked to draw without one: it refuses, and ends the process the next time.
    """
    error = _failure_of(backend)
    if error is not None:
        raise no_opengl(backend, error) from error


@cache
def _failure_of(backend: str) -> Exception | None:
    """Returns why no context can be opened; None: one can."""
    module = load_backend(backend)
    try:
        # in two steps: what fails to be made is freed as well, and that looks for a context
        context = module.GLContext.__new__(module.GLContext)
        context._context = None
        context.__init__(1, 1)
        context.make_current()
        if backend == "glfw" and not importlib.import_module("glfw").get_current_context():
            raise RuntimeError("no window can be opened")
        context.free()
    # ImportError where EGL finds no device, RuntimeError, and PyOpenGL's own
    except Exception as error:
        return error
    return None


def no_opengl(backend: str, error: Exception) -> MissingDependencyError:
    """Returns an exception that says what to install."""
    return MissingDependencyError(
        f"MuJoCo's pictures need OpenGL, and MUJOCO_GL={backend} finds none"
        f" ({type(error).__name__}: {str(error).partition(chr(10))[0]}): {OPENGL}"
    )


@contextlib.contextmanager
def environment(name: str, value: str) -> Iterator[None]:
    """Sets an environment variable for a while."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@contextlib.contextmanager
def own_context(backend: str) -> Iterator[None]:
    """Puts back the OpenGL context that the thread had, or none: then any thread may draw next.

    Gymnasium's viewers make theirs current when they are made, and rely on it from then on.
    """
    if backend != "egl":
        yield
        return
    egl = load_backend(backend)
    library = egl.EGL
    context = library.eglGetCurrentContext()
    display = library.eglGetCurrentDisplay()
    surfaces = [library.eglGetCurrentSurface(end) for end in (library.EGL_DRAW, library.EGL_READ)]
    try:
        yield
    finally:
        if context:
            library.eglMakeCurrent(display, *surfaces, context)
        elif library.eglGetCurrentContext():
            none = library.EGL_NO_SURFACE
            library.eglMakeCurrent(egl.EGL_DISPLAY, none, none, library.EGL_NO_CONTEXT)


def free(viewer: Any, backend: str) -> None:
    """Frees what a viewer has in OpenGL: in its own context, for names mean others elsewhere."""
    with own_context(backend):
        viewer.make_context_current()
        viewer.con.free()
        viewer.free()


# ------------------------------------------------------------------------------ Gymnasium's --


def model_of(pool: Pool) -> Any:
    """Returns the MjModel that a pool's environments are made of."""
    link: Any = pool.spec.options["_link"]
    return link.model


def render_fps(pool: Pool) -> int:
    """Returns how many pictures make a second: one after each step."""
    frame_skip: Any = pool.spec.options["frame_skip"]
    return int(np.round(1 / (model_of(pool).opt.timestep * frame_skip)))


def camera_of_task(env_id: str) -> Mapping[str, Any] | None:
    """Returns what a task's class in Gymnasium gives to the free camera; None for nothing."""
    import gymnasium

    spec = gymnasium.registry.get(env_id)
    if spec is None or not isinstance(spec.entry_point, str):
        # ids of EnvPool's alone have the code of v4
        spec = gymnasium.registry[f"{env_id.rpartition('-')[0]}-v4"]
    module_name, _, class_name = str(spec.entry_point).partition(":")
    module = importlib.import_module(module_name)
    parameter = inspect.signature(getattr(module, class_name)).parameters.get(
        "default_camera_config"
    )
    # InvertedDoublePendulum-v5 has such a constant, and does not use it
    constant: Mapping[str, Any] | None = getattr(module, "DEFAULT_CAMERA_CONFIG", None)
    return constant if parameter is None else parameter.default
