"""OpenEnv: a pool behind its protocol, and the environment of a server."""

from __future__ import annotations

from typing import Any, assert_type

from gymnasium import Space

from parallel_pool.compat.openenv import OpenEnvApp, OpenEnvEnv, serve
from parallel_pool.leases import LeasePool

pool = LeasePool("CartPole-v1", 4)
app = OpenEnvApp(pool, name="cart", token=None, step_timeout=5, rate=100)
assert_type(app.pool, LeasePool)
assert_type(app.name, str)
assert_type(app.token, str | None)
assert_type(app.max_message, int)
serve(app, host="127.0.0.1", port=0, on_start=print)

env = OpenEnvEnv("http://127.0.0.1:8000", token="secret", timeout=5, connect_timeout=1)
assert_type(env.action_space, Space[Any])
assert_type(env.observation_space, Space[Any])
assert_type(env.reset(seed=1, options={"split": "train"}), tuple[Any, dict[str, Any]])
assert_type(env.step(0), tuple[Any, Any, bool, bool, dict[str, Any]])
env.close()
