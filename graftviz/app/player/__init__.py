"""Records of runs as JSON, which the views show (docs/player.md)."""
