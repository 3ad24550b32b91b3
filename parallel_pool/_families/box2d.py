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
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._families import box2d_joints, box2d_memory, box2d_parts
from parallel_pool.errors import EnvError, MissingDependencyError, UnprovenError

if TYPE_CHECKING:
    from parallel_pool._engine.specs import Definition

INSTALL = "pip install 'parallel_pool[box2d]'"

# the members of C's box2d_library, in its order
NAMES = (
    *("world_init", "world_fini", "world_step", "set_listener", "create_body", "create_joint"),
    *("create_fixture", "edge_set", "polygon_set", "destroy_body", "ray_cast", "set_motor_speed"),
    *("set_motor_torque", "joint_angle", "joint_speed", "allocate_node", "free_node"),
    *("world_size", "tree", "num_nodes", "node_room", "listener_functions"),
    *("num_listener_functions", "begin_contact", "end_contact", "ray_functions"),
    *("num_ray_functions", "report_fixture", "contact_fixture_a", "contact_fixture_b"),
    *("fixture_body", "position", "center", "angle", "rotation", "velocity"),
    *("angular_velocity", "force", "torque", "inverse_mass", "inverse_inertia", "flags"),
    "awake_flag",
    *("solves_joints", "joint_begin", "joint_solve", "joint_table", "joint_begin_slot"),
    *("joint_solve_slot", "joint_velocities", "joint_indices", "joint_arms", "joint_masses"),
    *("joint_matrix", "joint_motor_mass", "joint_limit_state", "joint_impulse"),
    *("joint_motor_impulse", "joint_motor_speed", "joint_motor_torque"),
    # definitions
    *("static_body", "edge", "edge_size", "polygon", "polygon_size", "fixture_size"),
    *("fixture_shape", "joint_size", "joint_body_a", "joint_body_b", "body_size"),
    *("body_position", "body_angle"),
    *("lander_body", "left_leg_body", "right_leg_body", "lander_fixture", "leg_fixture"),
    *("floor_fixture", "ground_fixture", "left_leg_joint", "right_leg_joint"),
    *("hull_body", "left_thigh_body", "left_shin_body", "right_thigh_body", "right_shin_body"),
    *("hull_fixture", "left_thigh_fixture", "left_shin_fixture", "right_thigh_fixture"),
    *("right_shin_fixture", "grass_fixture", "wall_fixture", "left_thigh_joint"),
    *("left_shin_joint", "right_thigh_joint", "right_shin_joint", "car_body", "car_0_fixture"),
    *("car_1_fixture", "car_2_fixture", "car_3_fixture", "wheel_fixture", "tile_fixture"),
    *("wheel_0_joint", "wheel_1_joint", "wheel_2_joint", "wheel_3_joint"),
)

# those that are 0 if Box2D solves the joints
JOINTS = NAMES[NAMES.index("solves_joints") : NAMES.index("joint_motor_torque") + 1]

# what a package that has other names or arguments raises
NOT_FOUND = (UnprovenError, AttributeError, LookupError, OSError, TypeError, ValueError)

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
# bytes of the largest definition or shape that C copies
MAX_DEFINITION_BYTES = 512

# initial capacity of Box2D's tree, in nodes; it doubles when full
FIRST_NODES = 16
# numbers of fixtures in trees that are searched for places
TREES = (3, 11, 45, 100, 140)
# objects of a kind that are searched for a place
SAMPLES = 8


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
RESTORE_STEP = 60


# numbers that were found here: others would crash the process
accepted_links: set[bytes] = set()


def fill_options(definition: Definition, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options with the numbers that C reads.

    Raises:
        TypeError: `_link` is given.
        MissingDependencyError: Box2D is not installed.
        UnprovenError: the installed Box2D is not one that C can call, or differs from Gymnasium.
    """
    if "_link" in options:
        if options["_link"] in accepted_links:
            return dict(options)
        raise TypeError(f"{definition.id}: _link can't be given: leave it out")
    found = link_or_reason()
    if isinstance(found, str):
        raise UnprovenError(
            f"{definition.id} is refused because {found}: parallel_pool.make_vec({definition.id!r})"
            " runs Gymnasium's environment in worker processes"
        )
    return {**options, "_link": found}


def unavailable_reason() -> str | None:
    """Returns why C can't call the installed Box2D, a clause; None if it can, or there is none."""
    try:
        found = link_or_reason()
    except MissingDependencyError:
        return None
    return found if isinstance(found, str) else None


@cache
def link_or_reason() -> bytes | str:
    """Returns the link to the installed Box2D; if it can't be used, the reason, a clause.

    Raises:
        MissingDependencyError: Box2D is not installed.
    """
    box2d = package()
    version = f"Box2D {getattr(box2d, '__version__', 'of no version')}"
    try:
        link = probe(box2d)
        try:
            prove(link)
        except UnprovenError:
            link = without_joints(link)
            prove(link)
    except UnprovenError as error:
        return f"{version} {error}"
    except NOT_FOUND as error:
        return f"{version} can't be probed ({type(error).__name__}: {error})"
    return link


def package() -> Any:
    """Returns the module of the installed Box2D.

    Raises:
        MissingDependencyError: there is none.
    """
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
    bodies = _inert_places(box2d)
    numbers = {
        **_functions(box2d),
        **_tree_places(box2d),
        **_contact_places(box2d),
        **_moving_places(box2d),
        **bodies,
        **_joint_places(box2d, bodies),
        **_definitions(box2d),
    }
    return pack(numbers)


def pack(numbers: Mapping[str, int]) -> bytes:
    """Returns numbers as C reads them."""
    return struct.pack(f"<{len(NAMES)}q", *(numbers[name] for name in NAMES))


def unpack(link: bytes) -> dict[str, int]:
    """Returns the numbers of a link by name."""
    return dict(zip(NAMES, struct.unpack(f"<{len(NAMES)}q", link), strict=True))


def without_joints(link: bytes) -> bytes:
    """Returns a link with which Box2D solves the joints."""
    numbers = unpack(link)
    return pack({**numbers, **{name: 0 for name in numbers if name in JOINTS}})


def _joint_places(box2d: Any, bodies: Mapping[str, int]) -> dict[str, int]:
    """Returns what C needs to solve joints; zeros if it was not found: Box2D then solves them."""
    try:
        address = box2d_memory.symbols(box2d)
        functions = {name: address(symbol) for name, symbol in box2d_joints.SYMBOLS.items()}
        return {"solves_joints": 1, **functions, **box2d_joints.find_places(box2d, bodies)}
    except NOT_FOUND:
        return dict.fromkeys(JOINTS, 0)


def _functions(box2d: Any) -> dict[str, int]:
    """Returns the addresses of functions, and tables of virtual functions."""
    address = box2d_memory.symbols(box2d)
    listener, callbacks = box2d_memory.table(address, LISTENER, (*CONTACTS.values(), *SOLVES))
    rays, (report,) = box2d_memory.table(address, RAY, (REPORT,))
    return {
        **{name: address(symbol) for name, symbol in FUNCTIONS.items()},
        **dict(zip(CONTACTS, callbacks, strict=False)),
        "listener_functions": listener,
        "num_listener_functions": max(callbacks) + 1,
        "ray_functions": rays,
        "num_ray_functions": report + 1,
        "report_fixture": report,
        "world_size": box2d_memory.size(box2d.b2World(gravity=(0, 0))),
    }


def _tree_places(box2d: Any) -> dict[str, int]:
    """Returns where a world has its tree of fixtures, and a tree its numbers of nodes.

    A tree by itself shows how the numbers grow, and worlds with several numbers of fixtures show
    where the tree is. A tree of n fixtures has 2n - 1 nodes. Each has had one more of them, so that
    the first free node's number is not the number of nodes.
    """
    worlds = [_world_of_fixtures(box2d, fixtures) for fixtures in TREES]
    size = min(map(box2d_memory.size, worlds))
    inside = [ctypes.string_at(box2d_memory.address(world), size) for world in worlds]
    alone = list(_trees(box2d_memory.symbols(box2d)))
    counts = [struct.pack("<i", 2 * fixtures - 1) for fixtures in TREES]
    rooms = [struct.pack("<i", _room(2 * fixtures)) for fixtures in TREES]
    num_nodes = box2d_memory.find(inside, counts, "a world's number of nodes")
    node_room = box2d_memory.find(inside, rooms, "a world's room for nodes")
    tree = num_nodes - box2d_memory.find(alone, counts, "a tree's number of nodes")
    if tree != node_room - box2d_memory.find(alone, rooms, "a tree's room for nodes"):
        box2d_memory.refuse("has another tree in a world than by itself")
    return {"tree": tree, "num_nodes": num_nodes, "node_room": node_room}


def _trees(address: Callable[[str], int]) -> Iterator[bytes]:
    """Yields the memory of a tree with the nodes of each of TREES."""
    init = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address(TREE_INIT))
    allocate = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(
        address(FUNCTIONS["allocate_node"])
    )
    free = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32)(address(FUNCTIONS["free_node"]))
    memory = ctypes.create_string_buffer(box2d_memory.MAX_BLOCK_BYTES)
    init(memory)
    nodes = 0
    for fixtures in TREES:
        while nodes < 2 * fixtures:
            if allocate(memory) != nodes:
                box2d_memory.refuse("has a tree that does not hand out its nodes in order")
            nodes += 1
        free(memory, 0)
        yield memory.raw
        if allocate(memory) != 0:
            box2d_memory.refuse("has a tree that does not hand out the last free node first")


def _room(nodes: int) -> int:
    """Returns for how many nodes a tree has memory."""
    return max(FIRST_NODES, 1 << (nodes - 1).bit_length())


def _world_of_fixtures(box2d: Any, count: int) -> Any:
    world = box2d.b2World(gravity=(0, 0))
    shapes = [box2d.b2EdgeShape(vertices=[(i, 0), (i + 1, 0)]) for i in range(count + 1)]
    body = world.CreateStaticBody(shapes=shapes)
    body.DestroyFixture(body.fixtures[1])
    return world


def _moving_places(box2d: Any) -> dict[str, int]:
    """Returns where a body keeps its position, its center of mass, its angle and its rotation.

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
    memories = box2d_memory.blocks(bodies)

    def place(name: str, what: str) -> int:
        values = [np.ravel(getattr(body, name)).tolist() for body in bodies]
        return box2d_memory.find(memories, [box2d_memory.floats(*value) for value in values], what)

    return {
        "position": place("position", "a position"),
        "center": place("worldCenter", "a center of mass"),
        "angle": place("angle", "an angle"),
        "rotation": box2d_memory.find(
            memories, [_rotation(body) for body in bodies], "sine and cosine"
        ),
    }


def _rotation(body: Any) -> bytes:
    cosine, sine = body.GetWorldVector((1, 0))
    return box2d_memory.floats(sine, cosine)


def _inert_places(box2d: Any) -> dict[str, int]:
    """Returns where a body keeps velocities, forces, inverse mass and inertia, and is awake."""
    world = box2d.b2World(gravity=(0, 0))
    disc = box2d.b2CircleShape(radius=0.7)
    bodies = [
        world.CreateDynamicBody(fixtures=box2d.b2FixtureDef(shape=disc, density=i + 1.3))
        for i in range(SAMPLES)
    ]
    awake = box2d_memory.blocks(bodies)
    for body in bodies:
        body.awake = False
    asleep = box2d_memory.blocks(bodies)
    for body in bodies:
        body.awake = True
    flags = {find_flag(*pair) for pair in zip(awake, asleep, strict=True)}
    if len(flags) != 1:
        box2d_memory.refuse("has no single flag for bodies that are awake")
    for i, body in enumerate(bodies):
        body.linearVelocity = (i + 1.234, -2.345)
        body.angularVelocity = i + 13.456
        body.ApplyForceToCenter((i + 24.567, -5.678), True)
        body.ApplyTorque(i + 36.789, True)
    memories, one = box2d_memory.blocks(bodies), np.float32(1)

    def place(what: str, value: Callable[[int], bytes]) -> int:
        return box2d_memory.find(memories, map(value, range(SAMPLES)), what)

    def inverse(number: float) -> bytes:
        return box2d_memory.floats(float(one / np.float32(number)))

    ((offset, flag),) = flags
    return {
        "velocity": place("a velocity", lambda i: box2d_memory.floats(i + 1.234, -2.345)),
        "angular_velocity": place("an angular velocity", lambda i: box2d_memory.floats(i + 13.456)),
        "force": place("a force", lambda i: box2d_memory.floats(i + 24.567, -5.678)),
        "torque": place("a torque", lambda i: box2d_memory.floats(i + 36.789)),
        "inverse_mass": place("an inverse mass", lambda i: inverse(bodies[i].mass)),
        "inverse_inertia": place("an inverse inertia", lambda i: inverse(bodies[i].inertia)),
        "flags": offset,
        "awake_flag": flag,
    }


def find_flag(on: bytes, off: bytes) -> tuple[int, int]:
    """Returns the offset of the only byte that differs, and its only bit that is set in `on`."""
    changed = [i for i, (one, other) in enumerate(zip(on, off, strict=True)) if one != other]
    flag = on[changed[0]] ^ off[changed[0]] if len(changed) == 1 else 0
    if flag.bit_count() != 1 or not on[changed[0]] & flag:
        box2d_memory.refuse("has no single flag for bodies that are awake")
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
        box2d_memory.refuse(f"has {len(contacts)} contacts instead of {SAMPLES}")
    memories, holders = box2d_memory.blocks(contacts), box2d_memory.blocks(fixtures)
    first = [box2d_memory.pointer(each.fixtureA) for each in contacts]
    second = [box2d_memory.pointer(each.fixtureB) for each in contacts]
    owners = [box2d_memory.pointer(each.body) for each in fixtures]
    return {
        "contact_fixture_a": box2d_memory.find(memories, first, "a contact's first fixture"),
        "contact_fixture_b": box2d_memory.find(memories, second, "a contact's second fixture"),
        "fixture_body": box2d_memory.find(holders, owners, "a fixture's body"),
    }


# ------------------------------------------------------------------------------- definitions --


def _definitions(box2d: Any) -> dict[str, int]:
    """Returns the addresses of definitions, which are never freed, and places in those C copies."""
    parts = box2d_parts.all_parts(box2d)
    fixtures = list(box2d_parts.of_kind(parts, "_fixture").values())
    joints = list(box2d_parts.of_kind(parts, "_joint").values())
    _keep([*(each.shape for each in fixtures), *parts.values()])
    # allocation sizes of the objects that C copies
    copied = {
        "edge_size": [parts["edge"]],
        "polygon_size": [parts["polygon"]],
        "fixture_size": fixtures,
        "joint_size": joints,
        "body_size": [parts["car_body"]],
    }
    sizes = {name: min(map(box2d_memory.size, things)) for name, things in copied.items()}
    if max(sizes.values()) > MAX_DEFINITION_BYTES:
        box2d_memory.refuse(f"has definitions of {max(sizes.values())} bytes")
    fixture_bytes, joint_bytes = (
        [ctypes.string_at(box2d_memory.address(each), sizes[size]) for each in things]
        for size, things in (("fixture_size", fixtures), ("joint_size", joints))
    )
    shapes, first, second = (
        [box2d_memory.pointer(getattr(each, name)) for each in things]
        for things, name in ((fixtures, "shape"), (joints, "bodyA"), (joints, "bodyB"))
    )
    return {
        **{name: box2d_memory.address(each) for name, each in parts.items()},
        **sizes,
        **_body_places(box2d, sizes["body_size"]),
        "fixture_shape": box2d_memory.find(fixture_bytes, shapes, "a fixture's shape"),
        "joint_body_a": box2d_memory.find(joint_bytes, first, "a joint's first body"),
        "joint_body_b": box2d_memory.find(joint_bytes, second, "a joint's second body"),
    }


def _body_places(box2d: Any, size: int) -> dict[str, int]:
    """Returns where a body's definition has position and angle.

    Args:
        box2d: the module.
        size: of a definition.
    """
    made = [
        box2d.b2BodyDef(position=(i + 0.125, 3.75 - i), angle=0.625 + i) for i in range(SAMPLES)
    ]
    memories = [ctypes.string_at(box2d_memory.address(each), size) for each in made]

    def place(value: Callable[[Any], bytes], what: str) -> int:
        return box2d_memory.find(memories, map(value, made), what)

    floats = box2d_memory.floats
    return {
        "body_position": place(lambda it: floats(*it.position), "a definition's position"),
        "body_angle": place(lambda it: floats(it.angle), "a definition's angle"),
    }


def _keep(things: Iterable[Any]) -> None:
    """Keeps Box2D's objects for ever, because threads may read them until the process ends."""
    for each in things:
        each.this.disown()


# ------------------------------------------------------------------------------------- proof --


def prove(link: bytes) -> None:
    """Compares episodes with Gymnasium's. Raises UnprovenError at the first difference."""
    accepted_links.add(link)
    try:
        for trial in TRIALS:
            compare(trial, {"_link": link})
    except UnprovenError:
        accepted_links.discard(link)
        raise
    except EnvError as error:
        accepted_links.discard(link)
        box2d_memory.refuse(f"fails: {error}")


def compare(trial: Trial, hidden: Mapping[str, bytes]) -> None:
    """Compares episodes with Gymnasium's.

    Args:
        trial: which.
        hidden: the options that `fill_options` adds.

    Raises:
        UnprovenError: at the first difference.
    """
    from parallel_pool._engine.pool import Pool

    with Pool(
        trial.id,
        num_threads=1,
        seed=trial.seed,
        reward_dtype="float64",
        options={**trial.options, **hidden},
    ) as pool:
        for step, (action, expected) in enumerate(play(trial)):
            if action is None:
                row = (pool.reset().obs[0].tobytes(), 0.0, False)
            else:
                batch = pool.step([action])
                row = (batch.obs[0].tobytes(), float(batch.reward[0]), bool(batch.terminated[0]))
            if row != expected:
                box2d_memory.refuse(f"does not step {trial.id} as Gymnasium does (step {step})")
            if step == RESTORE_STEP:
                pool.set_state(pool.get_state())


# what came of a reset or a step: observation, reward, terminated
Row = tuple[bytes, float, bool]


def play(trial: Trial) -> Iterator[tuple[Any, Row]]:
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


def _drive(module: Any, env: Any) -> Callable[[int, Any], Any]:
    return lambda step, obs: np.array([np.sin(step / 9), 0.9, 0.3 * (step % 5 == 4)], np.float32)


def _flail(module: Any, env: Any) -> Callable[[int, Any], Any]:
    return lambda step, obs: np.sin(np.arange(4) + step, dtype=np.float32)


# functions of Gymnasium's module and environment that return how to choose an action
POLICIES: Mapping[str, Callable[[Any, Any], Callable[[int, Any], Any]]] = {
    "steer": _steer,
    "switch": _switch,
    "walk": _walk,
    "flail": _flail,
    "drive": _drive,
}
