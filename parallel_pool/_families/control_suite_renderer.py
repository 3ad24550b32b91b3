"""Pictures of dm_control's tasks, as `physics.render` draws them."""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine.arguments import quote
from parallel_pool._engine.pool import write_state
from parallel_pool._engine.variation import value_for_env
from parallel_pool._families import mujoco
from parallel_pool._families import mujoco_renderer as opengl
from parallel_pool._families.control_suite_models import WITHOUT, model_with_pictures, task_of

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.pool import Pool
    from parallel_pool._engine.specs import Definition

# dm_control's size of a picture
OPTIONS: Mapping[str, Any] = MappingProxyType(
    {"width": 320, "height": 240, "camera_id": None, "camera_name": None}
)

# dm_control's least number of shapes in a picture; no task has more
MAX_SHAPES = 1000


class Canvas:
    """MuJoCo's own renderer of one size in an OpenGL context of its own, which it makes current.

    `mujoco.Renderer` does the same, but chooses OpenGL's backend when mujoco is imported.
    """

    def __init__(self, model: Any, width: int, height: int, backend: str) -> None:
        package = mujoco.import_mujoco()
        self._mujoco, self._model = package, model
        self._gl = opengl.load_backend(backend).GLContext(width, height)
        self._gl.make_current()
        self._context = package.MjrContext(model, package.mjtFontScale.mjFONTSCALE_150.value)
        package.mjr_setBuffer(package.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)
        self._scene = package.MjvScene(model, maxgeom=MAX_SHAPES)
        self._option, self._perturb = package.MjvOption(), package.MjvPerturb()
        self._rect = package.MjrRect(0, 0, width, height)

    def draw(self, data: Any, camera_id: int) -> Array:
        """Returns a picture of an mjData, uint8 (height, width, 3)."""
        package = self._mujoco
        camera = package.MjvCamera()
        camera.fixedcamid = camera_id
        if camera_id == -1:
            package.mjv_defaultFreeCamera(self._model, camera)
        else:
            camera.type = package.mjtCamera.mjCAMERA_FIXED
        self._gl.make_current()
        everything = package.mjtCatBit.mjCAT_ALL.value
        package.mjv_updateScene(
            self._model, data, self._option, self._perturb, camera, everything, self._scene
        )
        pixels = np.empty((self._rect.height, self._rect.width, 3), np.uint8)
        package.mjr_render(self._rect, self._scene, self._context)
        package.mjr_readPixels(pixels, None, self._rect, self._context)
        # OpenGL's first row is the lowest
        return np.ascontiguousarray(pixels[::-1])

    def close(self) -> None:
        """Frees OpenGL's objects in their own context, since their names are per context."""
        self._gl.make_current()
        self._context.free()
        self._gl.free()


class Renderer(opengl.SceneRenderer):
    """Draws the environments of a pool. After the same steps, the pixels equal dm_control's."""

    def __init__(
        self,
        pool: Pool,
        mode: str = "rgb_array",
        *,
        width: int = 320,
        height: int = 240,
        camera_id: int | None = None,
        camera_name: str | None = None,
    ) -> None:
        """
        Args:
            pool: of the suite's environments.
            mode: "rgb_array".
            width, height: of a picture, in pixels.
            camera_id, camera_name: a camera of the model, by id or by name. The free camera if the
                id is -1 or neither is given.

        Raises:
            TypeError, ValueError: an option is wrong, or the task has no pictures.
        """
        known = modes(pool.definition)
        if mode not in known:
            choice = " or ".join(map(repr, known)) or "None, as this task has no pictures"
            raise ValueError(f"mode={quote(mode)}: choose {choice}")
        name: Any = pool.spec.options["_model"]
        model = model_with_pictures(str(name), task_of(pool.definition))
        self._pool = pool
        super().__init__(
            model,
            pool.definition.id,
            mode,
            width=width,
            height=height,
            camera_id=camera_id,
            camera_name=camera_name,
        )
        self._canvas: Canvas | None = None

    def _prepare(self, env_id: int, camera_id: int) -> Callable[[int], Any]:
        def draw(env_id: int) -> Array:
            canvas = self._canvas or self._open()
            write_state(self._pool, env_id, self._data._address)
            return canvas.draw(self._data, camera_id)

        return draw

    def _open(self) -> Canvas:
        width, height = (int(pixels) for pixels in self._size)
        buffer = self._model.vis.global_
        buffer.offwidth = max(buffer.offwidth, width)
        buffer.offheight = max(buffer.offheight, height)
        self._data = self._mujoco.MjData(self._model)
        self._canvas = canvas = Canvas(self._model, width, height, self._backend)
        self._free = weakref.finalize(self, _close, canvas, self._backend)
        # at exit before what mujoco has registered, which ends EGL
        self._free.atexit = False
        atexit.register(self._free)
        return canvas

    def close(self) -> None:
        """Frees the OpenGL context. The next picture opens a new one."""
        with self._lock:
            if self._free is not None:
                atexit.unregister(self._free)
                self._free()
            self._canvas = self._data = self._free = None


def _close(canvas: Canvas, backend: str) -> None:
    with opengl.own_context(backend):
        canvas.close()


def modes(definition: Definition) -> Sequence[str]:
    """Returns the render modes of an environment."""
    return () if task_of(definition) == WITHOUT else ("rgb_array",)


def render_fps(pool: Pool) -> int:
    """Returns the pictures per second of simulated time, at one picture for each step."""
    link: Any = pool.spec.options["_link"]
    frame_skip: Any = value_for_env(pool.spec.options["frame_skip"], 0)
    fps: int = round(1 / (link.model.opt.timestep * frame_skip))
    return fps
