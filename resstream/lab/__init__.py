"""The laboratory: pages to look at and to share, made of the library and of its trained model."""
