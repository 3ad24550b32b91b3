"""Template: one environment in Python, and what its attributes are."""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import inspect
import re
import sys
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._translator import (
    aliasing,
    arrays,
    missing,
    players,
    reader,
    records,
    seeding,
    storage,
)
from parallel_pool._translator import objects as own_objects
from parallel_pool._translator.refusal import Refusal
from parallel_pool._translator.types import (
    NONE,
    Array,
    Draws,
    DynamicArray,
    Empty,
    List,
    Map,
    Member,
    Number,
    Optional,
    Record,
    Text,
    Tuple,
    Type,
    Union,
    number_of,
    of_dtype,
    unbounded,
)

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body

# items of a list of an environment, unless the program says how many
CAPACITY = 256
NESTED_CAPACITY = 32
LIMIT_COMMENT = re.compile(r"#.*?\bat most (\d+)")
CHANGING = {
    *("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "appendleft"),
    *("popleft", "rotate", "add", "discard", "update", "popitem", "setdefault", "fill"),
    *("extendleft", "shuffle"),
}
# of gymnasium.Env, and made by its constructor
IGNORED = {"render_mode", "spec", "metadata", "_np_random", "_np_random_seed"}


class Template:
    """What is known of a class from one of its environments.

    Attributes:
        cls: the class.
        env: an environment after its first reset.
        agents: the names of its agents; () for a class of Gymnasium's.
        generators: attributes that reset() seeds with its seed.
        state: the types of attributes that change, by name.
        constants: numbers and arrays that all environments share, by name, as far as they are used.
        divisors: constants by which the program divides without a look at them.
        frozen: other attributes that never change, as far as the program depends on them.
        rebound: attributes that methods assign.
        orders: of the axes of arrays in attributes, as of an array.
    """

    def __init__(self, cls: type, options: dict[str, Any] | None = None) -> None:
        self.cls = cls
        self.options = dict(options or {})
        try:
            self.fresh = cls(**self.options)
            self.env = cls(**self.options)
        except Exception as error:
            raise Refusal(f"{cls.__name__}() fails: {type(error).__name__}: {error}") from error
        self.initial = dict(vars(self.fresh))
        try:
            self.env.reset(seed=0)
        except Exception as error:
            raise Refusal(
                f"{cls.__name__}().reset(seed=0) fails: {type(error).__name__}: {error}"
            ) from error
        self.agents = players.names_of(self.env) if players.is_parallel(cls) else ()
        self.infos = self._infos()
        self.constants: dict[str, Any] = {}
        self.frozen: dict[str, Any] = {}
        self.divisors: set[str] = set()
        self.orders = {
            name: arrays.order_of(value)
            for name, value in self.initial.items()
            if isinstance(value, np.ndarray)
        }
        self.capacities = self._capacities()
        self.state: dict[str, Type] = {}
        self.widened: dict[tuple[str, Any], Type] = {}
        self.generators = seeding.generators(reader.reachable(cls, ("reset",)))
        stored, self.rebound = self._stored()
        for name in sorted(stored - self.generators):
            if name in IGNORED or reader.find(cls, name) is not None:
                continue
            self.add_state(name)

    def _infos(self) -> dict[str, Any]:
        """Returns infos of a reset and of some steps, whose shapes others have, too."""
        found: dict[str, Any] = {}
        try:
            env = self.cls(**self.options)
            env.action_space.seed(0)
            _, info = env.reset(seed=0)
            found.update(info)
            for _ in range(3):
                *_, terminated, truncated, info = env.step(env.action_space.sample())
                found.update(info)
                if terminated or truncated:
                    break
        except Exception:
            pass
        return found

    # ------------------------------------------------------------------------------- reading --

    def _stored(self) -> tuple[set[str], set[str]]:
        """Returns the attributes that methods change, and those of them that they assign."""
        changed: set[str] = set()
        rebound: set[str] = set()
        for function in reader.reachable(self.cls, ("step", "reset")):
            own = function.tree.args.args[0].arg if function.tree.args.args else ""
            for each in ast.walk(function.tree):
                if isinstance(each, ast.Attribute) and isinstance(each.ctx, (ast.Store, ast.Del)):
                    if isinstance(each.value, ast.Name) and each.value.id == own:
                        changed.add(each.attr)
                        rebound.add(each.attr)
                elif isinstance(each, ast.Subscript) and isinstance(each.ctx, (ast.Store, ast.Del)):
                    if name := _root(each.value, own):
                        changed.add(name)
                elif isinstance(each, ast.AugAssign):
                    if name := _root(each.target, own):
                        changed.add(name)
                elif isinstance(each, ast.Call):
                    changed.update(filter(None, (_root(it, own) for it in _changed_by(each))))
        changed.discard("np_random")
        changed.update(name for name, value in vars(self.env).items() if _has_mutable(value))
        changed.update(name for name, value in vars(self.env).items() if missing.is_in(value))
        return changed, rebound

    def _capacities(self) -> dict[str, int]:
        """Returns the numbers of `# at most N` comments, by attribute."""
        found: dict[str, int] = {}
        for cls in reader.bases(self.cls):
            try:
                lines = inspect.getsource(cls).splitlines()
            except (OSError, TypeError):
                continue
            for line in lines:
                given = LIMIT_COMMENT.search(line)
                names = re.findall(r"self\.(\w+)\s*(?::[^=]+)?=", line)
                if given and names:
                    found[names[0]] = int(given[1])
        if self.agents:
            found["agents"] = len(self.agents)
        return found

    def seeded(self) -> list[str]:
        """Returns the attributes in which objects of the class have the engine's generator."""
        names = self.generators if self.agents else {*self.generators, "_np_random"}
        held = vars(self.env)
        return sorted(each for each in names if isinstance(held.get(each), np.random.Generator))

    def add_state(self, name: str) -> None:
        """Notes that an attribute changes."""
        values = [held[name] for held in (self.initial, vars(self.env)) if name in held]
        if not values and hasattr(self.cls, name):
            values = [getattr(self.cls, name)]
        of: Type | None = None
        for value in values:
            kind = self.type_of(name, value)
            if isinstance(of, Map) and isinstance(of.key, Empty) and isinstance(kind, Record):
                of = kind
            of = kind if of is None else storage.join(of, kind)
        if of is not None:
            self.state[name] = self.bounded(name, of)
        self.constants.pop(name, None)
        self.frozen.pop(name, None)

    def new_state(self, name: str, of: Type, body: Body) -> None:
        """Adds an attribute that a method assigns, and neither __init__ nor reset."""
        if name in vars(self.env) or hasattr(self.cls, name):
            self.add_state(name)
            if name in self.state:
                return
        self.state[name] = self.bounded(name, of)

    def joined(self, body: Body, name: str, have: Type, of: Type) -> Type:
        """Returns the type of an attribute that gets a value of another type.

        Raises:
            Refusal: the types don't fit.
        """
        if isinstance(have, Number) and isinstance(of, Number):
            if have.kind == "f" and of.kind in "iu":
                return dataclasses.replace(have, may_be_int=True)
            if have == of:
                return have
            if have.kind in "biu" and of.kind == "f":
                raise body.refuse(
                    f"self.{name} is {have} after reset(), and {of} here: write a float from the"
                    f" beginning, as in self.{name} = 0.0"
                )
            if {have.kind, of.kind} == {"b", "i"}:
                return Number("i", 64)
        if isinstance(have, Array) and isinstance(of, Tuple) and _fits(of, have):
            # what is read of it are numbers, in both
            return have
        of = _shaped(of, have)
        try:
            return self.bounded(name, storage.join(unbounded(have), unbounded(of)))
        except Refusal as refusal:
            raise body.refuse(f"self.{name}: {refusal.args[0]}") from None

    def widen(self, name: str, of: List, item: Type) -> None:
        """Changes the items of a list in an attribute."""
        self.state[name] = self.bounded(name, _widened(unbounded(self.state[name]), of, item))

    # ------------------------------------------------------------------------------- objects --

    @functools.cached_property
    def _known(self) -> dict[int, Any]:
        """Returns the objects of the environment, its class and their modules, by their ids."""
        modules = [sys.modules.get(each.__module__) for each in reader.bases(self.cls)]
        roots = [vars(self.env), vars(self.fresh), *map(vars, reader.bases(self.cls))]
        roots += [vars(each) for each in modules if each is not None]
        return {id(each): each for root in roots for each in objects(list(root.values()))}

    def is_shared(self, value: Any) -> bool:
        """Returns whether an object that can change has names besides the one in the program."""
        return aliasing.is_mutable_object(value) and id(value) in self._known

    def shared_edges(self) -> set[aliasing.Edge]:
        """Returns which attributes are one object, or have one, after __init__ or reset."""
        found: set[aliasing.Edge] = set()
        for env in (self.fresh, self.env):
            names: dict[int, str] = {}
            for name, value in vars(env).items():
                for each in objects([value]):
                    other = names.setdefault(_identity(each), name)
                    if other != name:
                        found |= self._edge(name, ("attribute", other), each, 0)
                found |= self._repeated(name, value)
        theirs = {_identity(each) for each in objects(list(vars(self.fresh).values()))}
        for name in self.state:
            value = getattr(self.env, name, None)
            is_of_class = name not in vars(self.env)
            for each in objects([value]):
                if is_of_class or _identity(each) in theirs:
                    found |= self._edge(name, ("object", ""), each, -1)
        return found

    def _repeated(self, name: str, value: Any) -> set[aliasing.Edge]:
        """Returns what an attribute holds twice."""
        seen: set[int] = set()
        found: set[aliasing.Edge] = set()
        for each in objects([value], again=True):
            if id(each) in seen:
                found |= self._edge(name, ("attribute", name), each, 0)
            seen.add(id(each))
        return found

    def _edge(self, name: str, other: aliasing.Region, value: Any, line: int) -> set[aliasing.Edge]:
        try:
            kind = aliasing.kind_of(self.type_of(name, value))
        except Refusal:
            return set()
        kinds = aliasing.NOTHING if kind is None else frozenset({kind})
        return {aliasing.Edge(("attribute", name), other, kinds, line)}

    # --------------------------------------------------------------------------------- types --

    def bounded(self, name: str, of: Type, is_nested: bool = False) -> Type:
        """Returns the type in which an attribute is kept: lists have a capacity."""
        most = self.capacities.get(name) if not is_nested else None
        if isinstance(of, DynamicArray):
            raise Refusal(
                f"self.{name} holds an array whose shape is not known: make one of the same shape"
                " in __init__() or reset(), and keep its shape"
            )
        if isinstance(of, Union):
            return Union(tuple(self.bounded(name, each, is_nested) for each in of.items))
        if isinstance(of, List):
            capacity = of.most or most or (NESTED_CAPACITY if is_nested else CAPACITY)
            item = self.bounded(name, of.item, True)
            return of.holding(item, capacity)
        if isinstance(of, Map):
            capacity = most or self._most_keys(name, of, is_nested)
            key, entry = self.bounded(name, of.key, True), self.bounded(name, of.item, True)
            return of.holding(key, entry, capacity)
        if isinstance(of, Tuple):
            return Tuple(tuple(self.bounded(name, each, True) for each in of.items), of.cls)
        if isinstance(of, Record):
            items = tuple(self.bounded(name, each, is_nested) for each in of.items)
            return dataclasses.replace(of, items=items)
        if isinstance(of, Optional):
            return Optional(self.bounded(name, of.item, is_nested))
        return of

    def _most_keys(self, name: str, of: Map, is_nested: bool) -> int:
        """Returns how many keys a dict of an attribute may have."""
        held = self.initial.get(name) or vars(self.env).get(name)
        is_by_agent = isinstance(held, dict) and bool(held) and set(held) <= set(self.agents)
        if isinstance(of.key, Text) and not is_nested and is_by_agent:
            return len(self.agents)
        return NESTED_CAPACITY if is_nested else CAPACITY

    def type_of(self, name: str, value: Any) -> Type:
        """Returns the type of a value in Python.

        Raises:
            Refusal: it can't be a part of an environment's state.
        """
        number = number_of(value)
        if number is not None and not isinstance(value, enum.Enum):
            return number
        if value is None:
            return NONE
        if isinstance(value, enum.Enum):
            return Member(type(value))
        if isinstance(value, str):
            return Text()
        if isinstance(value, np.random.Generator):
            if value is getattr(self.env, "np_random", None):
                return Draws()
            raise Refusal(
                f"self.{name} is a generator of its own: use self.np_random, which reset() seeds"
            )
        if isinstance(value, np.ndarray):
            item = of_dtype(value.dtype)
            if item is None:
                raise Refusal(f"self.{name} is an array of {value.dtype}, which is not translated")
            return Array(item, value.shape)
        if isinstance(value, tuple):
            cls = type(value) if hasattr(value, "_fields") else None
            return Tuple(tuple(self.type_of(name, each) for each in value), cls)
        if isinstance(value, (list, deque, set)):
            item_type: Type = Empty()
            for each in value:
                item_type = storage.join_items(item_type, self.type_of(name, each))
            most = (value.maxlen or 0) if isinstance(value, deque) else 0
            return List(item_type, 0, most, isinstance(value, deque), isinstance(value, set))
        if isinstance(value, dict):
            absent = missing.of_dict(value)
            if not value:
                return Map(Empty(), Empty(), missing=absent)
            if absent is None and all(isinstance(key, str) for key in value):
                return Record(
                    tuple(value), tuple(self.type_of(name, each) for each in value.values())
                )
            key_type: Type = Empty()
            entry: Type = Empty()
            for key, each in value.items():
                key_type = storage.join_items(key_type, self.type_of(name, key))
                entry = storage.join_items(entry, self.type_of(name, each))
            return Map(key_type, entry, missing=absent)
        if records.is_object(value):
            if reason := own_objects.check(type(value)):
                raise Refusal(reason)
            keys = records.names(value)
            items = tuple(self.type_of(name, getattr(value, each)) for each in keys)
            return Record(keys, items, type(value))
        raise Refusal(
            f"self.{name} is {_article(type(value).__name__)}, which can't be a part of a state"
            " that is copied: keep numbers, arrays, tuples, lists and dicts in self"
        )


# built-in functions that change nothing of what they are given
READING = (
    *("len", "sum", "min", "max", "range", "enumerate", "zip", "sorted", "reversed", "list"),
    *("tuple", "set", "frozenset", "dict", "any", "all", "map", "filter", "isinstance", "str"),
    *("int", "float", "bool", "abs", "round", "print", "iter", "deque"),
)


def objects(values: list[Any], again: bool = False) -> Iterator[Any]:
    """Yields the objects that can change in values; again: those that are in them twice, twice."""
    seen: set[int] = set()
    todo = list(values)
    while todo:
        value = todo.pop()
        if id(value) in seen and not again:
            continue
        seen.add(id(value))
        if aliasing.is_mutable_object(value):
            yield value
        if isinstance(value, dict):
            todo += value.values()
        elif isinstance(value, (list, tuple, deque)):
            todo += value
        elif records.is_object(value):
            todo += records.parts(value)


def _identity(value: Any) -> int:
    """Returns what is equal for arrays in one memory, and for other objects that are one."""
    while isinstance(value, np.ndarray) and isinstance(value.base, np.ndarray):
        value = value.base
    return id(value)


def may_change(tree: ast.AST, name: str) -> bool:
    """Returns whether a function may change what it is given under a name."""

    def is_named(part: ast.expr) -> bool:
        while isinstance(part, (ast.Subscript, ast.Attribute)):
            part = part.value
        return isinstance(part, ast.Name) and part.id == name

    for each in ast.walk(tree):
        if isinstance(each, (ast.Subscript, ast.Attribute)) and not isinstance(each.ctx, ast.Load):
            if is_named(each):
                return True
        elif isinstance(each, ast.AugAssign) and is_named(each.target):
            return True
        elif isinstance(each, ast.Call):
            is_given = any(isinstance(arg, ast.Name) and arg.id == name for arg in each.args)
            is_own = isinstance(each.func, ast.Attribute) and not is_named(each.func)
            is_own = is_own or (isinstance(each.func, ast.Name) and each.func.id not in READING)
            if any(map(is_named, _changed_by(each))) or (is_given and is_own):
                return True
    return False


def _shaped(of: Type, like: Type) -> Type:
    """Returns a type whose arrays have the shapes of those in an attribute, as far as it has any.

    The program checks that they do.
    """
    likes = _alternatives(like)
    if isinstance(of, DynamicArray):
        shapes = {each.shape for each in likes if isinstance(each, Array)}
        fitting = [shape for shape in shapes if len(shape) == of.ndim]
        return Array(of.item, fitting[0]) if len(fitting) == 1 else of
    if isinstance(of, Optional):
        return Optional(_shaped(of.item, like))
    if isinstance(of, Union):
        return Union(tuple(_shaped(each, like) for each in of.items))
    for other in likes:
        if isinstance(of, List) and isinstance(other, List):
            return of.holding(_shaped(of.item, other.item), of.capacity)
        if isinstance(of, Map) and isinstance(other, Map):
            return of.holding(of.key, _shaped(of.item, other.item), of.capacity)
        if isinstance(of, Tuple) and isinstance(other, Tuple):
            return Tuple(tuple(map(_shaped, of.items, other.items)), of.cls)
        if isinstance(of, Record) and isinstance(other, Record):
            return dataclasses.replace(of, items=tuple(map(_shaped, of.items, other.items)))
    return of


def _alternatives(of: Type) -> tuple[Type, ...]:
    """Returns the types that a value may have."""
    if isinstance(of, Optional):
        return _alternatives(of.item)
    return of.items if isinstance(of, Union) else (of,)


def _fits(of: Tuple, array: Array) -> bool:
    """Returns whether a tuple has numbers for all elements of an array."""
    return array.shape == (len(of.items),) and all(
        isinstance(each, Number) and (array.item.kind == "f" or each.kind in "bi")
        for each in of.items
    )


def _widened(have: Type, of: List, item: Type) -> Type:
    if isinstance(have, List):
        if unbounded(of).item == have.item:  # type: ignore[attr-defined]
            return have.holding(unbounded(item))
        return have.holding(_widened(have.item, of, item))
    if isinstance(have, Optional):
        return Optional(_widened(have.item, of, item))
    if isinstance(have, Map):
        return have.holding(have.key, _widened(have.item, of, item))
    if isinstance(have, Record):
        items = tuple(_widened(each, of, item) for each in have.items)
        return dataclasses.replace(have, items=items)
    if isinstance(have, Tuple):
        return Tuple(tuple(_widened(each, of, item) for each in have.items), have.cls)
    return have


def _has_mutable(value: Any) -> bool:
    """Returns whether objects of the user's are in a value that may change."""
    if isinstance(value, (list, tuple, deque, dict)):
        parts = value.values() if isinstance(value, dict) else value
        return any(
            records.is_object(each) and not records.is_frozen(type(each)) for each in list(parts)
        )
    if not records.is_object(value) or records.is_frozen(type(value)):
        return False
    return any(
        isinstance(each, ast.Attribute)
        and isinstance(each.ctx, ast.Store)
        and _root(each, "self") is not None
        for function in reader.methods(type(value))
        if function.name not in ("__init__", "__post_init__")
        for each in ast.walk(function.tree)
    )


def _changed_by(call: ast.Call) -> list[ast.expr]:
    """Returns what a call of a method may change."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in CHANGING:
        return []
    return [call.func.value, *(call.args[:1] if call.func.attr == "shuffle" else [])]


def _root(tree: ast.expr, own: str) -> str | None:
    """Returns the attribute of self that an expression is a part of."""
    while isinstance(tree, (ast.Subscript, ast.Attribute, ast.Starred)):
        owner = tree.value
        if isinstance(tree, ast.Attribute) and isinstance(owner, ast.Name) and owner.id == own:
            return tree.attr
        tree = owner
    return None


def _article(word: str) -> str:
    return f"{'an' if word[0].lower() in 'aeiou' else 'a'} {word}"
