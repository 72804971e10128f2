"""The player: plain JavaScript and CSS, and the records that feed it (docs/player.md)."""
