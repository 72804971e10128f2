"""Player of runs: JavaScript and CSS, and the JSON records it shows (docs/player.md)."""
