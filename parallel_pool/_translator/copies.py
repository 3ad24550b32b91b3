"""Copies: objects of the user's class that take on the native states of a pool's environments."""

from __future__ import annotations

import copy
import inspect
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from parallel_pool._engine.arguments import named
from parallel_pool._translator import options
from parallel_pool._translator.equality import is_equal
from parallel_pool._translator.state import State

if TYPE_CHECKING:
    import numpy as np

    from parallel_pool._engine.pool import Pool


class Copies:
    """Objects of the user's class, one for all environments with the same options.

    What a call changes in such an object is lost when it takes on the next state, except attributes
    that no step depends on, such as a window.
    """

    def __init__(self, pool: Pool, mode: str | None = None) -> None:
        """Makes no object yet.

        Args:
            pool: of translated environments.
            mode: the render mode of the objects.
        """
        self._pool, self._mode = pool, mode
        self._cls = options.class_of(pool.definition)
        about = options.about_of(pool.definition)
        self._state = State(about)
        # the attributes that hold the engine's generator
        self._generators: list[str] = about["generators"]
        self._made: dict[str, Any] = {}
        # an object is in use until its caller has what it asked for
        self.lock = threading.RLock()

    @property
    def made(self) -> list[Any]:
        """The objects that were made."""
        return list(self._made.values())

    def plain(self, env_id: int) -> Any:
        """Returns the object for an environment, with the attributes that no step changes.

        Raises:
            Exception: raised by the class.
        """
        given = self._arguments(env_id)
        key = repr(given)
        if key not in self._made:
            self._made[key] = self._make(given)
        return self._made[key]

    def take(self, env_id: int) -> Any:
        """Returns the object for an environment, with its state.

        Raises:
            StateError: it is in flight, or not reset.
            ValueError: an attribute can't be read.
            Exception: raised by the class.
        """
        env = self.plain(env_id)
        self._put(env, env_id)
        return env

    def _arguments(self, env_id: int) -> dict[str, Any]:
        definition = self._pool.definition
        own = self._pool.options_of(env_id) if self._pool.varied else self._pool.spec.options
        return options.arguments(definition, own)

    def _make(self, given: dict[str, Any]) -> Any:
        if self._mode is None:
            return self._cls(**given)
        parameters = inspect.signature(self._cls).parameters.values()
        if any(each.name == "render_mode" or each.kind is each.VAR_KEYWORD for each in parameters):
            given = {**given, "render_mode": self._mode}
        env = self._cls(**given)
        if env.render_mode != self._mode:
            env.render_mode = self._mode
        return env

    def _put(self, env: Any, env_id: int) -> np.random.Generator:
        """Gives an object the state of an environment; returns its generator."""
        attributes, generator = self._state.read(self._pool, env_id)
        for name, value in attributes.items():
            setattr(env, name, value)
        for name in self._generators:
            setattr(env, name, generator)
        env._np_random_seed = self._pool.seeds[env_id]
        return generator

    # ---------------------------------------------------------------------------- attributes --

    def has(self, name: str) -> bool:
        """Returns whether environments have an attribute or method, or may have it after a step."""
        known = name == "unwrapped" or name in self._state.names or hasattr(self._cls, name)
        return known or hasattr(self.plain(0), name)

    def attribute(self, env_id: int, name: str) -> Any:
        """Returns an attribute of an environment; "unwrapped" is an object that nobody else has.

        Raises:
            AttributeError: it has no such attribute, or it is a method.
            StateError: it is in flight, or was never reset and the attribute may change.
        """
        with self.lock:
            if name == "unwrapped":
                own = self._make(self._arguments(env_id))
                self._put(own, env_id)
                return own
            found = self._found(env_id, name)
            if callable(found):
                raise AttributeError(f"{named(name)} is a method: call it")
            return copy.deepcopy(found)

    def call(self, env_id: int, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Returns what a method of an environment returns, or an attribute.

        Raises:
            AttributeError: it has no such method; or the method has changed the environment, of
                which it got a copy.
            StateError: it is in flight, or not reset.
            Exception: raised by the method.
        """
        with self.lock:
            env = self.plain(env_id)
            if not callable(getattr(type(env), name, None)) and not (args or kwargs):
                return self.attribute(env_id, name)
            used = self._put(env, env_id)
            before = set(vars(env))
            result = getattr(env, name)(*args, **kwargs)
            self._check_unchanged(env, env_id, name, before, used)
            return copy.deepcopy(result)

    def _found(self, env_id: int, name: str) -> Any:
        env = self.plain(env_id)
        if name in self._state.names or name not in vars(env):
            self._put(env, env_id)
        return getattr(env, name)

    def _check_unchanged(
        self, env: Any, env_id: int, name: str, before: set[str], used: np.random.Generator
    ) -> None:
        """Raises AttributeError if a call has changed what the environment's steps depend on."""
        attributes, generator = self._state.read(self._pool, env_id)
        changed = [key for key in attributes if not is_equal(vars(env).get(key), attributes[key])]
        changed += sorted(set(vars(env)) - before)
        is_drawn = used.bit_generator.state != generator.bit_generator.state
        changed += [
            each.removeprefix("_")
            for each in self._generators
            if is_drawn or vars(env).get(each) is not used
        ]
        if changed:
            raise AttributeError(
                f"{named(name)}() changes self.{', self.'.join(changed)}, and it is called on a"
                ' copy of the native state: make Python environments, backend="process", to'
                " change them"
            )
