"""Time series: values at equal time steps, and readers of their files."""
