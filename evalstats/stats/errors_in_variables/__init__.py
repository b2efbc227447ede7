"""Lines and models through scores that are noisy on both sides, and the gaps of models from them."""
