"""Trains on a Ray cluster with several rules for fetching policies, and draws what they cost.

    python -m integration.training.policy_sync [TASK ...]

Two workers of `parallel_pool.cluster.Rollouts` act by themselves; the learner is `ppo.py`'s, which
takes one worker's batch at a time. Each rule and seed trains for the same number of environment
steps. What counts is the bytes of weights that workers fetched, and two returns: that of the
learner's own policy in the end, and the mean over all training steps, which falls when workers act
with old policies. A fixed period that fetches as many bytes is what a rule must be compared with.
Runs are added to policy_sync.json one by one; started again, the program does those that are
missing. Then it draws policy_sync.png.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch

import parallel_pool
from integration.training import ppo
from parallel_pool.cluster import Adaptive, Batch, Every, Rollouts

RESULT = Path(__file__).parents[1] / "results" / "policy_sync.json"
WORKERS, SEEDS = 2, 5
RULES: Mapping[str, Callable[[], Any]] = {
    **{f"Every({n})": partial(Every, n) for n in (1, 2, 4, 8, 16)},
    **{f"Adaptive({x:g})": partial(Adaptive, x, max_age=32) for x in (0.003, 0.01, 0.03, 0.1)},
}


@dataclass(frozen=True)
class Task:
    """What is trained.

    Attributes:
        task_id: of the environments.
        num_envs: of both workers together.
        steps: of one batch.
        settings: of the learner; total_steps of all environments.
        goal: a mean return that counts as learned.
    """

    task_id: str
    num_envs: int
    steps: int
    settings: ppo.Settings
    goal: float


# ticks of the picture
MEGABYTES = (1, 2, 5, 10, 20)

TASKS: Mapping[str, Task] = {
    task.task_id: task
    for task in (
        Task("CartPole-v1", 16, 32, ppo.Settings(total_steps=100_000, epochs=4), 400.0),
        Task(
            "LunarLander-v3",
            32,
            64,
            ppo.Settings(
                total_steps=500_000,
                epochs=4,
                minibatches=4,
                learning_rate=5e-4,
                gamma=0.999,
                gae_lambda=0.98,
                entropy_weight=0.01,
            ),
            200.0,
        ),
    )
}


def space_of(task_id: str) -> gymnasium.Space[Any]:
    """Returns the space of actions."""
    with closing(gymnasium.make(task_id)) as env:
        return env.action_space


class Policy:
    """`ppo.py`'s agent as `Rollouts` takes it."""

    def __init__(self, task_id: str) -> None:
        torch.set_num_threads(1)
        with closing(gymnasium.make(task_id)) as env:
            shape = env.observation_space.shape
        assert shape is not None
        self.agent = ppo.Agent(shape, space_of(task_id))

    @torch.no_grad()
    def act(self, observations: Any) -> tuple[Any, Any, dict[str, Any]]:
        actions, log_probs, values = self.agent.act(ppo.tensor(observations))
        return actions.numpy(), log_probs.numpy(), {"values": values.numpy()}

    @torch.no_grad()
    def log_prob(self, observations: Any, actions: Any) -> Any:
        choice, _ = self.agent.evaluate(ppo.tensor(observations))
        return choice.log_prob(torch.as_tensor(actions)).numpy()

    def state(self) -> dict[str, Any]:
        return {name: value.numpy() for name, value in self.agent.state_dict().items()}

    def load(self, state: Mapping[str, Any]) -> None:
        # Ray's arrays are read-only
        self.agent.load_state_dict({name: torch.tensor(own) for name, own in state.items()})


def rollout_of(batch: Batch, actions: gymnasium.Space[Any]) -> ppo.Rollout:
    """Returns a worker's batch as `ppo.py` has its own."""
    observations = ppo.tensor(batch.observations)
    rollout = ppo.Rollout(len(observations), observations[0], actions)
    rollout.observations, rollout.actions = observations, torch.as_tensor(batch.actions)
    rollout.log_probs = torch.as_tensor(batch.log_probs)
    rollout.values = torch.as_tensor(batch.extras["values"])
    rollout.rewards = torch.as_tensor(batch.rewards).float()
    rollout.terminated = torch.as_tensor(batch.terminations).float()
    rollout.ended = torch.as_tensor(batch.terminations | batch.truncations).float()
    rollout.is_real = torch.as_tensor(~batch.resets)
    return rollout


def evaluate(policy: Policy, task_id: str, episodes: int = 100) -> float:
    """Returns the mean return of a policy's first episodes."""
    with closing(parallel_pool.make_vec(task_id, episodes)) as envs:
        observations, _ = envs.reset(seed=10_000)
        returns, over = np.zeros(episodes), np.zeros(episodes, np.bool_)
        while not over.all():
            actions, _, _ = policy.act(observations)
            observations, rewards, terminated, truncated, _ = envs.step(actions)
            returns += np.where(over, 0, rewards)
            over |= terminated | truncated
    return float(returns.mean())


def train(task: Task, rule: str, seed: int) -> dict[str, Any]:
    """Trains once; returns what it cost and what came of it."""
    settings = task.settings
    torch.manual_seed(seed)
    policy = Policy(task.task_id)
    optimizer = torch.optim.Adam(policy.agent.parameters(), settings.learning_rate, eps=1e-5)
    space = space_of(task.task_id)
    options: dict[str, Any] = {"steps": task.steps, "num_workers": WORKERS, "ordered": True}
    per_batch = task.steps * task.num_envs // WORKERS
    count = settings.total_steps // per_batch
    start = time.monotonic()
    # by batch: sum of the returns of its ended episodes, and how many
    sums, ends = np.zeros(count), np.zeros(count)
    make = partial(Policy, task.task_id)
    rollouts = Rollouts(
        task.task_id, make, task.num_envs, sync=RULES[rule](), seed=1000 * seed, **options
    )
    with rollouts:
        rollouts.publish(policy)
        for i in range(count):
            for group in optimizer.param_groups:
                group["lr"] = settings.learning_rate * (1 - i / count)
            batch = next(rollouts)
            sums[i], ends[i] = sum(batch.returns), len(batch.returns)
            rollout = rollout_of(batch, space)
            with torch.no_grad():
                last = policy.agent.evaluate(ppo.tensor(batch.last_observations))[1]
            advantages = rollout.advantages(last, settings)
            ppo.improve(policy.agent, optimizer, rollout, advantages, settings)
            rollouts.publish(policy)
        stats = rollouts.stats
    tenths = [
        sums[own].sum() / max(1, ends[own].sum()) for own in np.array_split(np.arange(count), 10)
    ]
    return {
        "task": task.task_id,
        "rule": rule,
        "seed": seed,
        "fetches": stats.fetches,
        "bytes": stats.bytes_fetched,
        "max_age": stats.max_age,
        "batches": count,
        "tenths": [round(float(mean), 2) for mean in tenths],
        "evaluated": round(evaluate(policy, task.task_id), 2),
        "seconds": round(time.monotonic() - start, 1),
    }


def draw(runs: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draws the returns of each rule over the bytes that it fetched."""
    from matplotlib.figure import Figure

    tasks = list(dict.fromkeys(run["task"] for run in runs))
    figure = Figure(figsize=(9, 4 * len(tasks)), layout="constrained")
    axes = figure.subplots(len(tasks), 2, squeeze=False)
    for row, task in zip(axes, tasks, strict=True):
        for kind, color in (("Every", "C0"), ("Adaptive", "C1")):
            rules = [rule for rule in RULES if rule.startswith(kind)]
            points = []
            for rule in rules:
                own = [run for run in runs if (run["task"], run["rule"]) == (task, rule)]
                if own:
                    megabytes = np.mean([run["bytes"] for run in own]) / 1e6
                    finals = [run["evaluated"] for run in own]
                    means = [np.mean(run["tenths"]) for run in own]
                    points.append((rule, megabytes, finals, means))
            for axis, which in zip(row, (2, 3), strict=True):
                axis.errorbar(
                    [point[1] for point in points],
                    [np.mean(point[which]) for point in points],
                    [np.std(point[which], ddof=1) / len(point[which]) ** 0.5 for point in points],
                    fmt="o-",
                    capsize=3,
                    color=color,
                    label=kind,
                )
                for point in points:
                    axis.annotate(
                        point[0].partition("(")[2][:-1],
                        (point[1], np.mean(point[which])),
                        xytext=(4, 4),
                        textcoords="offset points",
                        fontsize=8,
                    )
        for axis, what in zip(row, ("of the learner in the end", "over training"), strict=True):
            axis.set(xscale="log", xlabel="MB of weights fetched", ylabel=f"mean return {what}")
            axis.set_xticks(MEGABYTES, [str(each) for each in MEGABYTES])
            axis.minorticks_off()
            axis.set_title(task)
            axis.grid(alpha=0.3)
            axis.legend(loc="lower right")
    figure.savefig(path, dpi=110)


def table(runs: Sequence[Mapping[str, Any]]) -> str:
    """Returns a table of the means of each rule, with standard errors."""
    lines = [
        "| task | rule | fetches | MB | largest age | return in the end | over training |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for task in dict.fromkeys(run["task"] for run in runs):
        for rule in RULES:
            own = [run for run in runs if (run["task"], run["rule"]) == (task, rule)]
            if not own:
                continue
            finals = [run["evaluated"] for run in own]
            means = [float(np.mean(run["tenths"])) for run in own]
            cells = [
                f"{np.mean([run['fetches'] for run in own]):.0f} of {own[0]['batches']}",
                f"{np.mean([run['bytes'] for run in own]) / 1e6:.2f}",
                f"{max(run['max_age'] for run in own)}",
                *(
                    f"{np.mean(each):.0f} ± {np.std(each, ddof=1) / len(each) ** 0.5:.0f}"
                    for each in (finals, means)
                ),
            ]
            lines.append(f"| {task} | {rule} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Does the runs that the file lacks, prints a table and draws."""
    parser = argparse.ArgumentParser(prog="python -m integration.training.policy_sync")
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="CartPole-v1 or LunarLander-v3")
    parser.add_argument("--rules", nargs="*", default=list(RULES), help="all, if none is named")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--steps", type=int, help="of all environments, instead of the task's own")
    parser.add_argument("--out", type=Path, default=RESULT)
    options = parser.parse_args(arguments)
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    import ray

    if not ray.is_initialized():
        memory = 500 * 2**20
        ray.init(address="local", num_cpus=2, include_dashboard=False, object_store_memory=memory)
    torch.set_num_threads(1)
    runs: list[dict[str, Any]] = json.loads(options.out.read_text()) if options.out.exists() else []
    done = {(run["task"], run["rule"], run["seed"]) for run in runs}
    for name in options.tasks or ["CartPole-v1"]:
        task = TASKS[name]
        if options.steps:
            settings = ppo.Settings(**{**vars(task.settings), "total_steps": options.steps})
            task = Task(task.task_id, task.num_envs, task.steps, settings, task.goal)
        for seed in range(1, options.seeds + 1):
            for rule in options.rules:
                if (name, rule, seed) in done:
                    continue
                runs.append(train(task, rule, seed))
                print(json.dumps(runs[-1]), flush=True)
                options.out.write_text("[\n" + ",\n".join(map(json.dumps, runs)) + "\n]\n")
    print(table(runs))
    draw(runs, options.out.with_suffix(".png"))


if __name__ == "__main__":
    main()
