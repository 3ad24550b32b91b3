"""Pool: many native environments, stepped by threads."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import numpy as np

from parallel_pool._engine import overrides, registry, seeds
from parallel_pool._engine.actions import ActionReader
from parallel_pool._engine.arguments import (
    MAX_ENVS,
    a_type,
    check_choice,
    check_count,
    check_sizes,
    quote,
    seconds,
)
from parallel_pool._engine.base_pool import NULL, BasePool
from parallel_pool._engine.buffers import Array
from parallel_pool._engine.env_ids import id_list, one_id, read_ids
from parallel_pool._engine.error_slot import check, error_slot
from parallel_pool._engine.named_batch import NamedBatch, batch_class, field_names
from parallel_pool._engine.pool_checks import check_usable
from parallel_pool._engine.present_states import Restores, observe_columns
from parallel_pool._engine.specs import Definition, Values
from parallel_pool._engine.strict_zip import zip
from parallel_pool._engine.trees import map_leaves
from parallel_pool._engine.variation import LIMIT, Each, EachReset, OptionPlan, value_for_env
from parallel_pool._engine.views import Batch, Views, all_arrays
from parallel_pool._lazy import public
from parallel_pool._native import ffi, lib
from parallel_pool.errors import StateError

if TYPE_CHECKING:
    from parallel_pool._engine.picture_plan import PicturePlan

# Batch, Views, all_arrays and the checks belong to other modules; compat imports them from here
__all__ = [
    "AUTORESET",
    "MAX_ENVS",
    "REWARDS",
    "Batch",
    "Pool",
    "Views",
    "all_arrays",
    "check_choice",
    "check_count",
    "check_sizes",
]

T = TypeVar("T")

AUTORESET = {
    "next_step": lib.PP_NEXT_STEP,
    "same_step": lib.PP_SAME_STEP,
    "disabled": lib.PP_DISABLED,
}
REWARDS = {"float32": lib.PP_FLOAT32, "float64": lib.PP_FLOAT64}


@public()
class Pool(BasePool):
    """Many environments of one kind, stepped by threads; each row of a result is one environment.

    With `batch_size == num_envs` (the default) a pool is synchronous: results are in the order of
    `env_ids`, or of all ids. With a smaller `batch_size` it is asynchronous: `recv` returns the
    first `batch_size` environments to finish.

    Arrays are returned without a copy. You may keep them, write to them, and use them after the
    pool is closed.

    Attributes:
        definition: of the environments; `spec` has their fields with these options.
        spec: of the environments; `spec` has their fields with these options.
        columns: the arrays of a result, in order: the environment's fields (observations, then
            infos); "reward", "terminated", "truncated", "env_id", "elapsed_step"; the optional
            columns; and with autoreset="same_step" the fields again with `is_final`, valid in rows
            with terminated or truncated. A result is a named tuple of them, a `NamedBatch`.
        varied: the names of the options that were given as each(...) or each_reset(...), see
            `option_values`; max_episode_steps may be among them.
        num_envs: as given or chosen.
        batch_size: as given or chosen.
        num_threads: as given or chosen.
        autoreset: as given.
        max_episode_steps: the time limit in steps, None for none; each(...) or each_reset(...) if
            it was given so.
        seeds: a list with the seed of each environment, an int: the last one that it was given, at
            the start or by a reset, or what was drawn in place of None.
        is_async: whether batch_size < num_envs.
        closed: whether `close` was called.

    Example:
        >>> with parallel_pool.Pool("CartPole-v1", 8, batch_size=4) as pool:
        ...     pool.send_reset(seed=1)
        ...     batch = pool.recv()
        ...     pool.send(np.zeros(4, np.int64), batch.env_id)
        ...     batch = pool.recv()
        >>> batch.obs.shape, batch.reward.dtype
        ((4, 4), dtype('float32'))
    """

    def __init__(
        self,
        definition: Definition | str,
        num_envs: int = 1,
        *,
        batch_size: int | None = None,
        num_threads: int = 0,
        thread_affinity_offset: int = -1,
        autoreset: str = "next_step",
        max_episode_steps: int | Each | EachReset | None = None,
        seed: seeds.Seed = None,
        reward_dtype: str = "float32",
        step_type: bool = False,
        discount: bool = False,
        players: bool = False,
        statistics: bool = False,
        options: Mapping[str, Any] | None = None,
        pictures: PicturePlan | None = None,
    ) -> None:
        """Makes the environments and the threads.

        Args:
            definition: a definition or its id.
            num_envs: environments.
            batch_size: rows of one result; None or 0 for num_envs.
            num_threads: threads that step, the caller's included; 0 for the cores this process may
                use, at most batch_size. An asynchronous pool always has threads of its own: with
                one, it steps while the caller does other work.
            thread_affinity_offset: 0 or more pins each thread to its own core, from this one of
                the process's cores on, within its NUMA node; the offset is divided among nodes in
                proportion to their cores. -1 leaves threads free on their node.
            autoreset: "next_step": the step after the end of an episode ignores its action and
                resets; "same_step": the step that ends an episode returns the first observation of
                the next, and the last one in the final columns; "disabled": the caller resets.
            max_episode_steps: time limit in steps; None for the definition's own, 0 for none.
            seed: environment i gets seed + i, or the i-th of a sequence; None for fresh entropy.
            reward_dtype: "float32" or "float64".
            step_type: whether to add the column "step_type": 0 first, 1 mid, 2 last.
            discount: whether to add the column "discount".
            players: whether to add the column "players.env_id" (num_players,).
            statistics: whether to add the columns "episode_return" and "episode_length".
            options: the environment's own options. An option, and max_episode_steps, may be
                `parallel_pool.each([...])`, one value for each environment, or
                `parallel_pool.each_reset(low, high)`, drawn at each reset.
            pictures: what becomes of the pictures that they show, as `make_vec` makes it of
                `wrappers`; None for nothing.

        Raises:
            TypeError, ValueError: an argument is wrong.
            MissingDependencyError: the environment needs a package or file that is not installed.
            MemoryError: there is no memory for the environments or batches.
        """
        super().__init__()
        self._renderers: dict[tuple[str, str], Any] = {}
        self._restores = Restores()
        if isinstance(definition, str):
            definition = registry.find(definition)
        elif not isinstance(definition, Definition):
            kind = a_type(definition)
            raise TypeError(f"definition={quote(definition)} is {kind}: give an id, as a string")
        if not isinstance(options, (Mapping, type(None))):
            raise TypeError(f"options={quote(options)} is {a_type(options)}: give a dict")
        self.definition = definition
        self._name = definition.id
        num_envs, batch_size = check_sizes(num_envs, batch_size)
        offset = check_count("thread_affinity_offset", thread_affinity_offset, -1)
        reward = check_choice("reward_dtype", reward_dtype, REWARDS)
        first_seeds = seeds.spread(seed, num_envs)

        plan = OptionPlan(definition, options or {}, num_envs, max_episode_steps, pictures)
        self.spec, self.varied = plan.spec, plan.varied
        raw_options = ffi.new("pp_pool_options *")
        raw_options.num_envs = num_envs
        raw_options.batch_size = batch_size
        num_threads = overrides.threads(check_count("num_threads", num_threads, 0), num_envs)
        raw_options.num_threads = num_threads
        raw_options.thread_affinity_offset = offset
        raw_options.autoreset = check_choice("autoreset", autoreset, AUTORESET)
        raw_options.max_episode_steps = plan.limit
        raw_options.variation = plan.variation
        raw_pictures = NULL if pictures is None else pictures.raw()
        raw_options.pictures = raw_pictures
        raw_options.reward_dtype = reward
        raw_options.extras = (
            lib.PP_WITH_STEP_TYPE * bool(step_type)
            | lib.PP_WITH_DISCOUNT * bool(discount)
            | lib.PP_WITH_PLAYERS * bool(players)
            | lib.PP_WITH_STATISTICS * bool(statistics)
        )
        out = ffi.new("pp_pool **")
        self._check(lib.pp_pool_create(definition.raw, plan.values, raw_options, out, self._error))
        handle = ffi.gc(out[0], lib.pp_pool_destroy)
        self._actions = ActionReader(self.spec)
        # options may name objects of Python's, such as a MuJoCo model
        self._adopt(handle, batch_size, num_envs, self._actions, memory=(plan,))

        self.autoreset = autoreset
        self.max_episode_steps = plan.max_episode_steps
        self.num_threads: int = self.stats()["num_threads"]

        # without a seed each environment gets fresh entropy once; later resets continue from it
        fresh = iter(seeds.entropies(first_seeds.count(None)))
        self.seeds = [next(fresh) if each is None else each for each in first_seeds]
        words, sizes = seeds.words(self.seeds)
        self._check(
            lib.pp_pool_seed(
                self._handle,
                ffi.from_buffer("uint32_t[]", words),
                ffi.from_buffer("int32_t[]", sizes),
                self._error,
            )
        )
        self._announce()

    # ------------------------------------------------------------------------------ resetting --

    def send_reset(
        self,
        env_ids: Any = None,
        *,
        seed: seeds.Seed = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Queues resets of the environments of env_ids (None: all).

        Args:
            env_ids: integers (count,).
            seed: the i-th of env_ids gets seed + i, or the i-th of a sequence; None continues the
                generators.
            options: the environment's reset options.

        Raises:
            TypeError, ValueError: an argument is wrong.
            StateError: an environment is in flight already.
        """
        _, send = self._reset_sender(env_ids, seed, options)
        send(self._was_interrupted())

    def reset(
        self,
        env_ids: Any = None,
        *,
        seed: seeds.Seed = None,
        options: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> NamedBatch:
        """Resets the environments of env_ids (None: all) and receives; see `send_reset`, `recv`.

        If it is refused, nothing was sent.
        """
        return reset_as(self, self._to_named, env_ids, seed, options, timeout)

    def _reset_sender(
        self, env_ids: Any, seed: seeds.Seed, options: Mapping[str, Any] | None
    ) -> tuple[int, Callable[[bool], None]]:
        """Checks the arguments of a reset; returns what `_exchange` needs to send it."""
        count, ids = read_ids(env_ids, self.num_envs)
        named = range(self.num_envs) if env_ids is None else np.ravel(np.asarray(env_ids)).tolist()
        new_seeds = seeds.spread(seed, count)
        words = sizes = NULL
        if seed is not None:
            word_array, size_array = seeds.words(new_seeds)
            words = ffi.from_buffer("uint32_t[]", word_array)
            sizes = ffi.from_buffer("int32_t[]", size_array)
        given = None
        if options is not None and not isinstance(options, Mapping):
            raise TypeError(f"options={quote(options)} is {a_type(options)}: give a dict")
        if options:
            options = registry.fill_reset(self.definition, options)
        if options or (options is not None and self.definition.tells_no_options):
            given = Values(self.definition.reset_options, options, f"reset of {self.definition.id}")

        def send(is_undelivered: bool) -> None:
            values = NULL if given is None else given.raw
            if is_undelivered:
                self._check_undelivered(ids, count)
            error = error_slot.raw
            check(lib.pp_pool_send_reset(self._handle, ids, count, words, sizes, values, error))
            for env_id, each in zip(named, new_seeds, strict=True):
                if each is not None:
                    self.seeds[env_id] = each

        return count, send

    # ----------------------------------------------------------------------------- snapshots --

    def get_state(self, env_ids: Any = None) -> list[bytes]:
        """Returns a snapshot of each environment of env_ids (None: all): bytes for `set_state`.

        A snapshot holds the whole state: the environment, its random generator and pending seed,
        the step count and return of its episode, and whether it needs a reset.

        Raises:
            StateError: an environment is in flight.
            MemoryError: there is no memory for the snapshots; the pool is as before.
        """
        return [self._get_state(env_id) for env_id in id_list(env_ids, self.num_envs)]

    def set_state(self, states: Sequence[bytes], env_ids: Any = None) -> None:
        """Restores snapshots of this pool, or of one like it, into env_ids (None: all).

        All snapshots are checked before the first environment is changed. Only a failure of an
        environment's own `load` callback has an effect: the environments before it are restored,
        the one that failed starts a new episode at its next step, and those after it are unchanged.

        Any bytes give an error or a state that does no harm: they may come from a file that
        somebody else wrote. (For environments of your own their `check_state` sees to that.) But
        a snapshot does not prove who made it: somebody may have changed its numbers.

        Raises:
            TypeError: a snapshot is not bytes.
            StateError: an environment is in flight.
            ValueError: a snapshot is of another environment, other options, or damaged, or holds
                values that no environment has.
            MemoryError: there is no memory to check them; the pool is as before.
            PoolError, or the exception of its status: an environment's `load` callback failed.
        """
        ids = id_list(env_ids, self.num_envs)
        kept = _snapshots(states)
        if len(kept) != len(ids):
            raise ValueError(f"{len(kept)} states for {len(ids)} environments: give one for each")
        snapshots = ffi.new("void *[]", [ffi.from_buffer(state) for state in kept])
        sizes = ffi.new("int64_t[]", [len(state) for state in kept])
        raw_ids = ffi.new("int32_t[]", ids)
        error = error_slot.raw
        try:
            check(lib.pp_pool_set_state(self._handle, raw_ids, len(ids), snapshots, sizes, error))
        finally:
            # a call that fails may have changed some environments
            self._restores.count += 1
        self._restores.report()

    def clone(self, env_id: int, env_ids: Any) -> None:
        """Copies the state of env_id, random generator included, into the environments of env_ids.

        Raises:
            StateError: one of them is in flight.
        """
        ids = id_list(env_ids, self.num_envs)
        self.set_state(self.get_state([one_id(env_id, self.num_envs)]) * len(ids), ids)

    def _get_state(self, env_id: int) -> bytes:
        room = lib.pp_pool_get_state(self._handle, env_id, NULL, 0, error_slot.raw)
        check(room)
        try:
            buffer = ffi.new("char[]", room)
            size = lib.pp_pool_get_state(self._handle, env_id, buffer, room, error_slot.raw)
            check(size)
            state: bytes = ffi.buffer(buffer, size)[:]
        except MemoryError as error:
            # Python's own has no text
            raise MemoryError(
                str(error)
                or f"no memory for a snapshot of environment {env_id}, up to {room} bytes: drop"
                " snapshots and results you keep"
            ) from None
        return state

    # --------------------------------------------------------------------------------- state --

    def observe(self, env_ids: Any = None) -> NamedBatch:
        """Returns the current observations of env_ids (None: all), also after `set_state`.

        Returns:
            Arrays in the order of `spec.observations`, (count, *shape) of the field's dtype each,
            under the names that they have in batches; they share no memory with the pool.

        Raises:
            StateError: an environment is in flight, or was never reset.
        """
        ids = id_list(env_ids, self.num_envs)
        columns = [column for column in self.columns if column.field >= 0 and not column.is_final]
        seen = [c for c in columns if not self.spec.fields[c.field].is_info]
        return batch_class(field_names(seen))._make(observe_columns(self, seen, ids))

    def texts(self, name: str, codes: Any) -> tuple[Any, ...]:
        """Returns the strings that codes of a text stand for, such as a mission's.

        Args:
            name: of the observation or info.
            codes: (rows, *shape) of its dtype, as batches have them.

        Returns:
            One string for each row; of an info None where it has none.

        Raises:
            ValueError: these environments have no text of that name, or codes has another shape.

        Example:
            >>> pool.texts("mission", batch.mission)
            ('get a red key', 'fetch a blue ball')
        """
        known = {field.name: field for field in self.spec.fields if field.texts is not None}
        if name not in known:
            has = ", ".join(known) or "none"
            raise ValueError(f"{self._name} has no text {quote(name)}: its texts are: {has}")
        field = known[name]
        rows = np.asarray(codes, field.dtype)
        if rows.ndim == 0 or rows.shape[1:] != field.shape:
            wanted = ", ".join(["rows", *map(str, field.shape)])
            raise ValueError(f"codes have shape {rows.shape}: give ({wanted})")
        assert field.texts is not None
        return field.texts.of_rows(rows)

    def option_values(self, env_ids: Any = None) -> dict[str, Array]:
        """Returns the values in force of the options that were given as each or each_reset.

        Args:
            env_ids: integers (count,); None for all.

        Returns:
            By the option's name, an array (count,) with one value for each environment: float64,
            int64, bool or objects. max_episode_steps is among them if it was given so (0: none).

        Raises:
            StateError: an environment is in flight; or was never reset, and values are drawn.
        """
        ids = id_list(env_ids, self.num_envs)
        values = [self.options_of(env_id) for env_id in ids]
        return {name: _as_array([it[name] for it in values]) for name in self.varied}

    def options_of(self, env_id: int) -> dict[str, Any]:
        """Returns the values in force of all options of one environment, and max_episode_steps.

        Raises:
            StateError: the environment is in flight; or was never reset, and values are drawn.
        """
        checked = one_id(env_id, self.num_envs)
        options = self.definition.options
        raw = ffi.new("pp_value[]", max(1, len(options)))
        limit = ffi.new("int32_t *")
        check(lib.pp_pool_option_values(self._handle, checked, raw, limit, error_slot.raw))
        values = {name: value_for_env(value, checked) for name, value in self.spec.options.items()}
        for value, (name, option) in zip(raw, options.items(), strict=False):
            if isinstance(self.spec.options[name], EachReset):
                kinds = {"float": float, "bool": bool, "int": int}
                values[name] = kinds[option.kind](value.f if option.kind == "float" else value.i)
        return {**values, LIMIT: limit[0]}

    def option_value(self, name: str, env_id: int) -> Any:
        """Returns the value in force of one option of one environment, or its max_episode_steps.

        Raises:
            StateError: the value is drawn, and the environment is in flight or was never reset.
        """
        value = self.max_episode_steps if name == LIMIT else self.spec.options[name]
        if isinstance(value, EachReset):
            return self.options_of(env_id)[name]
        value = value_for_env(value, env_id)
        return 0 if value is None else value

    @property
    def state_size(self) -> int:
        """The bytes of one environment's state."""
        return int(lib.pp_pool_config(self._handle).state_size)

    @overload
    def render(
        self,
        env_ids: Any = ...,
        mode: Literal["rgb_array", "depth_array"] = ...,
        **options: Any,
    ) -> Array: ...

    @overload
    def render(
        self, env_ids: Any = ..., *, mode: Literal["rgbd_tuple"], **options: Any
    ) -> tuple[Array, Array]: ...

    @overload
    def render(self, env_ids: Any = ..., *, mode: Literal["ansi"], **options: Any) -> list[str]: ...

    def render(self, env_ids: Any = None, mode: str = "rgb_array", **options: Any) -> Any:
        """Draws the environments of env_ids (None: all).

        Args:
            env_ids: integers (count,).
            mode: "rgb_array"; for MuJoCo also "depth_array" and "rgbd_tuple", for toy text "ansi";
                for a class that was translated from Python, the modes of its metadata.
            options: for MuJoCo: width and height in pixels (480), camera_id, camera_name,
                default_camera_config, max_geom and visual_options, as in Gymnasium.

        Returns:
            RGB pictures, uint8 (count, height, width, 3); depths, float32 (count, height, width);
            a tuple of both; or a list of texts.

        Raises:
            TypeError, ValueError: the mode or an option is wrong.
            StateError: an environment is in flight, or has no pictures; or it is MuJoCo's or was
                translated from Python, and was never reset.
            MissingDependencyError: MuJoCo's pictures need OpenGL, which is not installed.
            PoolError: the `render` of a class in Python failed, with its exception as the cause.
        """
        ids = id_list(env_ids, self.num_envs)
        draw = self._drawing_function(mode, options)
        frames = [draw(env_id) for env_id in ids]
        if not frames or isinstance(frames[0], str):
            return frames
        return map_leaves(lambda *each: np.stack(each), *frames)

    def _drawing_function(self, mode: str, options: dict[str, Any]) -> Callable[[int], Any]:
        """Returns what draws an environment with these options.

        A renderer in Python is kept, with the cameras of its pictures.
        """
        module = registry.renderer_module(self.definition)
        if module is None:
            self._check_draws(mode, options)
            return self._draw
        key = mode, repr(sorted(options.items()))
        if key not in self._renderers:
            # A proxy. With a reference cycle, threads of a pool dropped without close() would stay
            # until the garbage collector runs.
            self._renderers[key] = module.Renderer(weakref.proxy(self), mode, **options)
        draw: Callable[[int], Any] = self._renderers[key].draw
        return draw

    def _check_draws(self, mode: str, options: dict[str, Any]) -> None:
        """Refuses what the environment's own C code can't draw."""
        if not self.definition.can_render and self.definition.reference.startswith("gymnasium"):
            check_usable(self)
            raise StateError(
                f"{self.definition.id} draws no pictures: Gymnasium's code draws them for"
                ' make_vec(..., render_mode="rgb_array"), PoolVecEnv and make(...)'
            )
        if mode != "rgb_array":
            raise ValueError(f"mode={quote(mode)}: {self.definition.id} draws 'rgb_array' only")
        if options:
            raise TypeError(f"{', '.join(options)}: {self.definition.id} has no drawing options")

    def _draw(self, env_id: int) -> Array:
        """Draws an environment with its own C code."""
        image = ffi.new("pp_image *")
        check(lib.pp_pool_render(self._handle, env_id, image, error_slot.raw))
        frame = np.empty((image.height, image.width, 3), np.uint8)
        image.pixels = ffi.cast("uint8_t *", ffi.from_buffer(frame))
        check(lib.pp_pool_render(self._handle, env_id, image, error_slot.raw))
        return frame

    def action_dtypes(self, actions: Any) -> np.dtype[Any] | list[np.dtype[Any]]:
        """Returns the dtype in which NumPy computes with actions of all environments.

        It is one for all, or a list of one per environment. The dtype of infos with
        `Field.follows` depends on it.
        """
        return self._actions.dtypes(actions, self.num_envs)

    def needs_reset(self, env_id: int) -> bool:
        """Returns whether the next step resets an environment, or with "disabled" is refused."""
        checked = one_id(env_id, self.num_envs)
        status = lib.pp_pool_needs_reset(self._handle, checked)
        if status == lib.PP_ERR_STATE:
            raise StateError(f"environment {env_id} is in flight: receive its result first")
        if status == lib.PP_ERR_ARGUMENT:
            raise ValueError(f"env_id {env_id}: choose 0 to {self.num_envs - 1}")
        if status < 0:
            # the pool is closed or forked; `pp_pool_get_state` sets the message
            check(lib.pp_pool_get_state(self._handle, 0, NULL, 0, error_slot.raw))
        return bool(status)

    def close(self, *, timeout: float | None = None) -> None:
        """Ends the threads, each after the environment it is stepping; arrays stay valid.

        Args:
            timeout: seconds to wait for that; None for 5. A thread that still runs then keeps its
                memory, until it ends or the process does. May be math.inf.

        Raises:
            TypeError, ValueError: timeout is wrong.

        Warns:
            RuntimeWarning: a thread still runs; it names the environment that it is stepping.
        """
        try:
            super().close(timeout=timeout)
        finally:
            for renderer in self._renderers.values():
                renderer.close()


def _as_array(values: list[Any]) -> Array:
    """Returns option values as an array; of objects if they are not numbers."""
    if isinstance(values[0], (bool, int, float)):
        return np.array(values)
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _snapshots(states: Any) -> list[bytes]:
    """Returns snapshots as bytes objects, which can't change while C checks and then reads them.

    Raises:
        TypeError: states are not a list of bytes.
    """
    if not isinstance(states, Sequence) or isinstance(states, (str, bytes, bytearray, memoryview)):
        kind = a_type(states)
        raise TypeError(f"states={quote(states)} is {kind}: give a list of what get_state returned")
    kept = []
    for i, state in enumerate(states):
        try:
            kept.append(state if type(state) is bytes else memoryview(state).tobytes())
        except TypeError:
            kind = a_type(state)
            raise TypeError(
                f"states[{i}]={quote(state)} is {kind}: give bytes, as get_state returns them"
            ) from None
    return kept


def reset_as(
    pool: Pool,
    convert: Callable[[Views], T],
    env_ids: Any,
    seed: seeds.Seed,
    options: Mapping[str, Any] | None,
    timeout: float | None = None,
) -> T:
    """Does what `Pool.reset` does, and returns the result of `convert`; see `Pool.step_as`."""
    timeout = seconds(timeout)
    count, send = pool._reset_sender(env_ids, seed, options)
    return pool._exchange(convert, count, send, timeout)


def write_state(pool: Pool, env_id: int, address: int) -> None:
    """Copies an environment's simulation to memory that its family's own tools can read.

    For renderers. It is no method of `Pool`, as a wrong address crashes the process.

    Args:
        pool, env_id: the environment.
        address: for MuJoCo, of an mjData made from the pool's model,
            `pool.spec.options["_link"].model`, such as `mujoco.MjData(model)._address`. It then
            holds what Gymnasium's would hold after the same steps. For particle worlds, of doubles,
            in the order of `csrc/envs/mpe/world.h`; the first is their number. The address can't be
            checked.

    Raises:
        StateError: the environment is in flight or was never reset, or its family does not support
            this.
        PoolError: MuJoCo reported an error.
        ValueError: the number of doubles is wrong.
    """
    checked = one_id(env_id, pool.num_envs)
    target = ffi.cast("void *", check_count("address", address, 0, 2**63 - 1))
    check(lib.pp_pool_expose(pool._handle, checked, target, error_slot.raw))
