"""Gymnasium's API."""
