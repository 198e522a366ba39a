"""Functions whose interface may still change."""

from typing import Any as _Any

from ..base.on_demand import shown as _shown
from ..lax.callbacks import io_callback


def cur_qdd(x: _Any) -> _Any:
    """The state of a value that changes (see `experimental.hijax.MutableHiType`), in a trace as it
    is at this place.

    Raises: TypeError for a value of another type.
    """
    from ..transforms.high import state_of  # few programs have such values

    return state_of(x)


__all__ = ["cur_qdd", "io_callback"]
__dir__ = _shown(globals())
