"""Objects of plain classes of the user's, and whether two are one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parallel_pool
from parallel_pool._contract import twins
from tests.translator.probes import Probe


class Ball:
    radius = 0.5

    def __init__(self, x, y=0.0):
        self.x = x
        self.y = y
        self.speed = np.zeros(2)
        self.hits: int = 0

    def move(self, by):
        self.x += by
        self.speed[0] += by
        if self.x > 1:
            self.hits += 1
            self.x -= 1
        return self.x

    @property
    def is_far(self):
        return self.x > self.radius


class Fast(Ball):
    def __init__(self, x, boost=2.0):
        super().__init__(x, y=3.0)
        self.boost = boost * self.radius
        self.start()

    def start(self):
        self.boost += 1.0

    def move(self, by):
        return self.x + by * self.boost


class Stack:
    def __init__(self, count):
        self.items = []
        for i in range(count):
            self.items.append(i)
        if count > 2:
            self.top = count
        else:
            self.top = 0

    def push(self, value):
        self.items.append(value)
        self.top = value


class Team:
    def __init__(self, count, generator):
        self.members = [Ball(float(v)) for v in generator.random(count)]
        self.score = 0
        self.grid = np.zeros((2, 2), int)
        self.name = "red"

    def step(self, env):
        for member in self.members:
            self.score += member.move(0.2) > 0.5
        self.grid[0, self.score % 2] += 1
        env.total += 1
        return self.score


class World:
    def __init__(self, size):
        self.place = np.zeros(size)
        self.time = 0
        self.best = Ball(0.25)
        self.log = []
        self.reset()

    def reset(self):
        self.place[:] = 1.0
        self.time = 1

    def tick(self, action):
        self.time += 1
        self.place += action
        self.best.move(0.1)
        if self.time % 5 == 0:
            self.best = Ball(float(self.place[0]) % 1)
        self.log.append(self.time)
        if len(self.log) > 3:
            self.log.pop(0)


class Card:
    def __init__(self, rank, suit):
        self.rank = rank
        self.suit = suit

    def __eq__(self, other):
        return self.rank == other.rank and self.suit == other.suit


class Deck:
    def __init__(self, generator):
        self.generator = generator
        self.cards = [Card(rank, suit) for suit in range(3) for rank in range(1, 5)]
        self.shuffle()

    def shuffle(self):
        order = self.generator.permutation(len(self.cards))
        self.cards = [self.cards[i] for i in order]

    def draw(self):
        return self.cards.pop()


class Balls(Probe):
    """Objects in attributes and lists, and a method that changes an array of each in a loop."""

    size = 12

    def reset(self, *, seed=None, options=None):
        result = super().reset(seed=seed, options=options)
        self.ball = Ball(float(self.np_random.random()))
        self.balls = [Ball(float(v), i) for i, v in enumerate(self.np_random.random(3))]
        self.more = []
        self.fast = Fast(float(self.np_random.random()))
        self.stack = Stack(3)
        return result

    def values(self, action):
        for ball in self.balls:
            ball.move(abs(float(action[0])) % 0.3)
        if self.steps % 2 == 0:
            self.more.append(Ball(float(action[0]), 1))
        self.more = [ball for ball in self.more if ball.x < 2.5]
        for ball in self.more:
            ball.move(0.4)
        self.stack.push(self.steps)
        short = Stack(2)
        short.push(7)
        return [
            *(self.ball.move(0.2), self.ball.hits, sum(ball.x for ball in self.balls)),
            *(self.balls[1].speed[0], self.balls[2].hits, self.ball.is_far + Ball.radius),
            *(len(self.more), sum(ball.x + ball.y for ball in self.more)),
            *(self.fast.move(0.1), self.fast.boost + self.fast.y, self.stack.top),
            len(self.stack.items) + short.top * len(short.items),
        ]


class Whole(Probe):
    """Objects that hold objects, arrays and lists, and get the environment."""

    size = 8

    def __init__(self):
        super().__init__()
        self.rules = Ball(1.0, 3.0)
        self.ball = None

    def reset(self, *, seed=None, options=None):
        result = super().reset(seed=seed, options=options)
        self.total = 0
        self.teams = [Team(3, self.np_random), Team(2, self.np_random)]
        self.world = World(3)
        self.ball = Ball(0.5)
        return result

    def values(self, action):
        scores = [team.step(self) for team in self.teams]
        self.world.tick(action)
        if self.ball is not None and self.ball.move(0.3) > 0.9:
            self.ball = None
        return [
            *(scores[0], scores[1] + self.total, self.teams[1].grid.sum()),
            *(self.world.time, self.world.best.x, self.world.place[1], len(self.world.log)),
            self.rules.x * self.rules.y if self.ball is None else self.ball.x,
        ]


class Others(Probe):
    """Whether two objects are one, by `is`, == and in."""

    size = 8

    def reset(self, *, seed=None, options=None):
        result = super().reset(seed=seed, options=options)
        self.balls = [Ball(float(v), float(w)) for v, w in self.np_random.random((4, 2))]
        return result

    def near(self, ball):
        return [each for each in self.balls if each is not ball and abs(each.x - ball.x) < 0.4]

    def is_one(self, one, other):
        return one is other

    def values(self, action):
        count = 0
        for i, ball in enumerate(self.balls):
            count += len(self.near(ball)) * (i + 1)
            for other in self.balls:
                if other != ball and other.x < ball.x:
                    ball.hits += 1
        first = self.balls[0]
        least = min(self.balls, key=lambda ball: ball.y)
        at = self.balls.index(least)
        least.y += 0.3
        if first in self.balls and first is least:
            count += 100
        self.balls[1].move(0.1)
        chosen = self.balls[self.steps % 4]
        return [
            *(count, sum(ball.hits for ball in self.balls), at, least.y, first.x),
            *(first == self.balls[1], self.is_one(chosen, first), self.is_one(chosen, chosen)),
        ]


class Cards(Probe):
    """Objects that keep the environment's generator."""

    size = 6

    def reset(self, *, seed=None, options=None):
        result = super().reset(seed=seed, options=options)
        self.deck = Deck(self.np_random)
        self.random = self.np_random
        self.card = self.deck.draw()
        return result

    def values(self, action):
        if len(self.deck.cards) < 3:
            self.deck = Deck(self.random)
        card = self.deck.draw()
        is_same = card == self.card
        self.card = card
        draws = self.deck.generator.random(), self.random.integers(9)
        return [card.rank, card.suit, is_same, len(self.deck.cards), *draws]


class Slices(Probe):
    """Loops over parts of a list, whose items change."""

    size = 6

    def reset(self, *, seed=None, options=None):
        result = super().reset(seed=seed, options=options)
        self.balls = [Ball(float(v)) for v in self.np_random.random(5)]
        return result

    def values(self, action):
        for ball in self.balls[1:]:
            ball.move(0.1)
        for ball in self.balls[-2:]:
            ball.hits += 1
        for i, ball in enumerate(self.balls):
            for other in self.balls[:i]:
                other.x += 0.01 * ball.x
            for other in self.balls[i + 1 :]:
                other.speed -= 0.1 * ball.speed
        for ball in self.balls[4:2]:
            ball.hits += 100
        rows = [[1, 2], [3, 4], [5, 6]]
        for row in rows[1:]:
            row.append(self.steps)
        return [
            *(sum(ball.x for ball in self.balls), self.balls[0].x, self.balls[3].hits),
            *(sum(ball.speed.sum() for ball in self.balls), len(rows[2]), rows[1][2]),
        ]


@pytest.mark.slow
@pytest.mark.parametrize("cls", [Balls, Whole, Others, Cards, Slices], ids=lambda cls: cls.__name__)
def test_objects_of_plain_classes_are_the_same(cls: Any) -> None:
    (task_id,) = parallel_pool.compile(cls)
    twins.compare(cls, task_id)


def test_get_attr_gives_objects_the_generator_of_their_environment() -> None:
    (task_id,) = parallel_pool.compile(Cards)
    envs = parallel_pool.make_vec(task_id, 2)
    plain = Cards()
    envs.reset(seed=[3, 4])
    plain.reset(seed=4)
    found = envs.get_attr("deck")[1]
    assert isinstance(found, Deck)
    assert found.generator.random() == plain.deck.generator.random()
    envs.step(np.ones((2, 3)))
    (copy,) = envs.get_attr("unwrapped")[1:]
    envs.close()
    assert copy.deck.generator is copy.np_random


@pytest.mark.slow
def test_get_attr_makes_objects_of_the_class() -> None:
    (task_id,) = parallel_pool.compile(Whole)
    envs = parallel_pool.make_vec(task_id, 2)
    plain = Whole()
    envs.reset(seed=[3, 4])
    plain.reset(seed=4)
    envs.step(np.ones((2, 3)))
    plain.step(np.ones(3))
    found = envs.get_attr("teams")[1]
    envs.close()
    assert [type(each) for each in found] == [Team, Team]
    assert found[0].name == "red" and found[1].score == plain.teams[1].score
    assert [each.x for each in found[0].members] == [each.x for each in plain.teams[0].members]
    assert np.array_equal(found[1].grid, plain.teams[1].grid)


class Early:
    def __init__(self):
        self.x = self.first()
        self.y = 1

    def first(self):
        return 1


class Later:
    def __init__(self):
        self.x = 1

    def begin(self):
        self.late = 2


class Returning:
    def __init__(self, x):
        self.x = x
        if x > 1:
            return
        self.y = 1


class NeedsItself(Probe):
    def reset(self, *, seed=None, options=None):
        self.thing = Early()
        return super().reset(seed=seed, options=options)

    def values(self, action):
        return [self.thing.x, 0, 0, 0, 0, 0]


class Grows(Probe):
    def reset(self, *, seed=None, options=None):
        self.thing = Later()
        self.thing.begin()
        return super().reset(seed=seed, options=options)

    def values(self, action):
        return [self.thing.late, 0, 0, 0, 0, 0]


class Unknown(Probe):
    def values(self, action):
        ball = Ball(1.0)
        ball.other = 2.0
        return [ball.other, 0, 0, 0, 0, 0]


class Ends(Probe):
    def values(self, action):
        return [Returning(2).x, 0, 0, 0, 0, 0]


class TwoNames(Probe):
    def reset(self, *, seed=None, options=None):
        self.balls = [Ball(0.1), Ball(0.2)]
        self.target = self.balls[0]
        return super().reset(seed=seed, options=options)

    def values(self, action):
        return [self.balls[self.steps % 2] is self.target, 0, 0, 0, 0, 0]


class PairedUp(Probe):
    def reset(self, *, seed=None, options=None):
        self.balls = [Ball(0.1), Ball(0.2)]
        return super().reset(seed=seed, options=options)

    def is_one(self, one, other):
        return one is other

    def values(self, action):
        pair = [self.balls[0], self.balls[1]]
        return [self.is_one(pair[0], self.balls[0]), 0, 0, 0, 0, 0]


class Shrinks(Slices):
    def values(self, action):
        for ball in self.balls[1:]:
            if ball.x > 0.9:
                self.balls.remove(ball)
            ball.move(0.1)
        return [len(self.balls), 0, 0, 0, 0, 0]


class Replaces(Slices):
    def values(self, action):
        for ball in self.balls[1:]:
            ball.move(0.1)
            self.balls[2] = Ball(0.5)
        return [self.balls[2].x, 0, 0, 0, 0, 0]


class OfItsOwn(Probe):
    def __init__(self):
        super().__init__()
        self.deck = Deck(self.np_random)

    def values(self, action):
        return [self.deck.generator.random(), 0, 0, 0, 0, 0]


class OnlyOnce(Probe):
    def __init__(self):
        super().__init__()
        self.deck = None

    def reset(self, *, seed=None, options=None):
        result = super().reset(seed=seed, options=options)
        if self.deck is None:
            self.deck = Deck(self.np_random)
        return result

    def values(self, action):
        return [self.deck.generator.random(), 0, 0, 0, 0, 0]


REFUSED = {
    Shrinks: "a loop over a part of a list changes the list",
    Replaces: "a loop over a part of a list changes the list",
    OfItsOwn: "self.deck is a generator of its own",
    OnlyOnce: "assign self.deck in each reset",
    NeedsItself: "Early.__init__ needs its object before x is assigned",
    Grows: "Later.late is not in all objects of the class from the beginning",
    Unknown: "Ball has no field other",
    Ends: "Returning: a return in __init__",
    TwoNames: "whether this is the same object is not translated, as it has two names",
    PairedUp: "whether this is the same object is not translated, as it has two names",
}


@pytest.mark.quick(1)
@pytest.mark.parametrize("cls", REFUSED, ids=lambda cls: cls.__name__)
def test_what_is_not_translated_of_plain_classes_is_said(cls: Any) -> None:
    with pytest.raises(parallel_pool.SourceError, match=REFUSED[cls]) as found:
        parallel_pool.compile(cls)
    assert "test_plain_classes.py:" in str(found.value)
