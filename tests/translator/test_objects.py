"""Special methods, equality and order of objects, dicts and sets; decorators."""

from __future__ import annotations

import functools
from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest

import parallel_pool
from parallel_pool._contract import twins
from tests.translator.probes import Probe


def twice(function):
    @functools.wraps(function)
    def doubled(*given):
        return 2 * function(*given)

    return doubled


def noted(function):
    function.is_noted = True
    return function


class Vector(NamedTuple):
    x: float
    y: float

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, k):
        return Vector(self.x * k, self.y * k)

    def __neg__(self):
        return Vector(-self.x, -self.y)


@dataclass
class Special:
    x: float = 0.0
    y: float = 0.0
    z: float = field(init=False, default=4.0)

    def __post_init__(self):
        self.y = self.x * 2

    def __bool__(self):
        return self.x > 0

    def __eq__(self, other):
        return self.y == other.y

    def __lt__(self, other):
        return self.x < other.x

    def __len__(self):
        return 7

    def __contains__(self, x):
        return self.x < x

    def __getitem__(self, i):
        return self.x + i

    def __sub__(self, other):
        return self.x - other.x


@dataclass
class Plain:
    x: int = 0
    y: int = 0


@dataclass(order=True)
class Ordered:
    x: int = 0
    y: float = 0.0


class SpecialMethods(Probe):
    size = 12

    def values(self, action):
        a = Vector(float(action[0]), 1.0) + Vector(1.0, 2.0)
        b = -(a * 2)
        c, d = Special(float(action[0])), Special(float(action[1]), 3.0)
        return [
            *(a[0], a[1], b.x, len(a), c.y, c.z),
            *(1 if c else 0, c == d, c < d, len(c), 0.5 in c, c[2] + (c - d)),
        ]


class Equality(Probe):
    size = 9

    def values(self, action):
        a, b, c = Plain(1, self.steps), Plain(1, 3), Plain(1, 3)
        d = {}
        e = {}
        for i in range(3):
            d[i] = i
            e[2 - i] = 2 - i
        f = {"u": self.steps, "w": 2}
        g = {"w": 2, "u": 3}
        h = Ordered(self.steps, 1.5)
        same = d == e
        e[1] = self.steps
        return [a == b, a != b, b == c, same, d == e, f == g, f != g, h < Ordered(4, 2.0), h == h]


class Unordered(Probe):
    size = 10

    def values(self, action):
        found = set()
        for x in action:
            found.add(int(x * 10))
        found.add(3)
        other = {x + 1 for x in found}
        in_order = sorted(found)
        return [
            *(in_order[0], len(found), min(found), max(found), sum(found)),
            *(3 in found, len(found | other), len(found & other), len(found - other)),
            any(x > 5 for x in found),
        ]


class Full(Probe):
    size = 4

    def __init__(self):
        super().__init__()
        self.queue = deque([1, 2, 3], maxlen=3)

    def values(self, action):
        try:
            self.queue.insert(1, 9)
            found = 0
        except IndexError:
            found = 1
        self.queue.popleft()
        self.queue.insert(1, self.steps)
        return [found, self.queue[0], self.queue[1], self.queue[2]]


class Decorators(Probe):
    size = 3

    @noted
    def plain(self, x):
        return x + 1.0

    @staticmethod
    def fixed(x):
        return x * 2.0

    def values(self, action):
        return [self.plain(action[0]), self.fixed(action[1]), 0]


class InfoNames(Probe):
    size = 1

    def values(self, action):
        return [0.0]

    def step(self, action):
        found, reward, terminated, truncated, _ = super().step(action)
        return found, reward, terminated, truncated, {"a-b": 1, "a_b": 2.5, "a b": self.steps}


PROBES = [SpecialMethods, Equality, Unordered, Full, Decorators, InfoNames]


@pytest.mark.slow
@pytest.mark.parametrize("cls", PROBES, ids=lambda cls: cls.__name__)
def test_objects_do_what_their_classes_say(cls: Any) -> None:
    (task_id,) = parallel_pool.compile(cls)
    twins.compare(cls, task_id)


class Decorated(Probe):
    @twice
    def doubled(self, x):
        return x + 1.0

    def values(self, action):
        return [self.doubled(action[0])]


class SetLoop(Probe):
    def values(self, action):
        total = 0
        for i, x in enumerate({9, 8, self.steps}):
            total += i * x
        return [total]


class SetPop(Probe):
    def values(self, action):
        return [{5, self.steps}.pop()]


class SetList(Probe):
    def values(self, action):
        return [list({5, self.steps})[0]]  # noqa: RUF015


class SetSum(Probe):
    def values(self, action):
        return [sum({action[0], action[1], 0.1})]


@dataclass
class InPlace:
    x: float = 0.0

    def __iadd__(self, other):
        self.x += other
        return self


class Augmented(Probe):
    def values(self, action):
        a = InPlace(1.0)
        a += 2.0
        return [a.x]


@dataclass
class Watched:
    x: float = 0.0

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value * 2)


class Watching(Probe):
    def values(self, action):
        return [Watched(1.0).x]


REFUSED = {
    Decorated: r"has a decorator that changes what it does",
    SetLoop: r"the order of a set .* write sorted",
    SetPop: r"the order of a set .* write sorted",
    SetList: r"the order of a set .* write sorted",
    SetSum: r"the order of a set .* write sorted",
    Augmented: r"__iadd__ is not translated: write a = a",
    Watching: r"__setattr__ is not translated",
}


@pytest.mark.quick(3)
@pytest.mark.parametrize("cls", REFUSED, ids=lambda cls: cls.__name__)
def test_what_is_not_translated_of_objects_is_said(cls: Any) -> None:
    with pytest.raises(parallel_pool.SourceError, match=REFUSED[cls]) as found:
        parallel_pool.compile(cls)
    assert "test_objects.py:" in str(found.value)
