"""WorldsPool: environments of this process that are stepped together, behind a pool's interface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from gymnasium import spaces

from parallel_pool._engine import seeds
from parallel_pool._engine.actions import check_sequence, described, take_array
from parallel_pool._engine.arguments import a_type, check_choice, quote
from parallel_pool._engine.env_ids import id_list, read_ids
from parallel_pool._engine.pool import AUTORESET
from parallel_pool._engine.pool_checks import check_idle
from parallel_pool._workers.data.messages import Description
from parallel_pool._workers.data.spaces import fixed_leaves
from parallel_pool._workers.process_pool import ProcessPool
from parallel_pool._workers.run.worlds_lane import Resets, WorldsLane
from parallel_pool._workers.start import address_space
from parallel_pool.errors import NotResetError, StateError

if TYPE_CHECKING:
    from parallel_pool._core import CData
    from parallel_pool._engine.buffers import Array
    from parallel_pool._engine.views import Views
    from parallel_pool._workers.data.messages import Assignment
    from parallel_pool._workers.run.worlds import Worlds

T = TypeVar("T")


class WorldsPool(ProcessPool):
    """Environments that one object steps together, in the thread that sends.

    Sending and receiving work as in a `ProcessPool` with num_workers=0, but a step is always one of
    all environments. The object's `close` is called when the pool is closed or deleted.
    """

    _may_have_workers = False

    _local: WorldsLane

    def __init__(self, worlds: Worlds, *, autoreset: str) -> None:
        """Takes over environments.

        Args:
            worlds: the environments.
            autoreset: "next_step", "same_step" or "disabled", as for `Pool`.
        """
        self._worlds = worlds
        (self._action,) = fixed_leaves(worlds.action_space)
        # C would refuse the step after a snapshot was restored over an episode that is over; here
        # only the lane knows which are
        is_disabled = check_choice("autoreset", autoreset, AUTORESET) == AUTORESET["disabled"]
        in_c = "next_step" if is_disabled else autoreset
        super().__init__([_no_env] * worlds.num_envs, num_workers=0, autoreset=in_c)
        self.autoreset = autoreset
        self._name = worlds.name
        # of actions that are counted: the least, and how many there are
        self._choices = _choices(self._action.space)
        if self._choices is not None:
            # no actions go to C unseen
            self._plain = None, ()

    def _make_here(self, fns: Sequence[Callable[[], Any]], envs: list[Any]) -> Description:
        worlds = self._worlds
        envs.extend(worlds.world(env_id) for env_id in range(len(fns)))
        left = address_space.remaining()
        return Description(
            [worlds.observation_space],
            [worlds.action_space],
            worlds.metadata,
            worlds.render_mode,
            None,
            None if left is None else left // 2,
        )

    def _lane_here(
        self,
        handle: CData,
        envs: list[Any],
        fns: Sequence[Callable[[], Any]],
        assignment: Assignment,
    ) -> WorldsLane:
        return WorldsLane(handle, envs, self._worlds, assignment)

    # ------------------------------------------------------------------------------ stepping --

    def step_as(
        self,
        convert: Callable[[Views], T],
        actions: Any,
        env_ids: Any = None,
        timeout: float | None = None,
    ) -> T:
        """Does a step and returns the result of `convert`; see `BasePool.step_as`.

        Raises:
            NotResetError: before the first reset.
        """
        self._check_step(env_ids)
        return super().step_as(convert, actions, None, timeout)

    def send(self, actions: Any, env_ids: Any = None) -> None:
        """Queues one action for each environment; all of them or none.

        Raises:
            TypeError, ValueError: actions are wrong, or env_ids names some of the environments.
            NotResetError: before the first reset.
        """
        self._check_step(env_ids)
        super().send(actions)

    def _check_step(self, env_ids: Any) -> None:
        if env_ids is not None and id_list(env_ids, self.num_envs) != list(range(self.num_envs)):
            raise ValueError(
                "env_ids names some environments, but these are stepped together: leave it out"
            )
        if not self._local.is_begun:
            check_idle(self)
            raise NotResetError("a step before reset(): call reset() first")
        if self.autoreset == "disabled" and (ended := self._local.ended).any():
            check_idle(self)
            raise NotResetError(
                f"environment {int(ended.argmax())} has ended its episode or failed, and autoreset"
                " is disabled: reset it first"
            )

    def _encode(self, actions: Any, env_ids: Any) -> tuple[Any, None]:
        """Returns the records of actions.

        Raises:
            TypeError, ValueError: actions have a wrong type, shape or dtype.
        """
        leaf, count = self._action, self.num_envs
        found = take_array(actions)
        check_sequence(found, count)
        try:
            array = np.asarray(found)
        except Exception as error:
            raise ValueError(f"actions can't be made an array: {error}") from error
        wanted = (count, *leaf.shape)
        if array.shape != wanted:
            raise ValueError(f"actions have shape {array.shape}: give {wanted}")
        if array.dtype.kind not in ("iuf" if leaf.dtype.kind == "f" else "iu"):
            raise TypeError(f"actions are {described(array)}: give {leaf.dtype}")
        cast = np.ascontiguousarray(array, leaf.dtype)
        if leaf.dtype.kind != "f" and not (cast == array).all():
            raise ValueError(f"actions hold numbers that are not in {self.single_action_space}")
        self._check_choices(cast)
        return cast.reshape(count, -1).view(np.uint8), None

    def _check_choices(self, actions: Array) -> None:
        """Raises ValueError for actions outside a space in which actions are counted."""
        if self._choices is None:
            return
        first, count = self._choices
        wrong = (actions < first) | (actions - first >= count)
        if wrong.any():
            at = tuple(np.argwhere(wrong)[0].tolist())
            raise ValueError(
                f"actions[{', '.join(map(str, at))}] is {actions[at]}, outside its space: choose"
                f" from {self.single_action_space}"
            )

    def _reset_sender(
        self, env_ids: Any, seed: seeds.Seed, options: Any, mask: Array | None = None
    ) -> tuple[int, Callable[[bool], None]]:
        if options:
            raise ValueError(
                f"options={quote(options)}: these environments take none but a reset_mask"
            )
        count, ids = read_ids(env_ids, self.num_envs)
        each = None if seed is None else seeds.spread(seed, count)
        payload = self._dumps(Resets(count, each, mask))
        return count, self._send_of(env_ids, ids, count, [payload])

    def _ids_with_payloads(self, env_ids: Any, payloads: Sequence[bytes]) -> list[int]:
        # one for all turns, with the first of them
        return id_list(env_ids, self.num_envs)[: len(payloads)]

    # ------------------------------------------------------------------------------ snapshots --

    def get_state(self, env_ids: Any = None) -> list[bytes]:
        """Returns a snapshot of each environment of env_ids (None: all): bytes for `set_state`.

        A snapshot holds the whole state of an environment, its generator included.

        Raises:
            StateError: an environment is in flight, or has no snapshots.
        """
        self._check_at_rest()
        return self._local.get_states(id_list(env_ids, self.num_envs))

    def set_state(self, states: Sequence[bytes], env_ids: Any = None) -> None:
        """Restores snapshots of this pool, or of one like it, into env_ids (None: all).

        All snapshots are checked before the first environment is changed. The column
        "elapsed_step" goes on counting the steps of this pool.

        Raises:
            TypeError: a snapshot is not bytes.
            ValueError: a snapshot is of another model, task or version, or damaged.
            StateError: an environment is in flight.
        """
        self._check_at_rest()
        ids = id_list(env_ids, self.num_envs)
        for state in states:
            if not isinstance(state, bytes):
                raise TypeError(f"a state is {a_type(state)}: give bytes of get_state")
        if len(states) != len(ids):
            raise ValueError(f"{len(states)} states for {len(ids)} environments: give one for each")
        self._local.set_states(ids, states)

    def observe(self) -> list[Array]:
        """Returns the observations of all environments: an array (n, *shape) for each leaf."""
        self._check_at_rest()
        return [leaf.copy() for leaf in self._worlds.observe()]

    def _check_at_rest(self) -> None:
        check_idle(self)
        if self.in_flight:
            raise StateError(f"{self.in_flight} environments are in flight: receive them first")


def _choices(space: spaces.Space[Any]) -> tuple[Any, Any] | None:
    """Returns the least action and how many there are; None for a Box, whose actions are free."""
    if isinstance(space, spaces.Discrete | spaces.MultiDiscrete):
        return space.start, space.n if isinstance(space, spaces.Discrete) else space.nvec
    return (0, 2) if isinstance(space, spaces.MultiBinary) else None


def _no_env() -> None:
    """Stands for a function that makes an environment: these are made already."""


def lane_of(pool: WorldsPool) -> WorldsLane:
    """Returns what steps the environments of a pool."""
    return pool._local
