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
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine import registry
from parallel_pool._engine.arguments import a_type, quote
from parallel_pool._engine.pool import write_state
from parallel_pool._engine.specs import Option
from parallel_pool._engine.variation import Each, value_for_env
from parallel_pool._families.mujoco import INSTALL, OPENGL, capture_warnings
from parallel_pool.errors import MissingDependencyError

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.pool import Pool
    from parallel_pool._engine.specs import Definition

MODES = ("rgb_array", "depth_array", "rgbd_tuple")

# the default of default_camera_config: stands for that of the task's class in Gymnasium
DEFAULT_OF_TASK: Mapping[str, Any] = MappingProxyType({})

# Gymnasium's constructor options of pictures, and their defaults
OPTIONS: Mapping[str, Any] = MappingProxyType(
    {
        "width": 480,
        "height": 480,
        "camera_id": None,
        "camera_name": None,
        "default_camera_config": DEFAULT_OF_TASK,
        "max_geom": 1000,
        "visual_options": None,
    }
)

PIXELS = {name: Option(name, "int", 480, 1, 2**14, "pixels") for name in ("width", "height")}
MAX_GEOM = Option("max_geom", "int", 1000, 1, 10**7, "shapes in one picture")

BACKENDS = ("egl", "glfw", "osmesa")


class SceneRenderer:
    """Draws simulations of one model with Gymnasium's renderer; base of what knows their states.

    One OpenGL context draws all simulations. Each has its own camera, because Gymnasium's free
    camera looks at the middle of the bodies in the first picture.
    """

    def __init__(
        self,
        model: Any,
        name: str,
        mode: str = "rgb_array",
        *,
        width: int = 480,
        height: int = 480,
        camera_id: int | None = None,
        camera_name: str | None = None,
        default_camera_config: Mapping[str, Any] | None = None,
        max_geom: int = 1000,
        visual_options: Mapping[int, bool] | None = None,
    ) -> None:
        """Checks the options, which are Gymnasium's. The first picture opens the OpenGL context.

        Args:
            model: the MjModel.
            name: of the environments, for warnings.
            mode: "rgb_array", "depth_array" or "rgbd_tuple".
            width, height: of a picture, in pixels.
            camera_id, camera_name: a camera of the model, by id or by name. The free camera if the
                id is -1 or neither is given.
            default_camera_config: attributes of the free camera (`mujoco.MjvCamera`).
            max_geom: most shapes in a picture.
            visual_options: flags of `mujoco.MjvOption` by number (`mujoco.mjtVisFlag`).

        Raises:
            TypeError, ValueError: an option is wrong.
        """
        import mujoco  # type: ignore[import-untyped]

        if mode not in MODES:
            raise ValueError(f"mode={quote(mode)}: choose {' or '.join(map(repr, MODES))}")
        self._mujoco: ModuleType = mujoco
        self._name = name
        self._mode = mode
        self._model = model
        self._size = PIXELS["width"].check(width), PIXELS["height"].check(height)
        self._max_geom = MAX_GEOM.check(max_geom)
        self._camera_id = self._choose_camera(camera_id, camera_name)
        self._camera_config = self._check_camera(default_camera_config)
        self._flags = self._check_flags(visual_options)
        # made by the first picture
        self._gymnasium_renderer: Any = None
        self._data: Any = None
        self._free: weakref.finalize[[Any, str], SceneRenderer] | None = None
        # by environment, in the order of their first pictures
        self._cameras: dict[int, Any] = {}
        self._backend = choose_backend()
        # the data and the context are shared by all environments
        self._lock = threading.Lock()

    # ------------------------------------------------------------------------------- options --

    def _choose_camera(self, camera_id: int | None, name: str | None) -> int:
        """Returns the id of a camera of the model; -1: the free camera."""
        if camera_id is not None and name is not None:
            raise ValueError(
                f"camera_id={quote(camera_id)} and camera_name={quote(name)} both name a camera:"
                " give one"
            )
        if camera_id is not None:
            return self.check_camera_id(camera_id)
        if name is None:
            return -1
        if not isinstance(name, str):
            raise TypeError(f"camera_name={quote(name)} is {a_type(name)}: give a string")
        found = self._mujoco.mj_name2id(self._model, self._mujoco.mjtObj.mjOBJ_CAMERA, name)
        if found < 0:
            known = [self._model.camera(i).name for i in range(self._model.ncam)]
            choice = " or ".join(map(repr, filter(None, known))) or "none, as the model has none"
            raise ValueError(f"camera_name={quote(name)}: choose {choice}")
        return int(found)

    def check_camera_id(self, camera_id: int) -> int:
        """Returns the id of a camera; -1: the free camera. Raises TypeError or ValueError."""
        option = Option("camera_id", "int", -1, -1, self._model.ncam - 1, "")
        return int(option.check(camera_id))

    def _check_camera(self, config: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Returns a copy of the free camera's attributes, after a camera has accepted them."""
        if config is None:
            return None
        if not isinstance(config, Mapping):
            kind = a_type(config)
            raise TypeError(f"default_camera_config={quote(config)} is {kind}: give a dict")
        camera = self._mujoco.MjvCamera()
        known = [name for name in dir(camera) if not name.startswith("_")]
        for name, value in config.items():
            if name not in known:
                raise ValueError(
                    f"default_camera_config has {quote(name)}: a camera has {', '.join(known)}"
                )
            try:
                setattr(camera, name, value)
            except (TypeError, ValueError) as error:
                like = getattr(camera, name)
                raise type(error)(
                    f"default_camera_config has {name}={quote(value)}: give something like"
                    f" {quote(like)}"
                ) from None
        return copy.deepcopy(dict(config))

    def _check_flags(self, flags: Mapping[int, bool] | None) -> dict[int, bool]:
        """Returns a copy of the flags, with their numbers checked."""
        if not isinstance(flags, Mapping | None):
            kind = a_type(flags)
            raise TypeError(f"visual_options={quote(flags)} is {kind}: give a dict")
        count = len(self._mujoco.MjvOption().flags)
        number = Option("visual_options", "int", 0, 0, count - 1, "")
        value = Option("visual_options", "bool", False, 0, 0, "")
        return {
            int(number.check(flag)): bool(value.check(on)) for flag, on in (flags or {}).items()
        }

    # ------------------------------------------------------------------------------ pictures --

    def draw(
        self, env_id: int, action: Array | None = None, *, camera_id: int | None = None
    ) -> Any:
        """Draws one environment.

        Args:
            env_id: the environment.
            action: ignored.
            camera_id: a camera instead of the renderer's own.

        Returns:
            "rgb_array": uint8, shape (height, width, 3). "depth_array": float32, shape (height,
            width), OpenGL's depth from 0 (near) to 1 (far). "rgbd_tuple": both.

        Raises:
            StateError: the environment is in flight, or was never reset.
            MissingDependencyError: OpenGL is missing; the message says what to install.
        """
        chosen = self._camera_id if camera_id is None else self.check_camera_id(camera_id)
        with self._lock:
            draw = self._prepare(env_id, chosen)
            with own_context(self._backend), capture_warnings() as texts:
                try_backend(self._backend)
                picture = draw(env_id)
        for text in texts:
            warnings.warn(f"{self._name}: {text}", stacklevel=2)
        return picture

    def _prepare(self, env_id: int, camera_id: int) -> Callable[[int], Any]:
        """Does what needs no OpenGL; returns what draws the environment."""
        renderer = self._gymnasium_renderer or self._make()
        self._load(env_id)
        renderer.camera_id = camera_id
        return self._draw_again if self._cameras else self._draw_first

    def _load(self, env_id: int) -> None:
        """Writes the state of an environment into the mjData."""
        raise NotImplementedError

    def _make(self) -> Any:
        """Makes the mjData and Gymnasium's renderer, which it returns, without OpenGL."""
        try:
            rendering: Any = importlib.import_module("gymnasium.envs.mujoco.mujoco_rendering")
        except ImportError as error:
            raise MissingDependencyError(
                f"Gymnasium's renderer can't be imported ({error}): {INSTALL}"
            ) from error
        width, height = self._size
        # a copy, because other renderers may draw the same model in other sizes
        model = copy.copy(self._model)
        buffer = model.vis.global_
        buffer.offwidth = max(buffer.offwidth, width)
        buffer.offheight = max(buffer.offheight, height)
        self._data = self._mujoco.MjData(model)
        self._gymnasium_renderer = rendering.MujocoRenderer(
            model,
            self._data,
            self._camera_config,
            width,
            height,
            self._max_geom,
            visual_options=self._flags,
        )
        return self._gymnasium_renderer

    def _draw_first(self, env_id: int) -> Any:
        """Draws the first picture. Gymnasium's renderer opens the OpenGL context."""
        with environment("MUJOCO_GL", self._backend):
            picture = self._gymnasium_renderer.render(self._mode)
        viewer = self._gymnasium_renderer.viewer
        self._cameras[env_id] = viewer.cam
        self._free = weakref.finalize(self, free, viewer, self._backend)
        # at exit, Gymnasium and MuJoCo free the rest in their own order
        self._free.atexit = False
        return picture

    def _draw_again(self, env_id: int) -> Any:
        viewer = self._gymnasium_renderer.viewer
        viewer.make_context_current()
        viewer.cam = self._camera(env_id)
        return self._gymnasium_renderer.render(self._mode)

    def _camera(self, env_id: int) -> Any:
        """Returns an environment's camera. A new one looks at the bodies' present positions."""
        camera = self._cameras.get(env_id)
        if camera is None:
            # all other attributes depend only on the model
            camera = copy.copy(next(iter(self._cameras.values())))
            if "lookat" not in (self._camera_config or {}):
                camera.lookat[:] = np.median(self._data.geom_xpos, axis=0)
            self._cameras[env_id] = camera
        return camera

    def close(self) -> None:
        """Frees the OpenGL context. The next picture opens a new one."""
        with self._lock:
            if self._free is not None:
                self._free()
            self._gymnasium_renderer = self._data = self._free = None
            self._cameras = {}


class Renderer(SceneRenderer):
    """Draws the environments of a pool. After the same steps, the pixels equal Gymnasium's."""

    def __init__(
        self,
        pool: Pool,
        mode: str = "rgb_array",
        *,
        default_camera_config: Mapping[str, Any] | None = DEFAULT_OF_TASK,
        **options: Any,
    ) -> None:
        """
        Args:
            pool: of MuJoCo environments.
            mode, options: as for `SceneRenderer`.
            default_camera_config: attributes of the free camera. Default: those of the task's
                class.
        """
        if default_camera_config is DEFAULT_OF_TASK:
            default_camera_config = self._camera_of_task(pool)
        self._pool = pool
        super().__init__(
            model_of(pool),
            pool.definition.id,
            mode,
            default_camera_config=default_camera_config,
            **options,
        )

    def _camera_of_task(self, pool: Pool) -> Mapping[str, Any] | None:
        """Returns the free camera's attributes of the task's class."""
        return camera_of_task(pool.definition.id)

    def _load(self, env_id: int) -> None:
        write_state(self._pool, env_id, self._data._address)


# ------------------------------------------------------------------------------------- OpenGL --


def choose_backend() -> str:
    """Returns the name of mujoco's OpenGL backend: MUJOCO_GL, or glfw with a screen, otherwise egl.

    Raises:
        ValueError: MUJOCO_GL is not a backend.
    """
    given = os.environ.get("MUJOCO_GL")
    if not given:
        return "glfw" if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") else "egl"
    if given not in BACKENDS:
        raise ValueError(f"MUJOCO_GL={quote(given)}: choose {' or '.join(map(repr, BACKENDS))}")
    return given


def load_backend(backend: str) -> Any:
    """Returns the module of a backend. Raises MissingDependencyError if its library is missing."""
    try:
        return importlib.import_module(f"mujoco.{backend}")
    # PyOpenGL raises AttributeError, among others, for missing libraries
    except Exception as error:
        raise no_opengl(backend, error) from error


def try_backend(backend: str) -> None:
    """Opens a context once to test the backend. Raises MissingDependencyError if that fails.

    Without a context, MuJoCo's first picture is an error, and the second ends the process.
    """
    error = _failure_of(backend)
    if error is not None:
        raise no_opengl(backend, error) from error


@cache
def _failure_of(backend: str) -> Exception | None:
    """Returns the error of opening a context; None: it can be opened."""
    module = load_backend(backend)
    try:
        # in two steps, because free, which reads _context, also runs if __init__ fails
        context = module.GLContext.__new__(module.GLContext)
        context._context = None
        context.__init__(1, 1)
        context.make_current()
        if backend == "glfw" and not importlib.import_module("glfw").get_current_context():
            raise RuntimeError("no window can be opened")
        context.free()
    # ImportError if EGL finds no device, RuntimeError, and PyOpenGL's own errors
    except Exception as error:
        return error
    return None


def no_opengl(backend: str, error: Exception) -> MissingDependencyError:
    """Returns an error that says what to install."""
    return MissingDependencyError(
        f"MuJoCo's pictures need OpenGL, and MUJOCO_GL={backend} finds none"
        f" ({type(error).__name__}: {str(error).partition(chr(10))[0]}): {OPENGL}"
    )


@contextlib.contextmanager
def environment(name: str, value: str) -> Iterator[None]:
    """Sets an environment variable within the context."""
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
    """Restores the thread's current OpenGL context, or none, so that any thread may draw next.

    Gymnasium's viewers make their context current when they are created, and rely on it afterwards.
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
    """Frees a viewer's OpenGL objects in its own context, since their names are per context."""
    with own_context(backend):
        viewer.make_context_current()
        viewer.con.free()
        viewer.free()


# ------------------------------------------------------------------------------ Gymnasium's --


def model_of(pool: Pool) -> Any:
    """Returns the MjModel of a pool's environments.

    Raises:
        ValueError: they have several.
    """
    link: Any = pool.spec.options["_link"]
    if isinstance(link, Each):
        raise ValueError(
            f"the environments of this {pool.definition.id} pool have different models, and one"
            " model draws all: give xml_file one value"
        )
    return link.model


def modes(definition: Definition) -> Sequence[str]:
    """Returns the render modes of an environment."""
    return MODES


def render_fps(pool: Pool) -> int:
    """Returns the pictures per second of simulated time, at one picture for each step."""
    frame_skip: Any = value_for_env(pool.spec.options["frame_skip"], 0)
    return int(np.round(1 / (model_of(pool).opt.timestep * frame_skip)))


def camera_of_task(task_id: str) -> Mapping[str, Any] | None:
    """Returns the free camera's attributes of a task's class in Gymnasium; None: it sets none, or
    the environment is a robot of a user's."""
    import gymnasium

    if task_id in registry.origins_by_id:
        return None
    spec = gymnasium.registry.get(task_id)
    if spec is None or not isinstance(spec.entry_point, str):
        # ids that only EnvPool has run the v4 code
        spec = gymnasium.registry[f"{task_id.rpartition('-')[0]}-v4"]
    module_name, _, class_name = str(spec.entry_point).partition(":")
    module = importlib.import_module(module_name)
    parameter = inspect.signature(getattr(module, class_name)).parameters.get(
        "default_camera_config"
    )
    # InvertedDoublePendulum-v5 has the constant but does not use it, so the parameter comes first
    constant: Mapping[str, Any] | None = getattr(module, "DEFAULT_CAMERA_CONFIG", None)
    return constant if parameter is None else parameter.default
