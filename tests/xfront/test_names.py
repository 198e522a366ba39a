"""The public names and parameters that users expect."""

from tests.public_names import ABSENT, missing


def test_nothing_is_missing_but_what_is_said_to_be() -> None:
    assert set(missing()) == set(ABSENT)
