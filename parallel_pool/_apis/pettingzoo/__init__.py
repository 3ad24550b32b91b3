"""PettingZoo's API."""
