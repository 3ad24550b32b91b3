"""An environment of OpenEnv, which says what it was given."""

from __future__ import annotations

from typing import Any

from openenv.core import Action, Environment, Observation, State


class Move(Action):
    text: str
    count: int = 1
    note: str | None = None


class Seen(Observation):
    said: str
    steps: int
    parts: list[float]
    extra: dict[str, Any] = {}  # noqa: RUF012


class Echo(Environment[Move, Seen, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0

    def _show(self, text: str, **more: Any) -> Seen:
        parts = [0.1 * self.steps, 2.0]
        return Seen(said=text, steps=self.steps, parts=parts, extra={"at": self.steps}, **more)

    def reset(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> Seen:
        self.steps = 0
        return self._show(f"seed {seed} split {kwargs.get('split')}")

    def step(self, action: Move, timeout_s: float | None = None, **kwargs: Any) -> Seen:
        if action.text == "raise":
            raise ValueError("as asked")
        self.steps += action.count
        return self._show(action.text, reward=0.5, done=self.steps >= 3)

    @property
    def state(self) -> State:
        return State(step_count=self.steps)
