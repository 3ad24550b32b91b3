"""Infos: which infos a class has, and what they hold, as its translation finds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from parallel_pool._translator.body import Body
from parallel_pool._translator.fields import DTYPES, Field
from parallel_pool._translator.refusal import Refusal, Restart
from parallel_pool._translator.types import List, Number, Text, Tuple
from parallel_pool._translator.values import Arr, Fixed, Opt, Rec, Txt, Value, as_number, kept_type

# the info that says which of the others a row has: PP_IF_GIVEN of pp_env.h
GIVEN = "given"
RESERVED = {"obs", "reward", "terminated", "truncated", "env_id", "action"}


class Infos:
    """The infos of a class.

    A translation begins anew (Restart) when it finds an info, or that some results lack one.

    Attributes:
        fields: by name, in the order in which they were found.
    """

    def __init__(self, samples: Mapping[str, Any], num_players: int = 0) -> None:
        """Knows none yet.

        Args:
            samples: values that infos had in Python.
            num_players: of a class with several agents.
        """
        self.fields: dict[str, Field] = {}
        self._samples = samples
        self._num_players = num_players

    def told(self, body: Body, record: Rec, path: str = "") -> dict[str, Value]:
        """Returns what infos hold, those in dicts by their keys with dots between them."""
        found: dict[str, Value] = {}
        for key, item in zip(record.keys, record.items, strict=True):
            if not isinstance(key, str) or "." in key:
                raise body.refuse(f"an info can't be named {key!r}: choose a text without dots")
            is_dict = isinstance(item, (Fixed, Rec)) and getattr(item, "cls", None) is None
            inner = body.record(item) if is_dict else None
            if inner is not None and inner.keys:
                found.update(self.told(body, inner, f"{path}{key}."))
            else:
                found[path + key] = item
        return found

    def optional(self) -> list[Field]:
        """Returns the infos that some rows lack."""
        return [field for field in self.fields.values() if field.is_optional]

    def note_optional(self, field: Field | None) -> None:
        """Notes that some rows lack an info, and begins anew if that is new."""
        if field is None or field.is_optional:
            return
        field.is_optional = True
        own = self.fields.pop(GIVEN, None)
        if own is not None and own.key:
            raise Refusal(f"an info can't be named {GIVEN!r} if some results lack others")
        self.fields[GIVEN] = Field(GIVEN, (), Number("i", 64), (), None, True, True)
        raise Restart

    def find(self, body: Body, key: Any, value: Value, is_reset: bool) -> tuple[Field, Value]:
        """Returns the field of an info, and the value that it gets."""
        if not isinstance(key, str):
            raise body.refuse("the keys of infos must be texts")
        if is_text(value):
            return self._field(body, key, Number("i", 32), (), is_reset, True), value
        item: Number | None = None
        shape: tuple[int, ...] = ()
        number = as_number(value)
        if number is not None:
            item = number.number
        else:
            try:
                array = body.array(value)
            except Refusal:
                raise body.refuse(
                    f"the info {key!r} is {value.type}: only numbers, texts and arrays are"
                    " translated"
                ) from None
            if isinstance(value.type, (Tuple, List)):
                raise body.refuse(
                    f"the info {key!r} is {value.type}, which Gymnasium keeps as it is: write"
                    " np.array() around it"
                )
            item = array.item
            if not all(isinstance(dim, int) for dim in array.dims):
                sample = self._samples.get(key)
                if sample is None:
                    raise body.refuse(f"the info {key!r} has a shape that changes")
                array = _with_shape(body, key, array, np.shape(sample))
                value = array
            shape = tuple(array.dims)  # type: ignore[arg-type]
        if item.dtype.name not in DTYPES:
            raise body.refuse(f"infos of {item.dtype.name} are not translated")
        return self._field(body, key, item, shape, is_reset, False), value

    def _field(
        self,
        body: Body,
        key: str,
        item: Number,
        shape: tuple[int, ...],
        is_reset: bool,
        is_text: bool,
    ) -> Field:
        """Returns the field of an info that holds such values, and notes who has it."""
        field = self.fields.get(key)
        if field is None:
            if key in RESERVED or (key == GIVEN and self.optional()):
                raise body.refuse(f"an info can't be named {key!r}: choose another name")
            made = Field(key, (key,), item, shape, None, not is_reset, is_reset, self._num_players)
            self.fields[key] = replace(made, is_text=is_text)
            raise Restart
        if not (field.on_reset if is_reset else field.on_step):
            if is_reset:
                field.on_reset = True
            else:
                field.on_step = True
            raise Restart
        if field.is_text != is_text:
            raise body.refuse(
                f"the info {key!r} is a text or None at one place, and a number at another: write"
                " texts at all places, or numbers, as -1 for None"
            )
        if field.item.dtype != item.dtype or field.shape != shape:
            if (field.item.kind in "ib" and item.kind == "f") or (
                field.item.kind == "f" and (item.kind in "ib")
            ):
                field.item = Number("f", 64)
                if field.item.dtype != np.float64:
                    raise Restart
            else:
                raise body.refuse(f"the info {key!r} has other types or shapes at other places")
        return field


def is_text(value: Value) -> bool:
    """Returns whether a value is a text or None, or may be either."""
    if isinstance(value, Opt):
        return isinstance(kept_type(value.optional.item), Text)
    known = isinstance(value, Fixed) and (value.value is None or isinstance(value.value, str))
    return known or isinstance(value, Txt)


def _with_shape(body: Body, key: str, array: Arr, shape: tuple[int, ...]) -> Arr:
    """Returns an array whose shape is known, and checked in the program."""
    for dim, wanted in zip(array.dims, shape, strict=True):
        if isinstance(dim, str):
            body.check(
                f"{dim} == {wanted}",
                "ValueError",
                f"the info {key!r} has %lld elements on an axis of {wanted}",
                f"(long long){dim}",
            )
    return Arr(array.item, shape, array.at, pointer=array.pointer)
