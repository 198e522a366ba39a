"""The public names and parameters that users expect."""

from tests import public_names
from tests.public_names import ABSENT

WHOLE = ("numpy", "lax", "nn")


def test_numpy_lax_and_nn_are_whole() -> None:
    missing = [name for name in public_names.missing() if name.split(".")[0] in WHOLE]
    assert sorted(set(missing) - set(ABSENT)) == []
    assert sorted(set(ABSENT) - set(missing)) == [], "said to be absent, and there"


def test_nothing_more_is_missing_elsewhere() -> None:
    missing = {name for name in public_names.missing() if name.split(".")[0] not in WHOLE}
    assert sorted(missing - set(public_names.TO_COME.read_text().split())) == []
