"""Generators that read the environment, dicts of keys that are computed, heapq and bisect."""

from __future__ import annotations

import bisect
import heapq
from collections import Counter, OrderedDict, defaultdict
from typing import Any

import pytest

import parallel_pool
from parallel_pool._testing import twins
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


@pytest.mark.parametrize("cls", [Generators, Computed, Heaps], ids=lambda cls: cls.__name__)
def test_results_are_the_same(cls: Any) -> None:
    (env_id,) = parallel_pool.compile(cls)
    twins.compare(cls, env_id)


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


class Default(Probe):
    def values(self, action):
        counts = defaultdict(int)
        counts[1] += 1
        return [counts[1], 0, 0, 0, 0, 0]


class Counts(Probe):
    def values(self, action):
        return [Counter([1, 1])[1], 0, 0, 0, 0, 0]


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
    Default: "a defaultdict is not translated: make a dict",
    Counts: "a Counter is not translated: make a dict",
    InOrder: "an OrderedDict is not translated: a dict keeps its order",
}


@pytest.mark.parametrize("cls", REFUSED, ids=lambda cls: cls.__name__)
def test_what_would_differ_is_refused(cls: Any) -> None:
    with pytest.raises(parallel_pool.SourceError, match=REFUSED[cls]) as found:
        parallel_pool.compile(cls)
    assert "test_library.py:" in str(found.value)
