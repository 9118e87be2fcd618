"""The audit: what a claim is worth. Its verdict, how sharp it is, what it needs, where it fails, what can be proved."""

from resstream.audit.run import SECONDS, STAGES, Audit, audit

__all__ = ["SECONDS", "STAGES", "Audit", "audit"]
