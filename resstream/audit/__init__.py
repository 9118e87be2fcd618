"""The audit: what a claim is worth. Its verdict, how sharp it is, what it needs, where it fails, what can be proved."""

from resstream.audit.report.latex import audit_latex
from resstream.audit.report.page import fragment
from resstream.audit.result import Audit
from resstream.audit.run import SECONDS, STAGES, audit
from resstream.callables import make_callable

Audit.forms.update(html=fragment, latex=audit_latex)

make_callable(__name__)

__all__ = ["SECONDS", "STAGES", "Audit", "audit"]
