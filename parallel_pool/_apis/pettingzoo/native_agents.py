"""NativeAgents: native environments with several players, behind `PoolParallelEnv`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from gymnasium.vector import AutoresetMode

from parallel_pool._apis.common import ale_ids, env_specs, renderer, reset_mask
from parallel_pool._apis.common.native_attributes import NativeAttributes
from parallel_pool._apis.common.vector_errors import NotResetError, check_call
from parallel_pool._apis.common.vector_infos import spread
from parallel_pool._apis.common.vector_options import autoreset_of
from parallel_pool._apis.pettingzoo.agents import Agents
from parallel_pool._apis.pettingzoo.players import PlayerColumns
from parallel_pool._engine.arguments import quote
from parallel_pool._engine.base_pool import is_in_flight
from parallel_pool._engine.pool import Pool, reset_as
from parallel_pool._engine.present_states import have_states, present_batch, restores_of
from parallel_pool._engine.trees import map_leaves, put_rows
from parallel_pool._engine.variation import first_options
from parallel_pool._engine.views import all_arrays

if TYPE_CHECKING:
    from parallel_pool._apis.pettingzoo.agents import ConvertReset, MakeResult, Outcome
    from parallel_pool._apis.pettingzoo.groups import AgentArrays
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.views import Views

CURE = "give functions that make Python environments"


class NativeAgents(Agents):
    """The players of n native environments; see `Agents`."""

    pool: Pool

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
        self.metadata = env_specs.vector_metadata(definition, reference, render_mode)
        self.render_mode = render_mode
        drawing = renderer.pop_options(definition, options)
        options = definition.spread(options, num_envs)
        own_limit = env_specs.own_limit(spec, definition, options, num_envs)
        pool = Pool(
            definition,
            num_envs,
            batch_size=batch_size,
            num_threads=num_threads,
            thread_affinity_offset=thread_affinity_offset,
            autoreset=autoreset_of(mode),
            max_episode_steps=env_specs.time_limit(max_episode_steps, own_limit),
            reward_dtype="float64",
            options=options,
        )
        self._columns = PlayerColumns(pool)
        super().__init__(pool, self._columns.possible_agents, self._columns.groups)
        spec.kwargs = options
        self._spec, self._games = spec, ale_ids.games(pool)
        # the calls of `set_state`, and how many of them `_live` knows of
        self._restores = restores_of(pool)
        self._known_restores = 0
        own = {
            "metadata": self.metadata,
            "render_mode": render_mode,
            "observation_space": pool.spec.observation_space(),
            "action_space": pool.spec.action_space(),
            "reward_threshold": definition.reward_threshold,
        }
        self._attributes = NativeAttributes(
            pool, reference, options, drawing, own, maker="PoolParallelEnv", cure=CURE
        )
        self._renderer = renderer.make_renderer(
            pool, reference, render_mode, drawing, self.metadata
        )

    # ------------------------------------------------------------------------------ stepping --

    @property
    def live(self) -> Array:
        """Which agents act in the next step of their environment, bool (n, k)."""
        count = self._restores.count
        if count != self._known_restores:
            self._live = self._present_live()
            self._known_restores = count
        return self._live

    def _present_live(self) -> Array:
        """Returns who acts next; of environments in flight, what was known before."""
        live = self._live.copy()
        idle = [i for i in range(len(live)) if not is_in_flight(self.pool, i)]
        goes_on = [i for i in idle if not self.pool.needs_reset(i)]
        live[idle] = False
        live[goes_on] = self._columns.live(self.pool, goes_on)
        return live

    def _has_begun(self) -> bool:
        if not self._was_reset and self._restores.count:
            self._was_reset = have_states(self.pool)
        return self._was_reset

    def step(self, blocks: Sequence[Any], make_result: MakeResult = None) -> Any:
        """Steps with the actions of each group; raises NotResetError before the first reset."""
        if not self._was_reset and not self._has_begun():
            raise NotResetError("step() before reset(): call reset() first")
        return super().step(blocks, make_result)

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
        convert: ConvertReset,
    ) -> Outcome:
        env_ids = others = None
        if mask is not None:
            env_ids = np.flatnonzero(mask).astype(np.int32)
            seed = None if seed is None else [seed[i] for i in env_ids]
            others = reset_mask.observe_others(self.pool, mask)

        def whole(views: Views) -> AgentArrays:
            arrays = self._arrays(views)
            if seed is not None and self._games.any():
                arrays.infos.update(ale_ids.seeds_info(seed, self._games[arrays.env_ids]))
            if mask is None:
                return arrays
            found: AgentArrays = map_leaves(partial(spread, mask=mask), arrays)
            if others is not None:
                put_rows(found.observations, ~mask, self._columns.blocks(others))
            return found._replace(env_ids=np.arange(len(mask), dtype=np.int32))

        return reset_as(self.pool, partial(convert, whole), env_ids, seed, options)

    def present(self) -> AgentArrays:
        """Returns the present states as in `Agents`; zeros of environments that have none."""
        arrays = self._columns.arrays(present_batch(self.pool), self.live)
        return arrays._replace(live=self.live.copy())

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
        if name == "render":
            return self._pictures()
        if args or kwargs or self._attributes.has_method(name):
            return self._attributes.call(name, args, kwargs, range(self.pool.num_envs))
        return self.get_attr(name)

    def get_attr(self, name: str) -> Sequence[Any]:
        """Returns an option of the environments, or another constant; of a translated class any.

        Raises:
            AttributeError: native environments have no such attribute.
            StateError: an attribute of the state, before the first reset.
        """
        return self._attributes.get(name, range(self.pool.num_envs), self._spec)

    def _pictures(self) -> Sequence[Any]:
        if not self._has_begun():
            raise NotResetError("render() before reset(): call reset() first")
        return renderer.pictures(self._renderer, self.pool.num_envs, "PoolParallelEnv")

    def set_attr(self, name: str, values: Sequence[Any]) -> NoReturn:
        """Raises AttributeError: attributes of native environments are fixed when they are made."""
        self._attributes.refuse_set(name, values)

    def close(self, timeout: float | None) -> None:
        """Ends the threads and closes windows; see `PoolParallelEnv.close`."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None
        self._attributes.close()
        super().close(timeout)
