"""Forms are on in the tests of forms, whatever the rest of the tests run with."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _forms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XFRONT_CPU_FORMS", "1")
