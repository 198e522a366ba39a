"""The public names and parameters that users expect."""

from tests.public_names import ABSENT, PAGE, missing, page


def test_nothing_is_missing_without_a_reason() -> None:
    found = missing()
    assert [name for name, reason in found.items() if not reason] == []
    assert set(ABSENT) <= set(found)             # no reason for what is there


def test_the_page_says_what_is_absent() -> None:
    assert PAGE.read_text() == page(), "run python -m tests.public_names --record"
