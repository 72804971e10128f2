"""Random models and rows sampled from them."""
