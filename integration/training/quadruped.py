"""A quadruped learns to walk to velocity commands, on `mujoco.batch` and `ppo.py`.

    python -m integration.training.quadruped --seeds 1 2 3

It draws the returns over wall-clock time, how well the robot follows commands, and its gait, and
writes numbers and pictures to results/. `--steps` and `--minutes` limit each training.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import torch

from integration.training import ppo
from integration.training.quadrupeds import MODEL, Quadrupeds, Ranges
from parallel_pool.errors import MissingDependencyError
from parallel_pool.mujoco_batch import BatchVectorEnv

Array = np.ndarray[Any, Any]

SETTINGS = ppo.Settings(
    total_steps=6_000_000,
    rollout_steps=24,
    epochs=4,
    minibatches=4,
    learning_rate=1e-3,
    gamma=0.98,
    gae_lambda=0.95,
    entropy_weight=0.002,
)
WORLDS = 256
# steps between two points of a curve
EVERY = 100_000
# of a test: worlds, steps, and the first steps, which are left out of means
TEST_WORLDS, TEST_STEPS, SETTLING = 32, 500, 100
COMMANDS = [(0.0, 0.0), (0.3, 0.0), (0.6, 0.0), (0.8, 0.0), (0.3, 0.6), (0.3, -0.6)]
GAIT = (0.6, 0.0)
FEET = ("touch fl", "touch fr", "touch bl", "touch br")


def make(ranges: Ranges, worlds: int, threads: int, seed: int) -> BatchVectorEnv:
    return BatchVectorEnv(Quadrupeds(ranges, seed), worlds, num_threads=threads)


def trained(
    ranges: Ranges, settings: ppo.Settings, minutes: float, worlds: int, threads: int
) -> tuple[ppo.Agent, dict[str, Any]]:
    """Trains an agent; returns it, its curve and its time.

    Args:
        ranges: what differs between episodes.
        settings: of PPO.
        minutes: after which training ends.
        worlds, threads: of the simulation.
    """
    begun = time.monotonic()
    curve: list[tuple[int, float, float]] = []

    def report(training: ppo.Training, steps: int) -> bool:
        seconds = time.monotonic() - begun
        if training.returns and steps >= EVERY * (len(curve) + 1):
            mean = float(np.mean(training.returns[-100:]))
            curve.append((steps, seconds, mean))
            print(f"{steps:9,d} steps {seconds:6.0f} s {mean:7.1f}", flush=True)
        return seconds >= 60 * minutes

    with closing(make(ranges, worlds, threads, settings.seed)) as envs:
        training = ppo.train(envs, settings, report)
    return training.agent, {"seed": settings.seed, "curve": curve}


@torch.no_grad()
def policy(agent: ppo.Agent, observations: Array) -> Array:
    """Returns the agent's actions without noise."""
    actions: Array = agent.policy(torch.as_tensor(observations)).numpy()
    return actions


def followed(
    agent: ppo.Agent, command: Sequence[float], ranges: Ranges | None = None, seed: int = 100
) -> dict[str, float]:
    """Returns the means of speed and rate of turn with a command, and falls a minute and robot."""
    with closing(make(ranges or Ranges(), TEST_WORLDS, 1, seed)) as envs:
        task: Any = envs.task
        task.fixed = np.array(command)
        observations, _ = envs.reset(seed=seed)
        speeds, turns, falls = [], [], 0
        for step in range(TEST_STEPS):
            observations, _, terminated, _, _ = envs.step(policy(agent, observations))
            falls += int(terminated.sum())
            if step >= SETTLING:
                local = task.rotated(envs.batch)
                speeds.append(local["velocity"][:, 0])
                turns.append(local["turn"][:, 2])
    minutes = TEST_WORLDS * TEST_STEPS / 50 / 60
    error = np.abs(np.array(speeds) - command[0]).mean()
    return {
        "speed": round(float(np.mean(speeds)), 3),
        "turn": round(float(np.mean(turns)), 3),
        "error": round(float(error), 3),
        "falls": round(falls / minutes, 2),
    }


# ---------------------------------------------------------------------------------- pictures --


def painted() -> Any:
    """Returns the model with colours and a chequered floor."""
    spec = mujoco.MjSpec.from_file(str(MODEL))
    spec.visual.headlight.ambient, spec.visual.headlight.diffuse = [0.5] * 3, [0.5] * 3
    checker = mujoco.mjtBuiltin.mjBUILTIN_CHECKER
    spec.add_texture(
        name="tiles",
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        builtin=checker,
        width=64,
        height=64,
        rgb1=[0.9] * 3,
        rgb2=[0.75, 0.8, 0.85],
    )
    tiles = spec.add_material(name="tiles", texrepeat=[80, 80])
    tiles.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "tiles"
    for geom in spec.geoms:
        geom.rgba = [0.9, 0.55, 0.2, 1] if geom.name == "trunk" else [0.25, 0.35, 0.5, 1]
    floor = spec.geom("floor")
    floor.material, floor.rgba = "tiles", [1, 1, 1, 1]
    # it follows the trunk
    camera = spec.body("torso").add_camera(name="film", pos=[0.15, -0.85, 0.12])
    camera.mode = mujoco.mjtCamLight.mjCAMLIGHT_TRACK
    camera.alt.type = mujoco.mjtOrientation.mjORIENTATION_XYAXES
    camera.alt.xyaxes = [1, 0.2, 0, 0, 0.25, 1]
    return spec.compile()


def walk(agent: ppo.Agent, steps: int = 150) -> tuple[list[Array], Array]:
    """Returns pictures of a walking robot, and the forces on its feet, (steps, 4).

    Without OpenGL there are no pictures.
    """
    task = Quadrupeds()
    task.fixed = np.array(GAIT)
    options: Any = {"render_mode": "rgb_array", "camera_name": "film", "model": painted()}
    pictures: list[Array] = []
    forces = []
    with closing(BatchVectorEnv(task, 1, num_threads=1, width=240, height=200, **options)) as envs:
        places = [envs.batch.model.sensor(name).adr[0] for name in FEET]
        observations, _ = envs.reset(seed=3)
        for step in range(steps):
            observations, *_ = envs.step(policy(agent, observations))
            forces.append(envs.batch.sensordata[0, places].copy())
            if step >= steps - 24 and step % 4 == 0:
                with suppress(MissingDependencyError):
                    pictures.append(envs.render()[0])
    return pictures, np.array(forces)


def draw_gait(agent: ppo.Agent, path: Path) -> None:
    """Draws six moments of a walk, and when each foot is on the ground."""
    from matplotlib.figure import Figure

    pictures, forces = walk(agent)
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    upper, lower = figure.subfigures(2, 1, height_ratios=(1.3, 1))
    for axes, picture in zip(upper.subplots(1, max(1, len(pictures))).ravel(), pictures):  # noqa: B905
        axes.imshow(picture)
        axes.axis("off")
    axes = lower.subplots()
    seconds = np.arange(len(forces)) / 50
    for row, name in enumerate(FEET):
        axes.fill_between(seconds, row, row + 0.8 * (forces[:, row] > 0), step="mid", color="C0")
        axes.text(-0.05, row + 0.3, name.removeprefix("touch "), ha="right")
    axes.set(xlabel="seconds", yticks=[], xlim=(0, seconds[-1]), title="feet on the ground")
    figure.savefig(path, dpi=110)


def draw_curves(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Draws the returns of all seeds over time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for result in results:
        label = f"{result.get('name', 'seed')} {result['seed']}"
        steps, seconds, returns = zip(*result["curve"], strict=True)
        axes.plot(np.array(seconds) / 60, returns, label=f"{label}: {steps[-1] / 1e6:.1f} M steps")
    axes.set(xlabel="minutes", ylabel="return of an episode of 10 s, mean of 100")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=110)


# ----------------------------------------------------------------------------------- program --


def arguments_of(name: str, description: str | None) -> argparse.ArgumentParser:
    """Returns the arguments that the programs of the quadruped share."""
    parser = argparse.ArgumentParser(
        prog=f"python -m integration.training.{name}", description=description
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--steps", type=int, default=SETTINGS.total_steps, help="of a training")
    parser.add_argument("--minutes", type=float, default=60.0, help="of a training, at most")
    parser.add_argument("--worlds", type=int, default=WORLDS)
    parser.add_argument("--threads", type=int, default=2, help="of the simulation; torch has 1")
    parser.add_argument("--out", type=Path, default=Path("integration/results"))
    return parser


def settings_of(options: argparse.Namespace, seed: int) -> ppo.Settings:
    return ppo.Settings(**{**asdict(SETTINGS), "total_steps": options.steps, "seed": seed})


def write(result: dict[str, Any], options: argparse.Namespace, path: Path) -> None:
    """Writes a result with its settings."""
    setting = {
        "settings": asdict(settings_of(options, 0)),
        "worlds": options.worlds,
        "threads": options.threads,
    }
    path.write_text(json.dumps(setting | result) + "\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains with each seed, and writes the results."""
    options = arguments_of("quadruped", __doc__).parse_args(arguments)
    torch.set_num_threads(1)
    options.out.mkdir(parents=True, exist_ok=True)
    results = []
    for seed in options.seeds:
        agent, result = trained(
            Ranges(), settings_of(options, seed), options.minutes, options.worlds, options.threads
        )
        result["followed"] = [
            {"command": command, **followed(agent, command)} for command in COMMANDS
        ]
        for line in result["followed"]:
            print(json.dumps(line), flush=True)
        results.append(result)
        if seed == options.seeds[0]:
            draw_gait(agent, options.out / "quadruped_gait.png")
    write({"seeds": results}, options, options.out / "quadruped.json")
    draw_curves(results, options.out / "quadruped.png")


if __name__ == "__main__":
    main()
