"""Program: what the functions of one environment share."""

from __future__ import annotations

import ast
import builtins
import functools
from typing import Any

import numpy as np

from parallel_pool._translator import aliasing, displays, order, reader, storage
from parallel_pool._translator.attributes import Attributes
from parallel_pool._translator.body import Body
from parallel_pool._translator.compiled_functions import CompiledFunctions
from parallel_pool._translator.instances import Instances
from parallel_pool._translator.numpy_loops import NumpyLoops
from parallel_pool._translator.reader import Function
from parallel_pool._translator.refusal import Refusal
from parallel_pool._translator.reset_options import ResetOptions
from parallel_pool._translator.tables import Tables
from parallel_pool._translator.template import Template
from parallel_pool._translator.text_numbers import TextNumbers
from parallel_pool._translator.types import Member, Type
from parallel_pool._translator.values import Arr, Fixed, Mem, Num, Rng, Tup, Value


class Program:
    """The translation of one environment.

    Attributes:
        template: its attributes.
        reset_options: what reset() is asked for.
        types: its structs.
        texts: the texts that it knows.
        tables: the values that it knows.
        numpy: the loops of NumPy that it calls.
        functions: the functions of which it consists.
        attributes: of the environment.
        instances: of the user's classes.
    """

    def __init__(self, template: Template, reset_options: ResetOptions) -> None:
        self.template = template
        self.reset_options = reset_options
        self.types = storage.Types()
        self.texts = TextNumbers(self.name)
        self.tables = Tables(self.types, self.texts, self.name)
        self.numpy = NumpyLoops()
        self.functions = CompiledFunctions(self)
        self.attributes = Attributes(self)
        self.instances = Instances(self)
        self.exceptions: dict[str, int] = {}
        self.exceptions_by_name: dict[str, type[BaseException]] = {}
        self.needs_distributions = False
        self.count = 0
        # the items of dicts that are written empty, by key, by the place where they are written
        self.open_dicts: dict[Any, dict[str, Type]] = {}
        # the generators from which it draws
        self.drawn: set[str] = set()
        # what a call of a function changes, by the function
        self.effects: dict[int, order.Effects] = {}
        # the functions that a function names, by the function
        self.calls: dict[int, list[Function]] = {}
        # attributes that are one object after some function, and what changes in place
        self.edges: set[tuple[aliasing.Edge, str]] = set()
        self.changes: set[tuple[aliasing.Region, aliasing.Kind, str, int]] = set()
        self.compared: set[aliasing.Compared] = set()

    @functools.cached_property
    def info_methods(self) -> frozenset[str]:
        """The names of methods whose results step() or reset() returns as infos."""
        found = set()
        for name in ("reset", "step"):
            function = reader.find(self.template.cls, name)
            for each in displays.returned_infos(function.tree) if function is not None else ():
                if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute):
                    found.add(each.func.attr)
        return frozenset(found)

    @functools.cached_property
    def methods_by_name(self) -> dict[str, list[Function]]:
        return order.methods_by_name(self.template.cls, self.template.env)

    # --------------------------------------------------------------------------------- names --

    def name(self, hint: str) -> str:
        self.count += 1
        return f"{hint}_{self.count}"

    def exception(self, name: str) -> int:
        return self.exceptions.setdefault(name, len(self.exceptions))

    def catches(self, body: Body, handler: ast.ExceptHandler) -> str:
        """Returns the C condition under which an exception is handled."""
        if handler.type is None:
            return "true"
        found = body.value(handler.type)
        classes = found.value if isinstance(found, Fixed) else None
        wanted: tuple[Any, ...] = classes if isinstance(classes, tuple) else (classes,)
        if not all(isinstance(each, type) for each in wanted):
            raise body.refuse("this except is not translated")
        matching = []
        for name, index in self.exceptions.items():
            cls: Any = self.exceptions_by_name.get(name) or getattr(builtins, name, Exception)
            if issubclass(cls, wanted):
                matching.append(f"c->raised == {index}")
        return " || ".join(matching) or "false"

    def draw_from(self, body: Body, value: Rng) -> None:
        """Notes which generator is drawn from: all of them are the engine's one.

        Raises:
            Refusal: it is another one.
        """
        self.drawn.add(value.name)
        if len(self.drawn) > 1:
            names = " and ".join(f"self.{each}" if each else "a local one" for each in self.drawn)
            raise body.refuse(f"two generators have the seed of reset(), {names}: draw from one")

    def space_contains(self, body: Body, space: Any, item: Value) -> str | bool:
        """space.contains(action): the engine has checked the action."""
        del space
        if isinstance(item, (Num, Arr, Mem, Tup)):
            return True
        raise body.refuse("whether a space contains this is not translated")

    def member_id(self, of: Member, value: Value) -> str:
        if isinstance(value, Mem) and value.member == of:
            return value.c
        if isinstance(value, Fixed) and isinstance(value.value, of.cls):
            return str(list(of.cls).index(value.value))
        raise Refusal(f"{value.type} is no {of}")

    def global_value(self, function: Function, name: str) -> Value:
        value = function.names[name]
        if isinstance(value, np.random.Generator):
            raise Refusal(f"{name} is a generator of its own: use self.np_random")
        return Fixed(value)
