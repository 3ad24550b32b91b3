"""Finds what C needs in the installed Box2D: functions, sizes, and where objects keep their values.

C calls the library that Python has loaded (csrc/envs/box2d/library.h). Nothing of its layout is
assumed: each place is found by a value that Python's bindings wrote or return, and must be the only
one. The result is proven by episodes that equal Gymnasium's.
"""

from __future__ import annotations

import ctypes
import importlib
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from parallel_pool.errors import MissingDependencyError, UnprovenError

if TYPE_CHECKING:
    from parallel_pool.specs import Definition

INSTALL = "pip install 'parallel_pool[box2d]'"

# the members of C's box2d_library, in its order
NAMES = (
    *("world_init", "world_fini", "world_step", "set_listener", "create_body", "create_joint"),
    *("create_fixture", "edge_set", "world_size", "listener_functions", "num_listener_functions"),
    *("begin_contact", "end_contact", "contact_fixture_a", "contact_fixture_b", "fixture_body"),
    *("position", "center", "angle", "velocity", "angular_velocity", "force", "torque"),
    *("inverse_mass", "inverse_inertia", "flags", "awake_flag", "moon_body", "lander_body"),
    *("left_leg_body", "right_leg_body", "lander_fixture", "leg_fixture", "edge", "edge_size"),
    *("floor_fixture", "ground_fixture", "fixture_size", "fixture_shape", "left_leg_joint"),
    *("right_leg_joint", "joint_size", "joint_body_a", "joint_body_b"),
)

FUNCTIONS = {
    "world_init": "_ZN7b2WorldC1ERK6b2Vec2",
    "world_fini": "_ZN7b2WorldD1Ev",
    "world_step": "_ZN7b2World4StepEfii",
    "set_listener": "_ZN7b2World18SetContactListenerEP17b2ContactListener",
    "create_body": "_ZN7b2World10CreateBodyEPK9b2BodyDef",
    "create_joint": "_ZN7b2World11CreateJointEPK10b2JointDef",
    "create_fixture": "_ZN6b2Body13CreateFixtureEPK12b2FixtureDef",
    "edge_set": "_ZN11b2EdgeShape3SetERK6b2Vec2S2_",
}
LISTENER = "_ZTV17b2ContactListener"
# the listener's virtual functions that C replaces, and the others that must be beside them
CONTACTS = {
    "begin_contact": "_ZN17b2ContactListener12BeginContactEP9b2Contact",
    "end_contact": "_ZN17b2ContactListener10EndContactEP9b2Contact",
}
SOLVES = (
    "_ZN17b2ContactListener8PreSolveEP9b2ContactPK10b2Manifold",
    "_ZN17b2ContactListener9PostSolveEP9b2ContactPK16b2ContactImpulse",
)
# C++'s tables of virtual functions begin with an offset and the type
TABLE_HEAD = 2
MOST_FUNCTIONS = 16
# bytes of the largest definition or shape that C copies
MOST_DEFINITION = 256

# objects of a kind that are searched for a place
SAMPLES = 8
# the largest block in which Box2D's allocator puts an object
MOST_BLOCK = 640

# The episodes that are compared with Gymnasium's: seed, options, whether the lander is steered to a
# soft landing, on which its bodies fall asleep. Others crash.
PROOF: tuple[tuple[int, Mapping[str, Any], bool], ...] = (
    (3, {}, True),
    (5, {"enable_wind": True, "gravity": -7.5}, False),
)
PROOF_STEPS = 600


# numbers that were found here: others would crash the process
_found: set[bytes] = set()


def complete(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options with the numbers that C reads.

    Raises:
        TypeError: `_link` is given.
        MissingDependencyError: Box2D is not installed.
        UnprovenError: the installed Box2D is not one that C can call, or differs from Gymnasium.
    """
    if "_link" in options:
        if options["_link"] in _found:
            return dict(options)
        raise TypeError(f"{definition.id}: _link can't be given: leave it out")
    found = _proven()
    if isinstance(found, str):
        raise UnprovenError(
            f"{definition.id} is refused because {found}: parallel_pool.make_vec({definition.id!r})"
            " runs Gymnasium's environment in worker processes"
        )
    return {**options, "_link": found}


def why_not() -> str | None:
    """Returns why C can't call the installed Box2D, a clause; None if it can, or there is none."""
    try:
        found = _proven()
    except MissingDependencyError:
        return None
    return found if isinstance(found, str) else None


@cache
def _proven() -> bytes | str:
    """Returns the link to the installed Box2D; if it can't be used, the reason, a clause.

    Raises:
        MissingDependencyError: Box2D is not installed.
    """
    box2d = _box2d()
    version = f"Box2D {getattr(box2d, '__version__', 'of no version')}"
    try:
        link = probe(box2d)
        prove(link)
    except UnprovenError as error:
        return f"{version} {error}"
    # a package that has other names or arguments
    except (AttributeError, LookupError, OSError, TypeError, ValueError) as error:
        return f"{version} can't be probed ({type(error).__name__}: {error})"
    return link


def _box2d() -> Any:
    try:
        return importlib.import_module("Box2D")
    except ImportError as error:
        raise MissingDependencyError(f"Box2D is not installed ({error}): {INSTALL}") from error


# ------------------------------------------------------------------------------------- probe --


def probe(box2d: Any) -> bytes:
    """Returns the numbers that C reads.

    Args:
        box2d: the module.

    Raises:
        UnprovenError: something was not found; the message continues "Box2D <version>".
    """
    numbers = {
        **_functions(box2d),
        **_contact_places(box2d),
        **_moving_places(box2d),
        **_inert_places(box2d),
        **_definitions(box2d),
    }
    return struct.pack(f"<{len(NAMES)}q", *(numbers[name] for name in NAMES))


def _refuse(reason: str) -> NoReturn:
    raise UnprovenError(reason)


def _functions(box2d: Any) -> dict[str, int]:
    """Returns the addresses of functions, and the listener's table of virtual functions."""
    library = ctypes.CDLL(box2d._Box2D.__file__)

    def address(symbol: str) -> int:
        try:
            return ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value or 0
        except AttributeError:
            _refuse(f"has no symbol {symbol}")

    table = address(LISTENER) + TABLE_HEAD * 8
    functions = [ctypes.c_uint64.from_address(table + 8 * i).value for i in range(MOST_FUNCTIONS)]
    replaced = [address(symbol) for symbol in CONTACTS.values()]
    slots = [functions.index(each) if each in functions else MOST_FUNCTIONS for each in replaced]
    others = [functions.index(each) for each in map(address, SOLVES) if each in functions]
    if MOST_FUNCTIONS in slots or len(others) < len(SOLVES) or min(slots + others) < 1:
        _refuse("has another table of virtual functions in b2ContactListener")
    return {
        **{name: address(symbol) for name, symbol in FUNCTIONS.items()},
        **dict(zip(CONTACTS, slots, strict=True)),
        "listener_functions": table,
        "num_listener_functions": max(slots + others) + 1,
        "world_size": _size(box2d.b2World(gravity=(0, 0))),
    }


def _address(thing: Any) -> int:
    """Returns the address of Box2D's object behind one of Python's."""
    return int(thing.this)


def _size(thing: Any) -> int:
    """Returns the bytes that were allocated for an object that Python made."""
    libc = ctypes.CDLL(None)
    measure = getattr(libc, "malloc_usable_size", None)
    if measure is None:
        _refuse("runs on a C library without malloc_usable_size")
    measure.argtypes, measure.restype = [ctypes.c_void_p], ctypes.c_size_t
    return int(measure(_address(thing)))


def _floats(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def _pointer(thing: Any) -> bytes:
    return struct.pack("<Q", _address(thing))


def _find(memories: Iterable[bytes], values: Iterable[bytes], what: str) -> int:
    """Returns the only offset at which each memory holds its value, aligned to 4 bytes.

    Several objects are searched, because parts of one may be uninitialized, and hold anything.
    """
    places = [
        {i for i in range(0, len(memory), 4) if memory.startswith(value, i)}
        for memory, value in zip(memories, values, strict=True)
    ]
    common = set.intersection(*places)
    if len(common) != 1:
        _refuse(f"has {len(common)} places that may hold {what}")
    return common.pop()


def _blocks(things: Iterable[Any]) -> list[bytes]:
    """Returns the memory of objects of one kind, which Box2D's allocator puts side by side."""
    places = sorted(map(_address, things))
    size = min(after - before for before, after in pairwise(places))
    if not 0 < size <= MOST_BLOCK:
        _refuse(f"has an allocator that puts neighbors {size} bytes apart")
    return [ctypes.string_at(_address(each), size) for each in things]


def _moving_places(box2d: Any) -> dict[str, int]:
    """Returns where a body keeps its position, its center of mass and its angle.

    A step moves the bodies, so that these differ from what they were before.
    """
    world = box2d.b2World(gravity=(0, 0))
    corner = box2d.b2PolygonShape(vertices=[(0, 0), (1.5, 0), (0, 2.5)])
    shape = box2d.b2FixtureDef(shape=corner, density=1.7)
    bodies = [
        world.CreateDynamicBody(position=(10 * i + 3.25, 7.5), angle=i + 0.375, fixtures=shape)
        for i in range(SAMPLES)
    ]
    for i, body in enumerate(bodies):
        body.linearVelocity = (0.5 + i, -0.25)
        body.angularVelocity = 0.75 - i
    world.Step(0.02, 1, 1)
    memories = _blocks(bodies)

    def place(name: str, what: str) -> int:
        values = [np.ravel(getattr(body, name)).tolist() for body in bodies]
        return _find(memories, [_floats(*value) for value in values], what)

    return {
        "position": place("position", "a position"),
        "center": place("worldCenter", "a center of mass"),
        "angle": place("angle", "an angle"),
    }


def _inert_places(box2d: Any) -> dict[str, int]:
    """Returns where a body keeps velocities, forces, inverse mass and inertia, and is awake."""
    world = box2d.b2World(gravity=(0, 0))
    disc = box2d.b2CircleShape(radius=0.7)
    bodies = [
        world.CreateDynamicBody(fixtures=box2d.b2FixtureDef(shape=disc, density=i + 1.3))
        for i in range(SAMPLES)
    ]
    awake = _blocks(bodies)
    for body in bodies:
        body.awake = False
    asleep = _blocks(bodies)
    for body in bodies:
        body.awake = True
    flags = {_flag(*pair) for pair in zip(awake, asleep, strict=True)}
    if len(flags) != 1:
        _refuse("has no single flag for bodies that are awake")
    for i, body in enumerate(bodies):
        body.linearVelocity = (i + 1.234, -2.345)
        body.angularVelocity = i + 13.456
        body.ApplyForceToCenter((i + 24.567, -5.678), True)
        body.ApplyTorque(i + 36.789, True)
    memories, one = _blocks(bodies), np.float32(1)

    def place(what: str, value: Callable[[int], bytes]) -> int:
        return _find(memories, map(value, range(SAMPLES)), what)

    def inverse(number: float) -> bytes:
        return _floats(float(one / np.float32(number)))

    ((offset, flag),) = flags
    return {
        "velocity": place("a velocity", lambda i: _floats(i + 1.234, -2.345)),
        "angular_velocity": place("an angular velocity", lambda i: _floats(i + 13.456)),
        "force": place("a force", lambda i: _floats(i + 24.567, -5.678)),
        "torque": place("a torque", lambda i: _floats(i + 36.789)),
        "inverse_mass": place("an inverse mass", lambda i: inverse(bodies[i].mass)),
        "inverse_inertia": place("an inverse inertia", lambda i: inverse(bodies[i].inertia)),
        "flags": offset,
        "awake_flag": flag,
    }


def _flag(on: bytes, off: bytes) -> tuple[int, int]:
    """Returns the offset of the only byte that differs, and its only bit that is set in `on`."""
    changed = [i for i, (one, other) in enumerate(zip(on, off, strict=True)) if one != other]
    flag = on[changed[0]] ^ off[changed[0]] if len(changed) == 1 else 0
    if flag.bit_count() != 1 or not on[changed[0]] & flag:
        _refuse("has no single flag for bodies that are awake")
    return changed[0], flag


def _contact_places(box2d: Any) -> dict[str, int]:
    """Returns where a contact keeps its fixtures, and a fixture its body."""
    world = box2d.b2World(gravity=(0, 0))
    disc = box2d.b2FixtureDef(shape=box2d.b2CircleShape(radius=0.7), density=1.3)
    for i in range(SAMPLES):
        ground = box2d.b2EdgeShape(vertices=[(5 * i - 1, 0), (5 * i + 1, 0)])
        world.CreateStaticBody(shapes=ground)
        world.CreateDynamicBody(position=(5 * i, 0.5), fixtures=disc)
    world.Step(0.02, 1, 1)
    contacts = list(world.contacts)
    fixtures = [each.fixtures[0] for each in world.bodies]
    if len(contacts) != SAMPLES:
        _refuse(f"has {len(contacts)} contacts instead of {SAMPLES}")
    memories = _blocks(contacts)
    first = [_pointer(each.fixtureA) for each in contacts]
    second = [_pointer(each.fixtureB) for each in contacts]
    owners = [_pointer(each.body) for each in fixtures]
    return {
        "contact_fixture_a": _find(memories, first, "a contact's first fixture"),
        "contact_fixture_b": _find(memories, second, "a contact's second fixture"),
        "fixture_body": _find(_blocks(fixtures), owners, "a fixture's body"),
    }


# ------------------------------------------------------------------------------- definitions --


def _definitions(box2d: Any) -> dict[str, int]:
    """Returns the addresses of the definitions of LunarLander's parts.

    They are made as gymnasium/envs/box2d/lunar_lander.py makes them. They are never freed.
    """
    scale, width, height = 30.0, 600 / 30.0, 400 / 30.0
    corners = [(-14, 17), (-17, 0), (-17, -10), (17, -10), (17, 0), (14, 17)]
    hull = box2d.b2PolygonShape(vertices=[(x / scale, y / scale) for x, y in corners])
    shin = box2d.b2PolygonShape(box=(2 / scale, 8 / scale))
    edge = box2d.b2EdgeShape(vertices=[(0, 0), (1, 0)])
    start = (width / 2, height)
    dynamic = {"type": box2d.b2_dynamicBody}
    made = {
        "moon_body": box2d.b2BodyDef(type=box2d.b2_staticBody),
        "lander_body": box2d.b2BodyDef(position=start, angle=0.0, **dynamic),
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
        "edge": edge,
        "floor_fixture": box2d.b2FixtureDef(shape=edge),
        "ground_fixture": box2d.b2FixtureDef(shape=edge, density=0, friction=0.1),
    }
    world = box2d.b2World(gravity=(0, 0))
    lander = world.CreateBody(made["lander_body"])
    for name, side in (("left", -1), ("right", 1)):
        body = box2d.b2BodyDef(
            position=(start[0] - side * 20 / scale, start[1]), angle=side * 0.05, **dynamic
        )
        leg = world.CreateBody(body)
        joint = box2d.b2RevoluteJointDef(
            bodyA=lander,
            bodyB=leg,
            localAnchorA=(0, 0),
            localAnchorB=(side * 20 / scale, 18 / scale),
            enableMotor=True,
            enableLimit=True,
            maxMotorTorque=40,
            motorSpeed=0.3 * side,
        )
        joint.lowerAngle, joint.upperAngle = (0.9 - 0.5, 0.9) if side < 0 else (-0.9, -0.9 + 0.5)
        made |= {f"{name}_leg_body": body, f"{name}_leg_joint": joint}

    _keep((hull, shin, *made.values()))
    # as much as is allocated for each of those that C copies
    copied = {
        "edge_size": [edge],
        "fixture_size": [made["floor_fixture"], made["ground_fixture"]],
        "joint_size": [made["left_leg_joint"], made["right_leg_joint"]],
    }
    sizes = {name: min(map(_size, things)) for name, things in copied.items()}
    if max(sizes.values()) > MOST_DEFINITION:
        _refuse(f"has definitions of {max(sizes.values())} bytes")
    joints = [made["left_leg_joint"], made["right_leg_joint"]]
    fixtures = [made["floor_fixture"], made["ground_fixture"]]
    joint_memories = [ctypes.string_at(_address(each), sizes["joint_size"]) for each in joints]
    fixture_memories = [
        ctypes.string_at(_address(each), sizes["fixture_size"]) for each in fixtures
    ]
    lander_pointers, edge_pointers = [_pointer(lander)] * 2, [_pointer(edge)] * 2
    leg_pointers = [_pointer(each.bodyB) for each in joints]
    return {
        **{name: _address(each) for name, each in made.items()},
        **sizes,
        "fixture_shape": _find(fixture_memories, edge_pointers, "a fixture's shape"),
        "joint_body_a": _find(joint_memories, lander_pointers, "a joint's first body"),
        "joint_body_b": _find(joint_memories, leg_pointers, "a joint's second body"),
    }


def _keep(things: Iterable[Any]) -> None:
    """Keeps Box2D's objects for ever, because threads may read them until the process ends."""
    for each in things:
        each.this.disown()


# ------------------------------------------------------------------------------------- proof --


def prove(link: bytes) -> None:
    """Compares episodes with Gymnasium's. Raises UnprovenError at the first difference."""
    _found.add(link)
    try:
        for seed, options, steered in PROOF:
            _compare(link, seed, options, steered)
    except UnprovenError:
        _found.discard(link)
        raise


def _compare(link: bytes, seed: int, options: Mapping[str, Any], steered: bool) -> None:
    from parallel_pool.pool import Pool

    with Pool(
        "LunarLander-v3",
        num_threads=1,
        seed=seed,
        reward_dtype="float64",
        options={**options, "_link": link},
    ) as pool:
        obs, *_ = pool.reset()
        row = (obs[0].tobytes(), 0.0, False)
        for step, (action, expected) in enumerate(_episode(seed, options, steered)):
            if row != expected:
                _refuse(f"does not step LunarLander-v3 as Gymnasium does (step {step})")
            if action is not None:
                obs, reward, terminated, *_ = pool.step([action])
                row = (obs[0].tobytes(), float(reward[0]), bool(terminated[0]))


def _episode(
    seed: int, options: Mapping[str, Any], steered: bool
) -> Iterator[tuple[int | None, tuple[bytes, float, bool]]]:
    """Plays an episode in Gymnasium.

    Yields:
        The next action (None at the end), and what came before it: observation, reward, terminated.
    """
    module: Any = importlib.import_module("gymnasium.envs.box2d.lunar_lander")
    env = module.LunarLander(**options)
    obs, _ = env.reset(seed=seed)
    reward, terminated = 0.0, False
    for step in range(PROOF_STEPS):
        if terminated:
            break
        action = int(module.heuristic(env, obs)) if steered else step // 3 % 4
        yield action, (obs.tobytes(), float(reward), terminated)
        obs, reward, terminated, *_ = env.step(action)
    yield None, (obs.tobytes(), float(reward), terminated)
