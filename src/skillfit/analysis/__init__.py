"""What run folders say: comparisons with their uncertainty, figures, reports and console tables. Reads files only."""

from skillfit.analysis.compare import Comparison, compare
from skillfit.analysis.folder import RunRecord, read_folder
from skillfit.analysis.report import write_comparison, write_report

__all__ = ["Comparison", "RunRecord", "compare", "read_folder", "write_comparison", "write_report"]
