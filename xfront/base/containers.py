"""Bytes that leave the process: a header and blobs, with a mark, a version and a digest.

    mark        12 bytes, says what the bytes hold
    version     4 bytes, little-endian
    digest      32 bytes, BLAKE2b of the mark, the version and all that follows
    length      8 bytes, of the header
    header      JSON; its "sizes" are the lengths of the blobs
    blobs

Nothing is unpickled or run by reading them. The digest finds damage; it is no signature.
"""

from __future__ import annotations

import json
from _blake2 import blake2b  # hashlib has it too, and loads OpenSSL
from collections.abc import Sequence
from typing import Any

_MARK, _VERSION, _DIGEST, _LENGTH = 12, 4, 32, 8


class Container:
    """A kind of bytes: its mark, the version that is written, and the oldest that is read."""

    __slots__ = ("mark", "oldest", "version", "what")

    def __init__(self, what: str, mark: bytes, version: int, oldest: int) -> None:
        self.what, self.mark = what, mark.ljust(_MARK, b"\0")
        self.version, self.oldest = version, oldest

    def write(self, header: dict[str, Any], blobs: Sequence[bytes] = ()) -> bytes:
        """The bytes of a header (what JSON can hold) and of blobs."""
        text = json.dumps({**header, "sizes": [len(b) for b in blobs]}).encode()
        rest = b"".join((len(text).to_bytes(_LENGTH, "little"), text, *blobs))
        return self._sealed(self.version, rest)

    def read(self, data: Any) -> tuple[dict[str, Any], list[bytes]]:
        """The header and the blobs that `write` was given.

        Raises: TypeError where `data` is not bytes; ValueError where they are damaged, of another
          kind, or of a version that is not read here.
        """
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"{self.what} must be bytes, got {data!r} of type "
                            f"{type(data).__name__}")
        data = bytes(data)
        start = _MARK + _VERSION + _DIGEST
        if data[:_MARK] != self.mark or len(data) < start + _LENGTH:
            raise ValueError(f"these {len(data)} bytes are not {self.what}: they begin with "
                             f"{data[:_MARK]!r} instead of {self.mark!r}, or are cut short")
        version = int.from_bytes(data[_MARK:_MARK + _VERSION], "little")
        if not self.oldest <= version <= self.version:
            raise ValueError(f"{self.what} of version {version} cannot be read: this xfront reads "
                             f"versions {self.oldest} to {self.version}. Write it anew with an "
                             "xfront of these versions")
        rest = data[start:]
        if self._sealed(version, rest) != data:
            raise ValueError(f"{self.what} is damaged: its {len(data)} bytes do not have the "
                             "digest that was written with them")
        size = _LENGTH + int.from_bytes(rest[:_LENGTH], "little")
        try:
            header = json.loads(rest[_LENGTH:size])
            sizes = header["sizes"]
            ends = [size + sum(sizes[:i]) for i in range(len(sizes) + 1)]
            if ends[-1] != len(rest) or min([0, *sizes]) < 0:
                raise ValueError("sizes")
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ValueError(f"{self.what} is malformed: its header does not describe its bytes"
                             ) from None
        return header, [rest[a:b] for a, b in zip(ends, ends[1:], strict=False)]

    def _sealed(self, version: int, rest: bytes) -> bytes:
        number = version.to_bytes(_VERSION, "little")
        digest = blake2b(self.mark + number, digest_size=_DIGEST)
        digest.update(rest)
        return b"".join((self.mark, number, digest.digest(), rest))
