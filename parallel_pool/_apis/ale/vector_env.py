"""AtariVectorEnv: ale-py's vector environment of Atari games on this engine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import error
from gymnasium.spaces import Box, Discrete, Space
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from parallel_pool._apis.common import ale_ids, mask_ids
from parallel_pool._apis.common.trace_method import TraceMethod
from parallel_pool._apis.common.vector_errors import NotResetError
from parallel_pool._apis.common.vector_options import autoreset_of
from parallel_pool._apis.torch.torch_method import TorchMethod
from parallel_pool._engine import registry
from parallel_pool._engine.arguments import a_type, quote
from parallel_pool._engine.interrupted import drain
from parallel_pool._engine.pool import Pool, all_arrays, check_count, check_sizes
from parallel_pool._engine.pool_checks import check_idle
from parallel_pool._engine.sharing import share
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool._engine.views import convert_batch
from parallel_pool._families import atari
from parallel_pool._lazy import public
from parallel_pool.errors import EnvError, StateError, UnprovenError

if TYPE_CHECKING:
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.pool import Views

Step = tuple["Array", "Array", "Array", "Array", dict[str, "Array"]]

DEFINITION = "_AleVector-v0"
MODES = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP

# ALE's number of each action: [left, -, right][down, -, up][without, with FIRE]
ACTIONS = (
    ((9, 17), (4, 12), (7, 15)),
    ((5, 13), (0, 1), (2, 10)),
    ((8, 16), (3, 11), (6, 14)),
)
# a paddle rotation of this size in one frame reaches the end from any position
MAX_ROTATION = 64.0
INT32 = np.iinfo(np.int32)


@public("compat.ale")
class ActionError(TypeError, ValueError, AssertionError):
    """Actions are not an array of the right dtype and shape; ale-py raises AssertionError."""


@public("compat.ale")
class AtariVectorEnv(TraceMethod, TorchMethod, Uncopied, VectorEnv[Any, Any, Any]):
    """Many environments of one Atari game, with the API of `ale_py.vector_env.AtariVectorEnv`.

    It has the arguments and attributes of ale-py 0.12.1's class of the same name, and returns the
    same bits for the same seeds and actions. It differs where that class hangs or ends the process
    (actions and sizes out of range, a `recv` with nothing in flight, a batch larger than num_envs):
    here these raise exceptions. A second `send` before `recv` raises too. There is no attribute
    `ale`.

    With `batch_size < num_envs` it is asynchronous: `reset` and `recv` return the first batch_size
    environments to finish, `info["env_id"]` has their ids, and `send` acts on those received last.

    Attributes:
        continuous: as given to the constructor.
        continuous_action_threshold: as given to the constructor.
        grayscale: as given to the constructor.
        batch_size: as given to the constructor.
        num_envs: as given to the constructor.
        autoreset_mode: as given to the constructor.
        map_action_idx: int32 (3, 3, 2), ALE's number of each action by the joystick's direction
            (left to right, down to up) and FIRE.
        is_xla_registered: whether `xla` was called.
        pool: the `Pool` underneath.

    Example:
        >>> from parallel_pool.compat.ale import AtariVectorEnv
        >>> envs = AtariVectorEnv("pong", 4)
        >>> observations, infos = envs.reset(seed=1)
        >>> observations, rewards, *ends, infos = envs.step(np.zeros(4, np.int64))
        >>> observations.shape, infos["lives"]
        ((4, 4, 84, 84), array([0, 0, 0, 0], dtype=int32))
        >>> envs.close()
    """

    pool: Pool

    def __init__(
        self,
        game: str,
        num_envs: int,
        *,
        batch_size: int = 0,
        num_threads: int = 0,
        thread_affinity_offset: int = -1,
        max_num_frames_per_episode: int = 108000,
        repeat_action_probability: float = 0.0,
        full_action_space: bool = False,
        continuous: bool = False,
        continuous_action_threshold: float = 0.5,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        img_height: int = 84,
        img_width: int = 84,
        grayscale: bool = True,
        stack_num: int = 4,
        frameskip: int = 4,
        maxpool: bool = True,
        noop_max: int = 30,
        episodic_life: bool = False,
        life_loss_info: bool = False,
        reward_clipping: bool = True,
        use_fire_reset: bool = True,
    ) -> None:
        """Makes the environments.

        Args:
            game: ale-py's name of the game, such as "space_invaders".
            num_envs: environments.
            batch_size: rows of one result; 0: num_envs.
            num_threads: threads that step; 0: the cores this process may use, at most batch_size.
            thread_affinity_offset: 0 or more pins each thread to its own core, from this one on.
            max_num_frames_per_episode: frames after which an episode is truncated.
            repeat_action_probability: probability that a frame repeats the previous action.
            full_action_space: whether to use all actions of ALE instead of the game's own.
            continuous: whether actions are a joystick's radius and angle, and FIRE's pressure.
            continuous_action_threshold: above it a joystick counts as held in a direction.
            autoreset_mode: NEXT_STEP or SAME_STEP.
            img_height: of a frame, in pixels.
            img_width: of a frame, in pixels.
            grayscale: whether pixels are luminance instead of red, green and blue.
            stack_num: frames in an observation.
            frameskip: frames of the game in one step.
            maxpool: whether a pixel is the maximum of a step's last two frames.
            noop_max: a reset plays a random number of no-op frames below this.
            episodic_life: whether a lost life ends the episode.
            life_loss_info: whether a lost life counts as a termination while the game continues.
            reward_clipping: whether each reward is replaced by its sign: -1, 0 or 1.
            use_fire_reset: whether a reset begins with FIRE, if the game has it.

        Raises:
            gymnasium.error.Error: frameskip is not a positive integer.
            AssertionError: ale-py has no such game.
            TypeError, ValueError: another argument is wrong.
            MissingDependencyError: ale-py is not installed.
            UnprovenError: the engine is not known to play this game as ALE does.
        """
        if type(frameskip) is not int or frameskip <= 0:
            raise error.Error(f"frameskip={quote(frameskip)}: give a positive int")
        if continuous and not isinstance(continuous_action_threshold, (int, float, np.number)):
            kind = a_type(continuous_action_threshold)
            raise TypeError(
                f"continuous_action_threshold={quote(continuous_action_threshold)} is {kind}:"
                " give a number"
            )
        self.autoreset_mode = _check_mode(autoreset_mode)
        self.num_envs, self.batch_size = check_sizes(num_envs, batch_size)
        probability = repeat_action_probability
        if isinstance(probability, (int, float)):
            # as in ALE
            probability = min(max(probability, 0.0), 1.0)
        self._arguments: dict[str, Any] = {
            "num_envs": self.num_envs,
            "batch_size": self.batch_size,
            "num_threads": max(0, check_count("num_threads", num_threads, INT32.min)),
            "thread_affinity_offset": max(
                -1, check_count("thread_affinity_offset", thread_affinity_offset, INT32.min)
            ),
            "autoreset": autoreset_of(self.autoreset_mode),
            "reward_dtype": "float64",
            "options": {
                "game": game,
                "rom": _read_rom(game),
                "max_num_frames_per_episode": max_num_frames_per_episode,
                "repeat_action_probability": probability,
                "full_action_space": full_action_space,
                "continuous": continuous,
                "img_height": img_height,
                "img_width": img_width,
                "grayscale": grayscale,
                "stack_num": stack_num,
                "frameskip": frameskip,
                "maxpool": maxpool,
                # as in ALE, where 0 and 1 both mean no no-op frames
                "noop_max": max(1, check_count("noop_max", noop_max, INT32.min)),
                "episodic_life": episodic_life,
                "life_loss_info": life_loss_info,
                "reward_clipping": reward_clipping,
                "use_fire_reset": use_fire_reset,
            },
        }
        self.pool = self._make_pool()
        self.continuous = continuous
        self.continuous_action_threshold = continuous_action_threshold
        self.grayscale = grayscale
        self.map_action_idx = np.array(ACTIONS, np.int32)
        self.is_xla_registered = False
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self._describe()
        self._locate()
        # the environments that the next actions are for; None for all, in synchronous pools
        self._sent_to: Array | None = None
        self._was_reset = False
        # the functions of compiled programs, and how many calls they had made at the last result
        self._programs: Any = None
        self._seen_calls = 0

    def _make_pool(self) -> Pool:
        return Pool(registry.builtin()[DEFINITION], **self._arguments)

    def _describe(self) -> None:
        """Sets the spaces: those of one environment, and those of a batch of batch_size rows."""
        self.single_observation_space = self.pool.spec.observations[0].space()
        if self.continuous:
            low = np.array([0.0, -np.pi, 0.0], np.float32)
            high = np.array([1.0, np.pi, 1.0], np.float32)
            self.single_action_space: Space[Any] = Box(low, high, (3,), np.float32)
        else:
            self.single_action_space = Discrete(self.pool.spec.action.n)
        self.observation_space = batch_space(self.single_observation_space, self.batch_size)
        self.action_space = batch_space(self.single_action_space, self.batch_size)

    def _locate(self) -> None:
        """Stores the indices of the columns that results are made of."""
        own = {c.name: i for i, c in enumerate(self.pool.columns) if not c.is_final}
        finals = [i for i, c in enumerate(self.pool.columns) if c.is_final and c.name == "obs"]
        self._final = finals[0] if finals else -1
        self._reward, self._lost_life = own["reward"], own["lost_life"]
        self._terminated, self._truncated = own["terminated"], own["truncated"]
        self._env_id = own["env_id"]
        self._infos = [(name, own[name]) for name in ("lives", "frame_number")]
        self._infos.append(("episode_frame_number", own["episode_frame_number"]))

    # ------------------------------------------------------------------------------ resetting --

    def reset(
        self,
        *,
        seed: int | np.ndarray[Any, Any] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Array, dict[str, Array]]:
        """Starts new episodes.

        Args:
            seed: the i-th environment that is reset gets seed + i, or the i-th of an int32 array
                (environments reset,); None and negative seeds continue the generators.
            options: "reset_mask", bool (num_envs,), names the environments to reset; others stay
                as they are. Other options are ignored.

        Returns:
            Observations, uint8 (batch_size, stack_num, img_height, img_width), with a last axis of
            3 for colours; infos, int32 (batch_size,): "env_id", "lives", "frame_number",
            "episode_frame_number".

        Raises:
            TypeError: a seed is not an int32, or the mask is not a bool array.
            ValueError: there are too few or too many seeds, the mask has a wrong shape, or leaves
                out environments of an asynchronous pool.
            RuntimeError: the first reset leaves out environments.
            ClosedError: after `close`.
        """
        env_ids = self._take_mask(options)
        seeds = _spread(seed, len(env_ids))
        if len(env_ids) == self.num_envs:
            return self._reset_all(seeds)
        if self.pool.is_async:
            raise ValueError(
                f"reset_mask names {len(env_ids)} of {self.num_envs} environments: an asynchronous"
                f" pool (batch_size={self.batch_size}) resets all"
            )
        if not self._was_reset:
            raise NotResetError(
                f"reset_mask names {len(env_ids)} of {self.num_envs} environments: the first reset"
                " must name all"
            )
        for _ in drain(self.pool):
            pass
        if len(env_ids):
            self.pool.reset(env_ids, seed=seeds)
        columns = self.pool.observe()
        return columns[0], self._make_infos(columns, np.arange(self.num_envs, dtype=np.int32))

    def _take_mask(self, options: dict[str, Any] | None) -> Array:
        """Returns the ids of the environments that a reset is for."""
        if options is None or mask_ids.KEY not in options:
            return np.arange(self.num_envs, dtype=np.int32)
        return mask_ids.named_ids(options[mask_ids.KEY], self.num_envs)

    def _reset_all(self, seeds: list[int | None]) -> tuple[Array, dict[str, Array]]:
        if self.pool.is_async and self.pool.in_flight:
            # their results can't be received: they may be fewer than a batch
            check_idle(self.pool)
            made = self._make_pool()
            self.pool.close()
            self.pool = made
            self._programs = None
        for _ in drain(self.pool):
            pass
        try:
            batch = self.pool.reset(seed=seeds)
        except EnvError as failure:
            self._was_reset = True
            failure.batch = self._convert([array.view for array in failure.batch])
            raise
        self._was_reset = True
        observations, _, _, _, infos = convert_batch(self._convert, batch)
        return observations, infos

    # ------------------------------------------------------------------------------- stepping --

    def step(self, actions: np.ndarray[Any, Any]) -> Step:
        """Sends actions and receives results; see `send` and `recv`."""
        arranged = self._arrange(actions)
        try:
            step: Step = self.pool.step_as(self._convert, arranged, self._sent_to)
            return step
        except EnvError as failure:
            failure.batch = self._convert([array.view for array in failure.batch])
            raise

    def send(self, actions: np.ndarray[Any, Any]) -> None:
        """Sends actions to the environments received last.

        Args:
            actions: int32 or int64 (batch_size,); with `continuous` float32 (batch_size, 3): a
                joystick's radius (0 to 1) and angle (radians), and FIRE's pressure (0 to 1).

        Raises:
            ActionError: they are not such an array; it is a TypeError, ValueError and
                AssertionError.
            ValueError: an action is outside its space.
            RuntimeError: before the first `reset`, or environments are in flight.
            ClosedError: after `close`.
        """
        self.pool.send(self._arrange(actions), self._sent_to)

    def recv(self) -> Step:
        """Receives results: of all environments, or the first batch_size to finish.

        Returns:
            Observations as of `reset`; rewards int32 (batch_size,); terminations and truncations
            bool (batch_size,); infos as of `reset`. With SAME_STEP, infos of a batch in which
            episodes ended have "final_obs", shaped as observations: the last observation of these
            episodes, and in other rows the current one.

        Raises:
            StateError: fewer environments than batch_size are in flight.
            ClosedError: after `close`.
        """
        try:
            step: Step = self.pool.recv_as(self._convert)
            return step
        except EnvError as failure:
            failure.batch = self._convert([array.view for array in failure.batch])
            raise

    def _arrange(self, actions: Any) -> Array:
        """Checks actions and returns them as the core takes them."""
        if self._has_program_stepped():
            if self.pool.is_async:
                raise StateError(
                    "a compiled program has received since the last recv(), and only its handle"
                    " says for which environments actions are: go on in programs, or call reset()"
                )
        elif not self._was_reset and not self.pool.closed:
            raise NotResetError("actions before reset(): call reset() first")
        if not isinstance(actions, np.ndarray):
            raise ActionError(f"actions are of {type(actions).__name__}: give an array of NumPy")
        arranged: Array = self._reader()(np, actions)
        return arranged

    def _has_program_stepped(self) -> bool:
        """Returns whether a compiled program has made calls since the last result in Python."""
        return self._programs is not None and self._programs.count != self._seen_calls

    def _reader(self) -> Callable[[Any, Any], Any]:
        """Returns `_read_actions` with these environments' arguments; it refers to no pool."""
        threshold = self.continuous_action_threshold if self.continuous else None
        return partial(_read_actions, self.batch_size, threshold, self.map_action_idx)

    def _convert(self, views: Views) -> Step:
        """Returns a result from a batch's views."""
        arrays = all_arrays(views)
        observations, terminated = arrays[0], arrays[self._terminated]
        ended = terminated | arrays[self._truncated]
        reported = terminated | arrays[self._lost_life]
        env_ids = arrays[self._env_id]
        if self.pool.is_async:
            # a copy: the user may write to infos
            self._sent_to = env_ids.copy()
        if self._programs is not None:
            self._seen_calls = self._programs.count
        infos = self._make_infos(arrays, env_ids)
        if self._final >= 0 and (ended | reported).any():
            final = infos["final_obs"] = observations.copy()
            final[ended] = arrays[self._final][ended]
        rewards = arrays[self._reward].astype(np.int32)
        return observations, rewards, reported, arrays[self._truncated], infos

    def _make_infos(self, arrays: tuple[Array, ...], env_ids: Array) -> dict[str, Array]:
        infos = {"env_id": env_ids}
        for name, i in self._infos:
            infos[name] = arrays[i]
        return infos

    # --------------------------------------------------------------------------------- others --

    def xla(self):  # type: ignore[no-untyped-def]  # ale-py's signature has no types
        """Returns ale-py's functions for jitted JAX programs, on the CPU or on CUDA.

        Returns:
            A handle; `reset(handle, seed=None, reset_mask=None)`, which returns the next handle and
            what `reset` returns in Python; and `step(handle, actions)`, which returns the next
            handle and what `step` returns. A handle is valid for one call; `xla` again returns a
            new one, and the same functions. It is int32, and not uint8 (8,) as ale-py's. reset_mask
            can't be traced.

        Raises:
            AssertionError: autoreset_mode is not NEXT_STEP.
            StateError: the pool is asynchronous, and a program has made calls: use its newest
                handle, or call `reset` first.
            MissingDependencyError: JAX is not installed.
            ClosedError, ForkedError: the pool is closed, or belongs to another process.
        """
        if self.autoreset_mode is not AutoresetMode.NEXT_STEP:
            raise AssertionError(
                f"autoreset_mode={self.autoreset_mode}: compiled programs have NEXT_STEP only"
            )
        # raises MissingDependencyError without JAX
        from parallel_pool._apis.ale.programs import XlaFunctions
        from parallel_pool._apis.jax import programs as _  # noqa: F401

        share(self.pool)
        if self._programs is None:
            self._programs, self._seen_calls = XlaFunctions(self.pool, self._reader()), 0
        elif self.pool.is_async and self._has_program_stepped():
            raise StateError(
                "a compiled program has made calls, and only its handle says for which environments"
                " actions are: use its newest handle, or call reset() first"
            )
        self.is_xla_registered = True
        programs = self._programs
        return programs.handle(self._sent_to), programs.reset, programs.step

    def close_extras(self, timeout: float | None = None, **kwargs: Any) -> None:
        """Ends the threads; `close` calls this.

        Args:
            timeout: seconds to wait for the threads; None for 5. See `Pool.close`.
            kwargs: ignored.
        """
        if hasattr(self, "pool"):
            self.pool.close(timeout=timeout)


def _read_actions(
    batch_size: int, threshold: float | None, numbers: Array, xp: Any, actions: Any
) -> Any:
    """Checks an array of actions and returns it as the core takes it.

    Args:
        batch_size: of the environments.
        threshold: above it a joystick counts as held in a direction; None for discrete actions.
        numbers: `map_action_idx`.
        xp: the array's module, numpy or jax.numpy.
        actions: the array.
    """
    shape = (batch_size,) if threshold is None else (batch_size, 3)
    dtypes = ("int64", "int32") if threshold is None else ("float32",)
    if actions.dtype not in dtypes:
        raise ActionError(f"actions are of {actions.dtype}: give an array of {' or '.join(dtypes)}")
    if actions.shape != shape:
        raise ActionError(f"actions have shape {actions.shape}: give {shape}")
    return actions if threshold is None else _read_joysticks(xp, actions, threshold, numbers)


def _read_joysticks(xp: Any, joysticks: Any, threshold: float, numbers: Array) -> Any:
    """Returns ALE's actions and the paddles' rotations, float32 (batch_size, 2)."""
    radius, angle, fire = joysticks.T
    sides = [
        1 + (side > threshold).astype(np.int32) - (side < -threshold).astype(np.int32)
        for side in (radius * xp.cos(angle), radius * xp.sin(angle))
    ]
    found = xp.asarray(numbers)[sides[0], sides[1], (fire > threshold).astype(np.int32)]
    # ALE rotates paddles by the absolute value of the radius
    rotations = xp.minimum(xp.abs(radius), np.float32(MAX_ROTATION))
    return xp.stack([found.astype(np.float32), rotations], axis=1)


def _check_mode(mode: Any) -> AutoresetMode:
    if not isinstance(mode, (str, AutoresetMode)):
        raise TypeError(f"autoreset_mode={quote(mode)} is {a_type(mode)}: give an AutoresetMode")
    names = [each.value for each in MODES]
    if (mode.value if isinstance(mode, AutoresetMode) else mode) not in names:
        raise ValueError(f"autoreset_mode={quote(mode)}: choose {' or '.join(map(repr, names))}")
    return AutoresetMode(mode)


def _read_rom(game: Any) -> bytes:
    """Returns a game's ROM; raises UnprovenError if the engine may not play it as ALE does."""
    if not isinstance(game, str) or game not in ale_ids.by_game():
        raise AssertionError(
            f"game={quote(game)} is not a game of ale-py: give its name in lower case, such as"
            ' "space_invaders"'
        )
    rom = atari.read_rom(game)
    why = atari.reason(game, rom)
    if why is not None:
        raise UnprovenError(
            f"{game} is refused because {why}: use ale_py.vector_env.AtariVectorEnv"
        )
    return rom


def _spread(seed: Any, count: int) -> list[int | None]:
    """Returns the seed of each environment that is reset, None for no new seed."""
    if seed is None:
        return [None] * count
    if isinstance(seed, int):
        each = list(range(int(seed), int(seed) + count))
    elif not isinstance(seed, np.ndarray):
        raise TypeError(f"seed={quote(seed)} is {a_type(seed)}: give an int or an array")
    elif seed.shape != (count,):
        raise ValueError(
            f"seeds have shape {seed.shape}: give one for each that is reset, ({count},)"
        )
    elif seed.dtype.kind not in "iu":
        raise TypeError(f"seeds have dtype {seed.dtype}: give integers")
    else:
        each = seed.tolist()
    wrong = [one for one in each if not INT32.min <= one <= INT32.max]
    if wrong:
        raise TypeError(f"seed={quote(wrong[0])}: choose -2**31 to 2**31 - 1")
    return [None if one < 0 else one for one in each]
