"""Who does the work: this process, forked ones, loky, a cluster, or what has a `submit`; the results are the same.

Work is a list of tasks, each a pure function of what it is about and of plain data. `Run` has them done by `Workers`,
tries again what was lost with a process, and says what came to nothing.
"""

from resstream.workers.base import Here, Lost, Task, Unreachable, Workers
from resstream.workers.cluster import connected
from resstream.workers.forked import Pipe, can_fork, fork
from resstream.workers.hire import hired
from resstream.workers.run import TIME_IS_UP, Run

__all__ = [
    "TIME_IS_UP",
    "Here",
    "Lost",
    "Pipe",
    "Run",
    "Task",
    "Unreachable",
    "Workers",
    "can_fork",
    "connected",
    "fork",
    "hired",
]
