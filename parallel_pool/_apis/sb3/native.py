"""NativeBackend: the backend of `PoolVecEnv` for native environments."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Dict, Tuple

from parallel_pool._apis.common import ale_ids, env_specs, renderer, tuples
from parallel_pool._apis.common.masks import rows_in
from parallel_pool._apis.common.native_attributes import NativeAttributes
from parallel_pool._apis.common.vector_errors import NotResetError
from parallel_pool._apis.common.vector_infos import of_row
from parallel_pool._apis.sb3.action_masks import METHOD, ActionMasks
from parallel_pool._apis.sb3.backend import each_reset
from parallel_pool._apis.sb3.infos import InfoDicts
from parallel_pool._engine.arguments import quote
from parallel_pool._engine.buffers import engine_indices
from parallel_pool._engine.interrupted import drain
from parallel_pool._engine.pool import Batch, Pool, Views, all_arrays, check_count
from parallel_pool._engine.pool_checks import check_reset, check_usable
from parallel_pool._engine.present_states import (
    find_resets,
    have_states,
    present_batch,
    restores_of,
)
from parallel_pool._engine.specs import Definition
from parallel_pool._engine.variation import Each, EachReset
from parallel_pool.errors import EnvError

if TYPE_CHECKING:
    from parallel_pool._apis.common.native_infos import DTypes
    from parallel_pool._apis.sb3.backend import Options, Step


class NativeBackend:
    """Steps native environments; see `Backend` for the methods.

    Attributes:
        pool: the `parallel_pool.Pool` underneath.
        num_envs: environments, n below.
        observation_space: of one environment.
        action_space: of one environment.
        metadata: a copy of the reference's.
        render_mode: None, or how pictures are drawn.
        reset_infos: the infos of each environment's last reset; a list that is changed in place.
    """

    # for close() after an __init__ that failed halfway
    _renderer: renderer.Renderer | None = None

    def __init__(
        self,
        spec: EnvSpec,
        definition: Definition,
        n_envs: int,
        *,
        max_episode_steps: int | Each | EachReset | None,
        render_mode: str | None,
        num_threads: int,
        thread_affinity_offset: int,
        options: Mapping[str, Any],
    ) -> None:
        """Makes the environments of a spec's definition; for the rest see `PoolVecEnv`."""
        kwargs = {**spec.kwargs, **options}
        stored_mode = kwargs.pop("render_mode", None)
        self.render_mode: str | None = stored_mode if render_mode is None else render_mode
        reference = env_specs.reference_of(spec, definition)
        renderer.check_mode(self.render_mode, renderer.modes(definition, reference))
        drawing = renderer.pop_options(definition, kwargs)
        self.num_envs = check_count("n_envs", n_envs, 1)
        kwargs = definition.spread(kwargs, self.num_envs)
        own_limit = env_specs.own_limit(spec, definition, kwargs, self.num_envs)
        self.pool = Pool(
            definition,
            self.num_envs,
            num_threads=num_threads,
            thread_affinity_offset=thread_affinity_offset,
            autoreset="same_step",
            max_episode_steps=env_specs.time_limit(max_episode_steps, own_limit),
            reward_dtype="float32",
            options=kwargs,
        )
        self._games = ale_ids.games(self.pool)
        self._spec = self._as_made(spec, {**kwargs, **drawing})
        self._read_pool()
        self.metadata = env_specs.metadata(definition, reference)
        own = {
            "metadata": self.metadata,
            "render_mode": self.render_mode,
            "observation_space": self.observation_space,
            "action_space": self.action_space,
        }
        instead = (
            f"make Python environments by functions: PoolVecEnv([lambda:"
            f" gymnasium.make({quote(definition.id)})] * n)"
        )
        self._attributes = NativeAttributes(
            self.pool,
            reference,
            kwargs,
            drawing,
            own,
            limit=self.pool.max_episode_steps,
            maker="PoolVecEnv",
            cure=instead,
        )
        self._renderer = renderer.make_renderer(
            self.pool, reference, self.render_mode, drawing, self.metadata
        )
        # known only of a mixture: Gymnasium's own environments have no method that returns masks
        self._masks = ActionMasks(self.observation_space, self.action_space, self.num_envs)
        self.reset_infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        self._was_reset = False
        # the calls of the pool's `set_state`, and how many of them masks and `_failed` know of
        self._restores = restores_of(self.pool)
        self._known_restores = 0
        # environments that failed: each starts a new episode at its next step
        self._failed: tuple[int, ...] = ()
        # the actions in flight, if there is a renderer
        self._actions: Any = None
        # their dtypes, if infos follow them
        self._dtypes: DTypes = None

    def _as_made(self, spec: EnvSpec, kwargs: dict[str, Any]) -> EnvSpec:
        """Returns the spec that an environment from `gymnasium.make` has."""
        made = copy.deepcopy(spec)
        made.kwargs = kwargs
        if self.render_mode is not None:
            made.kwargs["render_mode"] = self.render_mode
        limit = self.pool.max_episode_steps
        made.max_episode_steps = limit if isinstance(limit, int) else None
        return made

    def _read_pool(self) -> None:
        """Stores the spaces, and the indices of the columns that results are made of."""
        spec, columns = self.pool.spec, self.pool.columns
        if spec.num_players != 1:
            raise ValueError(
                f"{self.pool.definition.id} has {spec.num_players} players: Stable-Baselines3 takes"
                " one reward for each environment: use parallel_pool.make"
            )
        texts = [field.name for field in spec.observations if field.texts is not None]
        if texts:
            raise ValueError(
                f"{self.pool.definition.id} has a text among its observations"
                f" ({', '.join(texts)}), which Stable-Baselines3 can't learn from: leave it out by"
                " an option of the environment, or use parallel_pool.make_vec"
            )
        self.observation_space: gymnasium.Space[Any] = spec.observation_space()
        nested = [field.name for field in spec.observations if "." in field.name]
        if nested:
            raise ValueError(
                f"{self.pool.definition.id} has a Dict in its Dict of observations"
                f" ({', '.join(nested)}), which Stable-Baselines3 can't learn from: write one Dict,"
                " or use parallel_pool.make_vec"
            )
        self.action_space: gymnasium.Space[Any] = spec.action_space()
        self._infos = InfoDicts(self.pool.definition, spec, columns)
        engine = engine_indices(columns)
        self._reward, self._terminated, self._truncated = (
            engine[name] for name in ("reward", "terminated", "truncated")
        )
        names = [field.name for field in spec.observations]
        self._last = next(i for i, column in enumerate(columns) if column.is_final)
        # keys in the order of the space; none for a single array
        space = self.observation_space
        keys = list(space.spaces) if isinstance(space, Dict) else []
        self._is_tuple = isinstance(space, Tuple)
        self._observation_columns = {key: names.index(key) for key in keys}
        # a last observation is the environment's own, whose keys come as its definition lists them
        self._last_columns = {
            key: self._last + i
            for key, i in sorted(self._observation_columns.items(), key=lambda item: item[1])
        }

    # ------------------------------------------------------------------------------ stepping --

    def reset(self, seeds: Sequence[int | None], options: Options) -> Any:
        resets = each_reset(self.num_envs, seeds, options)
        for reset in resets:
            check_reset(self.pool, **reset)
        for _, failed in drain(self.pool):
            self._failed = failed
        try:
            batch = self._reset(resets)
        except EnvError as error:
            self._failed = error.env_ids
            error.batch = self._observations(error.batch)
            raise
        self._was_reset, self._failed = True, ()
        self._known_restores = self._restores.count
        self.reset_infos[:] = [self._infos.of_reset(batch, i) for i in range(self.num_envs)]
        for infos, seed, is_game in zip(self.reset_infos, seeds, self._games, strict=True):
            if is_game and seed is not None:
                infos["seeds"] = ale_ids.seeds_of(seed)
        if self._renderer is not None:
            self._renderer.after_reset(np.ones(self.num_envs, np.bool_))
        observations = self._observations(batch)
        if self.pool.definition.tasks:
            self._masks.take(observations, self.reset_infos)
        return observations

    def _reset(self, resets: Sequence[dict[str, Any]]) -> Batch:
        # one after another: the pool takes options only while nothing is in flight
        batches = [self.pool.reset(**reset) for reset in resets]
        if len(batches) == 1:
            return batches[0]
        return tuple(np.concatenate(parts) for parts in zip(*batches, strict=True))

    def send(self, actions: Any) -> None:
        if not self._was_reset and not self._has_begun():
            check_usable(self.pool)
            raise NotResetError("a step before reset(): call reset() first")
        if self._restores.count != self._known_restores:
            self._see_restored()
        self.pool.send(actions)
        if self._infos.follows:
            self._dtypes = self.pool.action_dtypes(actions)
        if self._renderer is not None:
            self._actions = np.array(actions)

    def _has_begun(self) -> bool:
        """Returns whether all environments may be stepped: reset, or restored from snapshots."""
        if not self._was_reset and self._restores.count:
            self._was_reset = have_states(self.pool)
        return self._was_reset

    def _see_restored(self) -> None:
        """Takes over what has changed since the last result if the pool's `set_state` was called:
        masks, and which environments begin an episode in their next step."""
        count = self._restores.count
        # of a step in flight nothing is known yet, and `set_state` is refused meanwhile
        if count == self._known_restores or self.pool.in_flight or not self._has_begun():
            return
        self._failed = tuple(rows_in(find_resets(self.pool)))
        if self.pool.definition.tasks:
            batch = present_batch(self.pool)
            infos = self._infos.of_steps(batch, self.num_envs)
            self._masks.take(self._observations(batch), infos)
        self._known_restores = count

    def receive(self) -> Step:
        def convert(views: Views) -> tuple[Step, renderer.Drawn | None, Exception | None]:
            return self._result(all_arrays(views))

        try:
            step, drawn, failure = self.pool.recv_as(convert)
        except EnvError as error:
            error.batch, drawn, _ = self._result(error.batch)
            if drawn is not None and self._renderer is not None:
                self._renderer.drawn = drawn
            self._failed = error.env_ids
            raise
        # no function call from here on: Python handles signals after each
        self._failed = ()
        if drawn is not None and self._renderer is not None:
            self._renderer.drawn = drawn
        if failure is not None:
            raise failure
        return step

    def _result(self, batch: Batch) -> tuple[Step, renderer.Drawn | None, Exception | None]:
        """Returns a step's result, infos included, its pictures, and the exception of these.

        May be called again for the same batch: Ctrl-C may come before its result is stored.
        """
        terminated, truncated = batch[self._terminated], batch[self._truncated]
        dones = terminated | truncated
        infos = self._infos.of_steps(batch, self.num_envs, self._dtypes)
        restarted = rows_in(dones)
        for env_id in restarted:
            is_truncated = bool(truncated[env_id]) and not terminated[env_id]
            infos[env_id] = self._infos.of_end(batch, env_id, is_truncated, self._dtypes)
            infos[env_id]["terminal_observation"] = self._terminal_observation(batch, env_id)
        if self._failed:
            # for these the step was a reset
            for env_id in self._failed:
                infos[env_id] = self._infos.of_end(batch, env_id, False, self._dtypes)
            restarted = [*restarted, *self._failed]
        for env_id in restarted:
            self.reset_infos[env_id] = self._infos.of_reset(batch, env_id)
        drawn = failure = None
        if self._renderer is not None:
            mask = np.zeros(self.num_envs, np.bool_)
            mask[restarted] = True
            try:
                drawn = self._renderer.of_step(self._actions, mask)
            except Exception as error:
                failure = error
        observations = self._observations(batch)
        if self._masks.are_known:
            now: list[dict[str, Any]] = list(infos)
            for env_id in restarted:
                now[env_id] = self.reset_infos[env_id]
            self._masks.take(observations, now)
        return (observations, batch[self._reward], dones, infos), drawn, failure

    def _observations(self, batch: Batch) -> Any:
        """Returns the observations of a batch."""
        if not self._observation_columns:
            return tuples.split(batch[0]) if self._is_tuple else batch[0]
        return {key: batch[i] for key, i in self._observation_columns.items()}

    def _terminal_observation(self, batch: Batch, env_id: int) -> Any:
        """Returns a copy of the last observation of an episode that ended."""
        if not self._observation_columns:
            last = batch[self._last]
            return of_row(tuples.split(last) if self._is_tuple else last, env_id)
        return {key: batch[i][env_id].copy() for key, i in self._last_columns.items()}

    def close(self, timeout: float | None = None) -> None:
        if self._renderer is not None:
            self._renderer.close()
        self._attributes.close()
        self.pool.close(timeout=timeout)

    # ------------------------------------------------------------------- single environments --

    def render(self) -> tuple[Any, ...]:
        """Draws every environment; without a render mode returns Nones, as Gymnasium does."""
        if not self._has_begun():
            raise NotResetError("a picture before reset(): call reset() first")
        if self._renderer is None:
            return (None,) * self.num_envs
        return self._renderer.render()

    def get_attr(self, name: str, env_ids: Sequence[int]) -> list[Any]:
        return self._attributes.get(name, env_ids, self._spec)

    def _have_masks(self) -> bool:
        """Returns whether there are masks, which are those of the present states."""
        self._see_restored()
        return self._masks.are_known

    def has_attr(self, name: str) -> bool:
        if name == METHOD and self._have_masks():
            return True
        return self._attributes.has(name, self._spec)

    def set_attr(self, name: str, value: Any, env_ids: Sequence[int]) -> NoReturn:
        """Always raises: attributes of native environments are fixed when they are made."""
        self._attributes.refuse_set(name, value)

    def call(
        self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], env_ids: Sequence[int]
    ) -> list[Any]:
        """Calls a method for each of these environments: `render`, `get_action_meanings` and
        `get_keys_to_action` of Atari games, or one of a class that was translated from Python,
        which changes no attribute."""
        if name == "render" and not args and not kwargs:
            pictures = self.render()
            return [pictures[env_id] for env_id in env_ids]
        if name == METHOD and self._have_masks():
            return list(self._masks.of(env_ids))
        if name in ("reset", "step", "close"):
            raise AttributeError(f"{name}: call {name}() of the vector environment instead")
        return self._attributes.call(name, args, kwargs, env_ids)

    def is_wrapped(self, wrapper_class: type[Any], env_ids: Sequence[int]) -> list[bool]:
        """Returns whether the environments from `gymnasium.make` have this wrapper."""
        wrappers = gymnasium.wrappers
        chain: list[type[Any]] = []
        if not self._spec.disable_env_checker:
            chain.append(wrappers.PassiveEnvChecker)
        if self._spec.order_enforce:
            chain.append(wrappers.OrderEnforcing)
        if self.pool.max_episode_steps is not None:
            chain.append(wrappers.TimeLimit)
        return [any(issubclass(each, wrapper_class) for each in chain) for _ in env_ids]
