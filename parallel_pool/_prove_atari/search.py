"""Finds a play that gets far: it tries many continuations, and plays the beginning of the best.

The search runs on our own console, which is fast and whose states can be saved. From a state it
tries continuations of two seconds: the rest of the best one of the last time, variants of it, and
random ones. It prefers those that lose no life, then the most reward, then the most values in
memory that were never seen before (the novelty of width 1 of iterated width search). If all of them
lose a life or points, it goes back some way, further each time. The moves depend only on the
session, as our console is deterministic.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parallel_pool._engine.named_batch import NamedBatch
from parallel_pool._prove_atari.match import NEW_GAME, switched_on_again
from parallel_pool._prove_atari.schedule import Session
from parallel_pool._prove_atari.sides import PoolSide

# continuations that are tried from a state, steps of each, and how many of the best are played
TRIES = 16
STEPS = 30
PLAYED_STEPS = 10
# number of candidates derived from the previous best continuation
VARIANTS = 7
# how many steps an action is held on average, in turn for the continuations
HOLDS = (1, 3, 8, 20)
# steps that may be thrown away by going back, for each step of the play
MAX_WASTE = 1.0
# most nodes to go back at once
MAX_BACK = 32

RAM_BYTES = 128


@dataclass(frozen=True)
class Node:
    """A state of the play, and the moves that lead to it from the node before."""

    state: bytes
    lives: int
    moves: tuple[int, ...]


class Tried(NamedTuple):
    """The continuations of a state; arrays have one entry for each.

    Attributes:
        moves: (TRIES, STEPS).
        length: number of steps to the end of the game, or STEPS.
        is_lost: whether a life was lost, or the game.
        reward: the sum of rewards; with several players, the first one's.
        novelty: number of values in memory that were not seen before.
    """

    moves: NDArray[np.int64]
    length: NDArray[np.int64]
    is_lost: NDArray[np.bool_]
    reward: NDArray[np.float64]
    novelty: NDArray[np.int64]

    def best(self) -> int:
        return int(np.lexsort((self.novelty, self.reward, ~self.is_lost))[-1])


class Search:
    """The play so far: moves of past games, and the path of the game in play.

    Args:
        side: the console to search on, with TRIES environments that do not draw.
    """

    def __init__(self, session: Session, side: PoolSide) -> None:
        self.session, self.side, self.pool = session, side, side.pool
        seeds = [session.number, zlib.crc32(session.rom.encode()), 1]
        self.random = np.random.default_rng(seeds)
        # by address and value
        self.seen = np.zeros((RAM_BYTES, 256), np.bool_)
        self.past: list[int] = []
        self.path: list[Node] = []
        # the best continuation that was found of the path, if any
        self.plan = np.zeros(0, np.int64)
        self.games = self.steps = 0

    def moves(self) -> list[int]:
        """Returns the moves of the whole session: actions, and NEW_GAME."""
        wanted = -(-self.session.frames // self.session.style.frame_skip)
        waste, back, furthest = MAX_WASTE * wanted, 1, 0
        self.begin_game()
        while self.steps < wanted:
            tried = self.try_many(self.path[-1])
            best = tried.best()
            cost = (back + 1) * PLAYED_STEPS
            is_bad = tried.is_lost[best] or tried.reward[best] < 0
            if is_bad and waste > cost and len(self.path) > back:
                waste -= cost
                furthest = max(furthest, self.steps)
                self.go_back(back)
                back = min(2 * back, MAX_BACK)
                continue
            found = tried.moves[best, : tried.length[best]]
            self.plan = found[PLAYED_STEPS:]
            self.follow(found[:PLAYED_STEPS])
            if self.steps > furthest:
                back = 1
        return [*self.past, *self.moves_of_game()]

    def go_back(self, nodes: int) -> None:
        """Removes nodes from the path's end."""
        self.steps -= sum(len(node.moves) for node in self.path[-nodes:])
        del self.path[-nodes:]
        self.plan = np.zeros(0, np.int64)

    def moves_of_game(self) -> list[int]:
        return [move for node in self.path for move in node.moves]

    def begin_game(self) -> None:
        self.past += self.moves_of_game()
        seed = switched_on_again(self.session, self.games)
        found = self.pool.reset([0], seed=None if seed is None else [seed])
        self.games += 1
        self.plan = np.zeros(0, np.int64)
        self.path = [self.node(found, (NEW_GAME,))]

    def node(self, found: Any, moves: tuple[int, ...]) -> Node:
        """Returns the node of environment 0, from its last result."""
        (state,) = self.pool.get_state([0])
        return Node(state, int(first_of(found.lives)[0]), moves)

    def continuations(self) -> NDArray[np.int64]:
        """Returns the moves to try: the plan, variants of it, and random ones."""
        moves = self.random.integers(self.side.num_actions, size=(TRIES, STEPS))
        holds = np.resize(HOLDS, TRIES)
        for step in range(1, STEPS):
            held = self.random.random(TRIES) * holds >= 1
            moves[held, step] = moves[held, step - 1]
        kept = self.random.integers(len(self.plan) + 1, size=VARIANTS + 1)
        kept[0] = len(self.plan)
        for i, length in enumerate(kept):
            moves[i, :length] = self.plan[:length]
        return moves

    def try_many(self, node: Node) -> Tried:
        """Tries continuations of a node."""
        self.pool.set_state([node.state] * TRIES)
        moves = self.continuations()
        length = np.full(TRIES, STEPS)
        is_lost = np.zeros(TRIES, np.bool_)
        reward, novelty = np.zeros(TRIES), np.zeros(TRIES, np.int64)
        live = np.arange(TRIES)
        for step in range(STEPS):
            found = self.pool.step(self.side.play(moves[live, step]), live)
            reward[live] += first_of(found.reward)
            novelty[live] += (~self.seen[np.arange(RAM_BYTES), found.ram]).sum(axis=1)
            is_lost[live] |= first_of(found.lives) < node.lives
            over = found.terminated
            is_lost[live] |= over
            length[live[over]] = step + 1
            live = live[~over]
            if not len(live):
                break
        return Tried(moves, length, is_lost, reward, novelty)

    def follow(self, moves: NDArray[np.int64]) -> None:
        """Plays moves from the path's end, and makes them part of the path."""
        self.pool.set_state([self.path[-1].state], [0])
        *before, last = moves
        for move in before:
            self._play(move)
        found = self._play(last)
        self.path.append(self.node(found, tuple(moves.tolist())))
        self.steps += len(moves)
        if found.terminated[0]:
            self.begin_game()

    def _play(self, move: np.int64) -> NamedBatch:
        """Plays one move of the first game; the RAM that it shows is seen."""
        found = self.pool.step(self.side.play(np.array([move])), [0])
        self.seen[np.arange(RAM_BYTES), found.ram[0]] = True
        return found


def first_of(values: NDArray[Any]) -> NDArray[Any]:
    """Returns the first player's values of a column; there may be only one player."""
    return values[:, 0] if values.ndim > 1 else values
