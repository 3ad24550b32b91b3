"""Tune: short runs of a script with other sizes, to find the fastest."""
