"""Watches worker processes, and says why they ended."""
