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
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from parallel_pool.envs import box2d_parts
from parallel_pool.errors import EnvError, MissingDependencyError, UnprovenError

if TYPE_CHECKING:
    from parallel_pool.specs import Definition

INSTALL = "pip install 'parallel_pool[box2d]'"

# the members of C's box2d_library, in its order
NAMES = (
    *("world_init", "world_fini", "world_step", "set_listener", "create_body", "create_joint"),
    *("create_fixture", "edge_set", "polygon_set", "destroy_body", "ray_cast", "set_motor_speed"),
    *("set_motor_torque", "joint_angle", "joint_speed", "allocate_node", "free_node"),
    *("world_size", "tree", "num_nodes", "node_room", "listener_functions"),
    *("num_listener_functions", "begin_contact", "end_contact", "ray_functions"),
    *("num_ray_functions", "report_fixture", "contact_fixture_a", "contact_fixture_b"),
    *("fixture_body", "position", "center", "angle", "velocity", "angular_velocity", "force"),
    *("torque", "inverse_mass", "inverse_inertia", "flags", "awake_flag"),
    # definitions
    *("static_body", "edge", "edge_size", "polygon", "polygon_size", "fixture_size"),
    *("fixture_shape", "joint_size", "joint_body_a", "joint_body_b"),
    *("lander_body", "left_leg_body", "right_leg_body", "lander_fixture", "leg_fixture"),
    *("floor_fixture", "ground_fixture", "left_leg_joint", "right_leg_joint"),
    *("hull_body", "left_thigh_body", "left_shin_body", "right_thigh_body", "right_shin_body"),
    *("hull_fixture", "left_thigh_fixture", "left_shin_fixture", "right_thigh_fixture"),
    *("right_shin_fixture", "grass_fixture", "wall_fixture", "left_thigh_joint"),
    *("left_shin_joint", "right_thigh_joint", "right_shin_joint"),
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
    "polygon_set": "_ZN14b2PolygonShape3SetEPK6b2Vec2i",
    "destroy_body": "_ZN7b2World11DestroyBodyEP6b2Body",
    "ray_cast": "_ZNK7b2World7RayCastEP17b2RayCastCallbackRK6b2Vec2S4_",
    "set_motor_speed": "_ZN15b2RevoluteJoint13SetMotorSpeedEf",
    "set_motor_torque": "_ZN15b2RevoluteJoint17SetMaxMotorTorqueEf",
    "joint_angle": "_ZNK15b2RevoluteJoint13GetJointAngleEv",
    "joint_speed": "_ZNK15b2RevoluteJoint13GetJointSpeedEv",
    "allocate_node": "_ZN13b2DynamicTree12AllocateNodeEv",
    "free_node": "_ZN13b2DynamicTree8FreeNodeEi",
}
TREE_INIT = "_ZN13b2DynamicTreeC1Ev"
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
# The callback of ray casts is abstract. The bindings have a class of their own for it.
RAY = "_ZTV30SwigDirector_b2RayCastCallback"
REPORT = "_ZN30SwigDirector_b2RayCastCallback13ReportFixtureEP9b2FixtureRK6b2Vec2S4_f"
# C++'s tables of virtual functions begin with an offset and the type
TABLE_HEAD = 2
MOST_FUNCTIONS = 16
# bytes of the largest definition or shape that C copies
MOST_DEFINITION = 512

# a new tree has memory for so many nodes, and doubles it
FIRST_NODES = 16
# numbers of fixtures in trees that are searched for places
TREES = (3, 11, 45, 100, 140)
# objects of a kind that are searched for a place
SAMPLES = 8
# the largest block in which Box2D's allocator puts an object
MOST_BLOCK = 640


@dataclass(frozen=True)
class Trial:
    """Episodes that are compared with those of one of Gymnasium's environments.

    Attributes:
        id: of the environment.
        module: of Gymnasium's class.
        name: of Gymnasium's class.
        policy: a function of POLICIES.
        lengths: the most steps of each episode. The environment is reset before each.
        seed: of the first reset.
        options: of the environment.
    """

    id: str
    module: str
    name: str
    policy: str
    lengths: tuple[int, ...]
    seed: int
    options: Mapping[str, Any] = field(default_factory=dict)


LANDER = ("LunarLander-v3", "lunar_lander", "LunarLander")
WALKER = ("BipedalWalker-v3", "bipedal_walker", "BipedalWalker")
# A soft landing, at whose end the bodies fall asleep, and a crash. A walk after a fall, in the same
# world, and obstacles of all kinds.
TRIALS = (
    Trial(*LANDER, "steer", (600,), 3),
    Trial(*LANDER, "switch", (600,), 5, {"enable_wind": True, "gravity": -7.5}),
    Trial(*WALKER, "flail", (40, 0), 2, {"hardcore": True}),
    Trial(*WALKER, "walk", (30, 120), 1),
)
# the step at which a snapshot is restored: in the walk
RESTORED = 60


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
        **_tree_places(box2d),
        **_contact_places(box2d),
        **_moving_places(box2d),
        **_inert_places(box2d),
        **_definitions(box2d),
    }
    return struct.pack(f"<{len(NAMES)}q", *(numbers[name] for name in NAMES))


def _refuse(reason: str) -> NoReturn:
    raise UnprovenError(reason)


def _symbols(box2d: Any) -> Callable[[str], int]:
    """Returns a function that returns the address of one of the library's symbols."""
    library = ctypes.CDLL(box2d._Box2D.__file__)

    def address(symbol: str) -> int:
        try:
            return ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value or 0
        except AttributeError:
            _refuse(f"has no symbol {symbol}")

    return address


def _functions(box2d: Any) -> dict[str, int]:
    """Returns the addresses of functions, and tables of virtual functions."""
    address = _symbols(box2d)
    listener, callbacks = _table(address, LISTENER, (*CONTACTS.values(), *SOLVES))
    rays, (report,) = _table(address, RAY, (REPORT,))
    return {
        **{name: address(symbol) for name, symbol in FUNCTIONS.items()},
        **dict(zip(CONTACTS, callbacks, strict=False)),
        "listener_functions": listener,
        "num_listener_functions": max(callbacks) + 1,
        "ray_functions": rays,
        "num_ray_functions": report + 1,
        "report_fixture": report,
        "world_size": _size(box2d.b2World(gravity=(0, 0))),
    }


def _table(
    address: Callable[[str], int], table: str, symbols: Iterable[str]
) -> tuple[int, list[int]]:
    """Returns the address of a table of virtual functions, and which of them the symbols are."""
    start = address(table) + TABLE_HEAD * 8
    functions = [ctypes.c_uint64.from_address(start + 8 * i).value for i in range(MOST_FUNCTIONS)]
    wanted = [address(symbol) for symbol in symbols]
    slots = [functions.index(each) for each in wanted if each in functions]
    if len(slots) < len(wanted) or min(slots) < 1:
        _refuse(f"has another table of virtual functions, {table}")
    return start, slots


def _tree_places(box2d: Any) -> dict[str, int]:
    """Returns where a world has its tree of fixtures, and a tree its numbers of nodes.

    A tree by itself shows how the numbers grow, and worlds with several numbers of fixtures show
    where the tree is. A tree of n fixtures has 2n - 1 nodes. Each has had one more of them, so that
    the first free node's number is not the number of nodes.
    """
    worlds = [_world_of_fixtures(box2d, fixtures) for fixtures in TREES]
    size = min(map(_size, worlds))
    inside = [ctypes.string_at(_address(world), size) for world in worlds]
    alone = list(_trees(_symbols(box2d)))
    counts = [struct.pack("<i", 2 * fixtures - 1) for fixtures in TREES]
    rooms = [struct.pack("<i", _room(2 * fixtures)) for fixtures in TREES]
    num_nodes = _find(inside, counts, "a world's number of nodes")
    node_room = _find(inside, rooms, "a world's room for nodes")
    tree = num_nodes - _find(alone, counts, "a tree's number of nodes")
    if tree != node_room - _find(alone, rooms, "a tree's room for nodes"):
        _refuse("has another tree in a world than by itself")
    return {"tree": tree, "num_nodes": num_nodes, "node_room": node_room}


def _trees(address: Callable[[str], int]) -> Iterator[bytes]:
    """Yields the memory of a tree with the nodes of each of TREES."""
    init = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address(TREE_INIT))
    allocate = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(
        address(FUNCTIONS["allocate_node"])
    )
    free = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32)(address(FUNCTIONS["free_node"]))
    memory = ctypes.create_string_buffer(MOST_BLOCK)
    init(memory)
    nodes = 0
    for fixtures in TREES:
        while nodes < 2 * fixtures:
            if allocate(memory) != nodes:
                _refuse("has a tree that does not hand out its nodes in order")
            nodes += 1
        free(memory, 0)
        yield memory.raw
        if allocate(memory) != 0:
            _refuse("has a tree that does not hand out the last free node first")


def _room(nodes: int) -> int:
    """Returns for how many nodes a tree has memory."""
    return max(FIRST_NODES, 1 << (nodes - 1).bit_length())


def _world_of_fixtures(box2d: Any, count: int) -> Any:
    world = box2d.b2World(gravity=(0, 0))
    shapes = [box2d.b2EdgeShape(vertices=[(i, 0), (i + 1, 0)]) for i in range(count + 1)]
    body = world.CreateStaticBody(shapes=shapes)
    body.DestroyFixture(body.fixtures[1])
    return world


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
    pairs = zip(memories, values, strict=True)
    common = set.intersection(*({*_places(memory, value)} for memory, value in pairs))
    if len(common) != 1:
        _refuse(f"has {len(common)} places that may hold {what}")
    return common.pop()


def _places(memory: bytes, value: bytes) -> Iterator[int]:
    """Yields the offsets, aligned to 4 bytes, at which memory holds a value."""
    at = memory.find(value)
    while at >= 0:
        if at % 4 == 0:
            yield at
        at = memory.find(value, at + 1)


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
    """Returns the addresses of definitions, which are never freed, and places in those C copies."""
    parts = box2d_parts.all_parts(box2d)
    fixtures = list(box2d_parts.of_kind(parts, "_fixture").values())
    joints = list(box2d_parts.of_kind(parts, "_joint").values())
    _keep([*(each.shape for each in fixtures), *parts.values()])
    # as much as is allocated for each of those that C copies
    copied = {
        "edge_size": [parts["edge"]],
        "polygon_size": [parts["polygon"]],
        "fixture_size": fixtures,
        "joint_size": joints,
    }
    sizes = {name: min(map(_size, things)) for name, things in copied.items()}
    if max(sizes.values()) > MOST_DEFINITION:
        _refuse(f"has definitions of {max(sizes.values())} bytes")
    fixture_bytes, joint_bytes = (
        [ctypes.string_at(_address(each), sizes[size]) for each in things]
        for size, things in (("fixture_size", fixtures), ("joint_size", joints))
    )
    shapes, first, second = (
        [_pointer(getattr(each, name)) for each in things]
        for things, name in ((fixtures, "shape"), (joints, "bodyA"), (joints, "bodyB"))
    )
    return {
        **{name: _address(each) for name, each in parts.items()},
        **sizes,
        "fixture_shape": _find(fixture_bytes, shapes, "a fixture's shape"),
        "joint_body_a": _find(joint_bytes, first, "a joint's first body"),
        "joint_body_b": _find(joint_bytes, second, "a joint's second body"),
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
        for trial in TRIALS:
            _compare(link, trial)
    except UnprovenError:
        _found.discard(link)
        raise
    except EnvError as error:
        _found.discard(link)
        _refuse(f"fails: {error}")


def _compare(link: bytes, trial: Trial) -> None:
    from parallel_pool.pool import Pool

    with Pool(
        trial.id,
        num_threads=1,
        seed=trial.seed,
        reward_dtype="float64",
        options={**trial.options, "_link": link},
    ) as pool:
        for step, (action, expected) in enumerate(_play(trial)):
            if action is None:
                obs, *_ = pool.reset()
                row = (obs[0].tobytes(), 0.0, False)
            else:
                obs, reward, terminated, *_ = pool.step([action])
                row = (obs[0].tobytes(), float(reward[0]), bool(terminated[0]))
            if row != expected:
                _refuse(f"does not step {trial.id} as Gymnasium does (step {step})")
            if step == RESTORED:
                pool.set_state(pool.get_state())


# what came of a reset or a step: observation, reward, terminated
Row = tuple[bytes, float, bool]


def _play(trial: Trial) -> Iterator[tuple[Any, Row]]:
    """Plays the episodes of a trial in Gymnasium. Yields actions (None: a reset) and results."""
    module: Any = importlib.import_module(f"gymnasium.envs.box2d.{trial.module}")
    env = getattr(module, trial.name)(**trial.options)
    seeds = iter([trial.seed])
    for length in trial.lengths:
        choose = POLICIES[trial.policy](module, env)
        obs, _ = env.reset(seed=next(seeds, None))
        yield None, (obs.tobytes(), 0.0, False)
        for step in range(length):
            action = choose(step, obs)
            obs, reward, terminated, *_ = env.step(action)
            yield action, (obs.tobytes(), float(reward), bool(terminated))
            if terminated:
                break


def _steer(module: Any, env: Any) -> Callable[[int, Any], Any]:
    return lambda step, obs: int(module.heuristic(env, obs))


def _switch(module: Any, env: Any) -> Callable[[int, Any], Any]:
    return lambda step, obs: step // 3 % 4


def _walk(module: Any, env: Any) -> Callable[[int, Any], Any]:
    walking = module.BipedalWalkerHeuristics()
    return lambda step, obs: walking.step_heuristic(obs).copy()


def _flail(module: Any, env: Any) -> Callable[[int, Any], Any]:
    return lambda step, obs: np.sin(np.arange(4) + step, dtype=np.float32)


# functions of Gymnasium's module and environment that return how to choose an action
POLICIES: Mapping[str, Callable[[Any, Any], Callable[[int, Any], Any]]] = {
    "steer": _steer,
    "switch": _switch,
    "walk": _walk,
    "flail": _flail,
}
