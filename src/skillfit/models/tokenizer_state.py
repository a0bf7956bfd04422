"""The tokenizer's settings as they were loaded: each call writes its own cut and padding into the tokenizer."""

from __future__ import annotations

from typing import Any


class TokenizerState:
    """A tokenizer's whole text at one moment, with the two settings that calls change, so that they can be put back."""

    def __init__(self, tokenizer: Any) -> None:
        self._backend = getattr(tokenizer, "backend_tokenizer", None)
        self.text: str = repr(tokenizer) if self._backend is None else self._backend.to_str()
        self._cut = getattr(self._backend, "truncation", None)
        self._padding = getattr(self._backend, "padding", None)

    def restore(self) -> None:
        """Put the cut and the padding back, so that a saved tokenizer does not depend on the last text it saw."""
        if self._backend is None:
            return
        if self._cut is None:
            self._backend.no_truncation()
        else:
            self._backend.enable_truncation(**self._cut)
        if self._padding is None:
            self._backend.no_padding()
        else:
            self._backend.enable_padding(**self._padding)
