"""Tables of discrete data: reading, coding, samples, and synthetic data."""
