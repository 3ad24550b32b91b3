"""What parallel_pool uses of pettingzoo.utils.conversions, whose methods have no types."""

from typing import Any

from pettingzoo.utils.env import ActionType, AECEnv, AgentID, ObsType, ParallelEnv

class aec_to_parallel_wrapper(ParallelEnv[AgentID, ObsType, ActionType]):
    aec_env: Any
    def __init__(self, aec_env: AECEnv[AgentID, ObsType, ActionType]) -> None: ...

class parallel_to_aec_wrapper(AECEnv[AgentID, ObsType, ActionType | None]):
    def __init__(self, parallel_env: ParallelEnv[AgentID, ObsType, ActionType | None]) -> None: ...
