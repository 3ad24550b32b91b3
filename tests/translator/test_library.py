"""Generators that read the environment, dicts of keys that are computed, heapq and bisect."""

from __future__ import annotations

import bisect
import heapq
from collections import Counter, OrderedDict, defaultdict
from contextlib import closing
from typing import Any

import numpy as np
import pytest

import parallel_pool
from parallel_pool._contract import twins
from tests.translator.probes import Probe


def each_of(items):
    yield from items


class Generators(Probe):
    """Generators of the environment, which nothing changes meanwhile."""

    size = 6

    def reset(self, *, seed=None, options=None):
        result = super().reset(seed=seed, options=options)
        self.grid = self.np_random.integers(0, 3, (4, 4))
        self.items = [3, 1, 2]
        return result

    def near(self, row, column):
        for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            r, c = row + down, column + right
            if 0 <= r < 4 and 0 <= c < 4 and self.grid[r, c] != 1:
                yield r, c

    def both_ways(self, row, column):
        for place in self.near(row, column):
            yield place
            yield place[1], place[0]

    def values(self, action):
        total = 0
        for place in self.near(1, 2):
            total += place[0] * 10 + place[1]
        downs = sum(place[0] for place in self.both_ways(2, 2))
        at_corner = list(self.near(0, 0))
        self.grid[self.steps % 4, 1] = self.steps % 3
        count = len([place[0] for place in self.both_ways(3, 3)])
        is_there = any(place[0] == 2 for place in self.near(1, 1))
        return [total, downs, len(at_corner), count, is_there, sum(each_of(self.items))]


class Defaults(Probe):
    """Attributes that are defaultdicts and Counters."""

    size = 10

    def __init__(self):
        super().__init__()
        self.visits = defaultdict(int)
        self.scores = defaultdict(float)
        self.paths = defaultdict(list)
        self.votes = Counter()
        self.sets = defaultdict(set)
        self.names = defaultdict(lambda: "none")
        self.halves = defaultdict(lambda: 0.5)
        self.given = Counter({3: 2, 4: 1})

    def values(self, action):
        a, b = int(action[0] * 3), int(action[1] * 2)
        # reading puts the key there between the two lengths
        before = len(self.visits) * 100 + self.visits[a] + len(self.visits)
        self.visits[b] += 1
        self.scores[(a, b)] += float(action[2])
        self.paths[a].append(b)
        if len(self.paths[a]) > 8:
            del self.paths[a]
        self.votes[a] += 1
        self.votes.update([a, b, b])
        del self.votes[99]
        self.sets[a].add(b)
        if b in self.sets:
            self.names[b] = "there"
        name = self.names[a]
        top = self.votes.most_common(2)
        halves = sum(self.halves[key] for key in range(3)) + self.halves.get(7, 9.0)
        return [
            before,
            self.visits[7],
            self.scores[(0, 0)],
            len(self.paths[b]),
            self.votes[a],
            top[0][0] * 100 + top[0][1] * 10 + len(top),
            len(self.sets[b]) + len(self.sets) * 10,
            (name == "there") * 100 + len(self.names),
            halves,
            self.given[3] + self.given[a] + self.votes.total() + len(self.given) * 1000,
        ]


class Tallies(Probe):
    """Local defaultdicts and Counters, and dicts of lists."""

    size = 8

    def tally(self, items):
        found = defaultdict(int)
        for each in items:
            found[each] += 1
        return found

    def values(self, action):
        items = [int(each * 3) for each in action] + [1, 1, 2]
        found, count = self.tally(items), Counter(items)
        groups, letters = defaultdict(list), Counter("hello world")
        rows = {}
        for each in items:
            groups[each % 3].append(each)
            if each not in rows:
                rows[each] = []
            rows[each].append(7)
            row = rows.setdefault(9, [])
            row.append(each)
        pairs, plain = sorted(count.items()), dict(count)
        return [
            found[1] + len(found),
            count.most_common()[0][1] * 10 + len(count.most_common(2)),
            len(groups) + sum(groups[0]) * 10,
            letters["l"] + letters["z"],
            len(rows) + len(rows[1]) * 10 + sum(rows[9]) * 100,
            max(count, key=count.get),
            pairs[0][0] * 10 + pairs[-1][1],
            len(plain) + Counter()[3],
        ]


class Spots(Probe):
    """Loops over sets that set elements to a constant, in any order."""

    size = 2

    def __init__(self):
        super().__init__()
        self.spots = set()

    def values(self, action):
        self.spots.add((int(action[0]) + 3, int(action[1]) + 3))
        if len(self.spots) > 5:
            self.spots.clear()
        grid, counts = np.zeros((7, 7)), np.zeros(7)
        for row, column in self.spots:
            grid[row, column] = 1
        for place in self.spots:
            counts[place[0]] += 0.1
        return [grid.sum() + grid[3, 3] * 100, counts[3]]


class Computed(Probe):
    """Dicts whose keys are computed."""

    size = 8

    def values(self, action):
        k = self.steps % 3
        places = {k: 1.5, k + 1: 2.5, (k + 1) % 3 + 0: 4.5}
        pairs = {(k, 1): k, (0, 1): 9}
        powers = {i: i * action[0] for i in range(self.steps % 4)}
        lists = {i: [i] for i in range(k)}
        for each in lists.values():
            each.append(7)
        places[5] = 1
        return [
            *(sum(places.values()), len(places), pairs[(k, 1)], len(pairs), list(places)[-1]),
            *(sum(powers.values()), len(powers), sum(len(each) for each in lists.values())),
        ]


class Heaps(Probe):
    size = 9

    def reset(self, *, seed=None, options=None):
        result = super().reset(seed=seed, options=options)
        self.heap = []
        ends, weights = self.np_random.integers(0, 8, (8, 3)), self.np_random.random((8, 3))
        self.graph = {
            i: [(int(end), float(weight)) for end, weight in zip(ends[i], weights[i], strict=True)]
            for i in range(8)
        }
        return result

    def distances(self, start):
        found = {start: 0.0}
        queue = [(0.0, start)]
        while queue:
            distance, place = heapq.heappop(queue)
            if distance > found[place]:
                continue
            for end, weight in self.graph[place]:
                if end not in found or distance + weight < found[end]:
                    found[end] = distance + weight
                    heapq.heappush(queue, (distance + weight, end))
        return found

    def values(self, action):
        heapq.heappush(self.heap, (float(action[0]), self.steps))
        heapq.heappush(self.heap, (float(action[1]), -self.steps))
        first = heapq.heappop(self.heap) if len(self.heap) > 6 else (0.0, 0)
        queue = [5, 2, 8, 1, 9, self.steps]
        heapq.heapify(queue)
        least = heapq.heapreplace(queue, 4)
        ordered = []
        for each in queue:
            bisect.insort(ordered, each)
        found = self.distances(self.steps % 8)
        return [
            *(*first, self.heap[0][0], self.heap[-1][1], least, queue[1] * 100 + queue[-1]),
            *(bisect.bisect_left(ordered, 5), bisect.bisect(ordered, 5) * 10 + ordered[2]),
            sum(found.values()) + 100 * len(found),
        ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "cls", [Generators, Defaults, Tallies, Spots, Computed, Heaps], ids=lambda cls: cls.__name__
)
def test_results_are_the_same(cls: Any) -> None:
    (task_id,) = parallel_pool.compile(cls)
    twins.compare(cls, task_id)


class ChangesInLoop(Generators):
    def values(self, action):
        count = 0
        for place in self.near(1, 2):
            self.grid[place] = 1
            count += 1
        return [count, 0, 0, 0, 0, 0]


class ChangesItself(Generators):
    def walk(self):
        for each in self.items:
            self.items[0] += 1
            yield each

    def values(self, action):
        return [sum(self.walk()), 0, 0, 0, 0, 0]


class Draws(Generators):
    def draws(self):
        for _ in range(3):
            yield self.np_random.random()

    def values(self, action):
        return [sum(self.draws()), 0, 0, 0, 0, 0]


class Named(Generators):
    def values(self, action):
        found = self.near(1, 1)
        self.grid[1, 2] = 1
        return [len(list(found)), 0, 0, 0, 0, 0]


class Grows(Generators):
    def values(self, action):
        total = 0
        local = [1, 2, 3]
        for each in each_of(local):
            if each < 3:
                local.append(9)
            total += each
        return [total, 0, 0, 0, 0, 0]


class Later(Generators):
    def change(self):
        self.grid[1, 2] = 1
        return 1

    def values(self, action):
        return [len(list(zip(self.near(1, 1), [self.change(), 2], strict=False))), 0, 0, 0, 0, 0]


class Made(Probe):
    def values(self, action):
        counts = defaultdict(lambda: self.steps)
        return [counts[1], 0, 0, 0, 0, 0]


class Filled(Probe):
    def values(self, action):
        counts = defaultdict(lambda: [0, 0])
        return [counts[1][0], 0, 0, 0, 0, 0]


class Compared(Probe):
    def values(self, action):
        return [Counter([self.steps]) == Counter([1]), 0, 0, 0, 0, 0]


class Subtracted(Probe):
    def values(self, action):
        counts = Counter([self.steps])
        counts.subtract([1])
        return [counts[1], 0, 0, 0, 0, 0]


class Overwrites(Probe):
    def values(self, action):
        grid = np.zeros((4, 4))
        for row, column in {(0, 1), (1, self.steps % 2)}:
            grid[row, column] = 1
            grid[column, row] = 2
        return [grid.sum(), 0, 0, 0, 0, 0]


class ReadsLast(Probe):
    def values(self, action):
        grid = np.zeros(4)
        for place in {0, self.steps % 2}:
            grid[place] = 1
        return [grid.sum(), place, 0, 0, 0, 0]


PAIRS = [{"n": 1, "name": "a"}, {"n": 2, "name": "b"}]


class ChangesTable(Probe):
    def values(self, action):
        pair = PAIRS[self.steps % 2]
        if action[0] > 0:
            pair["n"] = 3
        return [0, 0, 0, 0, 0, 0]


RATES = [{"n": 1, "rate": np.zeros(2)}, {"n": 2, "rate": np.ones(3)}]


class ChangesArray(Probe):
    def values(self, action):
        RATES[self.steps % 2]["rate"][0] += 1
        return [0, 0, 0, 0, 0, 0]


class ChangesHeld(Probe):
    def __init__(self):
        super().__init__()
        self.pair = PAIRS[0]

    def values(self, action):
        self.pair = PAIRS[self.steps % 2]
        self.pair["n"] += 1
        return [0, 0, 0, 0, 0, 0]


class InOrder(Probe):
    def values(self, action):
        return [len(OrderedDict()), 0, 0, 0, 0, 0]


CHANGE = "a generator reads {}, which may change before its last item: return a list instead"
REFUSED = {
    ChangesInLoop: CHANGE.format("grid"),
    ChangesItself: r"walk\(\) yields, and changes self.items: return a list instead",
    Draws: r"draws\(\) yields, and draws: return a list instead",
    Named: CHANGE.format("grid"),
    Grows: CHANGE.format("local"),
    Later: CHANGE.format("grid"),
    Made: "a defaultdict of values that change is not translated: set the entry where the key",
    Filled: "a defaultdict of values that change is not translated",
    Compared: r"whether Counters are equal is not translated: compare dict\(...\) of them",
    Subtracted: r"subtract\(\) of a Counter is not translated: write a loop",
    Overwrites: "the order of a set is not translated",
    ReadsLast: "the order of a set is not translated",
    ChangesTable: "this is the same for all environments: copy it before it is changed",
    ChangesArray: "this array is the same for all environments: copy it first",
    ChangesHeld: "this is the same for all environments: copy it before it is changed",
    InOrder: "an OrderedDict is not translated: a dict keeps its order",
}


@pytest.mark.quick(2)
@pytest.mark.parametrize("cls", REFUSED, ids=lambda cls: cls.__name__)
def test_what_would_differ_is_refused(cls: Any) -> None:
    with pytest.raises(parallel_pool.SourceError, match=REFUSED[cls]) as found:
        parallel_pool.compile(cls)
    assert "test_library.py:" in str(found.value)


def test_attributes_are_the_dicts_of_the_class() -> None:
    (task_id,) = parallel_pool.compile(Defaults)
    with closing(parallel_pool.make_vec(task_id, 1)) as envs:
        envs.reset(seed=0)
        env = envs.get_attr("unwrapped")[0]
        assert (type(env.votes), type(env.visits)) == (Counter, defaultdict)
        assert env.given[9] == 0 and env.names[5] == "none" and env.paths[5] == []
        assert (env.visits.default_factory, env.sets.default_factory) == (int, set)
