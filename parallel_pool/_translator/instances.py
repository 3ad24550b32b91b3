"""Instances: objects of the user's classes, known ones and new ones, and what they have."""

from __future__ import annotations

import dataclasses
import enum
import types as python_types
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._translator import (
    containers,
    displays,
    expressions,
    objects,
    reader,
    records,
    storage,
)
from parallel_pool._translator.compiled_functions import ObjectMethod
from parallel_pool._translator.values import (
    Bound,
    Fixed,
    Mem,
    Rec,
    Tup,
    Value,
    as_number,
)

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body
    from parallel_pool._translator.program import Program
    from parallel_pool._translator.reader import Function


class Instances:
    """The objects of a program that are of the user's classes, and those that are known."""

    def __init__(self, program: Program) -> None:
        """
        Args:
            program: of which they are a part.
        """
        self.program = program

    def attribute_of_known(self, body: Body, value: Any, name: str) -> Value:
        """Returns an attribute of an object that is known before the program runs."""
        if isinstance(value, enum.Enum) and name in ("value", "name"):
            return Fixed(getattr(value, name))
        if isinstance(value, type) and reader.is_own(value) and not hasattr(value, "_fields"):
            function = reader.find(value, name)
            if function is not None:
                if function.kind == "class":
                    return ObjectMethod(function, Fixed(value))
                if value in self.program.template.cls.__mro__ or function.kind == "static":
                    return Bound(function, False)
        if not hasattr(value, name):
            raise body.refuse(f"{type(value).__name__} has no attribute {name}")
        if isinstance(value, np.ndarray):
            return expressions.attribute(body, self.program.tables.array(value), name)
        found = getattr(value, name)
        if callable(found) and isinstance(value, (np.random.Generator, np.random.RandomState)):
            raise body.refuse("a generator of your own is not translated: use self.np_random")
        owner_module = getattr(value, "__name__", "")
        is_random = isinstance(value, python_types.ModuleType) and owner_module in (
            "random",
            "numpy.random",
        )
        if is_random and found is not np.random.default_rng:
            raise body.refuse(f"{owner_module}.{name} is not seeded by reset(): use self.np_random")
        if records.is_object(value):
            function = reader.find(type(value), name)
            if function is not None:
                if function.kind == "property":
                    return Fixed(found)
                if function.kind == "method":
                    return ObjectMethod(function, Fixed(value))
                return Bound(function, False)
        return Fixed(found)

    def attribute_of_member(self, body: Body, value: Mem, name: str) -> Value:
        members = list(value.member.cls)
        if name in ("value", "name"):
            values = [getattr(each, name) for each in members]
            found = containers.table(body, values)
            if found is None:
                raise body.refuse(f".{name} of {value.type} is not translated")
            return found(value.c)
        raise body.refuse(f".{name} of {value.type} is not translated")

    def attribute_of_object(self, body: Body, value: Rec | Tup, name: str) -> Value:
        assert value.cls is not None
        displays.check_read(body, value)
        keys = value.keys if isinstance(value, Rec) else value.names
        if name in keys:
            return value.items[keys.index(name)]
        function = reader.find(value.cls, name)
        if function is None:
            if hasattr(value.cls, name):
                return Fixed(getattr(value.cls, name))
            raise body.refuse(f"{value.cls.__name__} has no attribute {name}")
        if function.kind == "property":
            return self.program.functions.call_read(body, function, [value], {})
        return ObjectMethod(function, value)

    def make(self, body: Body, cls: type, given: list[Value], keywords: dict[str, Value]) -> Value:
        """Returns a new object of a class of the user's."""
        if reason := objects.check(cls):
            raise body.refuse(reason)
        if not dataclasses.is_dataclass(cls):
            return self.program.functions.call_read(body, records.constructor(cls), given, keywords)
        fields = dataclasses.fields(cls)
        positional = [each.name for each in fields if each.init and not each.kw_only]
        keywords = {**keywords, **dict(zip(positional, given, strict=False))}
        if len(given) > len(positional) or keywords.keys() - {e.name for e in fields if e.init}:
            raise body.refuse(f"{cls.__name__} has no such arguments")
        items: list[Value] = []
        for each in fields:
            if each.name in keywords:
                items.append(keywords[each.name])
            elif each.default is not dataclasses.MISSING:
                items.append(Fixed(each.default))
            elif each.default_factory is not dataclasses.MISSING:
                items.append(Fixed(each.default_factory()))
            elif each.init:
                raise body.refuse(f"{cls.__name__} needs {each.name}")
            else:
                raise body.refuse(f"{cls.__name__}.{each.name} needs a default")
        kept = tuple(_number_if_known(body, body.kept(each)) for each in items)
        made = Rec(tuple(each.name for each in fields), kept, cls=cls)
        after = objects.written(cls, "__post_init__")
        return made if after is None else self._after_init(body, made, after)

    def method(self, function: Function, owner: Value) -> Bound:
        """Returns a method of an object of the user's."""
        return ObjectMethod(function, owner)

    def _after_init(self, body: Body, made: Rec, after: Function) -> Value:
        """Returns a new object after its __post_init__."""
        place = body.variable("o", made.type)
        storage.store(body, made.type, place, made)
        found = storage.load(body, made.type, place, ("memory", place))
        self.program.functions.call(body, ObjectMethod(after, found), [], {})
        return storage.load(body, made.type, place)


def _number_if_known(body: Body, value: Value) -> Value:
    number = as_number(value)
    return number if isinstance(value, Fixed) and number is not None else value
