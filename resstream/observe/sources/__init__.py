"""Where models and activations come from: one module for each family of models, and for each format."""
