"""RolloutBuffer: lets a policy act in environments, and keeps what they return."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gymnasium.vector import AutoresetMode

from parallel_pool._apis.common.rollout import Rollout
from parallel_pool._apis.common.rollout_storage import Recorded, Storage, make_storage
from parallel_pool._engine.arguments import a_type, check_count, quote
from parallel_pool._engine.rollouts import count_batches
from parallel_pool._engine.trees import map_leaves
from parallel_pool._engine.uncopied import Uncopied
from parallel_pool._lazy import public
from parallel_pool.errors import StateError

if TYPE_CHECKING:
    # that of an asynchronous pool takes env_ids, too
    Policy = Callable[[Any], Any] | Callable[[Any, Any], Any]

# before the names of what a policy returns besides actions
EXTRA = "extra "
# memories that are kept: the one that is filled, the one that is read, and one more
MAX_KEPT = 3


@public("compat.gymnasium")
class RolloutBuffer(Uncopied):
    """Collects rollouts: `steps` steps of all environments, chosen by a policy.

    Environments that threads of this process step write observations, rewards and flags straight
    into the memory of the rollout; those in worker processes have them copied there. Every value
    is what `step` returns. An asynchronous pool has an `AsyncRolloutBuffer`.

    A rollout is yours. As long as you hold one of its arrays, the next one is written to other
    memory; so a learner, in this thread or another, may read one while the next is collected.

    Attributes:
        envs: the environments; between two rollouts they may be used by hand.
        steps: of a rollout.

    Example:
        >>> envs = parallel_pool.make_vec("CartPole-v1", 4, backend="native")
        >>> observations, infos = envs.reset(seed=1)
        >>> def policy(observations):
        ...     return np.zeros(4, np.int64), {"value": observations[:, 0]}
        >>> rollout = envs.rollout(32).collect(policy)
        >>> rollout.extras["value"].shape
        (32, 4)
        >>> envs.close()
    """

    def __init__(self, envs: Any, steps: int, *, frames: bool = False) -> None:
        """
        Args:
            envs: `NativeVectorEnv`, `ProcessVectorEnv` or `GymnasiumEnvPool`.
            steps: of a rollout.
            frames: whether observations, which are stacks of frames, are kept with each frame
                once; see `Stacks`.

        Raises:
            TypeError: steps is no integer.
            ValueError: steps is less than 1; or episodes do not start again by themselves
                (DISABLED).
        """
        self.envs = envs
        self.steps = check_count("steps", steps, 1)
        if envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED:
            raise ValueError(
                "autoreset_mode=DISABLED: a rollout goes on after the end of an episode: choose"
                " NEXT_STEP or SAME_STEP"
            )
        self._frames = frames
        self._kept: list[tuple[Storage, Recorded]] = []
        # the observations after the last rollout, and how many batches the pool had given then
        self._next: Any = None
        self._batches = -1

    def collect(self, policy: Policy, observations: Any = None) -> Rollout:
        """Steps all environments `steps` times; returns a `Rollout`.

        It goes on where the environments are: after the last rollout, or after what was done by
        hand since. They must have been reset once.

        Args:
            policy: a function of observations (n, *shape), as `step` returns them, that returns
                actions (n, *action shape), or a tuple of actions and a dict of further arrays
                (n, ...), such as log probabilities and values, which `Rollout.extras` has.
            observations: from which to go on, (n, *shape) of the space's dtype; None for the
                present ones. To be given after the pool's `set_state`, and by environments in
                worker processes if you have written to the arrays of the last result.

        Raises:
            TypeError: the policy returned what is none of these, or now texts and now numbers; or
                observations have a dtype of another kind.
            ValueError: observations are no stacks, and frames=True, or have another shape; actions
                are wrong; or an array has another shape than at the step before.
            NotResetError: the environments were never reset.
            StateError: the environments were stepped meanwhile, by the policy for example.
            MemoryError: there is no memory for so many steps.
            EnvError: environments failed. The steps so far are lost; the environments go on.
            Exception: as of `step`, or of the policy.
        """
        return self._collect_as(_unchanged, policy, observations)

    # ------------------------------------------------------------------------------- private --

    def _collect_as(
        self, convert: Callable[[Any], Any], policy: Policy, observations: Any = None
    ) -> Rollout:
        """Does what `collect` does, and returns a rollout of what `convert` makes of its arrays.

        Args:
            convert: a function of a tree of arrays and `Stacks`, to one of the same form. It is
                called once; the first axis of its results can be sliced.
            policy: as for `collect`.
            observations: as for `collect`.
        """
        observations = self._first_observations(observations)
        storage, recorded = self._take()
        infos, batches = self._play(policy, observations, storage, recorded)
        if batches != count_batches(self.envs.pool):
            raise StateError(
                "the environments were stepped by others than collect(): let the policy only"
                " choose actions"
            )
        # not before: after an exception the memory may still be written
        self._keep(storage, recorded)
        return self._rollout(convert, storage, recorded, infos)

    def _play(
        self, policy: Any, observations: Any, storage: Any, recorded: Recorded
    ) -> tuple[list[dict[str, Any]], int]:
        """Fills memory; returns the infos of each step, and how many batches the pool has delivered
        now if nobody else has received any."""
        infos: list[dict[str, Any]] = []
        begun = count_batches(self.envs.pool)
        seen = storage.begin(observations)
        make_step, put = self.envs._step_of_rollout, storage.put
        with storage.filling():
            for step in range(self.steps):
                result = make_step(self._record(recorded, step, policy(seen)))
                put(step, result)
                seen = result[0]
                infos.append(result[4])
        return infos, begun + self.steps

    def _record(self, recorded: Recorded, step: int, result: Any) -> Any:
        """Stores what a policy has returned; returns the actions."""
        values = named_values(result)
        recorded.put_step(step, values, self.steps)
        return values["actions"]

    def _first_observations(self, given: Any) -> Any:
        """Returns those with which a rollout begins; raises if it can't."""
        self.envs._check_idle("collect")
        if given is not None:
            return given
        if self._batches == count_batches(self.envs.pool):
            return self._next
        return self.envs._present_observations()

    def _take(self) -> tuple[Storage, Recorded]:
        """Returns memory that nobody holds."""
        for i, (storage, recorded) in enumerate(self._kept):
            if storage.is_free() and recorded.is_free():
                recorded.clear()
                return self._kept.pop(i)
        return self._make_storage(), Recorded()

    def _make_storage(self) -> Storage:
        return make_storage(self.envs, self.steps, self._frames)

    def _keep(self, storage: Storage, recorded: Recorded) -> None:
        self._kept = [*self._kept[1 - MAX_KEPT :], (storage, recorded)]
        # a copy, as the caller may write to the rollout
        self._next = map_leaves(lambda array: array[-1].copy(), storage.observations())
        self._batches = count_batches(self.envs.pool)

    def _rollout(
        self,
        convert: Callable[[Any], Any],
        storage: Storage,
        recorded: Recorded,
        infos: list[dict[str, Any]],
    ) -> Rollout:
        names = [name for name in recorded.names() if name.startswith(EXTRA)]
        arrays = {
            "actions": recorded.get("actions"),
            "rewards": storage.column("reward"),
            "terminations": storage.column("terminated"),
            "truncations": storage.column("truncated"),
            "resets": storage.column("elapsed_step") == 0,
            "final_observations": storage.finals(),
            "extras": {name.removeprefix(EXTRA): recorded.get(name) for name in names},
        }
        # one array for both, so that they stay in one memory
        whole, arrays = convert((storage.observations(), arrays))
        return Rollout(
            observations=map_leaves(lambda array: array[:-1], whole),
            next_observations=map_leaves(lambda array: array[1:], whole),
            infos=infos,
            **arrays,
        )


def _unchanged(tree: Any) -> Any:
    return tree


def named_values(result: Any) -> dict[str, Any]:
    """Returns what a policy has returned by name: "actions", and the others after `EXTRA`.

    Raises:
        TypeError: it returned None, or something else than a string as a name.
    """
    extras: Mapping[Any, Any] = {}
    if isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], Mapping):
        result, extras = result
    if result is None:
        raise TypeError("the policy returned None: return actions, or actions and a dict")
    values = {"actions": result}
    for name, value in extras.items():
        if not isinstance(name, str):
            raise TypeError(f"the policy returned {quote(name)}, {a_type(name)}, as a name")
        values[f"{EXTRA}{name}"] = value
    return values
