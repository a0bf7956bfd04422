"""How numbers are printed: fractions as percentages with one decimal, differences signed, small p-values as bounds."""

from __future__ import annotations

MINUS = "\N{MINUS SIGN}"


def percent(value: float | None) -> str:
    """A fraction as a percentage with one decimal and no sign; an en dash where there is none."""
    if value is None:
        return "–"
    text = f"{100 * value:.1f}"
    return "0.0" if text == "-0.0" else text.replace("-", MINUS)


def signed(value: float | None) -> str:
    """A difference of fractions in percentage points, with its sign."""
    text = percent(value)
    return text if value is None or text.startswith(MINUS) or text == "0.0" else f"+{text}"


def interval(low: float, high: float) -> str:
    """The bounds of a value's interval."""
    return f"[{percent(low)}, {percent(high)}]"


def signed_interval(low: float | None, high: float | None) -> str:
    """The bounds of a difference's interval."""
    return f"[{signed(low)}, {signed(high)}]"


def p_value(p: float | None) -> str:
    """A p-value with three decimals, or the bound below which it lies."""
    return "–" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def share(value: float | None) -> str:
    """A share of texts in percent; a share that is small but not nothing never reads as 0."""
    if value is None:
        return "–"
    return "< 0.1 %" if 0 < value < 0.0005 else f"{percent(value)} %"
