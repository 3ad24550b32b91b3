"""Environments that compute with one part of the language each, for comparison with Python."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces

TABLE = [3, 1, 4, 1, 5, 9, 2, 6]
PRICES = {"apple": 1.5, "pear": 2.25}
WORDS = {"left": -1, "right": 1, "stay": 0}


class Probe(gymnasium.Env):
    """Shows what `values` returns: a list of floats."""

    size = 8

    def __init__(self):
        self.observation_space = spaces.Box(-np.inf, np.inf, (self.size,), np.float64)
        self.action_space = spaces.Box(-3.0, 3.0, (3,), np.float64)
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(self.size), {}

    def step(self, action):
        self.steps += 1
        found = np.array(self.values(action), dtype=np.float64)
        return found, float(found[0]), False, self.steps >= 50, {}

    def values(self, action):
        raise NotImplementedError


class Integers(Probe):
    size = 14

    def values(self, action):
        a, b = int(action[0] * 100), int(action[1] * 10)
        b = b if b != 0 else 7
        c = self.np_random.integers(-50, 50)
        total = 0
        for i in range(-3, 20, 4):
            total += i * a - b
        flags = (a > b) + (a < 0) + True
        return [
            a // b,
            a % b,
            -a // b,
            divmod(a, b)[1],
            a**3,
            2 ** (abs(b) % 20),
            (a << 3) ^ (b >> 1),
            a & 255 | 7,
            ~a,
            total,
            flags,
            c // 7,
            c % -7,
            max(a, b, 3) - min(a, 5),
        ]


class Floats(Probe):
    size = 20

    def values(self, action):
        x, y, z = float(action[0]), float(action[1]), action[2]
        y = y if y != 0.0 else 0.5
        return [
            x / y,
            x // y,
            x % y,
            -x % abs(y),
            x**2,
            abs(x) ** 0.5,
            z**2,
            abs(z) ** 1.5,
            round(x * 10),
            round(x, 2),
            int(x * 7),
            math.floor(x) + math.ceil(y),
            math.sqrt(abs(x)) + math.exp(y) - math.log(abs(x) + 1e-9),
            math.atan2(x, y) + math.sin(x) * math.cos(y),
            np.exp(z) + np.log(abs(z) + 1e-9),
            np.tanh(z) + np.arctan2(z, x),
            np.clip(z, -1, 1) + np.sign(z),
            x if x > y > -1 else y,
            math.hypot(x, y) + math.hypot(x, y, z),
            math.dist((x, y), (z, 1.0)),
        ]


class Arrays(Probe):
    size = 20

    def __init__(self):
        super().__init__()
        self.weights = np.linspace(-1.0, 1.0, 12).reshape(3, 4)
        self.grid = np.zeros((4, 5), dtype=np.int64)

    def values(self, action):
        a = np.array(action)
        self.grid[self.steps % 4, :] += 1
        self.grid[:, self.steps % 5] -= 2
        row = self.grid[1]
        row[0] += 3
        product = a @ self.weights
        mask = self.grid > 0
        picked = self.grid[mask]
        long = np.arange(300) * a[0] + 0.1
        return [
            (a * 2 + 1).sum(),
            a.mean() - a.std(),
            a[::-1][0],
            a[1:].max(),
            np.abs(a).argmax(),
            self.weights[:, 1].sum(),
            product[2],
            np.linalg.norm(a),
            np.dot(a, a[::-1]),
            self.grid.sum(),
            self.grid.max(axis=0)[2],
            self.grid.sum(axis=1)[3],
            picked.sum() + len(picked),
            mask.any() + mask.all() * 2,
            np.where(a > 0, a, -1.0)[0],
            np.concatenate([a, a[:1]])[3],
            np.roll(a, 1)[0] + np.flip(a)[0],
            long.sum(),
            long.astype(np.float32).sum(),
            (a**2).sum() + np.square(a).max() + np.prod(a),
        ]


class Products(Probe):
    """Products of arrays: @ and np.dot treat an array that goes backwards in ways of their own."""

    size = 8

    def values(self, action):
        a = np.array(action)
        long = np.arange(40) * a[0] + a[1]
        table = long.reshape(8, 5)
        count = 2 + self.steps % 3
        return [
            *(np.dot(a, a[::-1]), a @ a[::-1], np.dot(long[::-1], long), long[::-1] @ long),
            *(np.dot(long[::2], long[1::2]), np.dot(table[:, 1], table[::-1, 2])),
            *(table[:, 1] @ table[::-1, 2], np.dot(long[::-2][:count], long[:count])),
        ]


class Overlaps(Probe):
    """Arrays that get parts of themselves: what is read first is read before."""

    size = 14

    def values(self, action):
        turned = np.arange(4.0)
        turned[::-1] = turned
        less = np.arange(5.0)
        less -= less[2]
        all_same = np.arange(5.0)
        all_same[:] = all_same[3] * action[0]
        rows = np.arange(6.0).reshape(2, 3)
        rows *= rows[1]
        grown = np.arange(6.0).reshape(2, 3)
        grown += grown[1, 1] * grown
        shifted = np.arange(5.0) * action[0]
        shifted[1:] = shifted[1] * shifted[:-1] + shifted[2]
        chosen = np.arange(5.0)
        chosen[[0, 2]] += chosen[2]
        square = np.arange(9.0).reshape(3, 3) * action[0]
        square[1] += square[0] + square[1][::-1]
        square[:, 1] -= square[1, 1]
        square -= square[:, 1:2]
        mean = np.arange(9.0).reshape(3, 3) * action[1]
        mean -= mean.mean(axis=0)
        mean[mean > mean[2, 1] / 2] = mean[2, 1]
        mean[mean > 1] += mean[1, 1]
        halves = np.arange(6.0)
        halves[:3], halves[3:] = halves[3:] * halves[1], halves[:3] + halves[5]
        return [
            *(turned[0], less[3], less[1], all_same.sum(), rows[0, 1], rows[1, 2], grown.sum()),
            *(shifted.sum(), chosen.sum(), square.sum(), square[1, 1], mean.sum(), mean[0, 0]),
            halves.sum() + halves[0],
        ]


@dataclass
class Agent:
    x: float
    rank: int


class Ordered(Probe):
    """Lists that are sorted, and extremes, by functions."""

    size = 20

    def reset(self, *, seed=None, options=None):
        result = super().reset(seed=seed, options=options)
        self.cells = [(int(a), int(b)) for a, b in self.np_random.integers(0, 4, (6, 2))]
        self.agents = [Agent(float(x), int(x * 5)) for x in self.np_random.random(5)]
        self.scores = {3: 0.5, 1: 0.25, 2: 0.75}
        return result

    def far(self, cell):
        return abs(cell[0] - 2) + abs(cell[1] - 1)

    def values(self, action):
        x, y = 1, int(action[0] * 3)
        numbers = [3, 1, -4, 1, 5, -9, 2, self.steps % 7]
        near = min(self.cells, key=lambda cell: abs(cell[0] - x) + abs(cell[1] - y))
        far = max(self.cells, key=self.far)
        by_two = sorted(self.cells, key=lambda cell: (cell[1], -cell[0]))
        down = sorted(numbers, key=abs, reverse=True)
        best = max(range(len(numbers)), key=lambda i: (numbers[i] % 3, -i))
        most = max(self.scores, key=self.scores.get)
        self.scores[1 + self.steps % 3] += 0.2
        leader = max(self.agents, key=lambda agent: agent.x)
        leader.x -= 0.3
        last = min(self.agents, key=lambda agent: agent.rank)
        last.rank += 2
        numbers.sort(key=lambda n: n % 4)
        lows = [min(3, self.steps, key=lambda n: -n), max((2, 5, 4), key=lambda n: n % 5)]
        total = sum(map(lambda n, m: n * x - m, numbers, down))
        return [
            *(near[0], near[1], far[0], far[1], by_two[0][0], by_two[-1][1], down[0], down[1]),
            *(best, most, leader.x, leader.rank, last.x, last.rank, numbers[0], numbers[3]),
            *(lows[0], lows[1], total, max(self.agents, key=lambda a: (a.rank, a.x)).x),
        ]


class Unions(Probe):
    """Numbers and arrays whose type depends on the way that the program took."""

    size = 14

    def reset(self, *, seed=None, options=None):
        result = super().reset(seed=seed, options=options)
        self.state = self.np_random.uniform(-1.0, 1.0, size=2)
        self.last = None
        return result

    def values(self, action):
        small = np.float32(action[0])
        force = min(max(small, -1.0), 1.0)
        speed = self.state[1]
        speed += force * 0.1 - 0.0025 * math.cos(3 * self.state[0])
        if speed > 0.7:
            speed = 0.7
        if speed < -0.7:
            speed = 0
        place, _ = self.state
        place = place + speed
        old = self.last if self.last is not None else force
        self.last = force
        if self.steps % 3 == 0:
            self.state = np.array([place / 3, speed], dtype=np.float32)
        elif self.steps % 3 == 1:
            self.state = np.array([place / 7, speed * 1.1])
        else:
            self.state[0] += 0.3
            self.state *= 0.9
        count = np.int32(self.steps) if action[1] > 0 else self.steps
        return [
            force,
            force * small,
            force * 0.1 + old,
            speed,
            place,
            self.state.sum(),
            np.tanh(force) + abs(speed),
            -force if force else 1.0,
            float(force == old),
            math.sqrt(abs(place)),
            np.array([place, force], dtype=np.float32).sum(),
            self.doubled(force),
            count // 2 + count * 3,
            round(float(speed), 3),
        ]

    def doubled(self, value):
        return value + value * 0.1


class Tables(Probe):
    """Constants that are looked up by what is known when the program runs."""

    size = 12

    def __init__(self):
        super().__init__()
        self.moves = {
            s: {
                a: [(1.0 / (k + 1), (s + a + k) % 6, a == k) for k in range(a + 1)]
                for a in range(3)
            }
            for s in range(6)
        }
        self.rows = [[1, 2, 3], [4], [], [5, 6]]
        self.named = {(0, 0): "apple", (0, 1): "pear", (1, 0): "apple"}
        self.letters = np.asarray(["abc", "bca"], dtype="c")
        self.at = 0

    def values(self, action):
        chosen = int(action[0] > 0) + int(action[1] > 0)
        ways = self.moves[self.at][chosen]
        chances = np.asarray([way[0] for way in ways])
        way = int(np.argmax(np.cumsum(chances) > self.np_random.random()))
        p, self.at, is_last = ways[way]
        row = self.rows[self.steps % 4]
        more = list(row)
        more.append(7)
        name = self.named[(chosen // 2, self.at % 2 if chosen < 2 else 0)]
        letter = self.letters[chosen % 2, self.at % 3]
        backwards = tuple(reversed(more))
        try:
            missing = self.moves[self.at - 3][chosen][0][1]
        except KeyError:
            missing = -1
        fruit = self.np_random.choice(["apple", "pear", "plum"])
        return [
            p,
            self.at,
            is_last,
            len(row) + len(ways),
            sum(row) + sum(more),
            PRICES[name],
            letter == b"a",
            letter in b"bc",
            backwards[0] * 10 + backwards[-1],
            missing,
            fruit == "plum",
            str(self.steps) == "12",
        ]


class Dispatch(Probe):
    """Functions that are chosen when the program runs, and methods of classes."""

    size = 6

    @classmethod
    def _up(cls, value, by=1):
        return value + by

    @classmethod
    def _down(cls, value):
        return cls._up(value, -1) - 0.5

    @staticmethod
    def _double(value):
        return value * 2

    def _draw(self, value):
        return value + self.np_random.random()

    def values(self, action):
        cls = type(self)
        ways = (cls._up, cls._down, self._double, self._draw)
        by_name = {0: self._draw, 1: self._up, 5: self._double}
        x = float(action[0])
        small = np.uint8(self.steps)
        return [
            ways[self.steps % 4](x),
            by_name[(0, 1, 5)[self.steps % 3]](x),
            self._down(x),
            small.item() * 1000,
            ways[-1](x),
            [self._up, self._down][int(action[1] > 0)](1),
        ]


class Containers(Probe):
    size = 16

    def __init__(self):
        super().__init__()
        self.items = []
        self.recent = deque(maxlen=5)
        self.seen = set()
        self.counts = {"left": 0, "right": 0, "stay": 0}
        self.visits = {}
        self.best = None

    def reset(self, *, seed=None, options=None):
        found = super().reset(seed=seed)
        self.items = [(0, 0)]
        self.recent.clear()
        self.seen = set()
        self.visits = {}
        self.best = None
        return found

    def values(self, action):
        x, y = (int(each * 3) for each in action[:2])
        self.items.append((x, y))
        if len(self.items) > 6:
            self.items.pop(0)
        self.recent.append(x)
        self.seen.add((x, y))
        word = "left" if x < 0 else "right" if x > 0 else "stay"
        self.counts[word] += 1
        self.visits[x] = self.visits.get(x, 0) + 1
        if self.best is None or x > self.best:
            self.best = x
        swapped = y, x
        squares = [i * i for i in range(5) if i % 2 == 0]
        ordered = sorted(self.recent)
        a, *rest = [x, y, 3]
        return [
            len(self.items),
            self.items[-1][0],
            self.items[0][1],
            sum(self.recent),
            ordered[0],
            ordered[-1] * 10,
            len(self.seen),
            (0, 0) in self.seen,
            self.counts[word],
            self.counts["left"] + WORDS[word],
            self.visits[x] + len(self.visits),
            self.best,
            swapped[0] * 100 + swapped[1],
            sum(squares) + squares[-1],
            any(i > 2 for i, _ in self.items) + all(j < 9 for _, j in self.items),
            a + len(rest) + TABLE[x % 8] + self.recent.count(x),
        ]


class Random(Probe):
    size = 16

    def values(self, action):
        rng = self.np_random
        deck = list(range(10))
        rng.shuffle(deck)
        order = rng.permutation(6)
        some = rng.choice(20, size=4, replace=False)
        return [
            rng.random(),
            rng.uniform(-2, 5),
            rng.uniform(low=-1.0, high=1.0, size=(3,))[2],
            rng.integers(7),
            rng.integers(3, 9, size=2)[1],
            rng.integers(0, 5, endpoint=True),
            rng.normal(1.0, 2.0),
            rng.standard_normal(3)[0],
            rng.exponential(2.0),
            rng.poisson(3.5),
            rng.binomial(20, 0.3),
            deck[0] * 10 + deck[9],
            order[0] * 10 + order[5],
            some[0] * 10 + some[3],
            rng.choice([1.5, 2.5, 4.0], p=[0.2, 0.3, 0.5]),
            rng.geometric(0.3) + rng.gamma(2.0, 1.5) + rng.beta(2.0, 3.0),
        ]


class RandomArrays(Probe):
    """Draws with an array as parameter."""

    size = 5

    def __init__(self):
        super().__init__()
        self.rates = np.array([0.5, 3.0, 12.0, 0.0, 40.0])

    def values(self, action):
        rng = self.np_random
        counts = rng.poisson(self.rates)
        more = rng.poisson(np.abs(action), size=(2, 3))
        times = rng.exponential(np.array([1.0, 2.0]) + abs(action[0]))
        few = rng.poisson([1, 2, 3])
        tries = rng.geometric(np.array([0.5, 0.1]))
        return [counts.sum() + counts[4], more.sum(), times[1], few.sum(), tries[1]]


class Color(Enum):
    RED = "r"
    GREEN = "g"


class Level(IntEnum):
    LOW = 1
    HIGH = 5


class Point(NamedTuple):
    x: float
    y: float

    @property
    def sum(self):
        return self.x + self.y

    def scaled(self, by):
        return Point(self.x * by, self.y * by)


@dataclass
class Body:
    speed: float = 0.0
    hits: int = 0

    def push(self, by):
        self.speed += by
        self.hits += 1


class Objects(Probe):
    size = 10

    def __init__(self):
        super().__init__()
        self.color = Color.RED
        self.level = Level.LOW
        self.body = Body()
        self.bodies = [Body(), Body(1.0)]
        self.point = Point(0.0, 0.0)

    def values(self, action):
        self.color = Color.GREEN if action[0] > 0 else Color.RED
        self.level = Level.HIGH if self.level == Level.LOW else Level.LOW
        self.body.push(float(action[1]))
        body = self.bodies[self.steps % 2]
        body.speed += 0.5
        self.point = Point(float(action[0]), self.point.x).scaled(2.0)
        match self.steps % 3:
            case 0:
                kind = 10
            case 1 | 2 if self.color is Color.RED:
                kind = 20
            case _:
                kind = 30
        try:
            quotient = 10 // (self.steps % 4)
        except ZeroDivisionError:
            quotient = -1
        return [
            self.color == Color.GREEN,
            self.level * 2,
            self.level.value,
            self.body.speed,
            self.body.hits,
            sum(each.speed for each in self.bodies),
            self.point.sum,
            kind,
            quotient,
            self.color.value == "g",
        ]


class Control(Probe):
    size = 9

    def helper(self, n, step=2, *, sign=1):
        if n <= 0:
            return 0
        return sign * n + self.helper(n - step, step)

    def pairs(self, n):
        for i in range(n):
            for j in range(i):
                yield i, j

    def values(self, action):
        n = int(abs(action[0]) * 3)
        count = 0
        while True:
            count += 1
            if count % 2:
                continue
            if count > n:
                break
        else:
            count = -1
        for i in range(n):
            if i == 7:
                found = i
                break
        else:
            found = -1
        x = None
        for i, j in self.pairs(n):
            if i * j > 5:
                x = i * j
        total = 0
        for i, (a, b) in enumerate(zip(TABLE, reversed(TABLE), strict=True)):
            total += i * a - b
        value = n and count
        return [
            count,
            found,
            -1 if x is None else x,
            total,
            value,
            self.helper(n, sign=-1),
            self.helper(n, 3),
            not n,
            ("many" if n > 2 else "few") == "many",
        ]


NAMES = ["red_0", "red_1", "blue_0", "blue_12", "green"]
SPEEDS = {"red_0": 1.5, "red_1": 2.5, "blue_0": -1.0, "blue_12": 0.5, "green": 4.0}


class Texts(Probe):
    """What is computed of texts that are known, by names that change."""

    size = 16

    def __init__(self):
        super().__init__()
        self.names = list(NAMES)

    def number_of(self, name):
        try:
            return int(name.split("_")[-1])
        except ValueError:
            return -1

    def values(self, action):
        i = int(abs(action[0]) * 10) % len(NAMES)
        name, other = self.names[i], self.names[(i * 3 + 1) % len(NAMES)]
        color = name.split("_")[0]
        parts = 0
        if "_" in name:
            first, second = name.split("_")
            parts = len(first) * 100 + int(second)
        self.names.sort(reverse=True)
        return [
            name.startswith("red"),
            name.endswith("_0"),
            name.count("e"),
            name.find("u"),
            color == "blue",
            color == other.split("_")[0],
            self.number_of(name),
            parts,
            name < other,
            max(name, other, key=len) == name,
            "ee" in name,
            name[:3] == "red",
            name[-1] == "2",
            name.upper() == "GREEN",
            NAMES.index(name),
            name in ("green", "red_1"),
        ]


class DrawnTexts(Probe):
    """Texts that are drawn, made of ints, and found."""

    size = 10

    def __init__(self):
        super().__init__()
        self.names = [f"boat_{i}" for i in range(6)]
        self.first = None

    def values(self, action):
        i = self.steps % 6
        name = f"boat_{i}"
        if len(self.names) > 2 and self.steps % 9 == 0:
            self.names.remove(self.names[0])
        one = self.np_random.choice(self.names)
        two = self.np_random.choice(self.names, size=2, replace=False)
        order = self.np_random.permutation(self.names)
        self.np_random.shuffle(self.names)
        last = next(each for each in self.names if each != one)
        none = next((each for each in self.names if each == name), None)
        self.first = none if none is not None else self.first
        try:
            late = int(next(each for each in self.names if each > "boat_4").split("_")[1])
        except StopIteration:
            late = -1
        return [
            name in self.names,
            self.names[0] == name,
            int(str(one)[-1]),
            int(two[0].split("_")[1]) * 10 + int(two[1].split("_")[1]),
            sum((k + 1) * int(each[-1]) for k, each in enumerate(order)),
            int(last[5:]),
            none is None,
            -1 if self.first is None else int(self.first[5:]),
            late,
            len(two),
        ]


class Keys(Probe):
    """Keys of max, min, sorted and sort."""

    size = 10

    def closeness(self, name):
        return -abs(SPEEDS[name] - self.steps % 5)

    def values(self, action):
        bids = {name: float(action[i % 3]) * (i + 1) for i, name in enumerate(NAMES)}
        order = sorted(NAMES, key=lambda name: bids[name])
        falling = sorted(NAMES, key=lambda name: (round(bids[name]), name), reverse=True)
        numbers = [int(10 * each) for each in action]
        numbers.sort(key=abs)
        best = max(bids, key=bids.get)
        i = 5
        least = min(range(3), key=lambda i: action[i])
        return [
            NAMES.index(order[0]),
            NAMES.index(order[-1]),
            NAMES.index(falling[1]),
            numbers[0],
            numbers[2],
            NAMES.index(best),
            NAMES.index(max(NAMES, key=self.closeness)),
            min(numbers, key=lambda each: (each % 3, each)),
            least,
            i,
        ]


LEVELS = [
    {"size": (4, 5), "walls": [(1, 1), (2, 3)], "name": "hall", "rate": np.array([0.5, 0.25])},
    {"size": (3, 6), "walls": [(0, 4)], "name": "tube", "rate": np.array([2.0, 1.0, 3.0])},
]
MAPS = {"small": np.arange(4).reshape(2, 2), "large": np.ones((3, 4), int)}
FIELDS = {"left": [np.arange(3.0), np.zeros(3)], "right": [np.ones(3)]}


class Levels(Probe):
    """Tables whose entries are dicts of several types, and arrays of several shapes."""

    size = 8

    def __init__(self):
        super().__init__()
        self.layers = [np.full(shape, 0.5) for shape in ((3, 4), (4, 2))]

    def values(self, action):
        level = LEVELS[self.steps % 2]
        grid = np.zeros(level["size"])
        for row, column in level["walls"]:
            grid[row, column] = self.steps
        height, width = level["size"]
        places = MAPS["small" if action[0] > 0 else "large"]
        mine = places.copy()
        mine[0, 1] += 7
        row = FIELDS["left" if action[1] > 0 else "right"][0]
        return [
            grid.sum() + grid.shape[1],
            height * width,
            level["name"] == "hall",
            level["rate"].sum() + len(level["rate"]),
            (places * 2).sum() + mine.sum(),
            self.layers[self.steps % 2].sum(),
            row[2] * action[2],
            (row + action).sum(),
        ]


class Dicts(Probe):
    """Dicts whose keys are known only when the program runs."""

    size = 18

    def __init__(self):
        super().__init__()
        self.names = list(NAMES)
        self.scores = dict.fromkeys(NAMES, 0)
        self.places = {name: np.zeros(2) for name in NAMES}

    def reset(self, *, seed=None, options=None):
        first = super().reset(seed=seed)
        self.names = list(NAMES)
        self.shares = {name: 0 for name in self.names}  # noqa: C420
        self.scores = {name: len(name) for name in self.names}
        self.places = {name: self.np_random.random(2) for name in NAMES}
        return first

    def total(self, found):
        return sum(found.values())

    def values(self, action):
        if self.steps % 7 == 0 and len(self.names) > 2:
            self.names.remove(self.names[int(abs(action[1]) * 5) % len(self.names)])
        gains = {name: 0 for name in self.names}  # noqa: C420
        for i, name in enumerate(self.names):
            if i % 2 == 0:
                gains[name] += 0.5
            gains[name] -= i
            self.scores[name] += i
            self.places[name] += action[:2]
            self.places[name][0] *= 0.5
        flags = {name: gains[name] > 0 for name in self.names if name != "green"}
        both = dict(gains)
        both.update({name: 0.25 for name in flags})  # noqa: C420
        pairs = dict(zip(self.names, range(10), strict=False))
        copied = gains.copy()
        copied[self.names[0]] = 7.0
        last = self.names[-1]
        if self.steps % 3 == 0:
            self.shares = {name: 0.25 * i for i, name in enumerate(self.names)}
        missing = gains.get("green", -5.0)
        taken = copied.pop(last)
        views = {
            name: {"place": self.places[name].copy(), "score": i}
            for i, name in enumerate(self.names)
        }
        return [
            len(gains),
            self.total(gains),
            any(flags.values()),
            all(flag for flag in flags.values()),
            sum(both.values()),
            pairs[last],
            missing,
            taken,
            len(copied),
            "green" in gains,
            max(self.scores.values()),
            sum(self.scores[name] for name in gains),
            self.shares.get(last, -1.0),
            len(self.shares),
            self.places[last][0],
            views[last]["place"][1],
            views[last]["score"],
            sum(i for i, (name, gain) in enumerate(gains.items()) if gain > 0 and name in flags),
        ]


class Borders(Probe):
    """np.pad, and np.concatenate of a list that grows."""

    size = 12

    def values(self, action):
        grid = np.arange(6).reshape(2, 3) + int(action[0])
        padded = np.pad(grid, 1, constant_values=-1)
        wider = np.pad(grid, ((0, 1), (2, 0)))
        rows = []
        for i in range(4):
            if i != self.steps % 4:
                rows.append(action[:2] * i)
        joined = np.concatenate(rows)
        more = np.concatenate([action[1:], np.ones(1)] + rows)  # noqa: RUF005
        return [
            padded[0, 0],
            padded[2, 4],
            padded[1].sum(),
            padded[1:3, 1:4].sum(),
            wider[2, 1],
            wider[1, 2],
            wider.sum(),
            joined[0],
            joined[-1],
            len(joined),
            more[2],
            more[-1],
        ]


class Norms(Probe):
    """np.linalg.norm along an axis."""

    size = 12

    def __init__(self):
        super().__init__()
        self.points = np.zeros((4, 3))

    def values(self, action):
        self.points = self.points * 0.9 + self.np_random.normal(size=(4, 3))
        deltas = self.points - action
        small = deltas.astype(np.float32)
        rows = np.linalg.norm(deltas, axis=1)
        return [
            *rows,
            *np.linalg.norm(deltas.T, axis=1),
            np.linalg.norm(self.points, axis=-1).sum(),
            np.linalg.norm(small, axis=0)[1],
            np.linalg.norm(action, axis=0),
            np.linalg.norm(deltas, 2, 1)[3],
            int((rows < 1).all()),
        ]


class LinearAlgebra(Probe):
    """np.linalg by LAPACK, and draws from a normal distribution of several variables."""

    size = 19

    def __init__(self):
        super().__init__()
        self.matrix = np.eye(3)
        self.cov = np.array([[1.0, 0.3, 0.1], [0.3, 2.0, 0.2], [0.1, 0.2, 0.5]])

    def values(self, action):
        matrix = self.np_random.normal(size=(3, 3))
        tall = self.np_random.normal(size=(3, 2))
        solved = np.linalg.solve(self.matrix, matrix.T)
        single = np.linalg.inv(matrix.astype(np.float32))
        ints = np.linalg.solve(np.array([[2, 1], [1, 3]]), np.array([int(action[0] > 0), 5]))
        lower = np.linalg.cholesky(matrix @ matrix.T + np.eye(3))
        u, s, vh = np.linalg.svd(tall)
        drawn = self.np_random.multivariate_normal(action[:3], self.cov)
        rows = self.np_random.multivariate_normal(np.zeros(3), self.cov * 2, 2)
        singular = np.array([[1.0, 2.0], [2.0, 3.0 + int(action[1] > 0)]])
        try:
            caught = np.linalg.inv(singular)[0, 0]
        except np.linalg.LinAlgError:
            caught = 7.0
        self.matrix = matrix
        return [
            *np.linalg.solve(matrix, action[:3]),
            solved[1, 2],
            np.linalg.inv(matrix)[2, 0],
            np.linalg.det(matrix),
            single[1, 2],
            ints[1],
            lower[2, 1],
            lower[0, 2],
            u[2, 1],
            s[1],
            vh[0, 1],
            *drawn,
            rows[1, 2],
            caught,
            float(single.dtype == np.float32),
        ]


class NarrowInts(Probe):
    """Random integers of which several share 32 random bits."""

    size = 40

    def values(self, action):
        bits = self.np_random.integers(0, 2, 9, dtype=np.int8)
        wide = self.np_random.integers(-3, 100, (2, 3), dtype=np.int16)
        bytes_ = self.np_random.integers(0, 256, 5, dtype=np.uint8)
        flags = self.np_random.integers(0, 2, 15, dtype=bool)
        one = self.np_random.integers(3, 7, dtype=np.uint8)
        rejected = self.np_random.integers(200, size=4, dtype=np.uint8)
        return [*bits, *wide.ravel(), *bytes_, *flags, one, *rejected]


class Vectors(Probe):
    """np.cross, np.trace and Frobenius norms."""

    size = 16

    def __init__(self):
        super().__init__()
        self.matrix = np.eye(3)

    def values(self, action):
        matrix = self.np_random.normal(size=(3, 3))
        self.matrix = self.matrix + matrix
        rows = np.cross(self.matrix, action)
        single = np.cross(action.astype(np.float32), np.array([1, 0, 2], np.float32))
        return [
            *np.cross(action, matrix[:, 1]),
            *np.cross([1, 2, int(action[0])], [4, 5, 6]),
            *rows[1],
            *single,
            np.trace(matrix),
            np.linalg.norm(self.matrix) + np.linalg.norm(self.matrix.T),
            np.linalg.norm(matrix[:, 1:3], "fro"),
            np.linalg.norm(np.array([[3, 4], [5, int(action[1])]])),
        ]


class InnerFunctions(Probe):
    """Functions in a method, which read and change its variables."""

    size = 5

    def __init__(self):
        super().__init__()
        self.places = [(0, 0), (1, 1)]

    def values(self, action):
        scale = 0.5 * action[0]
        log = []

        def moved(place, far=1):
            dx, dy = [(0, 1), (1, 0), (0, -1)][self.np_random.integers(3)]
            log.append(dx)
            return (place[0] + far * dx) % 7, (place[1] + far * dy) % 7

        def factorial(n):
            if n <= 1:
                return 1
            return n * factorial(n - 1)

        def weight(place):
            x, y = moved(place, far=2)
            return scale * x + y

        self.places = [moved(place) for place in self.places]
        total = sum(weight(place) for place in self.places)
        scale += 1
        return [total, weight((1, 2)), factorial(5), sum(log), len(log)]


class Letters(Probe):
    """Loops over texts, sets that are joined in place."""

    size = 6
    words = ("crane", "slate", "audio", "pious")

    def __init__(self):
        super().__init__()
        self.word = self.words[0]
        self.seen = set()

    def values(self, action):
        self.word = self.words[self.np_random.integers(4)]
        guess = self.words[int(abs(action[0])) % 4]
        left = list(self.word)
        found = 0
        for i, letter in enumerate(guess):
            if letter == self.word[i]:
                found += 10
                left.remove(letter)
            elif letter in left:
                found += 1
        self.seen |= {int(abs(action[1])), found}
        other = {1, 2, int(abs(action[2]))} ^ {2, 3}
        vowels = sum(1 for letter in self.word if letter in "aeiou")
        return [found, len(left), len(self.seen), sum(other), vowels, len(guess)]


class Seeded(Probe):
    """A generator of its own, which reset seeds."""

    size = 2

    def __init__(self):
        super().__init__()
        self.rng = np.random.default_rng()

    def reset(self, *, seed=None, options=None):
        self.rng = np.random.default_rng(seed) if seed is not None else self.rng
        self.steps = 0
        return np.zeros(self.size), {}

    def values(self, action):
        return [self.rng.random(), self.rng.integers(10)]


PROBES = (
    Integers,
    Floats,
    Arrays,
    Products,
    Overlaps,
    Ordered,
    Unions,
    Tables,
    Dispatch,
    Containers,
    Random,
    RandomArrays,
    Objects,
    Control,
    Texts,
    DrawnTexts,
    Keys,
    Levels,
    Dicts,
    Borders,
    Norms,
    LinearAlgebra,
    NarrowInts,
    Vectors,
    InnerFunctions,
    Letters,
    Seeded,
)
