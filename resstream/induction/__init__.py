"""Models trained from scratch, what they do, and the published figures beside ours (see `reproduce`)."""
