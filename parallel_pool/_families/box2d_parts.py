"""Definitions of the parts of Box2D's environments: bodies, fixtures, shapes and joints.

They are made as Gymnasium's environments make them, with Python's bindings of Box2D. C reads them,
and copies some of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Parts = dict[str, Any]

SCALE = 30.0

# of CarRacing's car: meters in a unit, places of the wheels, and corners of polygons
CAR_SIZE = 0.02
WHEELS = ((-55, +80), (+55, +80), (-55, -82), (+55, -82))
HULL = (
    ((-60, +130), (+60, +130), (+60, +110), (-60, +110)),
    ((-15, +120), (+15, +120), (+20, +20), (-20, +20)),
    (
        *((+25, +20), (+50, -10), (+50, -40), (+20, -90)),
        *((-20, -90), (-50, -40), (-50, -10), (-25, +20)),
    ),
    ((-50, -120), (+50, -120), (+50, -90), (-50, -90)),
)
WHEEL = ((-14, +27), (+14, +27), (+14, -27), (-14, -27))


def all_parts(box2d: Any) -> Parts:
    """Returns all definitions, by the names of C's box2d_library.

    Args:
        box2d: the module.
    """
    edge = box2d.b2EdgeShape(vertices=[(0, 0), (1, 1)])
    polygon = box2d.b2PolygonShape(vertices=[(0, 0), (1, 0), (1, -1), (0, -1)])
    return {
        "static_body": box2d.b2BodyDef(type=box2d.b2_staticBody),
        "edge": edge,
        "polygon": polygon,
        **_lander(box2d, edge),
        **_walker(box2d, edge, polygon),
        **_car(box2d, polygon),
    }


def of_kind(parts: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Returns those whose name ends in a kind, such as "_joint"."""
    return {name: each for name, each in parts.items() if name.endswith(kind)}


def _lander(box2d: Any, edge: Any) -> Parts:
    """Returns the parts in gymnasium/envs/box2d/lunar_lander.py."""
    width, height = 600 / SCALE, 400 / SCALE
    corners = [(-14, 17), (-17, 0), (-17, -10), (17, -10), (17, 0), (14, 17)]
    hull = box2d.b2PolygonShape(vertices=[(x / SCALE, y / SCALE) for x, y in corners])
    shin = box2d.b2PolygonShape(box=(2 / SCALE, 8 / SCALE))
    start = (width / 2, height)
    made = {
        "lander_body": box2d.b2BodyDef(position=start, angle=0.0, type=box2d.b2_dynamicBody),
        "lander_fixture": box2d.b2FixtureDef(
            shape=hull,
            density=5.0,
            friction=0.1,
            categoryBits=0x0010,
            maskBits=0x001,
            restitution=0.0,
        ),
        "leg_fixture": box2d.b2FixtureDef(
            shape=shin, density=1.0, restitution=0.0, categoryBits=0x0020, maskBits=0x001
        ),
        "floor_fixture": box2d.b2FixtureDef(shape=edge),
        "ground_fixture": box2d.b2FixtureDef(shape=edge, density=0, friction=0.1),
    }
    create = _world(box2d)
    lander = create(made["lander_body"])
    for name, side in (("left", -1), ("right", 1)):
        body = box2d.b2BodyDef(
            position=(start[0] - side * 20 / SCALE, start[1]),
            angle=side * 0.05,
            type=box2d.b2_dynamicBody,
        )
        joint = box2d.b2RevoluteJointDef(
            bodyA=lander,
            bodyB=create(body),
            localAnchorA=(0, 0),
            localAnchorB=(side * 20 / SCALE, 18 / SCALE),
            enableMotor=True,
            enableLimit=True,
            maxMotorTorque=40,
            motorSpeed=0.3 * side,
        )
        joint.lowerAngle, joint.upperAngle = (0.9 - 0.5, 0.9) if side < 0 else (-0.9, -0.9 + 0.5)
        made |= {f"{name}_leg_body": body, f"{name}_leg_joint": joint}
    return made


def _walker(box2d: Any, edge: Any, polygon: Any) -> Parts:
    """Returns the parts in gymnasium/envs/box2d/bipedal_walker.py."""
    down, width, height = -8 / SCALE, 8 / SCALE, 34 / SCALE
    start = (14 / SCALE * 20 / 2, 400 / SCALE / 4 + 2 * height)
    corners = [(-30, +9), (+6, +9), (+34, +1), (+34, -8), (-30, -8)]
    hull = box2d.b2PolygonShape(vertices=[(x / SCALE, y / SCALE) for x, y in corners])
    filters = {"categoryBits": 0x0020, "maskBits": 0x001, "restitution": 0.0}
    made = {
        "hull_body": box2d.b2BodyDef(position=start, type=box2d.b2_dynamicBody),
        "hull_fixture": box2d.b2FixtureDef(shape=hull, density=5.0, friction=0.1, **filters),
        "grass_fixture": box2d.b2FixtureDef(shape=edge, friction=2.5, categoryBits=0x0001),
        "wall_fixture": box2d.b2FixtureDef(shape=polygon, friction=2.5),
    }
    create = _world(box2d)
    trunk = thigh = create(made["hull_body"])
    motor = {"enableMotor": True, "enableLimit": True, "maxMotorTorque": 80}
    for name, side in (("left", -1), ("right", 1)):
        for limb, part in (("thigh", 1), ("shin", 0.8)):
            is_thigh = limb == "thigh"
            away = height / 2 if is_thigh else height * 3 / 2
            body = box2d.b2BodyDef(
                position=(start[0], start[1] - away - down),
                angle=side * 0.05,
                type=box2d.b2_dynamicBody,
            )
            box = box2d.b2PolygonShape(box=(part * width / 2, height / 2))
            joint = box2d.b2RevoluteJointDef(
                bodyA=trunk if is_thigh else thigh,
                bodyB=create(body),
                localAnchorA=(0, down) if is_thigh else (0, -height / 2),
                localAnchorB=(0, height / 2),
                motorSpeed=side if is_thigh else 1,
                lowerAngle=-0.8 if is_thigh else -1.6,
                upperAngle=1.1 if is_thigh else -0.1,
                **motor,
            )
            thigh = joint.bodyB
            made |= {
                f"{name}_{limb}_body": body,
                f"{name}_{limb}_fixture": box2d.b2FixtureDef(shape=box, density=1.0, **filters),
                f"{name}_{limb}_joint": joint,
            }
    return made


def _car(box2d: Any, polygon: Any) -> Parts:
    """Returns the parts in gymnasium/envs/box2d/car_racing.py and car_dynamics.py."""
    body = box2d.b2BodyDef(type=box2d.b2_dynamicBody)
    *hull, wheel = car_shapes(box2d)
    made = {
        # CarRacing makes it a sensor after it has made the fixture
        "tile_fixture": box2d.b2FixtureDef(shape=polygon, isSensor=True),
        "car_body": body,
        "wheel_fixture": box2d.b2FixtureDef(
            shape=wheel, density=0.1, categoryBits=0x0020, maskBits=0x001, restitution=0.0
        ),
    }
    for i, shape in enumerate(hull):
        made[f"car_{i}_fixture"] = box2d.b2FixtureDef(shape=shape, density=1.0)
    create = _world(box2d)
    trunk = create(body)
    for i, (x, y) in enumerate(WHEELS):
        joint = box2d.b2RevoluteJointDef(
            bodyA=trunk,
            bodyB=create(body),
            localAnchorA=(x * CAR_SIZE, y * CAR_SIZE),
            localAnchorB=(0, 0),
            enableMotor=True,
            enableLimit=True,
            maxMotorTorque=180 * 900 * CAR_SIZE * CAR_SIZE,
            motorSpeed=0,
        )
        joint.lowerAngle, joint.upperAngle = -0.4, +0.4
        made[f"wheel_{i}_joint"] = joint
    return made


def car_shapes(box2d: Any) -> list[Any]:
    """Returns the polygons of the car: four of its hull, and a wheel.

    Args:
        box2d: the module.
    """
    return [
        box2d.b2PolygonShape(vertices=[(x * CAR_SIZE, y * CAR_SIZE) for x, y in corners])
        for corners in (*HULL, WHEEL)
    ]


def _world(box2d: Any) -> Callable[[Any], Any]:
    """Returns a function that creates bodies, for definitions of joints: those depend on angles."""
    create: Callable[[Any], Any] = box2d.b2World(gravity=(0, 0)).CreateBody
    return create
