"""Starts worker processes."""
