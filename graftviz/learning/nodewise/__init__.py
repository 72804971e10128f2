"""Node-wise regressions with an ℓ₁ penalty."""
