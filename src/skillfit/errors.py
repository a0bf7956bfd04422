"""The one error a user sees: what was given, where, and how to mend it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(Exception):
    """Bad input, told in one message: the place, the field, the value found and the fix.

    place: a file, `file:line` or the name of the setting's owner. field: the key as the user typed it.
    Entry points print `str(error)` and exit with code 2; nothing else catches it.
    """

    def __init__(self, place: object, field: str = "", value: object = None, fix: str = "") -> None:
        self.place, self.field, self.value, self.fix = str(place), field, value, fix
        super().__init__(self.render())

    def __reduce__(self) -> tuple[object, ...]:
        """Survive the trip through a worker process: launchers send errors back by pickling them."""
        return type(self), (self.place, self.field, self.value, self.fix)

    def render(self) -> str:
        """One line: `place: field = value: fix`, leaving out what is empty."""
        text = self.place
        if self.field:
            text += f": {self.field}"
            if self.value is not None:
                text += f" = {_short(self.value)}"
        elif self.value is not None:
            text += f": {_short(self.value)}"
        return f"{text}: {self.fix}" if self.fix else text


def suggest(word: str, known: Iterable[str]) -> str:
    """A hint for a misspelt word: the closest known ones first, then all of them."""
    choices = sorted(known)
    close = get_close_matches(word, choices, n=2, cutoff=0.6)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    return f"{hint}known: {', '.join(choices) if choices else '(none)'}"


def _short(value: object, limit: int = 200) -> str:
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
