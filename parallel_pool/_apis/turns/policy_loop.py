"""PolicyLoop: a policy decides for one chunk of environments while others step."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from parallel_pool._apis.turns.chunk import Chunk
from parallel_pool._apis.turns.trial import MIN_GAIN, Trial
from parallel_pool._engine import seeds
from parallel_pool._engine.arguments import a_type, check_count, quote
from parallel_pool._engine.base_pool import BasePool
from parallel_pool._engine.turns import stop_spinning
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool._lazy import public
from parallel_pool.errors import ClosedError

if TYPE_CHECKING:
    from typing import Self

    from parallel_pool._apis.turns.turn import Turn

# chunks, if they are worth it
DEPTH = 2


@public("turns")
class PolicyLoop(Uncopied):
    """A policy and its environments in turns: the policy decides for one chunk of the environments
    while the others step.

    Chunk k always has the same environments, and each is a vector environment of its own. So rows
    are in order, and a policy whose actions for an environment depend only on its observation gets
    the same bits as in a loop of `step` with all environments at once, at any depth.

    After an exception (of the policy, of a wrong action, Ctrl-C) steps in flight stay there, and
    the next `play` goes on with them. Ctrl-C in the moment in which environments hand over a result
    may lose it; `play` says so. One thread may use a loop.

    Attributes:
        num_envs: of all chunks.
        policy: as given; another one decides from the next turn on.
        depth: the number of chunks.
        chunks: their vector environments, in order.
        gain: how many times as fast two chunks are expected to be; None if `depth` was given.
        rows: the environments for which the policy is called, a slice; for policies that keep
            something for each environment.
        closed: whether `close` was called.

    Example:
        >>> def make(rows):
        ...     return parallel_pool.make_vec("CartPole-v1", len(rows))
        >>> def policy(observations):
        ...     return (observations[:, 2] > 0).astype(np.int64)
        >>> with parallel_pool.turns.PolicyLoop(make, 8, policy, depth=2) as loop:
        ...     loop.reset(seed=1)
        ...     sum(turn.rewards.sum().item() for turn in loop.play(10))
        80.0
    """

    def __init__(
        self,
        make: Callable[[range], Any],
        num_envs: int,
        policy: Callable[[Any], Any],
        *,
        depth: int | None = None,
    ) -> None:
        """Makes the environments.

        Args:
            make: called with a range of environments, returns a vector environment that has them,
                with `step_async` and `step_wait`: of `parallel_pool.make_vec`, also as tensors
                (`.torch()`), or Gymnasium's AsyncVectorEnv.
            num_envs: environments in all.
            policy: called with the observations of a chunk, as its environments return them,
                (k, *shape); returns actions (k, *action shape), or these and a dict of what else a
                `Turn` shall have, as its `extras`.
            depth: chunks; 1 is a plain loop. None for the faster of 1 and 2: a plain loop of half a
                second, with the policy, is traced for that. Name it where the policy draws random
                numbers and results must be the same again, or where it reads `rows`.

        Raises:
            TypeError, ValueError: an argument is wrong, or make returns something else; with depth
                None also if its environments have no trace.
            Exception: as of make.
        """
        self.closed = True
        for name, function in (("make", make), ("policy", policy)):
            if not callable(function):
                raise TypeError(f"{name}={quote(function)} is {a_type(function)}: give a function")
        self.num_envs = check_count("num_envs", num_envs, 1)
        self.policy = policy
        self.gain: float | None = None
        self._chunks: list[Chunk] = []
        self._next = 0
        self.rows: slice = slice(0, self.num_envs)
        with ExitStack() as cleaning:
            cleaning.callback(self._close_chunks)
            self._make(make, depth)
            cleaning.pop_all()
        self.depth = len(self._chunks)
        self.chunks = tuple(chunk.envs for chunk in self._chunks)
        self.closed = False

    def _make(self, make: Callable[[range], Any], depth: int | None) -> None:
        """Makes the chunks."""
        if depth is None:
            self._add(make, range(self.num_envs))
            if self.num_envs == 1:
                return
            self.gain = Trial(self._chunks[0], self.policy).gain(DEPTH)
            if self.gain < MIN_GAIN:
                return
            self._close_chunks()
            depth = DEPTH
        depth = check_count("depth", depth, 1, self.num_envs)
        cuts = [self.num_envs * k // depth for k in range(depth + 1)]
        for first, end in itertools.pairwise(cuts):
            self._add(make, range(first, end))

    def _add(self, make: Callable[[range], Any], rows: range) -> None:
        envs = make(rows)
        with ExitStack() as cleaning:
            cleaning.callback(getattr(envs, "close", lambda: None))
            self._chunks.append(Chunk(envs, rows))
            cleaning.pop_all()
        pool = getattr(envs, "pool", None)
        if isinstance(pool, BasePool) and len(rows) < self.num_envs:
            stop_spinning(pool)

    def reset(
        self,
        *,
        seed: seeds.Seed = None,
        options: dict[str, Any] | None = None,
        only_failed: bool = False,
    ) -> None:
        """Starts new episodes; drops turns that are in flight or were not delivered.

        Args:
            seed: an integer of any size: environment i gets seed + i; a sequence of num_envs
                integers or Nones: one for each environment; None: the generators continue.
            options: reset options of the environments.
            only_failed: resets only the chunks that have no observations, as environments of theirs
                have failed or were never reset. No turn is dropped: the next `play` goes on with
                those of the other chunks. Seeds of the other chunks are not used.

        Raises:
            TypeError, ValueError: the seed or an option is wrong.
            ClosedError: the loop is closed.
            EnvError: environments failed.
            Exception: raised by a Python environment.
        """
        self._check_open()
        each = seeds.spread(seed, self.num_envs)
        if not only_failed:
            self._next = 0
        for chunk in self._chunks:
            if not only_failed:
                chunk.drop()
            elif chunk.observations is not None:
                continue
            chunk.reset(None if seed is None else each[chunk.rows], options)

    def play(self, steps: int) -> Iterator[Turn]:
        """Plays so many steps of every environment; yields depth turns for each step, of chunk 0,
        1 and so on.

        A turn is yielded when the policy has decided about its observations and its environments
        step again. So what the caller does with it takes no time from them. After the last turn
        nothing is in flight. A caller that leaves early goes on with another `play`: its first
        turns are those that were in flight.

        Args:
            steps: 0 or more.

        Raises:
            TypeError, ValueError: steps is no such number; the policy's actions are wrong (nothing
                was sent; the policy is asked again by the next `play`).
            NotResetError: environments were never reset, or failed since.
            ClosedError: the loop is closed.
            EnvError: environments failed: call `reset` for the next episodes of all, or
                `reset(only_failed=True)` to go on with the turns of the other chunks, which are
                still there.
            Exception: raised by the policy, or by a Python environment.
        """
        self._check_open()
        return self._turns(check_count("steps", steps, 0))

    def _turns(self, steps: int) -> Iterator[Turn]:
        self._check_open()
        # Turns to begin, of each chunk. There may be too many already: Ctrl-C may have come when a
        # chunk had a turn and stepped again.
        left = [steps - it.is_in_flight - len(it.turns) for it in self._chunks]
        order = itertools.islice(itertools.cycle(range(self.depth)), self._next, None)
        for k in itertools.islice(order, self.depth if steps else 0):
            chunk = self._chunks[k]
            if not chunk.turns and not chunk.is_in_flight:
                self._act(chunk)
                left[k] -= 1
        for k in itertools.islice(order, steps * self.depth):
            self._check_open()
            chunk = self._chunks[k]
            # once, unless Ctrl-C has ended a send
            while not chunk.turns:
                if not chunk.is_in_flight:
                    self._act(chunk)
                chunk.receive()
            if left[k] > 0 and not chunk.is_in_flight:
                self._act(chunk)
                left[k] -= 1
            elif left[k] < 0 and chunk.is_in_flight:
                # for the next play
                chunk.receive()
            # no local variable: it would hold the turn while the caller has dropped it
            yield self._delivered(k)

    def _delivered(self, k: int) -> Turn:
        """Returns the first turn of a chunk; that of the next one follows."""
        turn = self._chunks[k].deliver()
        # no function call from here on: Ctrl-C would lose the turn
        self._next = (k + 1) % self.depth
        return turn

    def _act(self, chunk: Chunk) -> None:
        self.rows = chunk.rows
        chunk.act(self.policy)

    def close(self) -> None:
        """Closes the environments; turns stay valid."""
        self.closed = True
        self._close_chunks()

    def _close_chunks(self) -> None:
        """Closes the chunks, each even if another can't be closed."""
        with ExitStack() as closing:
            while self._chunks:
                closing.callback(self._chunks.pop().close)

    def _check_open(self) -> None:
        if self.closed:
            raise ClosedError(f"{self} is closed: make a new one")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"PolicyLoop(num_envs={self.num_envs}, depth={self.depth})"
