"""Known values: attributes that have their values before the program runs, in C."""

from __future__ import annotations

from typing import Any

import numpy as np

from parallel_pool._translator import storage
from parallel_pool._translator.body import Body
from parallel_pool._translator.refusal import Refusal
from parallel_pool._translator.types import (
    Array,
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
)
from parallel_pool._translator.values import literal


def store(body: Body, of: Type, place: str, value: Any) -> None:
    """Stores a known value in memory that holds zeros."""
    if isinstance(of, Number):
        if (value is not None and value != 0) or isinstance(value, float):
            body.emit(f"{place} = {literal(value, of)};")
    elif isinstance(of, Array):
        if np.any(value):
            table = body.program.tables.array(value)
            body.emit(f"memcpy({place}.v, {table.pointer}, sizeof({place}.v));")
    elif isinstance(of, Record) and value == {}:
        pass
    elif isinstance(of, (Tuple, Record)):
        parts = (
            [getattr(value, key) for key in of.keys]
            if isinstance(of, Record) and of.cls is not None
            else list(value.values())
            if isinstance(of, Record)
            else value
        )
        for i, (kind, part) in enumerate(zip(of.items, parts, strict=True)):
            store(body, kind, f"{place}.f{i}", part)
    elif isinstance(of, List):
        if len(value) > of.capacity:
            raise Refusal(f"{place} has {len(value)} items: write `# at most N` behind it")
        body.emit(f"{place}.count = {len(value)};")
        for i, each in enumerate(value):
            store(body, of.item, f"{place}.v[{i}]", each)
    elif isinstance(of, Map):
        if len(value) > of.capacity:
            raise Refusal(f"{place} has {len(value)} keys: write `# at most N` behind it")
        body.emit(f"{place}.count = {len(value)};")
        for i, (key, each) in enumerate(value.items()):
            store(body, of.key, f"{place}.k[{i}]", key)
            store(body, of.item, f"{place}.v[{i}]", each)
    elif isinstance(of, Optional):
        if value is not None:
            body.emit(f"{place}.some = true;")
            store(body, of.item, f"{place}.v", value)
    elif isinstance(of, Union):
        at = storage.place_of(of, body.program.template.type_of(place, value))
        assert at is not None
        body.emit(f"{place}.which = {at};")
        store(body, of.items[at], f"{place}.f{at}", value)
    elif isinstance(of, Text):
        body.emit(f"{place} = {body.program.texts.number(value)};")
    elif isinstance(of, Member):
        body.emit(f"{place} = {list(of.cls).index(value)};")
