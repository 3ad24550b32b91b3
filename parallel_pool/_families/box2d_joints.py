"""Finds where Box2D's revolute joints keep what C's own solver needs (csrc/envs/box2d/joints.c).

A chain of bodies is stepped once. Then the memory of its joints holds values that are known: those
that were given, those that Python's bindings return, and those that the constraint's formulas give.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from parallel_pool._families import box2d_memory

# the joint's virtual functions that C replaces, and one more
SYMBOLS = {
    "joint_begin": "_ZN15b2RevoluteJoint23InitVelocityConstraintsERK12b2SolverData",
    "joint_solve": "_ZN15b2RevoluteJoint24SolveVelocityConstraintsERK12b2SolverData",
}
TABLE = "_ZTV15b2RevoluteJoint"

LINKS = 8
# of b2SolverData, as far as it is searched for a pointer
DATA = 64
# b2Velocity: x and y of a velocity, and an angular velocity
VELOCITY = struct.Struct("<3f")

# Limits of a joint whose angle is 0, and the number of their state: inactive, at the lower, at the
# upper, and so close that they are equal.
LIMITS = ((-1.0, 1.0), (0.1, 1.0), (-1.0, -0.1), (0.0, 0.01))


class Chain:
    """Bodies with angle 0, of which each is joined to the next."""

    def __init__(self, box2d: Any) -> None:
        """
        Args:
            box2d: the module.
        """
        self.world = box2d.b2World(gravity=(0, 0))
        self.bodies = [self._add_body(box2d, i) for i in range(LINKS + 1)]
        self.joints = [self._join(i) for i in range(LINKS)]
        # a step changes them
        self.velocities = [
            VELOCITY.pack(*body.linearVelocity, body.angularVelocity) for body in self.bodies
        ]

    def _add_body(self, box2d: Any, i: int) -> Any:
        disc = box2d.b2CircleShape(radius=0.3 + 0.05 * i, pos=(0.1 + 0.02 * i, 0.2 - 0.03 * i))
        body = self.world.CreateDynamicBody(
            position=(2 * i, 0), fixtures=box2d.b2FixtureDef(shape=disc, density=1 + 0.3 * i)
        )
        body.linearVelocity = (0.3 + 0.1 * i, 0.7 - 0.2 * i)
        body.angularVelocity = 0.5 - 0.15 * i
        return body

    def _join(self, i: int) -> Any:
        lower, upper = LIMITS[i % len(LIMITS)]
        return self.world.CreateRevoluteJoint(
            bodyA=self.bodies[i],
            bodyB=self.bodies[i + 1],
            localAnchorA=_anchor_a(i),
            localAnchorB=_anchor_b(i),
            enableMotor=True,
            enableLimit=True,
            maxMotorTorque=20.5 + i,
            motorSpeed=1.25 + i,
            lowerAngle=lower,
            upperAngle=upper,
        )

    def index(self, i: int) -> int:
        """Returns the place of body i in the solver's arrays: the newest body is the first."""
        return LINKS - i


def find_places(box2d: Any, body_places: Mapping[str, int]) -> dict[str, int]:
    """Returns the numbers of joints in C's box2d_library.

    Args:
        box2d: the module.
        body_places: the offsets of inverse_mass and inverse_inertia in a body.

    Raises:
        UnprovenError: something was not found.
    """
    table, slots = box2d_memory.table(box2d_memory.symbols(box2d), TABLE, SYMBOLS.values())
    chain = Chain(box2d)
    velocities = _step(chain, table, slots[0])
    memories = box2d_memory.blocks(chain.joints)
    masses = _masses(chain, body_places)
    arms = _arms(chain)

    def place(what: str, value: Callable[[int], bytes]) -> int:
        return box2d_memory.find(memories, [value(i) for i in range(LINKS)], what)

    def number(format: str, *numbers: Any) -> bytes:
        return struct.pack(f"<{len(numbers)}{format}", *numbers)

    joints = chain.joints
    return {
        "joint_table": table,
        "joint_begin_slot": slots[0],
        "joint_solve_slot": slots[1],
        "joint_velocities": velocities,
        "joint_indices": place(
            "a joint's indices", lambda i: number("i", chain.index(i), chain.index(i + 1))
        ),
        "joint_arms": place("a joint's arms", lambda i: number("f", *arms[i])),
        "joint_masses": place("a joint's masses", lambda i: number("f", *masses[i])),
        "joint_matrix": place(
            "a joint's matrix", lambda i: number("f", *_matrix(*arms[i], *masses[i]))
        ),
        "joint_motor_mass": place(
            "a joint's motor mass",
            lambda i: number("f", np.float32(1) / (masses[i][2] + masses[i][3])),
        ),
        "joint_limit_state": place("a joint's state", lambda i: number("i", i % len(LIMITS))),
        "joint_impulse": place(
            "a joint's impulse",
            lambda i: number(
                "f", *joints[i].GetReactionForce(1.0), joints[i].GetReactionTorque(1.0)
            ),
        ),
        "joint_motor_impulse": place(
            "a motor's impulse", lambda i: number("f", joints[i].GetMotorTorque(1.0))
        ),
        "joint_motor_speed": place("a motor's speed", lambda i: number("f", 1.25 + i)),
        "joint_motor_torque": place("a motor's torque", lambda i: number("f", 20.5 + i)),
    }


def _step(chain: Chain, table: int, begin: int) -> int:
    """Steps the world. Returns where the solver's data has the pointer to velocities.

    A joint gets another table of virtual functions, of which one is Python's and sees this data. A
    pointer is followed only into the world's own memory, where Box2D has the solver's arrays.

    Args:
        chain: the bodies, which have not been stepped yet.
        table: the address of the joint's table.
        begin: which of the functions is InitVelocityConstraints.
    """
    pointer = ctypes.c_uint64.from_address(box2d_memory.address(chain.joints[0]))
    if pointer.value != table:
        box2d_memory.refuse("has joints without their table of virtual functions")
    head = 8 * box2d_memory.TABLE_HEAD
    size = head + 8 * box2d_memory.MAX_FUNCTIONS
    copy = ctypes.create_string_buffer(ctypes.string_at(table - head, size), size)
    slot = ctypes.c_uint64.from_buffer(copy, head + 8 * begin)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    original = kind(slot.value)
    expected = b"".join(reversed(chain.velocities))
    world = box2d_memory.address(chain.world)
    end = world + box2d_memory.size(chain.world) - len(expected)
    found: list[int] = []

    def look(joint: int, data: int) -> None:
        for offset in range(0, DATA, 8):
            at = ctypes.c_uint64.from_address(data + offset).value
            if world <= at < end and ctypes.string_at(at, len(expected)) == expected:
                found.append(offset)
        original(joint, data)

    callback = kind(look)
    slot.value = ctypes.cast(callback, ctypes.c_void_p).value or 0
    pointer.value = ctypes.addressof(copy) + head
    try:
        chain.world.Step(0.02, 1, 1)
    finally:
        pointer.value = table
    if len(found) != 1:
        box2d_memory.refuse(f"has {len(found)} places that may hold the solver's velocities")
    return found[0]


def _arms(chain: Chain) -> list[list[Any]]:
    """Returns x and y of both anchors from their bodies' centers of mass, of each joint."""
    centers = [np.array(body.localCenter, np.float32) for body in chain.bodies]
    return [
        [
            *(np.array(_anchor_a(i), np.float32) - centers[i]),
            *(np.array(_anchor_b(i), np.float32) - centers[i + 1]),
        ]
        for i in range(LINKS)
    ]


def _anchor_a(i: int) -> tuple[float, float]:
    return 1 + 0.03 * i, 0.11 + 0.05 * i


def _anchor_b(i: int) -> tuple[float, float]:
    return -1 - 0.04 * i, 0.13 - 0.07 * i


def _masses(chain: Chain, places: Mapping[str, int]) -> list[list[Any]]:
    """Returns the inverse masses of both bodies, and their inverse inertias, of each joint."""
    bodies = box2d_memory.blocks(chain.bodies)
    masses, inertias = (
        [np.frombuffer(body, np.float32, 1, places[name])[0] for body in bodies]
        for name in ("inverse_mass", "inverse_inertia")
    )
    return [[*masses[i : i + 2], *inertias[i : i + 2]] for i in range(LINKS)]


def _matrix(ax: Any, ay: Any, bx: Any, by: Any, ma: Any, mb: Any, ia: Any, ib: Any) -> list[Any]:
    """Returns what turns an impulse (x, y, torque) into a change of relative velocity, in float32.

    Columns are beside each other. See E. Catto, "Iterative Dynamics with Temporal Coherence" (GDC
    2005): J M^-1 J^T of the point constraint and the angle.
    """
    xx = ma + mb + ay * ay * ia + by * by * ib
    xy = -ay * ax * ia - by * bx * ib
    xz = -ay * ia - by * ib
    yy = ma + mb + ax * ax * ia + bx * bx * ib
    yz = ax * ia + bx * ib
    return [xx, xy, xz, xy, yy, yz, xz, yz, ia + ib]
