"""NativeAgents: native environments with several players, behind `PoolParallelEnv`."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from gymnasium import logger
from gymnasium.vector import AutoresetMode

from parallel_pool._apis.common import ale_ids, env_specs, native_attributes, renderer
from parallel_pool._apis.common.vector_errors import NotResetError
from parallel_pool._apis.common.vector_infos import spread
from parallel_pool._apis.gymnasium.vector_env import check_call
from parallel_pool._apis.pettingzoo.agent_pool import AgentPool
from parallel_pool._apis.pettingzoo.agents import Agents
from parallel_pool._apis.pettingzoo.players import PlayerColumns
from parallel_pool._engine import registry
from parallel_pool._engine.arguments import named, quote
from parallel_pool._engine.pool import reset_as
from parallel_pool._engine.trees import map_leaves, put_rows
from parallel_pool._engine.variation import first_options
from parallel_pool._engine.views import all_arrays
from parallel_pool.errors import StateError

if TYPE_CHECKING:
    from parallel_pool._apis.pettingzoo.agents import Outcome, Show
    from parallel_pool._apis.pettingzoo.groups import AgentArrays
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.views import Views

CURE = "give functions that make Python environments"


class NativeAgents(Agents):
    """The players of n native environments; see `Agents`."""

    pool: AgentPool

    def __init__(
        self,
        task_id: str,
        num_envs: int,
        batch_size: int,
        mode: AutoresetMode,
        /,
        *,
        num_threads: int,
        thread_affinity_offset: int,
        max_episode_steps: Any = None,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        """Makes the environments; for arguments and exceptions see `PoolParallelEnv`."""
        if render_mode is not None and batch_size < num_envs:
            raise TypeError(
                f"render_mode={quote(render_mode)}: an asynchronous pool (batch_size={batch_size} <"
                f" num_envs={num_envs}) draws no pictures: leave one of the two out"
            )
        spec = env_specs.find(task_id)
        options = {**spec.kwargs, **options}
        try:
            definition = env_specs.definition_of(spec, first_options(options))
        except ValueError as error:
            raise ValueError(f"{error}: {CURE}") from None
        reference = env_specs.reference_of(spec, definition)
        self._set_metadata(
            env_specs.metadata(definition, reference),
            renderer.modes(definition, reference),
            render_mode,
        )
        self._drawing = {
            name: options.pop(name) for name in renderer.defaults(definition) if name in options
        }
        options = definition.spread(options, num_envs)
        own_limit = env_specs.own_limit(spec, definition, options, num_envs)
        pool = AgentPool(
            definition,
            num_envs,
            batch_size=batch_size,
            num_threads=num_threads,
            thread_affinity_offset=thread_affinity_offset,
            autoreset=mode.name.lower(),
            max_episode_steps=env_specs.time_limit(max_episode_steps, own_limit),
            reward_dtype="float64",
            options=options,
        )
        self._columns = PlayerColumns(pool)
        super().__init__(pool, self._columns.possible_agents, self._columns.groups)
        spec.kwargs = options
        self._spec, self._games = spec, ale_ids.games(pool)
        # the calls of `set_state` that `_live` knows of
        self._restores = 0
        self._reference = native_attributes.ReferenceEnv(
            reference, {**options, **self._drawing}, draws=render_mode is not None, pool=pool
        )
        self._renderer = renderer.make_renderer(
            pool, reference, render_mode, self._drawing, self.metadata
        )
        # None unless the environments were translated from Python
        self._copies = registry.copies_of(weakref.proxy(pool))

    def _set_metadata(
        self, metadata: dict[str, Any], drawn: list[str], render_mode: str | None
    ) -> None:
        """Sets the metadata and checks the render mode; `drawn`: modes that draw one picture."""
        lists = [f"{mode}_list" for mode in drawn if mode != "human"]
        renderer.check_mode(render_mode, [*drawn, *lists])
        self.metadata, self.render_mode = metadata, render_mode
        # as Gymnasium's RenderCollection does
        if render_mode in lists:
            metadata["render_modes"] = [*metadata["render_modes"], render_mode]

    # ------------------------------------------------------------------------------ stepping --

    @property
    def live(self) -> Array:
        """Which agents act in the next step of their environment, bool (n, k)."""
        restores = self.pool.restores
        if restores != self._restores:
            self._live = self.pool.read_live(self._live)
            self._restores = restores
        return self._live

    def _has_begun(self) -> bool:
        if not self._was_reset and self.pool.restores:
            try:
                self.pool.observe()
            except StateError:
                return False
            self._was_reset = True
        return self._was_reset

    def step(self, blocks: Sequence[Any], show: Show = None) -> Any:
        """Steps with the actions of each group; raises NotResetError before the first reset."""
        if not self._was_reset and not self._has_begun():
            raise NotResetError("step() before reset(): call reset() first")
        return super().step(blocks, show)

    def _actions(self, blocks: Sequence[Any], live: Array) -> Array:
        return self._columns.joined(blocks, live)

    def _arrays(self, views: Views, actions: Any = None) -> AgentArrays:
        dtypes = None
        if self._columns.follows and actions is not None:
            dtypes = self.pool.action_dtypes(actions)
        return self._columns.arrays(all_arrays(views), self._live, dtypes)

    def _draw(self, views: Views, actions: Any) -> None:
        assert self._renderer is not None
        self._renderer.after_step(actions, self._columns.restarted(all_arrays(views)))

    def _reset(
        self,
        seed: list[int | None] | None,
        options: Any,
        mask: Array | None,
        convert: Callable[[Callable[[Views], AgentArrays], Views], Outcome],
    ) -> Outcome:
        env_ids = others = None
        if mask is not None:
            env_ids = np.flatnonzero(mask).astype(np.int32)
            seed = None if seed is None else [seed[i] for i in env_ids]
            others = self._observe_others(mask)

        def whole(views: Views) -> AgentArrays:
            arrays = self._arrays(views)
            if seed is not None and self._games.any():
                arrays.infos.update(ale_ids.seeds_info(seed, self._games[arrays.env_ids]))
            if mask is None:
                return arrays
            found: AgentArrays = map_leaves(lambda rows: spread(rows, mask), arrays)
            if others is not None:
                put_rows(found.observations, ~mask, others)
            return found._replace(env_ids=np.arange(len(mask), dtype=np.int32))

        return reset_as(self.pool, partial(convert, whole), env_ids, seed, options)

    def _observe_others(self, mask: Array) -> tuple[Any, ...] | None:
        """Returns what the agents see in environments that a reset leaves out; None: no such.

        Raises NotResetError if one of them failed: it has no observation to repeat.
        """
        if mask.all():
            return None
        try:
            return self._columns.blocks(self.pool.observe(np.flatnonzero(~mask)))
        except StateError as error:
            if type(error) is not StateError:
                raise
            raise NotResetError(f"{error}; nothing was reset: add it to the reset_mask") from None

    def observe(self) -> tuple[Array, tuple[Any, ...]]:
        """Returns the environments in which agents are live, and what each group sees in them."""
        env_ids = np.flatnonzero(self.live.any(1))
        return env_ids, self._columns.blocks(self.pool.observe(env_ids))

    def state(self) -> Array:
        """Returns all that the agents see, one after another (n, ...), as mpe2 does."""
        return self._columns.state(self.pool.observe())

    # ---------------------------------------------------------------------------- attributes --

    def call(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Sequence[Any]:
        """Returns pictures, what a method of a translated class returns, or an attribute.

        Raises:
            ValueError: the name is reset, step or close: call these directly.
            AttributeError: native environments have no such method or attribute.
            NotResetError: a picture before the first reset.
        """
        check_call(name)
        env_ids = range(self.pool.num_envs)
        if name == "render":
            return self._pictures()
        if name in native_attributes.METHODS and self.pool.definition.family == ale_ids.FAMILY:
            value = self._reference.call(name, args, kwargs)
            return [copy.deepcopy(value) for _ in env_ids]
        if native_attributes.is_own(self._copies, name):
            return [self._copies.call(i, name, args, kwargs) for i in env_ids]
        values = self.get_attr(name)
        if args or kwargs:
            raise AttributeError(f"{named(name)}: native environments have no such method: {CURE}")
        return values

    def get_attr(self, name: str) -> Sequence[Any]:
        """Returns an option of the environments, or another constant; of a translated class any.

        Raises:
            AttributeError: native environments have no such attribute.
            StateError: an attribute of the state, before the first reset.
        """
        env_ids = range(self.pool.num_envs)
        if name == "np_random_seed":
            return self.pool.seeds
        if native_attributes.is_own(self._copies, name):
            return [self._copies.attribute(i, name) for i in env_ids]
        native_attributes.check_tasks(name, self.pool, env_ids)
        if name in self.pool.varied:
            return [self.pool.option_value(name, i) for i in env_ids]
        value = native_attributes.get(name, self.pool, self._known(), CURE, self._reference)
        return [copy.deepcopy(value) for _ in env_ids]

    def _known(self) -> dict[str, Any]:
        """Returns the attributes that are the same for all environments."""
        return {
            **native_attributes.of_options(self.pool, self._drawing),
            "spec": self._spec,
            "metadata": self.metadata,
            "render_mode": self.render_mode,
            "observation_space": self.pool.spec.observation_space(),
            "action_space": self.pool.spec.action_space(),
            "reward_threshold": self.pool.definition.reward_threshold,
        }

    def _pictures(self) -> Sequence[Any]:
        if not self._has_begun():
            raise NotResetError("render() before reset(): call reset() first")
        if self._renderer is None:
            logger.warn(
                "render() without a render mode draws nothing: give one when making the"
                ' environments, as in PoolParallelEnv(..., render_mode="rgb_array")'
            )
            return [None] * self.pool.num_envs
        return self._renderer.render()

    def set_attr(self, name: str, values: Sequence[Any]) -> NoReturn:
        """Raises AttributeError: attributes of native environments are fixed when they are made."""
        raise AttributeError(
            f"{named(name)}: attributes of native environments are fixed when they are made: give"
            f" {named(name)}=... to PoolParallelEnv if it is an option, or {CURE}"
        )

    def close(self, timeout: float | None) -> None:
        """Ends the threads and closes windows; see `PoolParallelEnv.close`."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None
        self._reference.close()
        super().close(timeout)
