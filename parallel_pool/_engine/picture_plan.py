"""PicturePlan: what becomes of the pictures that native environments show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parallel_pool._engine.strict_zip import zip
from parallel_pool._native import ffi, lib, new_error, raise_error

if TYPE_CHECKING:
    from parallel_pool._core import CData
    from parallel_pool._engine.buffers import Array

MAX_STAGES: int = lib.PP_MAX_STAGES
MAX_FRAMES: int = lib.PP_MAX_FRAMES
MAX_SIDE_PIXELS: int = lib.PP_MAX_PICTURE_SIDE


@dataclass(frozen=True)
class Gray:
    """One value for each pixel, as Gymnasium's GrayscaleObservation.

    Attributes:
        keeps_axis: whether the axis of colors stays, with one element.
    """

    keeps_axis: bool = False


@dataclass(frozen=True)
class Resize:
    """Another size in pixels, as Gymnasium's ResizeObservation."""

    height: int
    width: int


@dataclass(frozen=True)
class PicturePlan:
    """The stages that each picture goes through, and how many of the last frames are stacked.

    Attributes:
        stages: at most MAX_STAGES.
        stack: frames of an observation, the oldest first; 0 for a frame without that axis.
        pads_zero: whether the stack of a reset is filled with zeros, not with its own frame.
    """

    stages: tuple[Gray | Resize, ...] = ()
    stack: int = 0
    pads_zero: bool = False

    def raw(self) -> CData:
        """Returns a new `pp_picture_options`."""
        options = ffi.new("pp_picture_options *")
        options.num_stages = len(self.stages)
        for raw, stage in zip(options.stages, self.stages, strict=False):
            if isinstance(stage, Resize):
                raw.kind, raw.height, raw.width = lib.PP_STAGE_RESIZE, stage.height, stage.width
            else:
                raw.kind = lib.PP_STAGE_GRAY_AXIS if stage.keeps_axis else lib.PP_STAGE_GRAY
        options.stack = self.stack
        options.padding = lib.PP_PAD_ZERO if self.pads_zero else lib.PP_PAD_RESET
        return options

    def describe(self, config: CData) -> None:
        """Changes a `pp_config` into that of environments whose pictures are changed.

        Raises:
            ValueError: they show no picture, or a stage can't take it.
        """
        error = new_error()
        status = lib.pp_pictures_describe(self.raw(), config, error)
        if status < 0:
            raise_error(status, error)

    def convert(self, picture: Array) -> Array:
        """Returns what the stages make of one picture; the stack is not made.

        Args:
            picture: uint8 (height, width) or (height, width, colors).

        Raises:
            ValueError: a stage can't take it.
        """
        height, width, *colors = picture.shape
        given = height, width, sum(colors)
        for stage in self.stages:
            if isinstance(stage, Resize):
                height, width = stage.height, stage.width
            else:
                colors = [1] if stage.keeps_axis else []
        out = np.empty((height, width, *colors), np.uint8)
        error = new_error()
        status = lib.pp_pictures_convert(
            self.raw(),
            ffi.from_buffer("uint8_t[]", np.ascontiguousarray(picture)),
            *given,
            ffi.from_buffer("uint8_t[]", out, require_writable=True),
            error,
        )
        if status < 0:
            raise_error(status, error)
        return out
