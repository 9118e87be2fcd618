"""The sources by name: what the claims' `source` begins with."""

PAGE = "The Transformer Block and the Residual Stream"
TEXTBOOK = "The residual stream (a textbook's section 5.1)"
FRAMEWORK = "A Mathematical Framework for Transformer Circuits"
READING = f"a reading of {FRAMEWORK} (Transformer Overview)"
SUMMARY = f"a summary of {FRAMEWORK}"
ANNOTATED = "The Annotated Transformer, Circuit Framework Edition"
