"""Verification: plays a class and its translation side by side, before anybody uses it.

The tests of the translator can't hold every program that people write. So each translation is held
against its class once, for a moment; `python -m parallel_pool check` does it for longer.
"""

from __future__ import annotations

import contextlib
import io
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from parallel_pool._engine.pool import Pool
from parallel_pool._engine.specs import GIVEN
from parallel_pool._engine.trees import flat
from parallel_pool._native import lib
from parallel_pool._translator import players
from parallel_pool._translator.refusal import OVERFLOW
from parallel_pool.errors import EnvError, SourceError

if TYPE_CHECKING:
    from parallel_pool._engine.specs import Definition

SEEDS = (0, 1, 2, 3)
# of an episode, and of all; seconds are the processor's, as a busy machine must verify no less
STEPS = 250
SECONDS = 1.0


# what a translation raises where its class goes on
LIMITS = (NotImplementedError, MemoryError)


class Difference(Exception):
    """A result of the translation that is not that of the class."""


class NotTranslated(Exception):
    """Something of the class that is not translated, which is only seen when it runs."""


def verify(cls: Any, definition: Definition, options: Mapping[str, Any], marker: Path) -> None:
    """Compares a translation with its class, unless that was done before.

    Args:
        cls: the class.
        definition: of its translation.
        options: of the class's constructor.
        marker: the file that says that it was done.

    Raises:
        SourceError: they differ.
    """
    if marker.exists():
        return
    until = time.thread_time() + SECONDS
    for seed in SEEDS:
        try:
            with _quiet():
                kind = _Game if players.is_parallel(cls) else _Episode
                kind(cls, definition, options, seed).play(until)
        except NotTranslated as error:
            raise SourceError(f"{cls.__name__} can't be translated: {error}") from None
        except Difference as difference:
            raise SourceError(
                f"{cls.__name__} can't be translated: with seed {seed}, {difference}. That is a"
                " mistake of parallel_pool: please report it with the class; backend='process'"
                " runs the class itself"
            ) from None
    with contextlib.suppress(OSError):
        marker.touch()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Hides what the class prints and warns of: the user did not ask it to run."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


class _Episode:
    """One environment of each form."""

    def __init__(
        self, cls: Any, definition: Definition, options: Mapping[str, Any], seed: int
    ) -> None:
        self.env = cls(**options)
        self.seed = seed
        self.pool = Pool(
            definition,
            1,
            num_threads=1,
            autoreset="disabled",
            max_episode_steps=2 * STEPS,
            reward_dtype="float64",
            seed=seed,
        )
        self.at = {(column.field, column.name): at for at, column in enumerate(self.pool.columns)}
        self.num_observations = len(self.pool.spec.observations)

    def play(self, until: float) -> None:
        """Plays random actions.

        Raises:
            Difference: a result differs.
        """
        try:
            self._play(until)
        finally:
            self.pool.close()
            with contextlib.suppress(Exception):
                self.env.close()

    def _play(self, until: float) -> None:
        if not self._reset():
            return
        self.env.action_space.seed(self.seed)
        for step in range(STEPS):
            if time.thread_time() > until:
                return
            action = self.env.action_space.sample()
            where = f"step {step} with the action {action}"
            if not self._step(action, where):
                return

    def _reset(self) -> bool:
        try:
            observation, info = self.env.reset(seed=self.seed)
        except Exception as error:
            self._check_fails(lambda: self.pool.reset(seed=self.seed), "reset()", error)
            return False
        batch = self._native(lambda: self.pool.reset(seed=self.seed), "reset()")
        if batch is None:
            return False
        self._compare(batch, observation, info, "reset()")
        return True

    def _step(self, action: Any, where: str) -> bool:
        """Steps both; returns whether the episode goes on."""
        actions = np.expand_dims(action, 0)
        try:
            observation, reward, terminated, truncated, info = self.env.step(action)
        except Exception as error:
            self._check_fails(lambda: self.pool.step(actions), where, error)
            return False
        batch = self._native(lambda: self.pool.step(actions), where)
        if batch is None:
            return False
        self._compare(batch, observation, info, where)
        for name, value in (
            ("reward", float(reward)),
            ("terminated", bool(terminated)),
            ("truncated", bool(truncated)),
        ):
            _same(self._column(batch, -1, name), np.asarray(value), f"{where}, the {name}")
        return not (terminated or truncated)

    def _native(self, call: Any, where: str) -> Any:
        """Returns a batch; None if an int left 64 bits, which is an error in C only."""
        try:
            return call()
        except EnvError as error:
            if OVERFLOW in str(error):
                return None
            if any(f"{each.__name__}: " in str(error) for each in LIMITS):
                raise NotTranslated(f"{where}: {error}") from None
            raise Difference(f"{where} fails in C only ({error})") from None

    def _check_fails(self, call: Any, where: str, error: Exception) -> None:
        """Checks that the translation fails where the class does."""
        try:
            call()
        except EnvError:
            return
        raise Difference(f"{where} fails in Python only ({type(error).__name__}: {error})")

    def _column(self, batch: Any, field: int, name: str) -> Any:
        return batch[self.at[field, name]][0]

    def _compare(self, batch: Any, observation: Any, info: Any, where: str) -> None:
        space = self.env.observation_space
        for field, (name, part, value) in enumerate(_parts(space, observation)):
            wanted = np.asarray(value, dtype=part.dtype if part.dtype is not None else np.int64)
            _same(self._column(batch, field, name), wanted, f"{where}, the observation {name}")
        info = flat(info)
        self._compare_keys(batch, info, where)
        for (field, name), at in self.at.items():
            if field >= self.num_observations and name in info:
                what = f"{where}, the info {name!r}"
                if (texts := self.pool.spec.fields[field].texts) is not None:
                    text = texts.of_row(batch[at][0])
                    if text != info[name]:
                        raise Difference(f"{what} is {info[name]!r} in Python and {text!r} in C")
                    continue
                found, wanted = np.asarray(batch[at][0]), np.asarray(info[name])
                if found.dtype != wanted.dtype and found.dtype.kind != "f":
                    raise Difference(f"{what} is {wanted.dtype} in Python and {found.dtype} in C")
                _same(found, wanted, what)

    def _compare_keys(self, batch: Any, info: Any, where: str) -> None:
        """Compares which infos there are, as far as some results lack some."""
        for name, bit in self.pool.spec.given.items():
            has = bool(self._info(batch, GIVEN) & bit)
            if has != (name in info):
                there = "there" if has else "missing"
                raise Difference(f"{where}, the info {name!r} is {there} in C, and not in Python")

    def _info(self, batch: Any, name: str) -> Any:
        """Returns the value of an info of the environment, or the values of its agents."""
        at = next(at for (field, each), at in self.at.items() if field >= 0 and each == name)
        return batch[at][0]


class _Game(_Episode):
    """One environment of each form, with several agents."""

    def _play(self, until: float) -> None:
        self.names = list(self.pool.spec.player_names)
        self.spaces = {agent: self.env.action_space(agent) for agent in self.names}
        if not self._reset():
            return
        acting = list(self.env.agents)
        for i, space in enumerate(self.spaces.values()):
            space.seed(self.seed + i)
        for step in range(STEPS):
            if time.thread_time() > until or not acting:
                return
            actions = {agent: self.spaces[agent].sample() for agent in acting}
            if not self._step(actions, f"step {step} with the actions {actions}"):
                return
            acting = [agent for agent in self.env.agents if agent not in self.ended]

    def _step(self, action: Any, where: str) -> bool:
        given = {agent: np.asarray(each) for agent, each in action.items()}
        try:
            observations, rewards, terminations, truncations, infos = self.env.step(action)
        except Exception as error:
            self._check_fails(lambda: self.pool.step(self._row(given)), where, error)
            return False
        batch = self._native(lambda: self.pool.step(self._row(given)), where)
        if batch is None:
            return False
        self._compare(batch, observations, infos, where)
        marks = self._marks(batch)
        has_ended = self._info(batch, "ended")
        for what, wanted, found, bit in (
            ("reward", rewards, self._column(batch, -1, "reward").reshape(-1), lib.PP_GIVEN_REWARD),
            ("termination", terminations, has_ended, lib.PP_GIVEN_TERMINATION),
            (
                "truncation",
                truncations,
                marks & lib.PP_GIVEN_TRUNCATED > 0,
                lib.PP_GIVEN_TRUNCATION,
            ),
        ):
            self._same_agents(marks & bit > 0, wanted, f"{where}, the {what}s")
            for agent, value in wanted.items():
                is_flag = what != "reward"
                own = np.asarray(bool(value) if is_flag else float(value))
                _same(found[self.names.index(agent)], own, f"{where}, the {what} of {agent}")
        flags = (*terminations.items(), *truncations.items())
        self.ended = {agent for agent, flag in flags if flag}
        return True

    def _row(self, given: Mapping[str, Any]) -> Any:
        """Returns the actions of all agents, as the pool takes them."""
        field = self.pool.spec.action
        row = np.zeros((len(self.names), *field.shape), field.dtype)
        for agent, action in given.items():
            at: tuple[Any, ...] = (self.names.index(agent), *map(slice, action.shape))
            row[at] = action
        return row[np.newaxis] if len(self.names) > 1 else row

    def _marks(self, batch: Any) -> Any:
        return self._info(batch, "given")

    def _info(self, batch: Any, name: str) -> Any:
        values = np.asarray(super()._info(batch, name))
        return values if len(self.names) > 1 else values[np.newaxis]

    def _same_agents(self, has: Any, wanted: Mapping[str, Any], what: str) -> None:
        found = [agent for agent, own in zip(self.names, has, strict=True) if own]
        if set(found) != set(wanted):
            raise Difference(f"{what} are those of {list(wanted)} in Python and of {found} in C")

    def _compare(self, batch: Any, observation: Any, info: Any, where: str) -> None:
        marks = self._marks(batch)
        places = marks >> lib.PP_GIVEN_PLACE & 0xFFFF
        order = sorted((place, agent) for place, agent in zip(places, self.names, strict=True))
        listed = [agent for place, agent in order if place]
        if listed != list(self.env.agents):
            raise Difference(f"{where}, agents is {self.env.agents} in Python and {listed} in C")
        self._same_agents(marks & lib.PP_GIVEN_OBS > 0, observation, f"{where}, the observations")
        self._same_agents(marks & lib.PP_GIVEN_INFO > 0, info, f"{where}, the infos")
        for agent, seen in observation.items():
            i = self.names.index(agent)
            parts = _parts(self.env.observation_space(agent), seen)
            for field, (name, part, value) in zip(self.pool.spec.observations, parts, strict=True):
                dtype = part.dtype if part.dtype is not None else np.int64
                size = tuple(slice(each) for each in field.of_player(i).shape)
                found = self._info(batch, field.name)[(i, *size)]
                what = f"{where}, the observation {name} of {agent}"
                _same(found, np.asarray(value, dtype=dtype), what)
        told = [
            field.name
            for field in self.pool.spec.infos
            if field.per_player and field.name not in ("live", "ended", "given")
        ]
        for agent, own in info.items():
            i = self.names.index(agent)
            bits = marks[i] >> lib.PP_GIVEN_INFOS
            found_keys = {name for bit, name in enumerate(told) if bits >> bit & 1}
            if found_keys != set(own):
                raise Difference(
                    f"{where}, infos of {agent} are {set(own)} in Python and {found_keys} in C"
                )
            for name, value in own.items():
                what = f"{where}, the info {name!r} of {agent}"
                _same(self._info(batch, name)[i], np.asarray(value), what)


def _parts(space: Any, observation: Any) -> list[tuple[str, Any, Any]]:
    """Returns name, space and value of the arrays of an observation."""
    # a Dict is the only space that is a mapping
    if not isinstance(space, Mapping):
        return [("obs", space, observation)]
    found = []
    for key, each in space.items():
        own = None if observation is None else observation[key]
        parts = _parts(each, own) if isinstance(each, Mapping) else [("", each, own)]
        found += [(f"{key}.{name}" if name else key, part, value) for name, part, value in parts]
    return found


def _same(found: Any, wanted: Any, what: str) -> None:
    """Checks that two arrays have the same values, and zeros the same sign.

    A space or an info may have another dtype than what the class returns.
    """
    found, wanted = np.asarray(found), np.asarray(wanted).astype(np.asarray(found).dtype)
    is_float = found.dtype.kind == "f"
    same = found.shape == wanted.shape and bool(
        np.array_equal(found, wanted, equal_nan=is_float)
        and (not is_float or (np.signbit(found) == np.signbit(wanted))[~np.isnan(found)].all())
    )
    if not same:
        raise Difference(f"{what} is {wanted!r} in Python and {found!r} in C")
