"""An audit in words: on a terminal, as Markdown, as JSON with a schema, and as one self-contained page."""
