"""skillfit: choosing the right skill for an LLM agent. Importing this package loads no deep-learning library."""

from skillfit.errors import UserError
from skillfit.types import Qrels, Query, Ranking, Run, Skill

__version__ = "0.1.0"
__all__ = ["Qrels", "Query", "Ranking", "Run", "Skill", "UserError", "__version__"]
