"""NativeVectorEnv: native environments as a `gymnasium.vector.VectorEnv`."""

from __future__ import annotations

import copy as copying
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from gymnasium.spaces import Dict, Space, Tuple
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_differing_spaces, batch_space

from parallel_pool._apis.common import ale_ids, env_specs, renderer, reset_mask, tuples
from parallel_pool._apis.common.masks import has_any
from parallel_pool._apis.common.native_attributes import NativeAttributes
from parallel_pool._apis.common.native_infos import VectorInfos
from parallel_pool._apis.common.vector_errors import NotResetError, explain_step
from parallel_pool._apis.common.vector_infos import in_order_of_rows, of_last_steps
from parallel_pool._apis.common.vector_options import VectorOptions, autoreset_of
from parallel_pool._apis.common.xla_parts import Convert, xla_parts
from parallel_pool._apis.gymnasium import backends
from parallel_pool._apis.gymnasium.async_calls import STEP, AsyncCalls, ResetRequest
from parallel_pool._apis.gymnasium.fused_wrappers import Fused, FusedWrappers
from parallel_pool._engine.arguments import quote
from parallel_pool._engine.buffers import engine_indices
from parallel_pool._engine.interrupted import drain
from parallel_pool._engine.pool import Batch, Pool, Views, all_arrays, reset_as
from parallel_pool._engine.pool_checks import check_usable
from parallel_pool._engine.present_states import find_resets, have_states, restores_of
from parallel_pool._engine.sharing import is_shared, is_used_by_programs
from parallel_pool._engine.trees import map_leaves, names_of, nest
from parallel_pool._engine.variation import Each, EachReset
from parallel_pool._lazy import public
from parallel_pool.errors import EnvError, StateError

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec

    from parallel_pool._apis.common.native_infos import DTypes
    from parallel_pool._apis.common.vector_options import ObservationMode
    from parallel_pool._apis.gymnasium.async_calls import Reset, Step
    from parallel_pool._engine.buffers import Array


# for a step after the end of an episode
ENDED_CURE = 'reset(options={"reset_mask": terminations | truncations})'
# what has other attributes
CURE = 'make Python environments: backend="process", or Gymnasium\'s vectorization_mode="sync"'


class Sent(NamedTuple):
    """What the result of a step needs of its actions.

    Attributes:
        actions: for the pictures; None if there are none.
        dtypes: in which NumPy computes with them, if infos have these.
    """

    actions: Any
    dtypes: DTypes


# where results need nothing of the actions
NOTHING_SENT = Sent(None, None)


class Outcome(NamedTuple):
    """A step's result, and what it changes here once the pool has handed it over.

    Attributes:
        step: the result.
        ended: for the next step, whether its rows are resets, bool (n,).
        fused: what wrappers have made of it; None if there are none.
        drawn: its pictures; None without a renderer, and if drawing failed.
        failure: the exception of that.
    """

    step: Step
    ended: Array
    fused: Fused | None
    drawn: renderer.Drawn | None
    failure: Exception | None


def plain_step(views: Views) -> Step:
    """Returns a step's result for environments with one observation array and no infos."""
    observation, reward, terminated, truncated = views[:4]
    return observation(), reward(), terminated(), truncated(), {}


@public("compat.gymnasium")
class NativeVectorEnv(AsyncCalls):
    """Native environments as a `gymnasium.vector.VectorEnv`.

    See `PoolVectorEnv` for what it returns and for its attributes; its `pool` is a
    `parallel_pool.Pool`.

    Example:
        >>> envs = parallel_pool.make_vec("CartPole-v1", 4, backend="native")
        >>> observations, infos = envs.reset(seed=1)
        >>> envs.step_async(envs.action_space.sample())
        >>> observations, rewards, terminations, truncations, infos = envs.step_wait(timeout=10)
        >>> rewards
        array([1., 1., 1., 1.])
        >>> envs.close()
    """

    backend = backends.NATIVE
    pool: Pool
    # for close() after an __init__ that failed halfway
    _renderer: renderer.Renderer | None = None

    def __init__(
        self,
        env: str | EnvSpec | backends.Choice | None = None,
        num_envs: int | None = None,
        *,
        wrappers: Sequence[Callable[[Any], Any]] | None = None,
        backend: str = backends.AUTO,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | Each | EachReset | None = None,
        render_mode: str | None = None,
        num_threads: int = 0,
        thread_affinity_offset: int = -1,
        copy: bool = True,
        observation_mode: ObservationMode = "same",
        **options: Any,
    ) -> None:
        """Makes the environments; for arguments and errors see `PoolVectorEnv`.

        Args:
            env: an id, an EnvSpec, or a backend that was chosen already.
            num_envs: environments; None for 1.
            wrappers: around each environment; native environments must replace them.
            backend: "auto", "native" or "compiled", as for `PoolVectorEnv`; TypeError if that
                chooses another.
            autoreset_mode: as for `PoolVectorEnv`.
            max_episode_steps: as for `PoolVectorEnv`.
            render_mode: as for `PoolVectorEnv`.
            num_threads: as for `PoolVectorEnv`.
            thread_affinity_offset: as for `PoolVectorEnv`.
            copy: as for `PoolVectorEnv`.
            observation_mode: as for `PoolVectorEnv`.
            options: the environments' constructor options and drawing options.
        """
        choice = backends.chosen(env, wrappers, {"backend": backend, **options})
        spec, definition = choice.spec, choice.definition
        if spec is None or definition is None:
            raise TypeError(
                f"{choice.reason}, and {type(self).__name__} is native: choose"
                f" {backends.CLASSES[choice.backend]} or PoolVectorEnv"
            )
        self.backend_reason = choice.reason
        kwargs = {**spec.kwargs, **options}
        # a spec may hold these two among its kwargs
        if max_episode_steps is not None:
            kwargs["max_episode_steps"] = max_episode_steps
        if render_mode is not None:
            kwargs["render_mode"] = render_mode
        vector = VectorOptions(
            autoreset_mode, num_threads, thread_affinity_offset, copy, observation_mode, backend
        )
        vector = replace(vector, **choice.vector_kwargs or {})
        wrappers = wrappers if choice.wrappers is None else choice.wrappers
        self.num_envs = choice.num_envs or (1 if num_envs is None else num_envs)
        self.spec = env_specs.vector_spec(spec, self.num_envs, kwargs, vector.given(), wrappers)

        self.autoreset_mode = vector.mode()
        kwargs = definition.spread(kwargs, self.num_envs)
        own_limit = env_specs.own_limit(spec, definition, kwargs, self.num_envs)
        limit = env_specs.time_limit(kwargs.pop("max_episode_steps", None), own_limit)
        self.render_mode = kwargs.pop("render_mode", None)
        # there is nothing to disable: the engine always checks actions and options
        kwargs.pop("disable_env_checker", None)
        reference = env_specs.reference_of(spec, definition)
        self.metadata = {
            **env_specs.vector_metadata(definition, reference, self.render_mode),
            "autoreset_mode": self.autoreset_mode,
        }
        drawing = renderer.pop_options(definition, kwargs)
        self.pool = Pool(
            definition,
            self.num_envs,
            num_threads=vector.num_threads,
            thread_affinity_offset=vector.thread_affinity_offset,
            autoreset=autoreset_of(self.autoreset_mode),
            max_episode_steps=choice.chain.limit(limit) or 0,
            reward_dtype="float64",
            options={**kwargs, **choice.chain.options},
            pictures=choice.chain.pictures,
        )
        self.num_envs = self.pool.num_envs
        self._games = ale_ids.games(self.pool)
        self._set_spaces(vector.observation_mode)
        self._read_columns()
        own = {
            "metadata": self.metadata,
            "render_mode": self.render_mode,
            "observation_space": self.single_observation_space,
            "action_space": self.single_action_space,
            "reward_threshold": definition.reward_threshold,
        }
        self._attributes = NativeAttributes(
            self.pool,
            reference,
            kwargs,
            drawing,
            own,
            limit=choice.chain.outermost_limit(self.pool.max_episode_steps),
            maker="make_vec",
            cure=CURE,
        )
        # None if no wrapper acts on a step
        self._fused = FusedWrappers(choice.chain, self.pool, limit) or None
        self._renderer = renderer.make_renderer(
            self.pool, reference, self.render_mode, drawing, self.metadata
        )
        # of the step in flight
        self._sent = NOTHING_SENT
        # of the call that is pending: what returns its results
        self._call: Callable[[], tuple[Any, ...]] | None = None
        # in the object, too: CPython caches reads of an object's own attributes, not of its class's
        self._pending = None
        # the observations that a masked reset in flight leaves as they are
        self._others: Any = None
        # the calls of the pool's `set_state`, and how many of them `_ended` knows of
        self._restores = restores_of(self.pool)
        self._known_restores = 0
        # whether the next row of each environment is a reset
        self._none_ended = np.zeros(self.num_envs, np.bool_)
        self._ended = self._none_ended
        # From the first reset on: the pool's step, for environments that need only the arrays it
        # returns. Not a method of this object, which would be a reference cycle: threads of an
        # object dropped without close() would stay until the garbage collector runs.
        self._plain_step: Callable[..., Any] | None = None

    def _set_spaces(self, observation_mode: ObservationMode) -> None:
        self.single_action_space = self.pool.spec.action_space()
        self.action_space = self.pool.spec.batched_action_space(self.num_envs)
        single = self.pool.spec.observation_space()
        if observation_mode == "same":
            self.single_observation_space = single
            self.observation_space = batch_space(single, self.num_envs)
        elif observation_mode == "different":
            self.single_observation_space = single
            self.observation_space = batch_differing_spaces([single] * self.num_envs)
        elif (
            isinstance(observation_mode, tuple)
            and len(observation_mode) == 2
            and all(isinstance(space, Space) for space in observation_mode)
        ):
            self.observation_space, self.single_observation_space = observation_mode
        else:
            raise ValueError(
                f"observation_mode={quote(observation_mode)}: choose 'same', 'different' or a tuple"
                " of a batched and a single space"
            )

    def _read_columns(self) -> None:
        """Stores the indices of the columns that results are made of."""
        columns = self.pool.columns
        self._infos = VectorInfos(self.pool.spec, columns)
        engine = engine_indices(columns)
        self._reward, self._terminated, self._truncated = (
            engine[name] for name in ("reward", "terminated", "truncated")
        )
        observations = self.pool.spec.observations
        self._observation_columns = {c.name: i for i, c in enumerate(columns[: len(observations)])}
        first = next((i for i, c in enumerate(columns) if c.is_final), 0)
        self._final_columns = {name: first + i for name, i in self._observation_columns.items()}
        space = self.pool.spec.observation_space()
        # names of fields in the order of the space; None for a single array
        self._keys = names_of(space) if isinstance(space, Dict) else None
        self._is_nested = isinstance(space, Dict) and self._keys != tuple(space.spaces)
        self._is_tuple = isinstance(space, Tuple)
        acts = self.single_action_space
        # the arrays of an action; 0 if it is no tuple
        self._action_parts = len(acts.spaces) if isinstance(acts, Tuple) else 0
        self._texts = {it.name: it.texts for it in observations if it.texts is not None}

    # ------------------------------------------------------------------------------ stepping --

    def _reset_now(self, request: ResetRequest) -> Reset:
        env_ids, chosen = _chosen(request)
        if self.pool.in_flight:
            self._check_reset(request)
            self._drop_results()
        others = self._observe_others(request.mask)
        self._others = others

        def convert(views: Views) -> tuple[Reset, Exception | None]:
            return self._reset_result(request, all_arrays(views))

        result, failure = reset_as(self.pool, convert, env_ids, chosen, request.options)
        self._others = None
        if failure is not None:
            raise failure
        return result

    def _send_reset(self, request: ResetRequest) -> None:
        env_ids, chosen = _chosen(request)
        others = self._observe_others(request.mask)
        self.pool.send_reset(env_ids, seed=chosen, options=request.options)
        self._others = others

    def _receive_reset(self, timeout: float | None) -> Reset:
        def convert(views: Views) -> tuple[Reset, Exception | None]:
            return self._reset_result(self._request, all_arrays(views))

        result, failure = self.pool.recv_as(convert, timeout)
        self._others = None
        if failure is not None:
            raise failure
        return result

    def _reset_result(self, request: ResetRequest, batch: Batch) -> tuple[Reset, Exception | None]:
        """Returns a reset's result, and the exception of its pictures if there was one.

        May be called again: Ctrl-C may come before its result is stored.
        """
        mask, others = request.mask, self._others
        observations = self._arrays(batch)
        if mask is None:
            mask = np.ones(self.num_envs, np.bool_)
        else:
            observations = self._merge(mask, observations, others)
        observations = self._in_own_space(observations)
        infos = self._infos.of_reset(batch, mask)
        infos.update(ale_ids.seeds_info(request.seeds, mask & self._games))
        self._ended = self._ended & ~mask
        if self._fused is not None:
            self._fused.begin(mask)
        if not self._was_reset:
            self._plain_step = self.pool.step_as if self._is_plain() else None
        failure = None
        if self._renderer is not None:
            try:
                self._renderer.after_reset(mask)
            except Exception as error:
                failure = error
        return (observations, infos), failure

    def step(self, actions: Any) -> Step:
        """Steps every environment, or resets it according to the autoreset mode.

        Args:
            actions: (n, *action shape), an array or list; integers for discrete spaces.

        Returns:
            Observations (n, *shape) of the space's dtype, or a dict or tuple of such arrays;
            rewards float64 (n,); terminations and truncations bool (n,); infos: for each key an
            array (n, ...), and "_key", a bool mask (n,) of the environments that have it; with
            SAME_STEP also "final_obs", an object array (n,) of the last observations of ended
            episodes, and "final_info".

        Raises:
            TypeError, ValueError: actions are wrong; nothing was stepped.
            NotResetError: before the first reset, or with DISABLED after an episode's end.
            PendingCallError: the previous step was interrupted: call reset().
            EnvError: environments failed.
        """
        if self._pending is not None:
            self._check_idle("step")
        try:
            # read first, called then: in one expression it would be looked up in the classes
            pool_step = self._plain_step
            if pool_step is not None:
                step: Step = pool_step(plain_step, actions)
                return step
            return self._step_in_full(actions)
        except BaseException as error:
            self._note_failure(error, STEP)
            if self._is_interrupted:
                self._sent = self._sent_of(actions)
            if isinstance(error, StateError):
                self._explain(error)
            raise

    def _step_in_full(self, actions: Any) -> Step:
        # not in `step`: a function in it would make each call slower, also of plain steps
        self._check_can_step()

        def convert(views: Views) -> Outcome:
            return self._outcome(all_arrays(views), self._sent_of(actions))

        return self._taken(self.pool.step_as, convert, self._rows(actions))

    def _send_step(self, actions: Any) -> None:
        try:
            self._check_can_step()
            self.pool.send(self._rows(actions))
        except StateError as error:
            self._explain(error)
            raise
        # the caller may change its array
        self._sent = self._sent_of(copying.copy(actions))

    def _receive_step(self, timeout: float | None) -> Step:
        def convert(views: Views) -> Outcome:
            return self._outcome(all_arrays(views), self._sent)

        return self._taken(self.pool.recv_as, convert, timeout)

    def _taken(
        self,
        receive: Callable[[Callable[[Views], Outcome], Any], Outcome],
        convert: Callable[[Views], Outcome],
        argument: Any,
    ) -> Step:
        """Returns the step of the outcome of `receive(convert, argument)`, a method of the pool."""
        outcome = receive(convert, argument)
        # No function call from here on: Python handles signals after each, and the pool has handed
        # over the batch.
        self._ended = outcome.ended
        fused, wrappers = outcome.fused, self._fused
        if fused is not None and wrappers is not None:
            # as `FusedWrappers.take` does
            fused.raw_rewards[:] = fused.rewards
            fused.appended[:] = fused.queued
            wrappers.episodes = fused.episodes
        if outcome.drawn is not None and self._renderer is not None:
            self._renderer.drawn = outcome.drawn
        if outcome.failure is not None:
            raise outcome.failure
        return outcome.step

    def _rows(self, actions: Any) -> Any:
        """Returns actions as the pool takes them: (n, k) for a tuple of k arrays."""
        if self._action_parts and isinstance(actions, (tuple, list)):
            return tuples.joined(actions, self.num_envs, self._action_parts)
        return actions

    def _has_begun(self) -> bool:
        # Asked until the first reset only. A program is not made to reset before it steps, so its
        # first call of any kind begins the first episodes, as in C. Snapshots may have done so.
        if not self._was_reset and not self.closed:
            is_restored = self._restores.count > 0 and have_states(self.pool)
            if is_restored or is_used_by_programs(self.pool):
                self._plain_step = self.pool.step_as if self._is_plain() else None
                self._was_reset = True
        return self._was_reset

    def _is_plain(self) -> bool:
        return (
            self._infos.is_empty
            and self._keys is None
            and not self._is_tuple
            and not self._action_parts
            and not self._texts
            and self._fused is None
            and self._renderer is None
            and self.autoreset_mode is AutoresetMode.NEXT_STEP
        )

    def _check_can_step(self) -> None:
        """Raises NotResetError before the first reset."""
        if not self._was_reset and not self._has_begun():
            self._check_open()
            raise NotResetError("step() before reset(): call reset() first")
        count = self._restores.count
        if count != self._known_restores or (
            # compiled programs may have stepped since
            is_shared(self.pool) and self.autoreset_mode is AutoresetMode.NEXT_STEP
        ):
            self._ended = find_resets(self.pool)
            self._known_restores = count

    def _explain(self, error: StateError) -> None:
        """Raises a clearer error for a step that the pool refused, if there is one."""
        self._check_open()
        is_over = self.autoreset_mode is AutoresetMode.DISABLED
        explain_step(error, self.pool, ENDED_CURE if is_over else None)

    def _sent_of(self, actions: Any) -> Sent:
        """Returns what the result of a step needs of its actions."""
        if not self._infos.follows and self._renderer is None:
            return NOTHING_SENT
        dtypes = self.pool.action_dtypes(actions) if self._infos.follows else None
        return Sent(None if self._renderer is None else actions, dtypes)

    def _outcome(self, batch: Batch, sent: Sent) -> Outcome:
        """Returns a step's result, infos included, and what it changes; changes nothing itself."""
        terminated, truncated = batch[self._terminated], batch[self._truncated]
        ended = terminated | truncated
        infos: dict[str, Any] = {}
        fused = None if self._fused is None else self._fused.step(batch)
        episodes = {} if fused is None else fused.infos
        dtypes = sent.dtypes
        restarted = next_ended = self._ended
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            restarted = ended | self._ended
            next_ended = self._none_ended
            if has_any(ended):
                infos = self._final(batch, ended, dtypes)
                if episodes:
                    infos["final_info"] |= episodes
                infos["final_info"] = in_order_of_rows(infos["final_info"])
                episodes = {}
        elif self.autoreset_mode is AutoresetMode.NEXT_STEP:
            next_ended = ended
        infos.update(self._infos.of_step(batch, restarted, dtypes))
        infos.update(episodes)
        if len(infos) > 2 and (episodes or self._infos.is_partial or has_any(restarted)):
            infos = in_order_of_rows(infos)
        drawn = failure = None
        if self._renderer is not None:
            try:
                drawn = self._renderer.of_step(sent.actions, restarted)
            except Exception as error:
                failure = error
        # its rewards are changed when the outcome is taken
        rewards = batch[self._reward] if fused is None else fused.raw_rewards
        step = self._observations(batch), rewards, terminated, truncated, infos
        return Outcome(step, next_ended, fused, drawn, failure)

    def _observations(self, batch: Batch) -> Any:
        """Returns the observations of a batch."""
        return self._in_own_space(self._arrays(batch))

    def _in_own_space(self, observations: Any) -> Any:
        """Returns what users see of arrays by name: dicts in dicts, and strings in place of codes,
        a tuple of one for each row."""
        if self._texts and self._keys is None:
            (texts,) = self._texts.values()
            return texts.of_rows(observations)
        if self._texts:
            strings = {name: it.of_rows(observations[name]) for name, it in self._texts.items()}
            observations = observations | strings
        return nest(observations) if self._is_nested else observations

    def _arrays(self, batch: Batch) -> Any:
        """Returns the arrays of the observations of a batch, or of what Pool.observe returns."""
        if self._keys is None:
            return tuples.split(batch[0]) if self._is_tuple else batch[0]
        return {key: batch[self._observation_columns[key]] for key in self._keys}

    @property
    def _has_observation_arrays(self) -> bool:  # type: ignore[override]
        return not self._is_tuple and not self._texts

    def _observation_arrays(self, arrays: Sequence[Array]) -> Any:
        if self._keys is None:
            return arrays[0]
        return nest({key: arrays[self._observation_columns[key]] for key in self._keys})

    def _final_arrays(self, arrays: Sequence[Array]) -> Any:
        if self.autoreset_mode is not AutoresetMode.SAME_STEP:
            return None
        if self._keys is None:
            (only,) = self._final_columns.values()
            return arrays[only]
        return nest({key: arrays[self._final_columns[key]] for key in self._keys})

    def _present_observations(self) -> Any:
        self._check_can_step()
        return self._in_own_space(self._arrays(self.pool.observe()))

    def _observe_others(self, mask: Array | None) -> Any:
        """Returns the observations of environments that a masked reset leaves out, or None."""
        others = reset_mask.observe_others(self.pool, mask)
        return None if others is None else self._arrays(others)

    def _merge(self, mask: Array, chosen: Any, others: Any) -> Any:
        """Puts the observations of the environments of a mask and of the others together."""
        if others is None:
            return chosen

        def merge(one: Array, other: Array) -> Array:
            merged: Array = np.empty((self.num_envs, *one.shape[1:]), one.dtype)
            merged[mask], merged[~mask] = one, other
            return merged

        return map_leaves(merge, chosen, others)

    def _final(self, batch: Batch, ended: Array, dtypes: DTypes) -> dict[str, Any]:
        """Returns the infos that SAME_STEP adds for episodes that have ended."""
        columns = self._final_columns
        if self._keys is None:
            (only,) = columns.values()
            observations: Any = tuples.split(batch[only]) if self._is_tuple else batch[only]
        else:
            # as the environment's own dict has them
            observations = {key: batch[i] for key, i in columns.items()}
        observations = self._in_own_space(observations)
        return of_last_steps(observations, ended, self._infos.of_ends(batch, ended, dtypes))

    def _note_failed(self, error: EnvError, kind: str) -> None:
        if kind == STEP:
            self._remember(error.batch, error.env_ids)

    def _drop_results(self) -> None:
        """Receives and drops the results of an interrupted step (by Ctrl-C, for example)."""
        super()._drop_results()
        # of actions that were sent to the pool itself
        for batch, failed in drain(self.pool):
            # a smaller batch came from a partial reset: there is nothing to remember
            if len(batch[self._reward]) == self.num_envs:
                self._remember(batch, failed)

    def _remember(self, batch: Batch, failed: Sequence[int] = ()) -> None:
        """Updates what later steps depend on from a step's batch that is not returned.

        Environments that failed begin a new episode at their next step.
        """
        self._ended = np.zeros(self.num_envs, np.bool_)
        self._ended[list(failed)] = True
        if self.autoreset_mode is AutoresetMode.NEXT_STEP:
            self._ended |= batch[self._terminated] | batch[self._truncated]
        if self._fused is not None:
            self._fused.take(self._fused.step(batch))

    # ------------------------------------------------------------------------------ pictures --

    def render(self) -> tuple[Any, ...]:
        """Draws every environment.

        Returns:
            A tuple of n pictures, uint8 (height, width, 3); of n lists of pictures with
            "rgb_array_list"; of n Nones with "human" or without a render mode.

        Raises:
            NotResetError: before the first reset.
            MissingDependencyError: drawing needs a package that is not installed.
        """
        self._check_idle("render")
        check_usable(self.pool)
        return self._pictures()

    def _pictures(self) -> tuple[Any, ...]:
        if not self._has_begun():
            raise NotResetError("render() before reset(): call reset() first")
        return renderer.pictures(self._renderer, self.num_envs, "make_vec")

    # ---------------------------------------------------------------------------- attributes --

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seeds that the environments' generators were made from."""
        return tuple(self.pool.seeds)

    @property  # type: ignore[misc]
    def np_random(self) -> NoReturn:  # type: ignore[override]
        """Raises AttributeError: the generators live in C."""
        raise AttributeError(
            "np_random: native environments keep their generators in C: seed them by"
            " reset(seed=...), and keep their state by env.pool.get_state()"
        )

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Returns an attribute of every environment, a tuple of n values.

        Available are the reference's public attributes that no step changes (`gravity`,
        `frame_skip`, `init_qpos`, ...; copies of mutable ones), the constructor's options (`g`,
        `sutton_barto_reward`, ...), spec, metadata, render_mode, observation_space, action_space,
        reward_threshold and np_random_seed; with a time limit _max_episode_steps; with
        RecordEpisodeStatistics also return_queue, length_queue, time_queue, episode_count,
        episode_returns, episode_lengths and episode_start_time. Of a class that was translated from
        Python, every attribute is; and "unwrapped", objects of the class with the present states,
        on which steps change nothing here.

        Raises:
            AttributeError: native environments have no such attribute.
            parallel_pool.errors.StateError: an attribute of the state, before the first reset.
        """
        of_wrapper = None if self._fused is None else self._fused.attribute(name)
        if of_wrapper is not None:
            return of_wrapper
        return tuple(self._attributes.get(name, range(self.num_envs), self.spec))

    def _send_call(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        check_usable(self.pool)
        # nothing changes before the wait
        self._call = partial(self._called, name, args, kwargs)

    def _receive_call(self, timeout: float | None) -> tuple[Any, ...]:
        assert self._call is not None
        return tuple(self._call())

    def _called(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """Returns an attribute as `get_attr` does, or the result of `render`.

        Of Atari games, `get_action_meanings` and `get_keys_to_action` can be called too; of a class
        that was translated from Python, all methods that change no attribute.
        """
        if name == "render":
            return self._pictures()
        if args or kwargs or self._attributes.has_method(name):
            return tuple(self._attributes.call(name, args, kwargs, range(self.num_envs)))
        return self.get_attr(name)

    def set_attr(self, name: str, values: Any) -> NoReturn:
        """Always raises: attributes of native environments are fixed when they are made.

        Raises:
            ValueError: values is a list or tuple of a wrong length.
            AttributeError: in all other cases; the message names the cure.
        """
        self._one_each(values)
        self._attributes.refuse_set(name, values)

    def close_extras(self, timeout: float | None = None, **kwargs: Any) -> None:
        """Ends the threads and closes windows; `close` calls this.

        Args:
            timeout: seconds to wait for the threads; None for 5. See `Pool.close`.
            kwargs: ignored.
        """
        self._warn_of_pending()
        if self._renderer is not None:
            self._renderer.close()
        if hasattr(self, "_attributes"):
            self._attributes.close()
        if hasattr(self, "pool"):
            self.pool.close(timeout=timeout)


def _chosen(request: ResetRequest) -> tuple[Array | None, Any]:
    """Returns the environments that a reset names, None for all, and their seeds."""
    if request.mask is None:
        return None, request.seeds if request.is_seeded else None
    env_ids = np.flatnonzero(request.mask).astype(np.int32)
    return env_ids, [request.seeds[i] for i in env_ids] if request.is_seeded else None


@xla_parts.register(NativeVectorEnv)
def _xla_parts(envs: NativeVectorEnv) -> tuple[Pool, Convert, Convert]:
    from parallel_pool._apis.jax.vector_results import VectorResults

    if envs._fused:
        raise ValueError(
            "RecordEpisodeStatistics, ClipReward and TransformReward need Python at every step:"
            " leave them out, and compute that in the program"
        )
    if envs.render_mode not in (None, "rgb_array"):
        raise ValueError(
            f"render_mode={quote(envs.render_mode)} shows every step, which a compiled program"
            " can't do: choose None or 'rgb_array'"
        )
    results = VectorResults(
        envs.pool, envs._observation_columns, envs._keys, is_tuple=envs._is_tuple
    )
    return envs.pool, results.of_step, results.of_reset
