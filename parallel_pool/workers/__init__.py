"""Python environments in worker processes."""
