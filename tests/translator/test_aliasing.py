"""Names that are one object in Python are one in C; what would differ is refused."""

from __future__ import annotations

import copy
import re
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import parallel_pool
from parallel_pool._contract import twins
from tests.translator.probes import Probe


@dataclass
class Body:
    x: float = 0.0
    v: float = 1.0

    def tick(self):
        self.x += self.v
        return self.x


@dataclass
class Holder:
    pos: np.ndarray = field(default_factory=lambda: np.zeros(2))
    items: list = field(default_factory=lambda: [0])


class Things(Probe):
    """Holds lists, arrays and objects."""

    size = 6

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.rows = [[1], [2], [3]]
        self.bodies = [Body(1.0), Body(2.0), Body(3.0)]
        self.arrays = [np.zeros(2), np.ones(2)]
        self.pos = np.zeros(2)
        self.history = [np.zeros(2)]
        self.a = [1, 2]
        self.b = [3]
        self.grid = np.arange(6.0).reshape(2, 3)
        self.chosen = np.array([0, 1])
        self.by_number = {}
        self.by_number[1] = [1]
        self.by_number[2] = [2]
        self.holder = Holder()
        self.best = None
        self.queue = deque([[1], [2]], maxlen=4)
        self.one = Body(5.0)
        self.by_name = {"u": Body(1.0), "w": Body(2.0)}
        return np.zeros(self.size), {}


class LoopItems(Things):
    def values(self, action):
        for row in self.rows:
            row.append(5)
            if len(row) > 20:
                row.clear()
                row.append(0)
        for i, body in enumerate(self.bodies):
            body.x += i
            body.v *= 1.5
        body.x += 10
        for row, body in zip(self.rows, self.bodies, strict=True):
            row[0] += 1
            body.x += len(row)
        for row in reversed(self.rows):
            row[0] *= 2
            row[0] %= 1000
        for i, array in enumerate(self.arrays):
            array[0] += 1
            array *= 1.25
            array += i
        for number, items in self.by_number.items():
            items[0] += number
        for items in self.by_number.values():
            items[0] *= 3
            items[0] %= 1000
        for body in self.by_name.values():
            body.tick()
        return [
            self.rows[1][0],
            self.bodies[2].x,
            self.bodies[0].v,
            self.arrays[1][0] + self.arrays[0][1],
            self.by_number[2][0],
            self.by_name["w"].x,
        ]


class WhatALoopLeaves(Things):
    def values(self, action):
        for row in self.rows:
            row[0] += 1
        row[0] += 100
        best = self.bodies[0]
        for body in self.bodies:
            if body.x > best.x and action[0] > 0:
                best = body
        best.v += 2
        last = self.rows[0]
        for k in range(3):
            last[0] += k
            last = self.rows[(k + 1) % 3]
        last[0] += 7
        return [self.rows[2][0], row[0], self.bodies[0].v, self.bodies[2].v, self.rows[0][0], 0]


class Returned(Things):
    def get(self):
        return self.a

    def body(self):
        return self.bodies[self.steps % 3]

    def find(self, x):
        for body in self.bodies:
            if body.x > x:
                return body
        return self.bodies[0]

    def row(self, i):
        return self.grid[i]

    @property
    def main(self):
        return self.bodies[0]

    def bumped(self, body):
        body.x += 1
        return body

    def values(self, action):
        found = self.get()
        found.append(2)
        if len(self.a) > 20:
            found.clear()
        body = self.body()
        body.x += 1.0
        tick = self.body().tick()
        self.find(1.5).x += 1
        row = self.row(1)
        self.grid += 1
        row[0] *= 1.5
        self.row(0)[1] += 3
        self.main.v += 1
        self.bumped(self.one)
        return [len(self.a), body.x, tick, row[0], self.grid[0, 1], self.bodies[1].x + self.one.x]


class Chosen(Things):
    def values(self, action):
        items = self.a if action[0] > 0 else self.b
        items.append(1)
        items[0] += 2
        if len(items) > 20:
            items.clear()
            items.append(0)
        if action[1] > 1:
            array = self.arrays[0]
        elif action[1] > 0:
            array = self.arrays[1]
        else:
            array = self.pos
        array += 1
        array[0] *= 1.5
        body = self.bodies[0] if action[2] > 0 else self.one
        body.x += 1
        body.tick()
        return [
            self.a[0],
            self.b[0],
            self.arrays[0][0],
            self.arrays[1][0],
            self.pos[0],
            self.bodies[0].x - self.one.x,
        ]


class TwoNames(Things):
    def append(self, items):
        items.append(1)

    def collect(self, n, out):
        if n > 0:
            out.append(n)
            self.collect(n - 1, out)

    def values(self, action):
        x = y = np.zeros(3)
        x[0] = action[0]
        a = [1, 2]
        b = a
        a.append(3)
        for i in range(3):
            b.append(i)
        self.append(b)
        d = {"x": 1}
        e = d
        e["x"] = 4
        e["y"] = 5
        out = []
        self.collect(3, out)
        body = Body(1.0)
        same = body
        same.x += action[1]
        p, q = np.zeros(3), np.ones(3)
        best = p
        for i in range(3):
            if i == 1:
                best = q
            p[0] += 10
            q[0] += 100
        empty = []
        again = empty
        keys = {}
        same_keys = keys
        for i in range(3):
            empty.append(i)
            keys[i] = i
        count = len(out) + 10 * len(again) + 100 * len(same_keys)
        return [y[0], len(a), d["x"] + len(d), count, body.x, best[0]]


class Moved(Things):
    def values(self, action):
        row = self.rows[0]
        self.rows.pop(0)
        self.rows.append([self.steps, 4])
        point = self.arrays[0]
        self.arrays[0] = action[:2] * 1.0
        first = self.queue.popleft()
        first.append(3)
        self.queue.append([self.steps])
        taken = self.bodies.pop(0)
        taken.x += 1
        self.bodies.append(taken)
        return [row[0], point[0], taken.x, len(first), self.bodies[-1].x, self.bodies[0].x]


class Stored(Things):
    def values(self, action):
        self.pos += action[:2]
        self.history.append(self.pos.copy())
        if len(self.history) > 5:
            self.history.pop(0)
        self.rows = []
        for i in range(3):
            row = []
            for j in range(2):
                row.append(i + j)
            self.rows.append(row)
        self.rows[0][0] += 5
        new = []
        for i in range(2):
            point = np.zeros(2)
            point[0] = i
            new.append(point)
        self.arrays = new
        self.arrays[1][0] += 1
        self.bodies = [body for body in self.bodies if body.x < 20]
        self.bodies.append(Body(action[0]))
        for body in self.bodies:
            body.x += 1
        if self.best is None or action[0] > self.best[0]:
            self.best = action.copy()
        self.best += 1
        if len(self.holder.items) > 5:
            self.holder = Holder()
        holder = self.holder
        holder.pos += 1
        holder.items.append(3)
        return [
            self.history[0][0],
            self.rows[0][0],
            self.arrays[1][0],
            self.bodies[0].x,
            self.best[0],
            len(self.holder.items) + self.holder.pos[0],
        ]


class Copies(Things):
    def values(self, action):
        x = self.grid[[0, 1]]
        x[0, 0] = 50.0
        y = self.grid[self.chosen]
        self.grid[self.chosen] += 1
        z = self.pos[self.chosen]
        z += 5
        w = copy.deepcopy(self.one)
        w.x += 100
        same = self.pos.astype(np.float64, copy=False)
        column = self.grid[:, 1].reshape(2, 1)
        wide = np.expand_dims(self.pos, 0)
        self.pos[0] += 1
        column[0, 0] += 10
        self.grid %= 1000
        return [self.grid[0, 0], x[0, 0], y[1, 1], self.one.x + self.pos[0], same[0], wide[0, 0]]


class RepeatedLists(Things):
    def values(self, action):
        grid = [[0] * 3 for _ in range(3)]
        row = grid[1]
        row[0] = 5
        grid[2] = row
        row[1] = 6
        repeated = [[0] * 3] * 2
        repeated[0][0] = 1
        listed = list(grid)
        for row in grid:
            row[2] += 4
        return [grid[1][0], grid[2][1], repeated[1][0], listed[2][2], len(listed), 0]


class Pointers(Things):
    """References that are set anew in loops."""

    def values(self, action):
        current, previous = self.bodies[0], self.bodies[1]
        for body in self.bodies:
            previous = current
            current = body
            previous.x += 1
        current.x += 10
        previous.x += 100
        one, other = self.bodies[0], self.bodies[1]
        for _ in range(3):
            one, other = other, one
            one.x += 2
        best = second = self.bodies[0]
        for body in self.bodies:
            if body.x > best.x:
                second = best
                best = body
        second.v += 1
        items = self.a or self.b
        items.append(1)
        if len(items) > 20:
            items.clear()
        for each in (self.pos, self.arrays[0]):
            each += 1
        return [
            self.bodies[0].x,
            self.bodies[1].x + 100 * self.bodies[1].v,
            self.bodies[2].x,
            one.x,
            len(self.a) + self.pos[0],
            self.arrays[0][1],
        ]


class OrNone(Things):
    """References that may be None."""

    def find(self, x):
        for body in self.bodies:
            if body.x > x:
                return body
        return None

    def least(self):
        best = None
        for row in self.rows:
            if best is None or row[0] < best[0]:
                best = row
        return best

    def values(self, action):
        found = self.find(1.5)
        if found is not None:
            found.x += 1
        missing = self.find(1000)
        row = self.least()
        if row:
            row[0] += 3
        fast = None
        for body in self.bodies:
            if body.x > 6 and action[0] > 0:
                fast = body
        if fast is not None:
            fast.v += 1
            fast.x = 0.0
        first = None
        if action[1] > 0:
            first = self.bodies[0]
        self.bodies.append(self.bodies.pop(0))
        return [
            self.bodies[1].x,
            1 if missing is None else 0,
            self.rows[0][0],
            self.bodies[2].v,
            self.bodies[2].x,
            -1.0 if first is None else first.x,
        ]


PROBES = [
    *(LoopItems, WhatALoopLeaves, Returned, Chosen, TwoNames, Moved, Stored, Copies),
    *(RepeatedLists, Pointers, OrNone),
]


@pytest.mark.slow
@pytest.mark.parametrize("cls", PROBES, ids=lambda cls: cls.__name__)
def test_names_of_one_object_see_its_changes(cls: Any) -> None:
    (task_id,) = parallel_pool.compile(cls)
    twins.compare(cls, task_id)


# ------------------------------------------------------------------------------------ refused --


class Attributes(Things):
    def values(self, action):
        self.history[0] = self.pos
        self.pos += 1
        return [self.history[0][0], 0, 0, 0, 0, 0]


class Assigned(Things):
    def values(self, action):
        self.a = self.b
        self.b.append(1)
        return [len(self.a), 0, 0, 0, 0, 0]


class InReset(Things):
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.pos = self.best = np.zeros(2)
        return np.zeros(self.size), {}

    def values(self, action):
        self.pos[0] += 1
        return [self.best[0], 0, 0, 0, 0, 0]


class InInit(Probe):
    def __init__(self):
        super().__init__()
        self.start = np.zeros(8)
        self.now = self.start

    def values(self, action):
        self.now[0] += 1
        return self.start


class OnceMore(Things):
    def values(self, action):
        self.history.append(self.pos)
        self.pos += action[:2]
        return [self.history[-1][0], 0, 0, 0, 0, 0]


class ByMethods(Things):
    def keep(self, body):
        self.bodies.append(body)

    def values(self, action):
        body = Body(1.0)
        self.keep(body)
        body.x += 1
        return [self.bodies[-1].x, 0, 0, 0, 0, 0]


class InTuple(Things):
    def values(self, action):
        pair = (self.pos, 2)
        self.pos[0] += 1
        return [pair[0][0], 0, 0, 0, 0, 0]


class InList(Things):
    def values(self, action):
        body = Body(1.0)
        both = [body, body]
        both[0].x = 5.0
        return [both[1].x, 0, 0, 0, 0, 0]


class InALoop(Things):
    def values(self, action):
        body = Body(1.0)
        many = [Body(2.0)]
        for _ in range(3):
            many.append(body)
        many[1].x = 50.0
        return [many[2].x, 0, 0, 0, 0, 0]


class OfTheClass(Things):
    seen = []  # noqa: RUF012

    def values(self, action):
        self.seen.append(1)
        return [len(self.seen), 0, 0, 0, 0, 0]


class Shallow(Things):
    def values(self, action):
        rows = list(self.rows)
        rows[0].append(3)
        return [len(self.rows[0]), 0, 0, 0, 0, 0]


class Multiplied(Things):
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.rows = [[0] * 3] * 3
        return np.zeros(self.size), {}

    def values(self, action):
        self.rows[0][0] += 1
        return [self.rows[1][0], 0, 0, 0, 0, 0]


class OfAList(Things):
    def values(self, action):
        self.one = self.bodies[1]
        self.one.x += 1
        return [self.bodies[1].x, 0, 0, 0, 0, 0]


class ByBoth(Things):
    def values(self, action):
        body = Body(2.0)
        self.bodies.append(body)
        self.one = body
        for each in self.bodies:
            each.x += 1
        return [self.one.x, 0, 0, 0, 0, 0]


class Given(Things):
    def values(self, action):
        first = self.queue[0]
        taken = self.queue.popleft()
        taken.append(7)
        return [len(first), 0, 0, 0, 0, 0]


REFUSED = [
    *(Attributes, Assigned, InReset, InInit, OnceMore, ByMethods, InTuple, InList, InALoop),
    *(OfTheClass, Shallow, Multiplied, Given, OfAList, ByBoth),
]


@pytest.mark.quick(2)
@pytest.mark.parametrize("cls", REFUSED, ids=lambda cls: cls.__name__)
def test_a_change_that_another_name_would_miss_is_refused(cls: Any) -> None:
    with pytest.raises(
        parallel_pool.SourceError, match=r"has another name since|is one for"
    ) as found:
        parallel_pool.compile(cls)
    assert re.search(r"test_aliasing\.py:\d+: this (list|array|object) ", str(found.value))
