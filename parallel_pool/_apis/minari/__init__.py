"""Minari's datasets, recorded from many environments at once."""
