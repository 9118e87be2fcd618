"""Real models: what the theorems say of weights and activations that somebody trained."""
