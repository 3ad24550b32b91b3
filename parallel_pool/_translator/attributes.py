"""Attributes: those of the environment, which are read, assigned and widened."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from parallel_pool._translator import aliasing, arrays, indexing, reader, storage
from parallel_pool._translator.compiled_functions import do_nothing
from parallel_pool._translator.refusal import Refusal, Restart
from parallel_pool._translator.seeding import GENERATORS
from parallel_pool._translator.types import (
    List,
    Map,
    Number,
    OpenDict,
    Optional,
    Record,
    Tuple,
    Type,
    number_of,
    of_dtype,
    unbounded,
)
from parallel_pool._translator.values import (
    UNKNOWN,
    Arr,
    Bound,
    Fixed,
    Flat,
    Generator,
    Lst,
    Mapping,
    Num,
    Options,
    Rec,
    Rng,
    SeedArgument,
    Self,
    Span,
    Tup,
    Uni,
    Value,
)

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body
    from parallel_pool._translator.program import Program


class Attributes:
    """The attributes of a program's environment.

    What they are is in the program's template. A use that does not fit to it changes the template,
    and the translation begins anew.
    """

    def __init__(self, program: Program) -> None:
        """
        Args:
            program: of which they are a part.
        """
        self.program = program
        self.template = program.template
        self.reset_options = program.reset_options

    def freeze(self, name: str) -> Any:
        """Returns an attribute that never changes, for which the program then holds only."""
        value = getattr(self.template.env, name)
        self.template.frozen[name] = value
        return value

    def never_zero(self, name: str) -> bool:
        """Returns whether an attribute that never changes is not 0; it is not in any pool, then."""
        if not getattr(self.template.env, name):
            return False
        self.template.divisors.add(name)
        return True

    def add_state(self, name: str) -> None:
        """Notes that an attribute changes, and begins anew."""
        if name in self.template.state:
            raise Refusal(f"self.{name} can't be changed here")
        self.template.add_state(name)
        raise Restart

    def constant_name(self, body: Body, tree: ast.expr | None) -> str | None:
        """Returns the attribute that an expression is a part of; None for others."""
        while isinstance(tree, ast.Subscript):
            tree = tree.value
        if isinstance(tree, ast.Attribute) and isinstance(tree.value, ast.Name):
            owner = body.names.get(tree.value.id)
            if isinstance(owner, Self):
                return tree.attr
        return None

    def read(self, body: Body, name: str, after: type | None = None) -> Value:
        """Returns self.name, or super().name."""
        template = self.template
        function = reader.find(template.cls, name, after)
        if function is not None:
            if function.kind == "property":
                return self.program.functions.call(body, Bound(function, True), [], {})
            return Bound(function, function.kind in ("method", "class"))
        if after is not None:
            found = getattr(super(after, template.env), name, None)
            if name == "reset":
                return Fixed(gymnasium.Env.reset)
            if found is None:
                raise body.refuse(f"super().{name} is not translated")
            return Fixed(do_nothing)
        if name == "np_random":
            return Rng(name)
        if name in ("unwrapped",):
            return Self()
        if name in ("spec", "_np_random", "_np_random_seed"):
            return Fixed(None)
        if name == "__class__":
            return Fixed(template.cls)
        if name in template.state:
            of = template.state[name]
            held = storage.load(body, of, f"s->a_{name}", ("attribute", name))
            if isinstance(held, Arr):
                held.order = template.orders.get(name, ())
            return held
        if not hasattr(template.env, name):
            raise body.refuse(f"self.{name} is assigned nowhere before this line")
        value = getattr(template.env, name)
        if name not in vars(template.env):
            if not inspect.ismethod(value):
                return Fixed(value)
            raise body.refuse(f"self.{name}() is not translated")
        number = number_of(value)
        if number is not None:
            template.constants[name] = value
            return Num(number, f"k->a_{name}", name)
        if isinstance(value, np.ndarray) and of_dtype(value.dtype) is not None:
            template.constants[name] = value
            item = of_dtype(value.dtype)
            assert item is not None
            array = storage.memory_array(item, value.shape, f"k->a_{name}", ("attribute", name))
            array.is_read_only = True
            array.order = arrays.order_of(value)
            return array
        if isinstance(value, np.random.Generator) and name in template.generators:
            return Rng(name)
        if isinstance(value, np.random.Generator):
            raise body.refuse(
                f"self.{name} is a generator of its own: use self.np_random, which reset() seeds"
            )
        template.frozen[name] = value
        return Fixed(value)

    def assign(self, body: Body, name: str, value: Value) -> None:
        """self.name = value."""
        function = reader.find(self.template.cls, name)
        if function is not None:
            raise body.refuse(f"self.{name} is a {function.kind}, and can't be assigned")
        template = self.template
        if isinstance(value, (Rng, SeedArgument)) and name in (*GENERATORS, *template.generators):
            return
        if name in ("np_random", "_np_random"):
            raise body.refuse("self.np_random is the engine's: seed it by reset(seed=...)")
        if isinstance(value, (Span, Flat, Bound, Generator, Self)):
            raise body.refuse(f"self.{name} can't hold this: make a list of it")
        if isinstance(value, Rec) and value.cls is OpenDict:
            raise body.refuse(f"self.{name} can't hold a dict whose keys depend on the way")
        if isinstance(value, Options):
            raise body.refuse(
                f"self.{name} can't hold the options of reset(): keep the numbers that are needed"
            )
        given = value
        of = body.unbounded(value)
        if name not in template.state:
            template.new_state(name, storage.kept(of), body)
            raise Restart
        have = template.state[name]
        if isinstance(have, Number):
            self.reset_options.meet((value, Num(have, "")))
        wanted = template.joined(body, name, have, storage.kept(of))
        if wanted != have:
            template.state[name] = wanted
            raise Restart
        now = storage.load(body, have, f"s->a_{name}", ("attribute", name))
        if isinstance(value, Arr) and (
            isinstance(now, Uni) or (isinstance(now, Arr) and indexing.reads(value, now))
        ):
            value = body.fresh(value)
        elif isinstance(value, (Tup, Rec)):
            value = (
                Rec(value.keys, tuple(map(body.kept, value.items)), cls=value.cls)
                if isinstance(value, Rec)
                else body.kept(value)
            )
        if isinstance(value, Arr):
            self._note_order(name, value.order)
        body.detach(("attribute", name))
        aliasing.attribute_assigned(body, name, given)
        storage.store(body, have, f"s->a_{name}", value, f"self.{name}")
        if value is not given:
            body.note_stored(have, f"s->a_{name}", given)
        # the name from which it came means the same object from now on
        now = storage.load(body, have, f"s->a_{name}", ("attribute", name))
        if isinstance(now, Uni) and isinstance(value, Arr):
            now = storage.member(body, now, value.type)
        for other, held in list(body.names.items()):
            if (held is given and isinstance(now, (Arr, Lst, Mapping, Uni))) or (
                held is given and isinstance(now, Rec) and now.cls is not None
            ):
                body.names[other] = now

    def _note_order(self, name: str, order: tuple[int, ...]) -> None:
        """Notes the order of an attribute's axes, and begins anew if it is another one."""
        have = self.template.orders.setdefault(name, order)
        if have != order and have != UNKNOWN:
            self.template.orders[name] = UNKNOWN
            raise Restart

    def widen_map(self, name: str, of: Map, key: Type, item: Type) -> None:
        """Notes that a dict of an attribute has keys and items of other types, and begins anew."""
        template = self.template
        have = unbounded(template.state[name])
        wanted = _replaced(have, unbounded(of), of.holding(key, item))
        template.state[name] = template.bounded(name, wanted)
        raise Restart

    def widen_list(self, name: str, of: List, item: Type) -> None:
        """Notes that a list of an attribute has items of another type, and begins anew."""
        self.template.widen(name, of, item)
        raise Restart

    def widen_record(self, name: str, of: Record, wanted: Record) -> None:
        """Notes that an object of an attribute has a field of another type, and begins anew."""
        template = self.template
        have = template.state[name]
        template.state[name] = template.bounded(
            name, _replaced(unbounded(have), unbounded(of), wanted)
        )
        raise Restart


def _replaced(have: Type, of: Type, wanted: Type) -> Type:
    """Returns a type in which a part has become another one."""
    if have == of:
        return wanted
    if isinstance(have, List):
        item = _replaced(have.item, of, wanted)
        return have.holding(item)
    if isinstance(have, Map):
        return have.holding(have.key, _replaced(have.item, of, wanted))
    if isinstance(have, Optional):
        return Optional(_replaced(have.item, of, wanted))
    if isinstance(have, Tuple):
        return Tuple(tuple(_replaced(each, of, wanted) for each in have.items), have.cls)
    if isinstance(have, Record):
        items = tuple(_replaced(each, of, wanted) for each in have.items)
        return dataclasses.replace(have, items=items)
    return have
