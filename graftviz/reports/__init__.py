"""What is handed to people: results, sentences, figures, files and replays."""
