"""FrankaKitchen: the configuration of its robot, and its tasks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from xml.etree import ElementTree

from parallel_pool._engine.arguments import quote
from parallel_pool._families import robotics_models
from parallel_pool.errors import MissingDependencyError

CONFIGURATION = "kitchen_franka/franka_assets/franka_config.xml"


def read_configuration(count: int) -> list[float]:
    """Returns bounds and noise of the robot and of the kitchen's objects.

    These are low and high bound of each position, those of each velocity, the noise of each
    position, and that of each velocity.

    Args:
        count: velocities of the model.

    Raises:
        MissingDependencyError: the installed package has no such configuration.
    """
    path = robotics_models.assets() / CONFIGURATION
    numbers: list[list[float]] = []
    try:
        root = ElementTree.parse(path).getroot()
        nodes = [root.find(f"qpos{i}") for i in range(count)]
        for name, size in (
            *(("pos_bound", 2), ("vel_bound", 2)),
            *(("pos_noise_amp", 1), ("vel_noise_amp", 1)),
        ):
            for node in nodes:
                assert node is not None
                numbers.append([float(text) for text in node.attrib[name].split()[:size]])
                assert len(numbers[-1]) == size
    except (OSError, ElementTree.ParseError, AssertionError, KeyError, ValueError) as error:
        raise MissingDependencyError(
            f"{path} is not Franka's configuration: {robotics_models.INSTALL} --force-reinstall"
        ) from error
    return [number for pair in numbers for number in pair]


def join_tasks(tasks: Any) -> str:
    """Returns the names of tasks as the option's text.

    Raises:
        TypeError: they are no names.
    """
    if isinstance(tasks, str):
        return tasks
    if not isinstance(tasks, Iterable) or not all(isinstance(name, str) for name in tasks):
        raise TypeError(f"tasks_to_complete={quote(tasks)}: give a list of names of tasks")
    return ",".join(tasks)
