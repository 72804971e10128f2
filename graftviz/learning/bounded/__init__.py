"""Learning under a bound on the complexity of inference."""
