"""Measures players of environments, ours and other libraries', side by side in rounds."""
