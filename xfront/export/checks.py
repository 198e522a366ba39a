"""Safety checks of `export` that users may disable."""

from __future__ import annotations


class DisabledSafetyCheck:
    """A check that `export` leaves out, when it exports and when the program is called.

    Make one with `platform()` or `custom_call(target_name)`. Its text is `platform` or
    `custom_call:<target>`.

    >>> export.DisabledSafetyCheck.custom_call("my_kernel")
    custom_call:my_kernel
    """

    __slots__ = ("_impl",)

    def __init__(self, _impl: str) -> None:
        if _impl != "platform" and not _impl.startswith("custom_call:"):
            raise ValueError("DisabledSafetyCheck must be made by DisabledSafetyCheck.platform() "
                             f"or DisabledSafetyCheck.custom_call(name), got {_impl!r}")
        self._impl = _impl

    @classmethod
    def platform(cls) -> DisabledSafetyCheck:
        """Let programs run on platforms that they were not exported for; they run as on the first
        platform that they were exported for."""
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> DisabledSafetyCheck:
        """Let programs call the kernel of that name, which may change with the version of jaxlib,
        or which the process registers itself."""
        return cls(f"custom_call:{target_name}")

    def is_custom_call(self) -> str | None:
        """The name of the kernel of a `custom_call` check, else None."""
        kind, _, name = self._impl.partition(":")
        return name if kind == "custom_call" else None

    def __repr__(self) -> str:
        return self._impl

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DisabledSafetyCheck) and self._impl == other._impl

    def __hash__(self) -> int:
        return hash(self._impl)


__all__ = ["DisabledSafetyCheck"]
