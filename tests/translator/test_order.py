"""Order of evaluation, purity, control flow and names of translated classes are Python's."""

# ruff: noqa: B905, C416
from __future__ import annotations

import sys
from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import parallel_pool
from parallel_pool._contract import twins
from tests.translator.probes import Probe


class Names(Probe):
    """A name that came from a constant attribute, and changes."""

    size = 6

    def __init__(self):
        super().__init__()
        self.n, self.minus = 3, -1

    def values(self, action):
        n, m, w = self.n, self.n, self.n
        total = lengths = 0
        try:
            for _ in range(4):
                total += 10 // n
                n = n - 1
        except ZeroDivisionError:
            total = -total
        for _ in range(3):
            lengths = lengths * 10 + len(np.zeros(m))
            m = m - 1
        if action[0] > 0:
            w -= 1
        while w > 0:
            w -= 1
        return [total, lengths, len(np.ones(w + 1)), w, 7 // self.minus, n]


class Color(Enum):
    RED = 1
    BLUE = 2


class Counting(Probe):
    """Operands before a call that changes what they read."""

    size = 16

    def reset(self, *, seed=None, options=None):
        self.n, self.word, self.color = 0, "a", Color.RED
        self.a, self.l, self.d = np.zeros(2), [0, 0, 0], {"x": 0}
        self.best: float | None = None
        return super().reset(seed=seed, options=options)

    def inc(self):
        self.n += 1
        return self.n

    @property
    def bump(self):
        return self.inc()

    def flip(self):
        self.word = "b" if self.word == "a" else "a"
        self.color = Color.BLUE if self.color == Color.RED else Color.RED
        return self.word

    def three(self, a, b, c=0):
        return a * 10000 + b * 100 + c

    def item(self):
        self.l[0] += 5
        self.d["x"] += 2
        self.best = float(self.n)
        return 1

    def values(self, action):
        words = (self.word, self.flip())
        colors = [self.color, self.flip(), self.color]
        self.l[1] += self.item()
        self.l[0] += self.item() + 100
        self.d["x"] += self.item()
        was = (self.best, self.item(), self.best)
        self.best = None
        self.n %= 50
        return [
            self.n == self.inc(),
            self.n < self.inc() < self.inc(),
            self.n + self.inc() * 100,
            self.n + self.bump,
            (self.n - 1) * self.bump,
            words[0] == words[1],
            self.word == self.flip(),
            colors[0] == colors[2],
            self.three(self.n, self.inc(), c=self.inc()),
            self.three(self.n, b=self.n, c=self.inc()),
            self.three(c=self.n, a=self.inc(), b=self.inc()),
            max(self.n, self.inc(), self.n),
            self.l[0] * 10 + self.l[1] - self.l[self.n % 3] * self.item(),
            {"p": self.n, "q": self.inc()}["p"],
            self.d["x"] - self.item() * self.d["x"],
            0.0 if was[0] is None else was[0] - self.n,
        ]


class ArraysBefore(Probe):
    """Arrays before a call that changes them in place, or makes others of them."""

    size = 12

    def reset(self, *, seed=None, options=None):
        self.a, self.b = np.zeros(2), np.arange(6.0)
        self.g = np.arange(9.0).reshape(3, 3)
        return super().reset(seed=seed, options=options)

    def grow(self):
        self.a += 1
        return 1.0

    def again(self):
        self.a = self.a + 1
        return self.a

    def values(self, action):
        lazy = self.a * 2 + self.grow()
        rows = np.concatenate([self.a * 2, [self.grow(), 0.0]])
        seen = self.a + self.grow() + (self.a * 2 + HERE.bump(self.a))[0]
        old = self.a + self.again()
        both = (self.a, self.again())[0][0]
        first = self.a[0] + self.again()[0]
        small = self.a < self.again()
        picked = np.where(self.a > 3, self.a * 2, self.again())
        walrus = (old * 2)[0] + (old := self.a * 3)[0]
        self.b[:-1], self.b[1:] = self.b[1:], self.b[:-1]
        self.g[0], self.g[1] = self.g[1], self.g[0]
        x, y = self.a * 2, self.a
        y[0] += 1
        self.b %= 7
        self.g[:, 0] += 1
        return [
            lazy[0],
            rows[0],
            seen[0],
            old[0] + walrus,
            both,
            first,
            small.sum(),
            picked[0],
            self.b.sum(),
            self.g[0].sum() - self.g[1, 1],
            x[0] - y[0],
            self.a[0],
        ]


@dataclass
class Thing:
    x: float = 0.0
    n: int = 0

    def tick(self):
        self.x += 1
        return self.x


class Swaps(Probe):
    """Several targets that read each other."""

    size = 14

    def reset(self, *, seed=None, options=None):
        self.p, self.q = "p", "q"
        self.c, self.e = Color.RED, Color.BLUE
        self.l, self.m = [1, 2], [3]
        self.rows = [[1], [2, 3], [4, 5, 6]]
        self.one, self.two = Thing(1.0, 1), Thing(2.0, 2)
        self.o, self.i = None, 7
        return super().reset(seed=seed, options=options)

    def values(self, action):
        self.p, self.q = self.q, self.p
        self.c, self.e = self.e, self.c
        self.l, self.m = self.m, self.l
        self.rows[0], self.rows[2] = self.rows[2], self.rows[0]
        self.one, self.two = self.two, self.one
        self.one.n += 1
        a, b, c = [1], [2, 2], [3, 3, 3]
        a.append(0), b.append(0), c.append(0)
        for k in range(3):
            a, b, c = b, c, a
            a.append(k)
        x, y = 1, 2
        x, y, z = y, x + y, x
        self.i, *rest = [x, self.i, y]
        old, self.m = self.m, [8]
        seen = len(old)
        self.m = old
        u, _ = self.l, self.m
        if len(u) < 20:
            u.append(1)
        return [
            self.p == "p",
            self.c == Color.RED,
            len(self.l) * 10 + len(self.m),
            len(self.rows[0]) * 10 + len(self.rows[2]),
            self.one.x,
            self.one.n,
            self.two.n,
            len(a) * 100 + len(b) * 10 + len(c),
            a[-1] + c[-1] * 10,
            x * 100 + y * 10 + z,
            rest[0] * 10 + rest[1],
            seen,
            len(u) - len(self.l),
            self.i,
        ]


class Tries(Probe):
    """What names are when an exception comes."""

    size = 14

    def reset(self, *, seed=None, options=None):
        self.k = 0
        return super().reset(seed=seed, options=options)

    def pick(self, i):
        self.k += 1
        return [1, 2, 3][i]

    def values(self, action):
        a, b, t, first = 0, "x", (1, 2), None
        for i in range(5):
            try:
                a += 1
                t = (a, i)
                b = "y"
                a += self.pick(i + self.steps % 3)
                b, first = "z", i
            except (IndexError, KeyError):
                a += 100
                if i == 3:
                    continue
                break
            else:
                a += 1000
        shown, grown, entries, mode = [0, 0], [], {}, Color.RED
        x: float = 1
        try:
            shown[1] = 5
            grown.append(3)
            entries[self.steps] = 1
            x = 2.5
            mode = Color.BLUE
            self.pick(self.steps % 5)
            mode = Color.RED
            shown[0] = 7
        except IndexError:
            shown[1] += 10
        late = 0
        try:
            for j in range(6):
                late = j
                try:
                    self.pick(j + self.steps % 2)
                    inner = j * 2
                except IndexError:
                    late = late * 10
                    raise ValueError("x") from None
        except ValueError:
            late += 1000
        return [
            a,
            b == "y",
            b == "z",
            t[0] * 10 + t[1],
            -1 if first is None else first,
            shown[0] + shown[1],
            len(grown),
            len(entries),
            x,
            mode == Color.BLUE,
            late,
            inner,
            self.k,
            j,
        ]


class Loops(Probe):
    """Loops over what changes, or is assigned anew."""

    size = 15

    def reset(self, *, seed=None, options=None):
        self.items, self.a, self.d = [1, 2, 3], np.arange(3.0), {}
        self.q = deque([1, 2, 3])
        self.deep = [[1, 2], [3]]
        return super().reset(seed=seed, options=options)

    def renew(self):
        self.items = [4, 5]
        return 1

    def values(self, action):
        n = 0
        for x in self.items:
            n = n * 10 + x
            if x == 1:
                self.items = [7, 8]
        called = 0
        self.items = [1, 2, 3]
        for i, x in enumerate(self.items):
            called = called * 10 + x * self.renew() + i
        self.items = [1, 2, 3]
        squares = [x * self.renew() for x in self.items]
        self.items = [1, 2, 3]
        items, local = [1, 2], 0
        for x in items:
            local = local * 10 + x
            items = items + [x]  # noqa: RUF005
        for a in (a := action * 2):  # noqa: B020
            local += a
        value = 0.0
        for x in self.a:
            value = value * 10 + x
            self.a = self.a + 1
        self.a %= 10
        order = 0
        removed = [1, 2, 3, 4, 5, self.steps]
        for x in removed:
            if x % 2:
                removed.remove(x)
        zipped = [1, 2, 3, 4]
        zipped.append(self.steps)
        for x, y in zip(zipped, [5, 6, 7, 8, 9, 10]):
            zipped.remove(x)
            order += x * y
        popped = [1, 2, 3]
        for i, _ in enumerate(popped):
            if i == 0:
                popped.pop()
        back = [1, 2, 3, 4]
        back.append(self.steps)
        for x in reversed(back):
            order = order * 10 + x
            back.remove(x)
        self.d[self.steps] = 1
        try:
            for k in self.d:
                if len(self.d) < 30:
                    self.d[k + 100] = 1
            grew = 1
        except RuntimeError:
            grew = 2
        for k in self.d:
            if k == self.steps:
                del self.d[k]
                break
        try:
            for k, v in self.d.items():
                self.d[k] = v + 1
            for k in self.d:
                del self.d[k]
            kept = 1
        except RuntimeError:
            kept = 2
        try:
            for x in self.q:
                self.q.append(x)
            queue = 1
        except RuntimeError:
            queue = 2
        self.q.pop()
        deep = 0
        for x in self.deep[0]:
            deep = deep * 10 + x
            self.deep[0], self.deep[1] = self.deep[1], self.deep[0]
        return [
            n,
            called,
            sum(squares),
            local,
            len(items),
            value,
            len(removed),
            removed[0],
            i,
            order,
            grew,
            kept,
            len(self.d),
            queue,
            deep,
        ]


class Comprehensions(Probe):
    """Names of comprehensions are their own."""

    size = 10

    def values(self, action):
        x, n = float(action[0]), self.steps
        up = [x + 1 for x in action]
        some = [x for x in [float(v) for v in action] if x > 0]
        same = [n for n in [self.steps * 2, 5]]
        table = {n: n + self.steps for n in (1, 2)}
        nested = [x + sum(x for x in range(3)) for x in action]
        total = sum(x * 2 for x in action)
        for y in range(2):
            pairs = [(x, y) for x in range(y + 1) for y in range(2)]
        if any(n > 3 for n in range(self.steps)):
            n += 100
        over = [x for x in [x, x + 1]]
        return [
            x,
            n,
            up[0],
            len(some),
            same[0],
            table[1],
            nested[1],
            total,
            y,
            len(pairs) + over[1],
        ]


class Guards(Probe):
    """A guard is looked at only where its pattern fits; names are bound only then."""

    size = 5

    def values(self, action):
        x = -1
        match self.steps % 3:
            case 0 if self.np_random.random() < 0.5:
                r = 1.0
            case 1:
                r = 2.0
            case _:
                r = self.np_random.random()
        match (self.steps % 2, action[0] > 0, self.steps):
            case (0, True, x):
                s = x
            case (1, _, y) if y > 5 and self.np_random.random() < 0.5:
                s = y * 10
            case (1, True, _) | (1, False, _) if self.steps > 8:
                s = 3
            case _:
                s = 4
        return [r, s, x, self.np_random.random(), 0]


class Nones(Probe):
    """What may be None, in conditions."""

    size = 7

    def values(self, action):
        b = None if action[0] > 0 else 0
        c = None if action[1] > 0 else int(action[1] * 3)
        items = [b, c, 3]
        return [
            b == None,  # noqa: E711
            b == 0,
            not b,
            b is not None and b < 3,
            b is None or b + 1,
            (b is not None and c is not None and b > c) + 0,
            sum(each for each in items if each is not None and each < 3),
        ]


class Iterators(Probe):
    """What iterators with a name run over is what it was when they were made."""

    size = 9

    def counted(self, n):
        for i in range(n):
            yield i * 2

    def again(self):
        return self.counted(4)

    def most(self, it, more):
        return max(it) + sum(x for x in more)

    def values(self, action):
        k, items = 1, [1, 2, 3]
        items.append(self.steps)
        g = (i * k for i in items)
        z = zip(items, [5, 6, 7])
        e = enumerate(items)
        it = iter(items)
        k, items = 10, [9, 9]
        items.append(9)
        uneven = 0
        for a, b in zip(range(self.steps), [5, 6, 7]):
            uneven += a * b
        for a, w in zip(items, ("a", "b")):
            uneven += a * (w == "b")
        d = {(0, 1): 5}
        d[(self.steps, 2)] = 7
        for i in range(3):
            d[(i, 3)] = i
        return [
            sum(g),
            sum(a * b for a, b in z),
            len(list(e)),
            sum(it),
            uneven,
            d.get((3, 2), 0) + len(d),
            (0, 1) in d,
            self.most(self.counted(3), (i for i in range(self.steps))),
            (4 in self.counted(self.steps)) + sum(self.again()) + len(list(self.counted(3))),
        ]


PROBES = [
    Names,
    Counting,
    ArraysBefore,
    Swaps,
    Tries,
    Loops,
    Comprehensions,
    Guards,
    Nones,
    Iterators,
]


class Shown(gymnasium.Env):
    """Its observation is what `obs` returns, which may change what the reward reads."""

    def __init__(self):
        self.observation_space = spaces.Box(-np.inf, np.inf, (4,), np.float64)
        self.action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.k, self.n, self.items, self.thing = np.zeros(4), 0, [1.0], Thing()
        self.things = [Thing()]
        return self.obs(), {}

    def step(self, action):
        self.n += 1
        return self.obs(), self.total(), self.n > 20, False, {}

    def total(self):
        return float(self.k.sum()) + len(self.items) + self.thing.x + self.things[0].x

    def obs(self):
        raise NotImplementedError


class ShownAugmented(Shown):
    def obs(self):
        x = self.k
        x += 1
        return x * 1.0


def bump(a):
    a += 1
    return a * 1.0


class ShownFunction(Shown):
    def obs(self):
        return bump(self.k)


HERE = sys.modules[__name__]


class ShownOfModule(Shown):
    def obs(self):
        return HERE.bump(self.k)


class ShownObject(Shown):
    def obs(self):
        return np.full(4, self.thing.tick())


class ShownSuper(ShownAugmented):
    def obs(self):
        return super().obs() * 2


class ShownBase(ShownAugmented):
    def obs(self):
        return ShownAugmented.obs(self) * 2


class ShownProperty(Shown):
    @property
    def p(self):
        q = self.items
        q += [1.0]
        return float(len(q))

    def obs(self):
        return np.array([self.p, 0, 0, 0])


class ShownRow(Shown):
    def obs(self):
        for x in [self.k[:2]]:
            x += 1
        return self.k * 1.0


class ShownWalrus(Shown):
    def obs(self):
        (x := self.items).append(1.0)
        return np.full(4, float(len(x)))


class Stale(Shown):
    """Its observation is an attribute that changes before it is returned, as in Python."""

    def obs(self):
        return self.k

    def step(self, action):
        found = self.obs()
        self.k += 1
        return found, 0.0, False, False, {}


SHOWN = [
    Stale,
    ShownAugmented,
    ShownFunction,
    ShownOfModule,
    ShownObject,
    ShownSuper,
    ShownBase,
    ShownProperty,
    ShownRow,
    ShownWalrus,
]


@pytest.mark.slow
@pytest.mark.parametrize("cls", [*PROBES, *SHOWN], ids=lambda cls: cls.__name__)
def test_the_order_of_python_gives_the_same_bits(cls: Any) -> None:
    (task_id,) = parallel_pool.compile(cls)
    twins.compare(cls, task_id)


class Held(Shown):
    """Its info holds an array that changes before it is returned."""

    def step(self, action):
        info = {"k": self.k}
        self.k += 1
        return np.zeros(4), 0.0, False, False, info

    def obs(self):
        return np.zeros(4)


class Counts(Probe):
    def values(self, action):
        if not hasattr(self, "count"):
            self.count = 0
        self.count += 1
        return [self.count]


class Defaults(Probe):
    def values(self, action):
        self.last = getattr(self, "last", 0) + 1
        return [self.last]


class UsedUp(Probe):
    def values(self, action):
        g = (i * 2 for i in range(3))
        return [sum(g), sum(g)]


class UsedInLoop(Probe):
    def values(self, action):
        z, total = zip([1, 2], [3, 4]), 0
        for _ in range(2):
            for a, b in z:
                total += a * b
        return [total]


class UsedInFunction(Probe):
    def twice(self, it):
        return sum(it) + sum(it)

    def values(self, action):
        return [self.twice(i * self.steps for i in range(3))]


class Yielded(Probe):
    def pairs(self):
        yield 1
        yield 2

    def values(self, action):
        g = self.pairs()
        return [sum(g), sum(g)]


class Found(Probe):
    def values(self, action):
        return ["abc".find("b" if action[0] > 0 else "z")]


class Both(Probe):
    def reset(self, *, seed=None, options=None):
        self.a = np.zeros(2)
        return super().reset(seed=seed, options=options)

    def change(self):
        self.a += 1
        self.a = self.a * 2
        return 1.0

    def values(self, action):
        return [(self.a + self.change())[0]]


class Zipped(Probe):
    def values(self, action):
        found = {1: 2}
        found[self.steps] = 4
        for a, _ in zip(found, [1, 2, 3]):
            found[a + 1] = 5
        return [len(found)]


class Rotated(Probe):
    def reset(self, *, seed=None, options=None):
        self.recent = deque([1, 2], maxlen=2)
        return super().reset(seed=seed, options=options)

    def values(self, action):
        for x in self.recent:
            self.recent.append(x)
        return [len(self.recent)]


class Caught(Probe):
    def values(self, action):
        try:
            found = [1][self.steps]
        except IndexError as error:
            found = len(str(error))
        return [found]


REFUSED = [
    (Held, "`self.k` changes after it was put into this dict"),
    (Counts, "whether self.count is there changes"),
    (Defaults, "whether self.last is there changes"),
    (UsedUp, "g is used up when it has been looped over: make a list of it"),
    (UsedInLoop, "z is used up"),
    (UsedInFunction, "it is used up"),
    (Yielded, "g is used up"),
    (Found, "with values that change, is not translated"),
    (Both, "a is changed and assigned anew while this refers to it"),
    (Zipped, "zip.. changes what it runs over: loop over a copy"),
    (Rotated, r"loop over list\(...\) of it"),
    (Caught, "what error is, an exception, is not translated"),
]


@pytest.mark.quick(2)
@pytest.mark.parametrize("cls, reason", REFUSED, ids=lambda each: getattr(each, "__name__", ""))
def test_what_would_differ_is_refused(cls: Any, reason: str) -> None:
    with pytest.raises(parallel_pool.SourceError, match=reason) as found:
        parallel_pool.compile(cls)
    assert "test_order.py:" in str(found.value)
