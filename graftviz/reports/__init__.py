"""Results, sentences, figures, files, replays, and the reproduction of the papers."""
