"""What C needs to draw dm_control's tasks: EGL, MuJoCo's renderer, and a model with textures.

Threads of the engine draw (csrc/envs/mujoco/suite/camera.h), each in a context of its own, so no
picture needs the interpreter.
"""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from parallel_pool._engine.arguments import quote
from parallel_pool._families import mujoco
from parallel_pool._families import mujoco_renderer as opengl
from parallel_pool._families.control_suite_models import WITHOUT, model_with_pictures, task_of

if TYPE_CHECKING:
    from parallel_pool._engine.specs import Definition

EGL_FUNCTIONS = (
    *("eglBindAPI", "eglCreateContext", "eglDestroyContext", "eglMakeCurrent"),
    *("eglGetCurrentContext", "eglGetCurrentDisplay", "eglGetCurrentSurface"),
)
MUJOCO_FUNCTIONS = (
    *("mjv_defaultOption", "mjv_defaultPerturb", "mjv_defaultCamera", "mjv_defaultFreeCamera"),
    *("mjv_defaultScene", "mjv_makeScene", "mjv_freeScene", "mjv_updateScene"),
    *("mjr_defaultContext", "mjr_makeContext", "mjr_freeContext", "mjr_setBuffer", "mjr_render"),
    "mjr_readPixels",
)


def describe(definition: Definition, chosen: Mapping[str, Any]) -> tuple[dict[str, int], Any]:
    """Returns the lines of the link that cameras read, and what must last as long as the link.

    Args:
        definition: of the task.
        chosen: the options that determine the model.

    Raises:
        MissingDependencyError: OpenGL is missing.
        ValueError: the task has no pictures, the model no such camera, or MUJOCO_GL is not EGL.
    """
    task = task_of(definition)
    if task == WITHOUT:
        raise ValueError(f"from_pixels=True: {task} has no pictures: leave it out")
    backend = opengl.choose_backend()
    if backend != "egl":
        raise ValueError(
            f"from_pixels=True draws with EGL, and the backend is {backend}: set MUJOCO_GL=egl"
        )
    opengl.try_backend(backend)
    model = copy.copy(model_with_pictures(str(chosen["_model"]), task))
    if chosen["render_camera_id"] >= model.ncam:
        raise ValueError(
            f"render_camera_id={quote(chosen['render_camera_id'])}: choose -1 to {model.ncam - 1}"
        )
    model.vis.global_.offwidth = chosen["render_width"]
    model.vis.global_.offheight = chosen["render_height"]
    display, config = _display_and_config()
    library = ctypes.CDLL("libEGL.so.1")
    lines = {name: _address(library, name) for name in EGL_FUNCTIONS}
    lines |= {name: _address(mujoco.library(), name) for name in MUJOCO_FUNCTIONS}
    lines |= {"egl_display": display, "egl_config": config, "picture_model": model._address}
    return lines, (model, library)


def _address(library: ctypes.CDLL, name: str) -> int:
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0


def _display_and_config() -> tuple[int, int]:
    """Returns the handles that mujoco's own contexts are made with."""
    module = opengl.load_backend("egl")
    egl = module.EGL
    configs = (egl.EGLConfig * 1)()
    count = ctypes.c_long()
    egl.eglChooseConfig(module.EGL_DISPLAY, module.EGL_ATTRIBUTES, configs, 1, count)
    if count.value < 1:
        raise opengl.no_opengl("egl", RuntimeError("EGL has no framebuffer for pictures"))
    return int(module.EGL_DISPLAY.address), int(configs[0].address)
