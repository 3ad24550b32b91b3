"""The former path of ProcessVectorEnv and its errors, which programs may still import."""

from __future__ import annotations

from parallel_pool.compat.gymnasium.process_vector_env import ProcessVectorEnv as ProcessVectorEnv
from parallel_pool.compat.vector_errors import ClosedVectorEnvError as ClosedVectorEnvError
from parallel_pool.compat.vector_errors import NoPendingCallError as NoPendingCallError
from parallel_pool.compat.vector_errors import NotResetError as NotResetError
from parallel_pool.compat.vector_errors import PendingCallError as PendingCallError
from parallel_pool.compat.vector_errors import VectorTimeoutError as VectorTimeoutError
