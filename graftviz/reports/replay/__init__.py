"""The replay of a run: records, page and assets."""
