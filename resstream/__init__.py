"""Theorems about the transformer residual stream, stated once, attacked, certified and explained.

Where things are: `resstream.claim` (state a claim), `resstream.domains` (what it quantifies over),
`resstream.reference` (the mathematics), `resstream.claims` (the library), `resstream.falsify` and `resstream.audit`
(attack one), `resstream.induction` (the trained models).
"""

__version__ = "0.1.0"
