"""Pictures of Gymnasium-Robotics' tasks, drawn by Gymnasium's renderer as theirs are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine.variation import value_for_env
from parallel_pool._families import mujoco_renderer as opengl
from parallel_pool._families import robotics_mazes
from parallel_pool._families.mujoco_renderer import MODES, OPTIONS

if TYPE_CHECKING:
    from parallel_pool._engine.pool import Pool
    from parallel_pool._engine.specs import Definition

__all__ = ["OPTIONS", "Renderer", "modes", "render_fps"]

# the free camera's attributes, of Gymnasium-Robotics' classes
FETCH_CAMERA: Mapping[str, Any] = {
    "distance": 2.5,
    "azimuth": 132.0,
    "elevation": -14.0,
    "lookat": np.array([1.3, 0.75, 0.55]),
}
HAND_CAMERA: Mapping[str, Any] = {
    "distance": 0.5,
    "azimuth": 55.0,
    "elevation": -25.0,
    "lookat": np.array([1, 0.96, 0.14]),
}
# by the beginning of an id
CAMERAS: Mapping[str, Mapping[str, Any]] = {
    "AdroitHandDoor": {"distance": 1.5, "azimuth": 90.0},
    "AdroitHandHammer": {"distance": 2.0, "azimuth": 45.0},
    "AdroitHandPen": {"distance": 1.0, "azimuth": -45.0},
    "AdroitHandRelocate": {"distance": 1.5, "azimuth": 90.0},
    "Fetch": FETCH_CAMERA,
    "FrankaKitchen": {
        "distance": 2.2,
        "azimuth": 70.0,
        "elevation": -35.0,
        "lookat": np.array([-0.2, 0.5, 2.0]),
    },
    "HandManipulate": HAND_CAMERA,
    "HandReach": HAND_CAMERA,
}
TIPS = ("fftip", "mftip", "rftip", "lftip", "thtip")
# how far aside the target is drawn if its position does not count, in m
ASIDE = 0.15
# of the sites of touch sensors, by whether they touch
TOUCH_COLORS = ((0, 0.5, 0, 0.2), (1, 0, 0, 0.5))
# rows beyond which the camera of a ball's maze is further away
SMALL_MAZE = 8


def camera_of(pool: Pool) -> Mapping[str, Any] | None:
    """Returns the free camera's attributes of a task's class."""
    title = pool.definition.id
    if title.startswith("AntMaze"):
        return opengl.camera_of_task("Ant-v4" if not title.endswith("-v5") else "Ant-v5")
    if title.startswith("PointMaze"):
        text: Any = value_for_env(pool.spec.options["maze_map"], 0)
        rows = text.split(robotics_mazes.BETWEEN)
        return {"distance": 12.5 if len(rows) > SMALL_MAZE else 8.8}
    return next(camera for start, camera in CAMERAS.items() if title.startswith(start))


class Renderer(opengl.Renderer):
    """Draws the environments of a pool. After the same steps, the pixels equal the reference's.

    Drawing changes nothing. Fetch's own `render` calls mj_forward in the simulation itself, so that
    with a free gripper the next step begins from other numbers.
    """

    def _camera_of_task(self, pool: Pool) -> Mapping[str, Any] | None:
        return camera_of(pool)

    def _load(self, env_id: int) -> None:
        super()._load(env_id)
        title = self._pool.definition.id
        if not title.startswith(("Fetch", "HandReach", "HandManipulate")):
            return
        # C has written where the goal is; positions are those of the end of the step in pictures
        model = self._gymnasium_renderer.model
        if title.startswith("Fetch"):
            self._place("target0", "target0")
        elif title.startswith("HandReach"):
            for i, tip in enumerate(TIPS):
                self._place(f"target{i}", f"target{i}")
                self._place(f"finger{i}", f"robot0:S_{tip}")
        else:
            self._show_pose(model)
        self._mujoco.mj_forward(model, self._data)
        for i in range(model.nsensor if "TouchSensors" in title else 0):
            name = model.sensor(i).name
            if "robot0:TS_" in name:
                site = model.site(name.replace("robot0:TS_", "robot0:T_")).id
                model.site_rgba[site] = TOUCH_COLORS[int(self._data.sensordata[i] != 0.0)]

    def _place(self, name: str, at: str) -> None:
        """Moves a site to where another one is."""
        model = self._gymnasium_renderer.model
        site = model.site(name).id
        origin = self._data.xpos[model.site_bodyid[site]]
        model.site_pos[site] = self._data.site_xpos[model.site(at).id] - origin

    def _show_pose(self, model: Any) -> None:
        """Moves the target aside if it is in the way, and shows the object within it."""
        target = model.joint("target:joint")
        if self._pool.spec.options["target_position"] == "ignore":
            self._data.qpos[target.qposadr[0]] += ASIDE
        self._data.qvel[target.dofadr[0] : target.dofadr[0] + 6] = 0
        geoms = [model.geom(i).name for i in range(model.ngeom)]
        if "object_hidden" in geoms:
            model.geom_rgba[geoms.index("object_hidden"), 3] = 1.0


def modes(definition: Definition) -> Sequence[str]:
    """Returns the render modes of an environment."""
    return MODES


def render_fps(pool: Pool) -> int:
    """Returns the pictures per second of simulated time, at one picture for each step."""
    return opengl.render_fps(pool)
