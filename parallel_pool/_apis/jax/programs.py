"""Programs: `xla`, the functions with which compiled programs step a pool."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parallel_pool._apis.common.dependencies import install
from parallel_pool._apis.common.xla_parts import Convert, xla_parts
from parallel_pool._engine.arguments import nanoseconds, seconds
from parallel_pool._engine.buffers import engine_indices
from parallel_pool._engine.named_batch import batch_class, field_names
from parallel_pool._engine.pool import Pool
from parallel_pool._engine.sharing import share
from parallel_pool._lazy import public
from parallel_pool._native import lib
from parallel_pool.errors import MissingDependencyError

try:
    import jax

    from parallel_pool._apis.jax.calls import Calls
except ImportError as error:
    raise MissingDependencyError(
        f"xla() needs JAX 0.5 or newer ({error}): {install('jax')}"
    ) from error

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array


@public("compat.jax")
class Functions(NamedTuple):
    """What `xla` returns: a handle, and functions for use inside and outside of `jax.jit`.

    Every function takes the newest handle, and returns the next one first.

    Attributes:
        handle: int32 (2,); says which pool, and how many calls programs have made of it.
        recv: `handle, result = recv(handle)`.
        send: `handle = send(handle, action, env_id=None)`.
        step: `handle, result = step(handle, action, env_id=None)`.
        reset: `handle, result = reset(handle, seeds=None)`; synchronous pools only.
        async_reset: `handle = async_reset(handle, seeds=None, env_id=None)`, then `recv`.

    Example:
        >>> from parallel_pool.compat.jax import xla
        >>> with parallel_pool.Pool("CartPole-v1", 4) as pool:
        ...     handle, recv, send, step, reset, async_reset = xla(pool)
        ...     handle, batch = reset(handle)
        ...     handle, batch = jax.jit(step)(handle, np.zeros(4, np.int64))
        >>> batch.obs.shape, batch.reward.dtype
        ((4, 4), dtype('float32'))
    """

    handle: Any
    recv: Callable[..., Any]
    send: Callable[..., Any]
    step: Callable[..., Any]
    reset: Callable[..., Any]
    async_reset: Callable[..., Any]


def xla(envs: Any, *, timeout: float | None = None) -> Functions:
    """Returns functions with which jitted programs step environments; of EnvPool's form.

    They can be used in `jax.jit`, `jax.lax.scan` and `jax.lax.while_loop`, on the CPU and on GPUs
    of CUDA's; the environments run on the CPU. The bits are those of the same calls in Python.
    Python's own methods go on working between programs. While a program runs, they raise
    `BusyError`.

    Results have the form that the environments have in Python: of a `Pool` a `NamedBatch`; of a
    `PoolVectorEnv` (observations, rewards, terminations, truncations, infos), where infos have
    every key at every step, with its mask `_key`, and with SAME_STEP `final_obs` is an array (n,
    *shape), zero where no episode has ended; of EnvPool's pools what their `step` returns. Without
    `jax_enable_x64`, arrays of 64 bits become arrays of 32, as everywhere in JAX.

    JAX returns before a program is done: read its results, or call `jax.block_until_ready`, before
    the environments are closed, which ends a program that still runs.

    A handle is valid for one call. After an error in a program call `xla` again: the functions are
    the same, and the handle is a valid one.

    Of a list of pools that are alike, the handle is int32 (pools, 2), and the functions are to be
    mapped by `jax.vmap` over its first axis: one call then steps all pools at the same time.

    When a call has waited for `timeout`, the program ends with DEADLINE_EXCEEDED and the text of a
    `PoolTimeoutError`. Nothing is lost: `recv`, in a program or in Python, returns the results, or
    waits for them again.

    Args:
        envs: a `Pool`, a native `PoolVectorEnv`, or what `parallel_pool.make` returns; or a list of
            them.
        timeout: seconds that each `recv`, `step` and `reset` may take; None for no limit.

    Raises:
        TypeError: envs are of another kind, or timeout is no number.
        ValueError: timeout is negative; or the environments do in Python what a program can't: they
            are in worker processes, have wrappers around each of them, or players that live for a
            part of an episode.
        MissingDependencyError: JAX is not installed.
        ClosedError, ForkedError: the pool is closed, or belongs to another process.

    Example:
        >>> from parallel_pool.compat.jax import xla
        >>> with parallel_pool.Pool("CartPole-v1", 4) as pool:
        ...     handle, *_, step, reset, _ = xla(pool)
        ...     left, (handle, batch) = jax.numpy.zeros(4, int), reset(handle)
        ...     run = jax.jit(lambda h: jax.lax.scan(lambda h, _: step(h, left), h, length=5))
        ...     handle, batches = run(handle)
        >>> batches.obs.shape
        (5, 4, 4)
    """
    limit = nanoseconds(seconds(timeout))
    if isinstance(envs, (list, tuple)):
        return _of_several(envs, timeout)
    pool, convert, convert_reset = xla_parts(envs)
    number = share(pool)
    by_form = functions_by_number.get(number)
    if by_form is None:
        by_form = functions_by_number[number] = {}
        weakref.finalize(pool, functions_by_number.pop, number, None)
    form = type(envs), limit
    found = by_form.get(form)
    if found is None:
        found = by_form[form] = _functions(pool, convert, convert_reset, limit)
    handle = np.array([number, lib.pp_xla_calls(number)], np.uint32).view(np.int32)
    return found._replace(handle=jax.numpy.asarray(handle))


def _of_several(all_envs: Sequence[Any], timeout: float | None) -> Functions:
    """Returns the functions of the first of several, and a handle for all."""
    if not all_envs:
        raise ValueError("no pools: give at least one")
    pools = [xla_parts(envs)[0] for envs in all_envs]
    for i, pool in enumerate(pools):
        if type(all_envs[i]) is not type(all_envs[0]) or _form(pool) != _form(pools[0]):
            raise ValueError(
                f"pool {i} differs from pool 0: choose the same class, environments,"
                " options and sizes"
            )
        if pool in pools[:i]:
            raise ValueError(f"pool {i} is pool {pools.index(pool)}: give each once")
    each = [xla(envs, timeout=timeout) for envs in all_envs]
    return each[0]._replace(handle=jax.numpy.stack([functions.handle for functions in each]))


def _form(pool: Pool) -> Any:
    """Returns what the functions of a pool depend on."""
    columns = [(column.name, column.dtype, column.shape) for column in pool.columns]
    action = pool.spec.action
    sizes = pool.num_envs, pool.batch_size, pool.autoreset, pool.definition.id
    return *sizes, columns, action.dtype, action.shape, action.n


# By the number of a pool, while it lives, the class whose results they return (a pool and what is
# built on it have results of different forms), and the time limit. They hold no pool. Jitted
# programs that use the same functions are not compiled again.
functions_by_number: dict[int, dict[tuple[type[Any], int], Functions]] = {}


@xla_parts.register(Pool)
def _of_pool(pool: Pool) -> tuple[Pool, Convert, Convert]:
    convert = _named(pool)
    return pool, convert, convert


def _named(pool: Pool) -> Convert:
    """Returns a function that makes a `NamedBatch`, whose final columns are 0 in other rows."""
    make = batch_class(field_names(pool.columns))._make
    engine = engine_indices(pool.columns)
    finals = [i for i, column in enumerate(pool.columns) if column.is_final]

    def convert(columns: Any) -> Any:
        arrays = list(columns)
        ended = arrays[engine["terminated"]] | arrays[engine["truncated"]]
        for i in finals:
            mask = ended.reshape(len(ended), *[1] * (arrays[i].ndim - 1))
            arrays[i] = jax.numpy.where(mask, arrays[i], jax.numpy.zeros_like(arrays[i]))
        return make(arrays)

    return convert


def _functions(pool: Pool, convert: Convert, convert_reset: Convert, timeout: int) -> Functions:
    """Returns the functions of one pool; their handle is to be filled in. timeout: nanoseconds."""
    calls = Calls(pool, needed_columns(pool, convert), timeout)
    is_async = pool.is_async

    def recv(handle: Any) -> tuple[Any, Any]:
        """Receives the next batch; returns the next handle and what `step` returns in Python."""
        handle, columns = calls.recv(handle)
        return handle, convert(columns)

    def step(handle: Any, action: Any, env_id: Any = None) -> tuple[Any, Any]:
        """Sends actions and receives; returns the next handle and what `step` returns in Python."""
        handle, columns = calls.step(handle, action, env_id)
        return handle, convert(columns)

    def reset(handle: Any, seeds: Any = None) -> tuple[Any, Any]:
        """Resets all environments; returns the next handle and what `reset` returns in Python."""
        if is_async:
            raise TypeError("reset() of an asynchronous pool: use async_reset(), then recv()")
        handle, columns = calls.recv(calls.reset(handle, seeds))
        return handle, convert_reset(columns)

    return Functions(None, recv, calls.send, step, reset, calls.reset)


class _Asked(Sequence[Any]):
    """Columns of zeros; remembers which of them somebody has read."""

    def __init__(self, pool: Pool) -> None:
        self._columns = pool.columns
        self._rows = pool.batch_size
        self.indices: set[int] = set()

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, index: Any) -> Any:
        at = index % len(self)
        self.indices.add(at)
        column = self._columns[at]
        dtype = jax.dtypes.canonicalize_dtype(column.dtype)
        return jax.numpy.zeros((self._rows, *column.shape), dtype)

    def __iter__(self) -> Iterator[Array]:
        return (self[i] for i in range(len(self)))


def needed_columns(pool: Pool, convert: Convert) -> list[int]:
    """Returns the indices of the columns that a form of results reads."""
    asked = _Asked(pool)
    jax.eval_shape(lambda: convert(asked))
    return sorted(asked.indices)
