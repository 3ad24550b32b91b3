"""NativeAttributes: attributes and methods of environments whose state lives in C."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from parallel_pool._apis.common import ale_ids, renderer
from parallel_pool._apis.common.reference_env import METHODS, ReferenceEnv
from parallel_pool._engine import registry
from parallel_pool._engine.arguments import named, quote
from parallel_pool._engine.mixture import TASK
from parallel_pool._engine.variation import LIMIT
from parallel_pool.errors import StateError

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec

    from parallel_pool._engine.pool import Pool

# the steps of Gymnasium's wrapper TimeLimit
STEPS_OF_LIMIT = f"_{LIMIT}"
# attributes that vector environments answer themselves
GYMNASIUM_NAMES = {"spec", "metadata", "render_mode", "observation_space", "action_space"}


class NativeAttributes:
    """What `get_attr` and `call` return of a pool's environments, and why `set_attr` is refused.

    Attributes are the constructor's options, constants of the Gymnasium environment that native
    ones equal, what vector environments answer themselves, and the seeds; of a class in Python
    whose state the family can read, every attribute and all methods that change nothing.
    """

    def __init__(
        self,
        pool: Pool,
        reference: EnvSpec | None,
        options: Mapping[str, Any],
        drawing: Mapping[str, Any],
        own: Mapping[str, Any],
        *,
        limit: Any = None,
        maker: str,
        cure: str,
    ) -> None:
        """
        Args:
            pool: of the environments.
            reference: spec of the Gymnasium environment that they equal; None if there is none.
            options: of its constructor, without drawing options.
            drawing: the drawing options that were given.
            own: what the vector environment itself knows, by name: the attributes in
                GYMNASIUM_NAMES but "spec", and what the reference lacks.
            limit: the steps of Gymnasium's wrapper TimeLimit; None if there is none.
            maker: what takes the options, for error messages.
            cure: what has other attributes, for error messages.
        """
        self._pool, self._drawing, self._maker, self._cure = pool, drawing, maker, cure
        self._own = own if limit is None else {**own, STEPS_OF_LIMIT: limit}
        draws = own["render_mode"] is not None
        self._reference = ReferenceEnv(reference, {**options, **drawing}, draws=draws, pool=pool)
        # None unless the family has its environments in Python; a pool holds no reference to it
        self._copies = registry.copies_of(weakref.proxy(pool))

    # ---------------------------------------------------------------------------------- values --

    def get(self, name: str, env_ids: Sequence[int], spec: EnvSpec | None) -> list[Any]:
        """Returns an attribute of each of these environments.

        Args:
            name: of the attribute.
            env_ids: the environments.
            spec: what "spec" is.

        Raises:
            AttributeError: there is no such attribute, or its value depends on the state.
            StateError: an attribute of the state, or a drawn option, before the first reset.
        """
        pool = self._pool
        if name == "np_random_seed":
            return [pool.seeds[env_id] for env_id in env_ids]
        if is_own(self._copies, name):
            return [self._copies.attribute(env_id, name) for env_id in env_ids]
        self._check_tasks(name, env_ids)
        option = LIMIT if name == STEPS_OF_LIMIT and name in self._own else name
        if option in pool.varied:
            return [pool.option_value(option, env_id) for env_id in env_ids]
        value = self._constant(name, spec)
        return [copy.deepcopy(value) for _ in env_ids]

    def has(self, name: str, spec: EnvSpec | None) -> bool:
        """Returns whether the environments have an attribute, or a method besides `render`."""
        if self.has_method(name):
            return True
        try:
            self.get(name, [0], spec)
        except AttributeError:
            return False
        except StateError:
            # an option that the first reset draws
            return True
        return True

    def _check_tasks(self, name: str, env_ids: Sequence[int]) -> None:
        """Refuses an option of other tasks of a mixture: their default is no attribute of this one.

        Raises:
            AttributeError: an environment's task has no such option.
        """
        pool, definition = self._pool, self._pool.definition
        if name == TASK or name not in definition.options:
            return
        found = definition.definitions_of(pool.spec, pool.num_envs)
        for env_id in env_ids:
            if name not in found[env_id].options:
                raise AttributeError(
                    f"{name}: environment {env_id} of {definition.id} is {found[env_id].id}, which"
                    " has no such option"
                )

    def _constant(self, name: str, spec: EnvSpec | None) -> Any:
        """Returns an attribute whose value is the same for every environment."""
        metadata = {k: v for k, v in self._own["metadata"].items() if k != "autoreset_mode"}
        known = {**self._options(), "spec": spec, **self._own, "metadata": metadata}
        constant: Mapping[str, Any] = {}
        is_known = name in known
        # where options differ, an attribute that depends on them is not constant
        if name not in GYMNASIUM_NAMES and not self._pool.varied:
            constant = self._reference.values()
            is_known = is_known and not self._reference.changes(name)
        if name in constant:
            return constant[name]
        if not is_known:
            raise AttributeError(
                f"{named(name)}: {self._pool.definition.id} is native: its state lives in C, and"
                f" only constants can be read. Known are {', '.join({**known, **constant})},"
                f" np_random_seed; for others {self._cure}"
            )
        return known[name]

    def _options(self) -> dict[str, Any]:
        """Returns the values of the constructor's options, drawing options included."""
        pool = self._pool
        described = pool.definition.options
        options = {
            name: value
            for name, value in pool.spec.options.items()
            if not described[name].is_hidden
        }
        return {**options, **renderer.defaults(pool.definition), **self._drawing}

    # --------------------------------------------------------------------------------- methods --

    def has_method(self, name: str) -> bool:
        """Returns whether `call` calls it: one of METHODS of Atari games, or of a class."""
        return self._is_of_games(name) or is_own(self._copies, name)

    def _is_of_games(self, name: str) -> bool:
        return name in METHODS and self._pool.definition.family == ale_ids.FAMILY

    def call(
        self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], env_ids: Sequence[int]
    ) -> list[Any]:
        """Calls a method, which changes no attribute, of each of these environments.

        Raises:
            AttributeError: there is no such method.
        """
        if self._is_of_games(name):
            value = self._reference.call(name, args, kwargs)
            return [copy.deepcopy(value) for _ in env_ids]
        if is_own(self._copies, name):
            return [self._copies.call(env_id, name, args, kwargs) for env_id in env_ids]
        given = [*map(quote, args), *(f"{key}={quote(value)}" for key, value in kwargs.items())]
        known = ["render", *sorted(filter(self._is_of_games, METHODS))]
        raise AttributeError(
            f"{named(name)}({', '.join(given)}): {self._pool.definition.id} is native, and has no"
            f" such method, only {', '.join(known)}: {self._cure}"
        )

    # --------------------------------------------------------------------------------- setting --

    def refuse_set(self, name: str, value: Any) -> NoReturn:
        """Raises AttributeError, which names the cure."""
        refuse_set(name, value, self._maker, self._cure)

    def close(self) -> None:
        """Closes the reference if it was made."""
        self._reference.close()


def refuse_set(name: str, value: Any, maker: str, cure: str) -> NoReturn:
    """Raises AttributeError: native environments keep the attributes with which they were made.

    Args:
        name, value: what was to be set.
        maker, cure: as for `NativeAttributes`.
    """
    raise AttributeError(
        f"{named(name)}={quote(value)}: attributes of native environments are fixed when they are"
        f" made: give {named(name)}=... to {maker} if it is an option, or {cure}"
    )


def is_own(copies: Any, name: str) -> bool:
    """Returns whether an attribute or method is read of objects of the user's class.

    Args:
        copies: as `registry.copies_of` returns them; None for none.
        name: of the attribute.
    """
    return copies is not None and name not in GYMNASIUM_NAMES and copies.has(name)
