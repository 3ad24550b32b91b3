"""A policy and its environments in turns, so that both work at the same time."""
