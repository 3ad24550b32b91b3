"""State checks: what of a snapshot's bytes no environment can hold, in C."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from parallel_pool._translator.fields import Field
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


def lines(state: Mapping[str, Type], kept: Iterable[Field]) -> str:
    """Returns the lines that refuse states that no environment has.

    Args:
        state: types of the attributes, by name.
        kept: observations and infos that are a part of the state.
    """
    found: list[str] = []
    for name, of in state.items():
        _check(found, of, f"s->a_{name}", name, 1, [0])
    for field in kept:
        if field.item.kind == "b":
            place = f"(const uint8_t *)s->{field.member}"
            found.append(
                f'  if (!pp_state_check_bytes(env, "{field.name}", {place},'
                f" {max(1, field.size)}, 1)) return PP_ERR_ARGUMENT;"
            )
    return "\n".join(found)


def _check(
    lines: list[str], of: Type, place: str, name: str, indent: int, count: list[int]
) -> None:
    space = "  " * indent

    def in_range(c: str, high: str) -> None:
        lines.append(
            f'{space}if (!pp_state_check_range(env, "{name}", {c}, 0, {high}))'
            " return PP_ERR_ARGUMENT;"
        )

    if isinstance(of, Number) and of.kind == "b":
        in_range(f"*(const uint8_t *)&{place}", "1")
    elif isinstance(of, Array) and of.item.kind == "b":
        lines.append(
            f'{space}if (!pp_state_check_bytes(env, "{name}", (const uint8_t *){place}.v,'
            f" {max(1, of.size)}, 1)) return PP_ERR_ARGUMENT;"
        )
    elif isinstance(of, (Tuple, Record)):
        for i, item in enumerate(of.items):
            _check(lines, item, f"{place}.f{i}", name, indent, count)
    elif isinstance(of, Optional):
        in_range(f"*(const uint8_t *)&{place}.some", "1")
        _check(lines, of.item, f"{place}.v", name, indent, count)
    elif isinstance(of, Union):
        in_range(f"{place}.which", str(len(of.items) - 1))
        for i, item in enumerate(of.items):
            _check(lines, item, f"{place}.f{i}", name, indent, count)
    elif isinstance(of, Text):
        in_range(place, "NUM_TEXTS - 1")
    elif isinstance(of, Member):
        in_range(place, str(len(of.cls) - 1))
    elif isinstance(of, (List, Map)):
        in_range(f"{place}.count", str(of.capacity))
        count[0] += 1
        index = f"i{count[0]}"
        inner: list[str] = []
        if isinstance(of, Map):
            _check(inner, of.key, f"{place}.k[{index}]", name, indent + 1, count)
            _check(inner, of.item, f"{place}.v[{index}]", name, indent + 1, count)
        else:
            _check(inner, of.item, f"{place}.v[{index}]", name, indent + 1, count)
        if inner:
            lines.append(f"{space}for (int64_t {index} = 0; {index} < {place}.count; {index}++) {{")
            lines.extend(inner)
            lines.append(f"{space}}}")
