"""Stable-Baselines3's API."""
