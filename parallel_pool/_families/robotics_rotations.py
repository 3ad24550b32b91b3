"""Rotations of whole arrays as Gymnasium-Robotics computes them, operation by operation.

Quaternions are w, x, y, z, and angles are in radians; each is the last axis of an array. C has the
same for one rotation (csrc/envs/mujoco/robotics/rotations.h).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def multiply(left: Array, right: Array) -> Array:
    """Returns the products of quaternions, (..., 4)."""
    w0, x0, y0, z0 = (left[..., i] for i in range(4))
    w1, x1, y1, z1 = (right[..., i] for i in range(4))
    parts = (
        w0 * w1 - x0 * x1 - y0 * y1 - z0 * z1,
        w0 * x1 + x0 * w1 + y0 * z1 - z0 * y1,
        w0 * y1 + y0 * w1 + z0 * x1 - x0 * z1,
        w0 * z1 + z0 * w1 + x0 * y1 - y0 * x1,
    )
    return np.stack(parts, axis=-1)


def conjugate(quats: Array) -> Array:
    """Returns the inverse rotations, (..., 4)."""
    inverse = -quats
    inverse[..., 0] *= -1
    return inverse


def to_angles(quats: Array) -> Array:
    """Returns the Euler angles of quaternions, (..., 3) of float64."""
    w, x, y, z = (np.asarray(quats, np.float64)[..., i] for i in range(4))
    square = np.sum(np.asarray(quats, np.float64) ** 2, axis=-1)
    scale = 2.0 / square
    xs, ys, zs = x * scale, y * scale, z * scale
    is_rotation = square > np.finfo(np.float64).eps

    def element(value: Any, of_identity: float) -> Any:
        return np.where(is_rotation, value, of_identity)

    first = element(1.0 - (y * ys + z * zs), 1), element(x * ys - w * zs, 0)
    sine = element(x * zs + w * ys, 0)
    second = element(x * ys + w * zs, 0), element(1.0 - (x * xs + z * zs), 1)
    third = element(y * zs - w * xs, 0), element(1.0 - (x * xs + y * ys), 1)
    cosine = np.sqrt(third[1] * third[1] + third[0] * third[0])
    # otherwise the middle angle is a right one, and only one of the other two has a meaning
    is_regular = cosine > np.finfo(np.float64).eps * 4.0
    angles = (
        np.where(is_regular, -np.arctan2(*third), 0.0),
        -np.arctan2(-sine, cosine),
        np.where(is_regular, -np.arctan2(*first[::-1]), -np.arctan2(-second[0], second[1])),
    )
    return np.stack(angles, axis=-1)


def from_angles(angles: Array) -> Array:
    """Returns the quaternions of Euler angles, (..., 4) of float64."""
    halves = angles[..., 2] / 2, -angles[..., 1] / 2, angles[..., 0] / 2
    si, sj, sk = (np.sin(half) for half in halves)
    ci, cj, ck = (np.cos(half) for half in halves)
    cc, cs, sc, ss = ci * ck, ci * sk, si * ck, si * sk
    parts = (cj * cc + sj * ss, cj * cs - sj * sc, -(cj * ss + sj * cc), cj * sc - sj * cs)
    return np.stack(parts, axis=-1)
