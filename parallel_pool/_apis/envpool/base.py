"""EnvPool: the base class of EnvPool's pools, for Gymnasium's API and for dm_env's."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from parallel_pool._apis.common import mask_ids
from parallel_pool._apis.common.trace_method import TraceMethod
from parallel_pool._apis.common.xla_parts import Convert, xla_parts
from parallel_pool._apis.envpool import actions
from parallel_pool._apis.envpool.results import ResultBuilder
from parallel_pool._apis.envpool.spec import (
    config_repr,
    make_pool,
    seeds_of_task,
    spread_seeds,
)
from parallel_pool._apis.torch.torch_method import TorchMethod
from parallel_pool._engine import registry, seeds
from parallel_pool._engine.arguments import a_type, quote, seconds
from parallel_pool._engine.pool import check_count, reset_as
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool._lazy import public
from parallel_pool.errors import StateError

if TYPE_CHECKING:
    from typing import Self

    from parallel_pool._apis.envpool.spec import EnvSpec
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.pool import Pool, Views
    from parallel_pool._engine.seeds import Seed

T = TypeVar("T")


@public("compat.envpool")
class EnvPool(TraceMethod, TorchMethod, Uncopied):
    """A pool with EnvPool's methods. `GymnasiumEnvPool` and `DMEnvPool` say what they return.

    Attributes:
        spec: the task and its options.
        config: the options by name.
        all_env_ids: 0 to num_envs - 1, int32 (num_envs,).
        is_async: whether batch_size < num_envs.
        render_mode: as given to `make`.
        render_env_id: as given to `make`.
        pool: the `Pool` underneath. Its snapshots do not say which players have rows: for
            environments with several, call `get_state` and `set_state` here.
        closed: whether `close` was called.

    Example:
        >>> with parallel_pool.make("CartPole-v1", env_type="gymnasium", num_envs=4) as envs:
        ...     isinstance(envs, parallel_pool.EnvPool), envs.all_env_ids
        (True, array([0, 1, 2, 3], dtype=int32))
    """

    spec: EnvSpec
    pool: Pool
    render_mode: str | None
    # until __init__ has made something to close
    closed: bool = True

    def __init__(
        self,
        spec: EnvSpec,
        *,
        render_mode: str | None = None,
        render_env_id: int = 0,
        drawing: Mapping[str, Any] | None = None,
        has_steps: bool = False,
    ) -> None:
        """Makes the environments; for the arguments see the derived classes.

        has_steps adds dm_env's step types and discounts to results.
        """
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode={quote(render_mode)}: choose None or 'rgb_array'")
        check_count("render_env_id", render_env_id, 0, spec.config.num_envs - 1)
        self.pool = make_pool(spec, step_type=has_steps, discount=has_steps)
        # dm_env's results have one row for each player
        self._rows = ResultBuilder(self.pool, hides_players=not has_steps)
        # the common case: actions go to the core unchanged
        self._is_plain = not self.pool.is_async and spec.num_players == 1
        self._has_players = spec.num_players > 1
        self._acts_by_player = self._has_players and self.pool.spec.action.per_player
        self.spec = spec
        self.config: dict[str, Any] = spec.config._asdict()
        self.all_env_ids: Array = np.arange(self.pool.num_envs, dtype=np.int32)
        self.is_async = self.pool.is_async
        self.render_mode = render_mode
        self.render_env_id = render_env_id
        self._drawing = dict(drawing or {})
        # made at the first render(), or here if there are drawing options to check
        self._renderer: Any = self._make_renderer() if self._drawing else None
        self.closed = False

    # ------------------------------------------------------------------------------- sending --

    def send(self, action: Any, env_id: Any = None) -> None:
        """Queues one action for each environment of env_id; on an error none is queued.

        Args:
            action: shape (count, *action shape), any integer dtype for Discrete actions; or a dict
                with "action", "env_id", "players.env_id" and "players.id". With several players,
                one row per player; if not all of them act, one for each that does, or for each
                row of the last result.
            env_id: shape (count,), integers; None for all environments.

        Raises:
            TypeError, ValueError: an action or an env_id is wrong.
            StateError: an environment is in flight already.
        """
        if self._has_players or type(action) is not np.ndarray:
            action, env_id = self._arrange(action, env_id)
        self.pool.send(action, env_id)

    def async_reset(
        self,
        env_id: Any = None,
        *,
        seed: Seed = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Queues resets of the environments of env_id (None: all); `recv` returns their results.

        Args:
            env_id: as for `reset`.
            seed: as for `reset`.
            options: as for `reset`.

        Raises:
            TypeError, ValueError: an argument is wrong.
            StateError: an environment is in flight, as after a first `async_reset`.
        """
        env_id, each, options = self._reset_arguments(env_id, seed, options)
        self.pool.send_reset(env_id, seed=each, options=options)

    def _arrange(self, action: Any, env_id: Any) -> tuple[Any, Any]:
        """Returns actions and their environments as the core takes them."""
        action, env_id, owners, players = actions.unpack(action, env_id)
        if not self._acts_by_player:
            return action, env_id
        if self._rows.live_players is not None:
            return self._rows.live_players.arrange(
                action, env_id, owners, players, is_async=self.is_async
            )
        return actions.by_environment(
            action, env_id, owners, players, self.pool.num_envs, self.spec.num_players
        )

    def _arrange_step(self, action: Any, env_id: Any) -> tuple[Any, Any]:
        if self.is_async:
            _, ids, owners, _ = actions.unpack(action, env_id)
            if ids is None and (owners is None or not self._acts_by_player):
                raise TypeError(
                    f"step() of an asynchronous pool (batch_size={self.pool.batch_size},"
                    f" num_envs={self.pool.num_envs}) needs env_id: give info['env_id'] of the"
                    " results that the actions were chosen for"
                )
        return self._arrange(action, env_id)

    # ----------------------------------------------------------------------------- resetting --

    def _reset(
        self,
        convert: Callable[[Views], T],
        env_id: Any,
        seed: Seed,
        options: Mapping[str, Any] | None,
        timeout: float | None,
    ) -> T:
        env_id, each, options = self._reset_arguments(env_id, seed, options)
        timeout = seconds(timeout)
        if timeout is None and env_id is not None and self.is_async:
            self._check_fills_batch(np.size(env_id))
        return reset_as(self.pool, convert, env_id, each, options, timeout)

    def _check_fills_batch(self, count: int) -> None:
        """Refuses a reset of too few environments to fill a batch."""
        ready = self.pool.in_flight + count
        if ready < self.pool.batch_size and not self.closed:
            raise StateError(
                f"reset() of {count} environments would leave {ready} in flight, a batch needs"
                f" {self.pool.batch_size}: name more environments, or call async_reset(env_id),"
                " send() to others, and then recv()"
            )

    def _reset_arguments(
        self, env_id: Any, seed: Any, options: Mapping[str, Any] | None
    ) -> tuple[Any, Seed, dict[str, Any]]:
        """Returns a reset's environments, their seeds, and the environment's reset options."""
        if not isinstance(options, (Mapping, NoneType)):
            raise TypeError(f"options={quote(options)} is {a_type(options)}: give a dict")
        own = dict(options or {})
        if mask_ids.KEY in own:
            mask = own.pop(mask_ids.KEY)
            if env_id is not None:
                raise TypeError(
                    "env_id and options['reset_mask'] both name environments: give one of them"
                )
            env_id = self._masked_ids(mask)
            if seeds.is_list(seed):
                # with a mask, Gymnasium's list of seeds has one per environment, masked or not
                every = spread_seeds(seed, self.all_env_ids.tolist())
                seed = [every[i] for i in env_id] if every else None
        if seed is None:
            return env_id, None, own
        ids = self.all_env_ids if env_id is None else np.atleast_1d(np.asarray(env_id))
        if ids.dtype.kind not in "iu" or ids.ndim != 1:
            # the core raises the error for these
            return env_id, None, own
        return env_id, seeds_of_task(self.spec.definition, seed, ids.tolist()), own

    def _masked_ids(self, mask: Any) -> Array:
        env_ids = mask_ids.named_ids(np.asanyarray(mask), self.pool.num_envs)
        if not len(env_ids):
            raise ValueError(f"reset_mask={mask} names no environment: give at least one True")
        return env_ids

    def seed(self, seed: Any = None) -> None:
        """Does nothing but warn, as EnvPool's; give seeds to `make` or `reset`."""
        warnings.warn(
            f"seed({quote(seed)}) changes nothing, as in EnvPool: give the seed to make(...,"
            " seed=...), or to reset(seed=...)",
            stacklevel=2,
        )

    # -------------------------------------------------------------------------------- others --

    def xla(
        self, *, timeout: float | None = None
    ) -> tuple[Any, Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
        """Returns EnvPool's functions for jitted JAX programs, on the CPU or on CUDA.

        `parallel_pool.compat.jax.xla(env)` returns these and functions that reset.

        Args:
            timeout: seconds that each `recv` and `step` may take, after which the program ends with
                DEADLINE_EXCEEDED, and `recv` goes on; None for no limit. EnvPool has no such
                argument.

        Returns:
            A handle, int32 (2,), and the functions `recv(handle)`, which returns the next handle
            and what `step` returns in Python; `send(handle, action, env_id=None)`, which returns
            the next handle; and `step(handle, action, env_id=None)`, which returns what `recv`
            does. A handle is valid for one call; call `xla()` again for a new one.

        Raises:
            MissingDependencyError: JAX is not installed.
            TypeError: timeout is no number.
            ValueError: timeout is negative, or not all players live for the whole episode.
            ClosedError, ForkedError: the pool is closed, or belongs to another process.
        """
        from parallel_pool._apis.jax.programs import xla

        return xla(self, timeout=timeout)[:4]

    def _converters(self) -> tuple[Convert, Convert]:
        """Returns functions of columns: the result of a step, and of a reset."""
        raise NotImplementedError

    def render(self, env_ids: Any = None, camera_id: int | None = None) -> Array:
        """Draws environments.

        An environment without its own pictures is drawn by the Gymnasium environment it equals.

        Args:
            env_ids: which environments; None for `render_env_id`.
            camera_id: for tasks with cameras (MuJoCo): a camera other than the pool's.

        Returns:
            RGB pictures, uint8 (count, height, width, 3).

        Raises:
            ValueError: an env_id or camera_id is wrong, or there are no cameras.
            StateError: an environment is in flight, or has no pictures; or it is MuJoCo's, and was
                never reset.
            MissingDependencyError: pygame (for Gymnasium's pictures) or OpenGL (for MuJoCo's) is
                not installed.
        """
        ids = [self.render_env_id] if env_ids is None else env_ids
        if np.size(ids) == 0:
            raise ValueError("no environment is named: name 1 or more")
        definition = self.pool.definition
        view = {} if camera_id is None else {"camera_id": camera_id}
        if view and "camera_id" not in getattr(registry.renderer_module(definition), "OPTIONS", ()):
            raise ValueError(
                f"camera_id={quote(camera_id)}: {self.spec.id} has no cameras: leave camera_id out"
            )
        if definition.can_render:
            return self.pool.render(ids)
        if self._renderer is None:
            self._renderer = self._make_renderer()
        env_ids = np.atleast_1d(ids).tolist()
        return np.stack([self._renderer.draw(env_id, None, **view) for env_id in env_ids])

    def _make_renderer(self) -> Any:
        import gymnasium

        from parallel_pool._apis.common import renderer

        reference = gymnasium.registry.get(self.pool.definition.id)
        return renderer.make_env_renderer(self.pool, reference, options=self._drawing)

    def get_state(self, env_id: Any = None) -> list[bytes]:
        """Returns a snapshot of each environment of env_id (None: all); see `Pool.get_state`."""
        states = self.pool.get_state(env_id)
        players = self._rows.live_players
        return states if players is None else players.add_players(states, self._named(env_id))

    def set_state(self, states: list[bytes], env_id: Any = None) -> None:
        """Restores snapshots into the environments of env_id (None: all); see `Pool.set_state`."""
        players = self._rows.live_players
        if players is None:
            self.pool.set_state(states, env_id)
            return
        own, records = players.split_players(states)
        self.pool.set_state(own, env_id)
        players.restore(records, self._named(env_id))

    def clone(self, env_id: int, env_ids: Any) -> None:
        """Copies the state of env_id into the environments of env_ids; see `Pool.clone`."""
        self.pool.clone(env_id, env_ids)
        if self._rows.live_players is not None:
            self._rows.live_players.copy(env_id, self._named(env_ids))

    def _named(self, env_id: Any) -> list[int]:
        """Returns the environments of an env_id that the core has accepted."""
        ids: list[int] = (self.all_env_ids if env_id is None else np.atleast_1d(env_id)).tolist()
        return ids

    def close(self, timeout: float | None = None, **kwargs: Any) -> None:
        """Ends the threads; later calls raise `ClosedError`, arrays stay valid.

        Args:
            timeout: seconds to wait for the threads; None for 5. See `Pool.close`.
            kwargs: accepted for compatibility with Gymnasium's `close`, and ignored.
        """
        self.closed = True
        try:
            self.pool.close(timeout=timeout)
        finally:
            if self._renderer is not None:
                self._renderer.close()

    def __len__(self) -> int:
        return self.pool.num_envs

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.spec.id}, {config_repr(self.config)})"

    # instead of gymnasium.Env's
    __str__ = __repr__


@xla_parts.register(EnvPool)
def _xla_parts(envs: EnvPool) -> tuple[Pool, Convert, Convert]:
    if envs._rows.live_players is not None:
        raise ValueError(
            f"{envs.spec.id}: the number of rows changes while players drop out, which compiled"
            " programs can't have: call step() in Python"
        )
    return (envs.pool, *envs._converters())
