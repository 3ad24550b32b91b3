"""Pictures of CarRacing in its render modes, drawn by Gymnasium's own environments."""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine.pool import write_state
from parallel_pool._families import box2d_renderer

if TYPE_CHECKING:
    from parallel_pool._engine.pool import Pool
    from parallel_pool._engine.specs import Definition

OPTIONS: Mapping[str, Any] = MappingProxyType({})

MODULE = "gymnasium.envs.box2d.car_racing"
DYNAMICS = "gymnasium.envs.box2d.car_dynamics"

MAX_TILES = 2500
TRACES = 30
TRACE_POINTS = 30

# C's view of CarRacing
VIEW = np.dtype(
    [
        ("generator", "<u8", 4),
        ("generator_rest", "<u4", 2),
        ("road_color", "<f8", 3),
        ("bg_color", "<f8", 3),
        ("grass_color", "<f8", 3),
        ("randomizes", "<i8"),
        ("episode", "<i8"),
        ("t", "<f8"),
        ("reward", "<f8"),
        ("hull", "<f8", 6),
        ("wheels", "<f8", (4, 5)),
        ("num_traces", "<i8"),
        ("trace_sizes", "<i4", TRACES),
        ("traces_on_grass", "<i4", TRACES),
        ("traces", "<f4", (TRACES, TRACE_POINTS, 2)),
        ("num_tiles", "<i8"),
        ("is_plain", "?", MAX_TILES),
        ("", "V4"),
    ]
)


class Renderer(box2d_renderer.Renderer):
    """Draws the environments of a pool; the pixels equal Gymnasium's.

    A picture is uint8 (400, 600, 3), or (96, 96, 3) in the mode "state_pixels".
    """

    @staticmethod
    def modes() -> Sequence[str]:
        return *box2d_renderer.MODES, "state_pixels"

    def make_renderer(self, pool: Pool, mode: str, env_id: int) -> box2d_renderer.EnvRenderer:
        return _CarRenderer(pool, mode, env_id)


class _CarRenderer:
    """Moves the car in one of Gymnasium's environments, which draws, to where it is in C.

    Its own steps would not do: the worlds of the two have had other episodes. It draws the track
    after a reset by the same random generator.
    """

    def __init__(self, pool: Pool, mode: str, env_id: int) -> None:
        options = box2d_renderer.options_of(pool, env_id)
        self.env: Any = importlib.import_module(MODULE).CarRacing(render_mode=mode, **options)
        self._env_id = env_id
        self._episode = 0
        self._dynamics: Any = importlib.import_module(DYNAMICS)

    def follow(self, pool: Pool) -> bool:
        memory = ctypes.create_string_buffer(VIEW.itemsize)
        write_state(pool, self._env_id, ctypes.addressof(memory))
        seen = np.frombuffer(memory.raw, VIEW)[0]
        begins = int(seen["episode"]) != self._episode
        if begins:
            self._reset(seen)
            self._episode = int(seen["episode"])
        self.env.t, self.env.reward = float(seen["t"]), float(seen["reward"])
        self._move(seen["hull"], seen["wheels"])
        self._color(seen)
        return bool(begins)

    def _reset(self, seen: Any) -> None:
        env = self.env
        numbers = map(int, (*seen["generator"], *seen["generator_rest"]))
        env.np_random.bit_generator.state = box2d_renderer.generator_state(*numbers)
        options = {}
        if env.domain_randomize:
            for name in ("road_color", "bg_color", "grass_color"):
                setattr(env, name, seen[name].copy())
            options = {"randomize": bool(seen["randomizes"])}
        env.reset(options=options)

    def _move(self, hull: Any, wheels: Any) -> None:
        car = self.env.car
        x, y, angle, vx, vy, spin = hull.tolist()
        car.hull.transform = ((x, y), angle)
        car.hull.linearVelocity, car.hull.angularVelocity = (vx, vy), spin
        for wheel, (x, y, angle, phase, omega) in zip(car.wheels, wheels.tolist(), strict=True):
            wheel.transform = ((x, y), angle)
            wheel.phase, wheel.omega = phase, omega

    def _color(self, seen: Any) -> None:
        """Gives tiles their color, and puts traces of wheels on the ground."""
        env, dynamics = self.env, self._dynamics
        for i, tile in enumerate(env.road):
            shade = 0 if seen["is_plain"][i] else 0.01 * (i % 3) * 255
            tile.color[:] = env.road_color + shade
        env.car.particles.clear()
        for i in range(int(seen["num_traces"])):
            grass = bool(seen["traces_on_grass"][i])
            points = seen["traces"][i, : seen["trace_sizes"][i]].astype(np.float64).tolist()
            color = dynamics.MUD_COLOR if grass else dynamics.WHEEL_COLOR
            env.car.particles.append(
                dynamics.Particle(color=color, poly=[tuple(each) for each in points], grass=grass)
            )


def modes(definition: Definition) -> Sequence[str]:
    """Returns the render modes of an environment."""
    return Renderer.modes()


def render_fps(pool: Pool) -> int:
    """Returns the pictures per second in the metadata of Gymnasium's environment."""
    return int(importlib.import_module(MODULE).FPS)
