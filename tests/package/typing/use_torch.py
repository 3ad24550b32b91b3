"""PyTorch: environments with tensors."""

from __future__ import annotations

from typing import Any, assert_type

import torch

import parallel_pool
from parallel_pool.compat.torch import TorchEnv

with parallel_pool.make_vec("CartPole-v1", 2).torch(device="cpu") as envs:
    assert_type(envs, TorchEnv)
    assert_type(envs.device, torch.device)
    # what the environments return, with tensors
    assert_type(envs.step(torch.zeros(2, dtype=torch.int64)), Any)
    observations, infos = envs.reset(seed=1)

assert_type(TorchEnv(parallel_pool.Pool("CartPole-v1")), TorchEnv)
assert_type(parallel_pool.make_gymnasium("CartPole-v1").torch(), TorchEnv)
