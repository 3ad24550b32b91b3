"""AgentVecEnv: agents of parallel environments as the rows of a Stable-Baselines3 VecEnv."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gymnasium.vector import AutoresetMode

from parallel_pool._apis.pettingzoo.pool_parallel_env import PoolParallelEnv
from parallel_pool._apis.sb3.agents import AgentBackend
from parallel_pool._apis.sb3.vec_env import PoolVecEnv
from parallel_pool._lazy import public

if TYPE_CHECKING:
    from parallel_pool._apis.pettingzoo.agent_table import Policy


@public("compat.sb3")
class AgentVecEnv(PoolVecEnv):
    """n parallel environments with k agents each as a `VecEnv` of n * k rows.

    For agents that share a policy. Row env * k + i is agent i of environment env. The step that
    ends a row's episode has `dones[row]` True and "terminal_observation" in its infos; the agents
    of an environment start their next episodes together. An agent that ended before the others
    waits until then: its observations are zeros, its rewards 0, its dones False, its actions
    ignored; `infos[row]["live"]` says whether a row acts in the next step.

    `get_attr`, `set_attr` and `env_method` take rows as indices and apply to the parallel
    environments of these rows; `env_method` calls a method once for each environment, and its
    rows share the result. Seeds and reset options are those of environments: `seed(s)` seeds
    environment i, not row i, with s + i.

    If observations or infos have an "action_mask", `env_method("action_masks")` returns the masks
    of the rows, bool (number of actions,) each, as sb3-contrib's MaskablePPO expects. A row that
    does not act may take every action, as its action is ignored.

    Attributes:
        num_envs: rows, n * k.
        observation_space: of one agent.
        action_space: of one agent.
        agents: the agents of the rows, k of them.
        envs: the `PoolParallelEnv` underneath.
        metadata: of the environments.
        render_mode: of the environments.
        reset_infos: a list of n * k dicts, the infos of each row's last reset.
        pool: the `parallel_pool.Pool` or `ProcessPool` underneath.
        backend: "native" or "process".
        backend_reason: why it is that.

    Example:
        >>> from parallel_pool.compat.sb3 import AgentVecEnv
        >>> envs = AgentVecEnv("mpe/simple_spread_v3", 4, seed=1)
        >>> envs.num_envs, envs.reset().shape
        (12, (12, 18))
        >>> envs.close()
    """

    def __init__(
        self,
        env: PoolParallelEnv | str | Sequence[Callable[[], Any]],
        num_envs: int | None = None,
        *,
        agents: Sequence[Any] | None = None,
        others: Policy | None = None,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        """Makes the environments, or takes them over.

        Args:
            env: a `PoolParallelEnv` with autoreset_mode SAME_STEP, which `close` closes; or what
                `PoolParallelEnv` takes: the id of a native environment, or functions.
            num_envs: for an id: environments, n, 1 by default.
            agents: the agents that have rows; None for all. Their spaces must be equal.
            others: chooses the actions of all other agents; see `AgentVectorEnv`.
            seed: the first reset seeds environment i with seed + i, and the action space is seeded
                too. None: fresh entropy.
            options: further arguments of `PoolParallelEnv`.

        Raises:
            TypeError, ValueError: an argument is wrong, or the agents' spaces differ.
            Exception: what `PoolParallelEnv` raises.
        """
        if isinstance(env, PoolParallelEnv):
            given = {**({} if num_envs is None else {"num_envs": num_envs}), **options}
            if given:
                raise TypeError(
                    f"{', '.join(given)}: the environments are made already: give this to"
                    " PoolParallelEnv"
                )
            envs = env
        else:
            if "autoreset_mode" in options:
                raise TypeError(
                    "autoreset_mode: Stable-Baselines3 knows only SAME_STEP: leave it out"
                )
            envs = PoolParallelEnv(env, num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **options)
        try:
            self._backend = backend = AgentBackend(envs, agents, others)
            self.envs, self.agents = envs, backend.vector_env.agents
            self._adopt(seed)
            is_native = isinstance(env, str) or hasattr(self.pool, "definition")
            self.backend = "native" if is_native else "process"
            made_by = "an id" if is_native else "functions"
            self.backend_reason = f"the environments are made by {made_by}"
        except BaseException:
            if envs is not env:
                envs.close()
            raise

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seeds environment i, not row i, with seed + i (None: fresh entropy) at the next reset.

        Returns:
            The seeds of the rows' environments, n * k values.

        Raises:
            TypeError, ValueError: seed is not an integer >= 0; nothing changed.
        """
        first = super().seed(seed)[0]
        assert first is not None
        self._seeds = [first + row // len(self.agents) for row in range(self.num_envs)]
        return self._seeds
