"""Gymnasium's wrappers of pictures, as a plan of what native environments make of theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import gymnasium
import numpy as np
from gymnasium import wrappers as known

from parallel_pool._engine import registry
from parallel_pool._engine.arguments import quote
from parallel_pool._engine.picture_plan import (
    MAX_FRAMES,
    MAX_SIDE_PIXELS,
    MAX_STAGES,
    Gray,
    PicturePlan,
    Resize,
)
from parallel_pool._engine.specs import Definition


@dataclass(frozen=True)
class Stack:
    """FrameStackObservation: how many frames, and whether zeros fill the stack of a reset."""

    size: int
    pads_zero: bool


Part = Gray | Resize | Stack


def _read_gray(keep_dim: Any) -> Gray:
    if type(keep_dim) is not bool:
        raise ValueError(f"GrayscaleObservation(keep_dim={quote(keep_dim)}) needs a bool")
    return Gray(keep_dim)


def _read_resize(shape: Any) -> Resize:
    is_pair = type(shape) is tuple and len(shape) == 2
    if not is_pair or not all(
        isinstance(side, (int, np.integer))
        and type(side) is not bool
        and 1 <= side <= MAX_SIDE_PIXELS
        for side in shape
    ):
        raise ValueError(
            f"ResizeObservation(shape={quote(shape)}) needs a tuple of two ints of 1 to"
            f" {MAX_SIDE_PIXELS}"
        )
    return Resize(*map(int, shape))


def _read_stack(stack_size: Any, padding_type: Any) -> Stack:
    given = f"FrameStackObservation({quote(stack_size)}, padding_type={quote(padding_type)})"
    if type(stack_size) is not int or not 1 <= stack_size <= MAX_FRAMES:
        raise ValueError(f"{given} does not stack 1 to {MAX_FRAMES} frames")
    if type(padding_type) is not str or padding_type not in ("reset", "zero"):
        raise ValueError(f"{given} has a padding type other than 'reset' and 'zero'")
    return Stack(stack_size, padding_type == "zero")


# for each wrapper the names of its arguments, and the function that reads them, which raises
# ValueError with a clause where C has none
READERS: dict[type, tuple[tuple[str, ...], Any]] = {
    known.GrayscaleObservation: (("keep_dim",), _read_gray),
    known.ResizeObservation: (("shape",), _read_resize),
    known.FrameStackObservation: (("stack_size", "padding_type"), _read_stack),
}


def plan(parts: Sequence[tuple[str, Part]]) -> PicturePlan:
    """Returns what several wrappers make of a picture, the innermost first.

    Raises:
        ValueError: they can't be done in this order; a clause.
    """
    names = " and ".join(name for name, _ in parts)
    stages = [part for _, part in parts if not isinstance(part, Stack)]
    stacks = [part for _, part in parts if isinstance(part, Stack)]
    if len(stacks) > 1 or (stacks and not isinstance(parts[-1][1], Stack)):
        raise ValueError(f"{names} can't be native: FrameStackObservation can, as the outermost")
    if len(stages) > MAX_STAGES:
        raise ValueError(f"{names} can't be native: they are more than {MAX_STAGES}")
    stack = stacks[0] if stacks else Stack(0, False)
    return PicturePlan(tuple(stages), stack.size, stack.pads_zero)


def unfused_reason(
    definition: Definition, options: Mapping[str, Any], pictures: PicturePlan
) -> str | None:
    """Returns why native environments can't replace wrappers of pictures; None if they can.

    Args:
        definition: of the environments.
        options: of the environments, as their constructor takes them.
        pictures: what the wrappers make.
    """
    try:
        completed = registry.fill_options(definition, options)
        plain = definition.configure(completed)
    except Exception:
        # wrong options are reported when the environments are made
        return None
    try:
        definition.configure(completed, pictures)
    except ValueError as error:
        return str(error)
    (picture,) = plain.observations
    return why_unproven(picture.shape, pictures.stages)


# ----------------------------------------------------------------------------------- proof --


class _Pictures(gymnasium.Env[Any, Any]):
    """An environment that shows pictures, and does nothing else."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.observation_space = gymnasium.spaces.Box(0, 255, shape, np.uint8)
        self.action_space = gymnasium.spaces.Discrete(1)


@cache
def why_unproven(shape: tuple[int, ...], stages: tuple[Gray | Resize, ...]) -> str | None:
    """Compares C with the installed Gymnasium, NumPy and OpenCV on a few pictures of a shape.

    Returns:
        Why C can't replace them, a clause; None if all pixels are equal.
    """
    wrappers: list[Any] = []
    env: Any = _Pictures(shape)
    try:
        for stage in stages:
            if isinstance(stage, Resize):
                env = known.ResizeObservation(env, (stage.height, stage.width))
            else:
                env = known.GrayscaleObservation(env, stage.keeps_axis)
            wrappers.append(env)
    except Exception as error:
        # the installed Gymnasium refuses it, or OpenCV is missing
        return str(error)
    for picture in _samples(shape):
        expected = picture
        for wrapper in wrappers:
            expected = wrapper.observation(expected)
        if not np.array_equal(PicturePlan(stages).convert(picture), expected):
            return (
                f"pictures of {' x '.join(map(str, shape))} have other pixels with the installed"
                f" gymnasium {gymnasium.__version__}"
            )
    return None


def _samples(shape: tuple[int, ...]) -> list[Any]:
    """Returns pictures, uint8: noise, noise of few values, and a slope."""
    rng = np.random.default_rng(7)
    slope = np.add.outer(np.arange(shape[0]), np.arange(shape[1])).reshape(
        *shape[:2], *(1 for _ in shape[2:])
    )
    return [
        rng.integers(0, 256, shape, np.uint8),
        rng.choice(np.array([0, 1, 254, 255], np.uint8), shape),
        np.broadcast_to(slope, shape).astype(np.uint8),
    ]
