"""Compiled programs on disk, so that a second process starts warm.

The key of an entry covers the fingerprint of the IR and everything else that its bytes depend on,
for jaxlib loads executables of other versions and flags without complaint. An entry that is
damaged, truncated, renamed or owned by another user is a miss, never an error. No entry is ever
unpickled.

    XFRONT_CACHE=0            no cache on disk
    XFRONT_CACHE_DIR          its folder; default $XDG_CACHE_HOME/xfront, else ~/.cache/xfront
    XFRONT_CACHE_MAX_BYTES    size above which the least recently used entries go (default 2 GiB)
"""

from __future__ import annotations

import ast
import os
import stat
import threading
import time
from _blake2 import blake2b  # hashlib has it too, and loads OpenSSL
from collections.abc import Iterable, Sequence
from typing import Any

MAGIC = b"xfront3\n"
DEFAULT_MAX_BYTES = 2 << 30
TOUCH_AFTER = 3600.0
"""A hit renews the time of an entry that is older than this (seconds)."""
TEMPORARY_AGE = 3600.0
"""Temporary files older than this were left by a process that died."""

_settings: dict[str, Any] = {}
_LOCK = threading.Lock()


def choose(**choice: Any) -> None:
    """Set `enabled`, `directory`, `max_bytes`, `min_seconds`, `min_bytes` or `raises`; None makes
    the environment decide again."""
    for name, value in choice.items():
        if value is None:
            _settings.pop(name, None)
        else:
            _settings[name] = value
    _checked.clear()


def is_enabled() -> bool:
    """Whether programs are kept on disk."""
    if "enabled" in _settings:
        return bool(_settings["enabled"])
    return os.environ.get("XFRONT_CACHE", "1").lower() not in ("0", "false", "off")


_absolute: dict[str, str] = {}


def directory() -> str:
    """The folder of the entries. A relative name is resolved at its first use, so that a change of
    the working directory does not change the folder."""
    found = _settings.get("directory") or os.environ.get("XFRONT_CACHE_DIR")
    if found:
        path = _absolute.get(found)
        if path is None:
            path = _absolute[found] = os.path.abspath(os.path.expanduser(found))
        return path
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "xfront")


def max_bytes() -> int:
    """The limit on the total size of the entries."""
    if "max_bytes" in _settings:
        return int(_settings["max_bytes"])
    text = os.environ.get("XFRONT_CACHE_MAX_BYTES", "")
    return int(text) if text.isdecimal() else DEFAULT_MAX_BYTES


# --- keys ---------------------------------------------------------------------------------

def key(fingerprint: bytes, parts: Sequence[Any]) -> str:
    """The key of a program: its fingerprint, `parts` (by repr) and this machine and software."""
    digest = blake2b(digest_size=24)
    digest.update(environment_digest())
    for part in (fingerprint, *map(repr, parts)):
        data = part if isinstance(part, bytes) else part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


_environment: dict[str, bytes] = {}
_flags: list[str] = []


def flags_were_read() -> None:
    """Keep the present flags in `XLA_FLAGS`. XLA reads the variable once, with its first client, so
    that a later change of it changes no program."""
    if not _flags:
        _flags.append(_flags_now())


def xla_flags() -> str:
    """The flags under which XLA compiles in this process."""
    return _flags[0] if _flags else _flags_now()


def _flags_now() -> str:
    """The text of `XLA_FLAGS`; if that is the name of a file and no flag, the file's text too."""
    text = os.environ.get("XLA_FLAGS", "")
    if not text or text.lstrip().startswith("-"):
        return text
    try:
        with open(text, encoding="utf-8", errors="replace") as f:
            return f"{text}\n{f.read()}"
    except OSError:
        return text                                # XLA has no flags then, and says so


def environment_digest() -> bytes:
    """The digest of all on which every program depends: sources, jaxlib, the CPU and its features,
    XLA's flags."""
    from . import compat  # imports jaxlib, which reading the settings does not need

    flags = xla_flags()
    found = _environment.get(flags)
    if found is None:
        digest = blake2b(digest_size=24)
        for text in (compat.JAXLIB_VERSION, flags, cpu_text(), source_text()):
            digest.update(text.encode(errors="replace"))
            digest.update(b"\0")
        found = _environment[flags] = digest.digest()
    return found


def cpu_text() -> str:
    """Model and features of the CPU."""
    try:
        with open("/proc/cpuinfo", "rb") as f:
            first = f.read(8192).split(b"\n\n")[0].decode(errors="replace")
        wanted = ("model name", "flags", "Features", "CPU implementer", "CPU part", "vendor_id")
        return "\n".join(line for line in first.splitlines() if line.startswith(wanted))
    except OSError:
        import platform  # slow to import and seldom needed

        return f"{platform.machine()} {platform.processor()} {platform.version()}"


def source_text() -> str:
    """Names, sizes and times of the files that decide what a fingerprint compiles to."""
    here = os.path.dirname(os.path.abspath(__file__))
    ir = os.path.join(os.path.dirname(here), "xfront_ir")
    folders = [os.path.join(here, sub) for sub in ("", "forms", "rules", "cpu", "gpu", "tpu")]
    folders += [os.path.join(ir, sub) for sub in ("", "ops", "reference_ops", "passes")]
    return files_text(folders)


def files_text(folders: Iterable[str]) -> str:
    """Names, sizes and times of the Python files in folders."""
    rows: list[str] = []
    for folder in folders:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.endswith(".py"):
                        info = entry.stat()
                        rows.append(f"{folder}/{entry.name} {info.st_size} {info.st_mtime_ns}")
        except OSError:
            rows.append(folder)    # no files (a zip archive): the path stands for its content
    return "\n".join(sorted(rows))


# --- entries ------------------------------------------------------------------------------

_checked: dict[str, bool] = {}


def _folder() -> str | None:
    """The cache's folder, created if need be; None where it is not private to this user.

    Entries hold machine code, so a folder that others may write to is not used.
    """
    path = directory()
    good = _checked.get(path)
    if good is None:
        try:
            os.makedirs(path, mode=0o700, exist_ok=True)
            good = _is_private(os.stat(path))
        except OSError:
            if _settings.get("raises"):
                raise
            good = False
        _checked[path] = good
    return path if good else None


def _is_private(info: os.stat_result) -> bool:
    if not hasattr(os, "geteuid"):
        return True
    return info.st_uid == os.geteuid() and not info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def load(name: str) -> tuple[dict[str, Any], bytes] | None:
    """Header and executable of the entry called `name`, or None."""
    folder = _folder() if is_enabled() else None
    if folder is None:
        return None
    path = os.path.join(folder, name)
    try:
        with open(path, "rb") as f:
            info = os.fstat(f.fileno())
            data = f.read() if _is_private(info) else b""
    except OSError:
        return None
    found = _decode(name, data)
    if found is None:
        _remove(path)
        return None
    if time.time() - info.st_mtime > TOUCH_AFTER:
        try:
            os.utime(path)
        except OSError:
            pass                                   # read-only: the entry keeps its older time
    return found


def forget(name: str) -> None:
    """Remove an entry that turned out not to load."""
    folder = _folder()
    if folder is not None:
        _remove(os.path.join(folder, name))


def store(name: str, header: dict[str, Any], blob: bytes, seconds: float = 0.0) -> None:
    """Store an executable that took `seconds` to compile.

    Does nothing where that fails, or raises OSError where the setting `raises` is on.
    """
    folder = _folder() if is_enabled() else None
    if folder is None:
        return
    data = _encode(name, header, blob)
    limit = max_bytes()
    if (len(data) > limit or len(data) < _settings.get("min_bytes", 0)
            or seconds < _settings.get("min_seconds", 0.0)):
        return
    temporary = os.path.join(folder, f".{name}.{os.getpid()}.{threading.get_ident()}")
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "wb") as f:
            f.write(data)
        os.replace(temporary, os.path.join(folder, name))
    except OSError:
        _remove(temporary)
        if _settings.get("raises"):
            raise
        return
    _make_room(folder, len(data), limit)


def clear() -> None:
    """Remove every entry."""
    folder = _folder()
    if folder is not None:
        for path, _, _ in _entries(folder):
            _remove(path)
    _sizes.clear()


def _encode(name: str, header: dict[str, Any], blob: bytes) -> bytes:
    head = repr(header).encode()
    payload = b"".join((len(head).to_bytes(8, "little"), head, blob))
    return MAGIC + _digest(name, payload) + payload


def _digest(name: str, payload: bytes | memoryview) -> bytes:
    """The digest of an entry. It covers the name, so that a renamed file is not an entry."""
    digest = blake2b(name.encode() + b"\0", digest_size=32)
    digest.update(payload)
    return digest.digest()


def _decode(name: str, data: bytes) -> tuple[dict[str, Any], bytes] | None:
    start = len(MAGIC)
    payload = memoryview(data)[start + 32:]
    if (not data.startswith(MAGIC) or len(payload) < 8
            or _digest(name, payload) != data[start:start + 32]):
        return None
    size = int.from_bytes(payload[:8], "little")
    try:
        header = ast.literal_eval(bytes(payload[8:8 + size]).decode())
    except (ValueError, SyntaxError):
        return None
    return (header, bytes(payload[8 + size:])) if isinstance(header, dict) else None


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass                                       # another process was first


# --- size ---------------------------------------------------------------------------------

_sizes: dict[str, int] = {}
"""By folder, an estimate of the bytes in it: the size when last counted, plus later additions."""


def _entries(folder: str) -> list[tuple[str, int, float]]:
    """(path, bytes, time of last use) of every entry; removes leftovers of dead processes."""
    found = []
    now = time.time()
    try:
        with os.scandir(folder) as scan:
            for entry in scan:
                try:
                    info = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                if not stat.S_ISREG(info.st_mode):
                    continue
                if not entry.name.startswith("."):
                    found.append((entry.path, info.st_size, info.st_mtime))
                elif now - info.st_mtime > TEMPORARY_AGE:
                    _remove(entry.path)
    except OSError:
        pass
    return found


def _make_room(folder: str, added: int, limit: int) -> None:
    """Keep the folder under its limit: above it, remove the least recently used entries until nine
    tenths of the limit are left."""
    with _LOCK:
        known = _sizes.get(folder)
        total = None if known is None else known + added
        if total is not None and total <= limit:
            _sizes[folder] = total
            return
    entries = _entries(folder)
    total = sum(size for _, size, _ in entries)
    if total > limit:
        for path, size, _ in sorted(entries, key=lambda e: e[2]):
            _remove(path)
            total -= size
            if total <= limit * 9 // 10:
                break
    with _LOCK:
        _sizes[folder] = total
