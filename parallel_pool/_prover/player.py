"""Player: plays events on a vector environment, and returns all that it returned."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from parallel_pool._prover.script import Case, Event, Reset

# what a step and a reset return, by name
OF_STEP = ("observation", "reward", "terminated", "truncated", "info")
OF_RESET = ("observation", "info")
# what the reset returns that follows the end of an episode without autoreset
AFTER = "after reset: "
ERROR, PROCESS, PICTURES = "error", "process", "pictures"

Result = dict[str, Any]


class Player:
    """Environments of one case.

    Attributes:
        envs: a vector environment of Gymnasium's kind.
        is_over: whether a call raised an error; nothing is played afterwards.
    """

    def __init__(self, envs: Any, case: Case) -> None:
        self.envs, self.is_over, self._case = envs, False, case

    def play(self, event: Event) -> Result:
        """Plays one event; returns what there is to compare, or the error."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = self._play(event)
                # an environment may go on writing into arrays of its infos
                result["info"] = copy.deepcopy(result["info"])
                if self._case.pictures:
                    result[PICTURES] = self.envs.render()
                return result
        except Exception as error:
            self.is_over = True
            return {ERROR: f"{type(error).__name__}: {error}"}

    def _play(self, event: Event) -> Result:
        if isinstance(event, Reset):
            seeds = None if event.seeds is None else list(event.seeds)
            return dict(zip(OF_RESET, self.envs.reset(seed=seeds), strict=True))
        result: Result = {**dict(zip(OF_STEP, self.envs.step(event.actions), strict=True))}
        ended = np.logical_or(result["terminated"], result["truncated"])
        if self._case.mode == "disabled" and ended.any():
            made = self.envs.reset(options={"reset_mask": ended})
            result |= {AFTER + name: each for name, each in zip(OF_RESET, made, strict=True)}
        return result

    def close(self) -> None:
        """Closes the environments."""
        self.envs.close()
