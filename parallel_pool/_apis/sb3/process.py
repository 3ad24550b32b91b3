"""ProcessBackend: the backend of `PoolVecEnv` for Python environments in worker processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gymnasium.spaces import Dict, Space, Tuple

from parallel_pool._apis.common.masks import rows_in
from parallel_pool._apis.common.reply_reader import ReplyReader
from parallel_pool._apis.sb3 import in_worker
from parallel_pool._apis.sb3.backend import each_reset
from parallel_pool._apis.sb3.infos import TRUNCATED
from parallel_pool._engine.env_errors import env_error_of
from parallel_pool._engine.interrupted import drain
from parallel_pool._engine.pool_checks import check_idle, check_reset
from parallel_pool._engine.views import convert_batch
from parallel_pool._workers.data import spaces
from parallel_pool._workers.data.messages import FINAL_INFO, INFO, RESTARTED
from parallel_pool._workers.pool_arguments import check_functions
from parallel_pool._workers.process_pool import ProcessPool, reset_as, send_objects
from parallel_pool._workers.replies import replies_of

if TYPE_CHECKING:
    from parallel_pool._apis.common.reply_reader import Converted
    from parallel_pool._apis.sb3.backend import Options, Step
    from parallel_pool._engine.views import Views
    from parallel_pool._workers.data.messages import Description, Reply

    # a result; of a reset the infos of all environments; why there is no result
    Outcome = tuple[Any, list[dict[str, Any]], Exception | None]
    Convert = Callable[[Views], Outcome]


class ProcessBackend:
    """Steps Python environments in worker processes; see `Backend` for the methods.

    Attributes:
        pool: the `ProcessPool` underneath.
        num_envs: environments, n below.
        observation_space: of one environment.
        action_space: of one environment.
        metadata: of the first environment.
        reset_infos: the infos of each environment's last reset; a list that is changed in place.
    """

    def __init__(
        self,
        env_fns: Iterable[Callable[[], Any]],
        *,
        num_workers: int | None,
        start_method: str | None,
        timeout: float | None,
        start_timeout: float | None,
        on_error: str,
        python: Any,
        episode_seeds: bool,
        prepare_resets: bool,
    ) -> None:
        """Makes the environments; for arguments and errors see `PoolVecEnv`."""
        self.pool = pool = ProcessPool(
            [in_worker.CheckedEnvFn(fn) for fn in check_functions(env_fns)],
            num_workers=num_workers,
            autoreset="same_step",
            reward_dtype="float32",
            start_method=start_method,
            timeout=timeout,
            start_timeout=start_timeout,
            on_error=on_error,
            python=python,
            episode_seeds=episode_seeds,
            prepare_resets=prepare_resets,
            check_spaces=_check_spaces,
        )
        self.num_envs = pool.num_envs
        self.observation_space: Space[Any] = pool.single_observation_space
        self.action_space: Space[Any] = pool.single_action_space
        self.metadata = pool.metadata
        self.reset_infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        # environments that failed: each starts a new episode at its next step
        self._failed: tuple[int, ...] = ()
        self._replies = replies_of(pool)
        self._rows = ReplyReader(pool, self.observation_space)
        self._is_tree = isinstance(self.action_space, (Dict, Tuple)) and not pool.sends_objects

    # ------------------------------------------------------------------------------ stepping --

    def reset(self, seeds: Sequence[int | None], options: Options) -> Any:
        resets = each_reset(self.num_envs, seeds, options)
        for reset in resets:
            check_reset(self.pool, **reset)
        check_idle(self.pool)
        # failures do not matter before a reset
        for _ in drain(self.pool):
            pass

        def receive(convert: Convert) -> Outcome:
            if len(resets) == 1:
                # not by `**`: Python would handle signals as the call returns
                one = resets[0]
                return reset_as(self.pool, convert, one["env_ids"], one["seed"], one["options"])
            for reset in resets:
                self.pool.send_reset(**reset)
            return self.pool.recv_as(convert)

        return self._taken(receive, self._first)

    def _first(self, views: Views) -> Outcome:
        """Returns the observations and infos of a reset, or the exception of their conversion."""
        try:
            converted, replies = self._rows.convert(views), self._replies.by_env()
            infos = [replies.get(i, {}).get(INFO, {}) for i in range(self.num_envs)]
            return self._observations(converted, replies), infos, None
        except Exception as error:
            return None, [], error

    def _taken(self, receive: Callable[[Convert], Outcome], convert: Convert) -> Any:
        """Returns the result of the outcome of `receive(convert)`."""
        try:
            result, infos, failure = receive(convert)
        except Exception as error:
            self._note_failure(error, convert)
            raise
        # no function call from here on: Python handles signals after each
        self._rows.latest = self._rows.upcoming
        if failure is not None:
            raise failure
        self._failed = ()
        if infos:
            self.reset_infos[:] = infos
        return result

    def send(self, actions: Any) -> None:
        if self._is_tree:
            # one action per environment, not one array per part
            send_objects(self.pool, actions)
        else:
            self.pool.send(actions)

    def receive(self) -> Step:
        step: Step = self._taken(self.pool.recv_as, self._result)
        return step

    def _result(self, views: Views) -> Outcome:
        """Returns a step's result, infos included, or the exception of its conversion.

        May be called again for the same batch: Ctrl-C may come before its result is stored.
        """
        try:
            converted = self._rows.convert(views)
            _, rewards, terminated, truncated, _ = converted
            dones = terminated | truncated
            replies = self._replies.by_env()
            infos: list[dict[str, Any]] = [{TRUNCATED: False} for _ in range(self.num_envs)]
            if replies or self._failed:
                self._fill_infos(infos, converted, rows_in(dones), replies)
            return (self._observations(converted, replies), rewards, dones, infos), [], None
        except Exception as error:
            # raised once the batch is taken, so that the next step is not refused
            return None, [], error

    def _fill_infos(
        self,
        infos: list[dict[str, Any]],
        converted: Converted,
        ended: Sequence[int],
        replies: Mapping[int, Reply],
    ) -> None:
        """Replaces default infos by those that the environments sent."""
        for i in self._failed:
            # for this one the step was a reset
            self.reset_infos[i] = replies.get(i, {}).get(INFO, {})
        others = {*ended, *self._failed}
        for i, reply in replies.items():
            if INFO in reply and i not in others:
                infos[i] = info = reply[INFO]
                info[TRUNCATED] = False
        for i in ended:
            infos[i] = self._end(converted, i, replies.get(i, {}))

    def _end(self, converted: Converted, i: int, reply: Reply) -> dict[str, Any]:
        """Returns the infos of the step that ended an environment's episode."""
        _, _, terminated, truncated, _ = converted
        info: dict[str, Any] = reply.get(FINAL_INFO, {})
        info[TRUNCATED] = bool(truncated[i]) and not terminated[i]
        info["terminal_observation"] = self._rows.final_observation(i, reply, converted)
        self.reset_infos[i] = reset_info = reply.get(INFO, {})
        for name in RESTARTED:
            if name in reset_info:
                info[name] = reset_info[name]
        return info

    def _observations(self, converted: Converted, replies: Mapping[int, Reply]) -> Any:
        """Returns the observations of all environments."""
        return self._rows.batch(replies) if self._rows.has_objects else converted[0]

    def _note_failure(self, error: Exception, convert: Convert) -> None:
        """Remembers the environments that failed, and converts the exception's batch."""
        failure = env_error_of(error)
        if failure is not None and failure.batch:
            failure.batch, _, wrong = convert_batch(convert, failure.batch)
            self._failed = failure.env_ids
            self._rows.latest = self._rows.upcoming
            if wrong is not None:
                raise wrong

    def close(self, timeout: float | None = None) -> None:
        self.pool.close(timeout=timeout)

    # ------------------------------------------------------------------- single environments --

    def render(self) -> list[Any]:
        return self.pool.call("render")

    def get_attr(self, name: str, env_ids: Sequence[int]) -> list[Any]:
        """Returns the attribute of each environment's outermost wrapper that has it."""
        return self.pool.get_attr(name, env_ids) if env_ids else []

    def has_attr(self, name: str) -> bool:
        return all(self.pool.apply(in_worker.HasAttribute(name)))

    def set_attr(self, name: str, value: Any, env_ids: Sequence[int]) -> None:
        """Sets an attribute of each environment's outermost wrapper."""
        self._apply(in_worker.SetAttribute(name, value), env_ids)

    def call(
        self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], env_ids: Sequence[int]
    ) -> list[Any]:
        return self._apply(in_worker.CallMethod(name, tuple(args), dict(kwargs)), env_ids)

    def is_wrapped(self, wrapper_class: type[Any], env_ids: Sequence[int]) -> list[bool]:
        question = in_worker.IsWrapped(wrapper_class.__module__, wrapper_class.__qualname__)
        return self._apply(question, env_ids)

    def _apply(self, function: Callable[[Any], Any], env_ids: Sequence[int]) -> list[Any]:
        return self.pool.apply(function, env_ids) if env_ids else []


def _check_spaces(described: Sequence[Description]) -> None:
    """Refuses environments whose spaces have other shapes or dtypes than the first one's.

    Bounds may differ: Stable-Baselines3, too, uses the first environment's.
    """
    for kind in ("observation", "action"):
        found = [space for each in described for space in getattr(each, f"{kind}_spaces")]
        wanted = _arrays_of(found[0])
        for i, space in enumerate(found):
            if _arrays_of(space) != wanted:
                raise ValueError(
                    f"environment {i} has the {kind} space {space}, and environment 0 {found[0]}:"
                    " give environments whose spaces have the same shapes and dtypes"
                )


def _arrays_of(space: Space[Any]) -> set[spaces.Leaf] | None:
    """Returns the arrays of a space as a set; None if it has no fixed size."""
    found = spaces.leaves(space)
    return None if found is None else set(found)
