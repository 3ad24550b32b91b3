"""Studies of the engine itself: each answers one question about its parts."""
