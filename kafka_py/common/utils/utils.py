"""Helpers of the protocol and client side.

Mirrors: clients/src/main/java/org/apache/kafka/common/utils/Utils.java @ 1.1.1 (3.7.1 where a function says so)

Static methods of Java are functions here: `from kafka_py.common.utils.utils import format_address`.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import shutil
import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

from kafka_py.common.utils import throwables
from kafka_py.utils.logging import KafkaLogger, get_logger

T = TypeVar("T")
Buffer = bytes | bytearray | memoryview
_log = get_logger("org.apache.kafka.common.utils.Utils")
NL = os.linesep
# host:port and protocol://host:port; an IPv6 address stands in brackets
_HOST_PORT_PATTERN = re.compile(r".*?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)")
_BYTE_SCALE_SUFFIXES = ("B", "KB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB")


class Closeable(Protocol):
    """Anything with a close()."""

    def close(self) -> object:
        """Give resources back."""


def murmur2(data: Buffer) -> int:
    """The hash by which producers choose partitions, as a signed 32-bit int."""
    length = len(data)
    m = 0x5BD1E995
    h = 0x9747B28C ^ length
    whole = length & ~3
    for (k,) in struct.iter_unpack("<I", data[:whole]):
        k = k * m & 0xFFFFFFFF
        k ^= k >> 24
        h = h * m & 0xFFFFFFFF ^ k * m & 0xFFFFFFFF
    if whole != length:
        h ^= int.from_bytes(data[whole:], "little")
        h = h * m & 0xFFFFFFFF
    h ^= h >> 13
    h = h * m & 0xFFFFFFFF
    h ^= h >> 15
    return h - (1 << 32) if h & 0x80000000 else h


def get_host(address: str) -> str | None:
    """The host of `host:port`; None if there is no port."""
    found = _HOST_PORT_PATTERN.fullmatch(address)
    return found[1] if found else None


def get_port(address: str) -> int | None:
    """The port of `host:port`; None if there is none."""
    found = _HOST_PORT_PATTERN.fullmatch(address)
    return int(found[2]) if found else None


def format_address(host: str, port: int) -> str:
    """`host:port`, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def join(items: Iterable[Any], separator: str) -> str:
    """The items as text with the separator between them."""
    return separator.join(map(str, items))


_LINE_END = re.compile(r"\r\n|\n|\r")
_KEY = re.compile(r"((?:\\.|[^\\ \t\f=:])*)[ \t\f]*(?:[=:][ \t\f]*)?", re.S)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.S)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda m: chr(int(m[1][1:], 16)) if len(m[1]) == 5 else _ESCAPED.get(m[1], m[1]), text)


def _logical_lines(text: str) -> Iterator[str]:
    """Lines without comments; a line that ends in an odd number of backslashes goes on in the next."""
    pending = ""
    for natural in _LINE_END.split(text):
        line = natural.lstrip(" \t\f")
        if not pending and (not line or line[0] in "#!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            pending += line[:-1]
        else:
            yield pending + line
            pending = ""
    if pending:
        yield pending


def parse_props(text: str) -> dict[str, str]:
    """The text of a java.util.Properties file as a dict; later keys win."""
    props: dict[str, str] = {}
    for line in _logical_lines(text):
        found = _KEY.match(line)
        assert found is not None  # every line begins with a key, if only an empty one
        props[_unescape(found[1])] = _unescape(line[found.end() :])
    return props


def load_props(filename: str | os.PathLike[str]) -> dict[str, str]:
    """A java.util.Properties file as a dict; OSError if it cannot be read."""
    return parse_props(pathlib.Path(filename).read_text(encoding="utf-8", errors="replace"))


def stack_trace(e: BaseException) -> str:
    """The exception as Java prints it."""
    return throwables.stack_trace(e)


def read_file_as_string(path: str | os.PathLike[str], encoding: str = "utf-8") -> str:
    """The text of a file."""
    return pathlib.Path(path).read_text(encoding=encoding)


def delete(file: str | os.PathLike[str] | None) -> None:
    """Delete a file or a whole directory; nothing happens if it is not there. OSError if it cannot be deleted."""
    if file is None:
        return
    with contextlib.suppress(FileNotFoundError):
        if os.path.isdir(file) and not os.path.islink(file):
            shutil.rmtree(file)
        else:
            os.unlink(file)


def safe(other: list[T] | None) -> list[T]:
    """The list; an empty one for None."""
    return [] if other is None else other


def flush_dir(path: str | os.PathLike[str]) -> None:
    """Bring a directory's entries to the disk (3.7.1)."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def flush_dir_if_exists(path: str | os.PathLike[str]) -> None:
    """As flush_dir; a directory that was removed meanwhile is logged (3.7.1)."""
    try:
        flush_dir(path)
    except FileNotFoundError:
        _log.warn("Failed to flush directory %s", path)


def close_all(*closeables: Closeable | None) -> None:
    """Close all, whatever the others raise; raise the first OSError at the end."""
    first: OSError | None = None
    for closeable in closeables:
        try:
            if closeable is not None:
                closeable.close()
        except OSError as e:
            if first is None:
                first = e
            else:
                first.add_note(f"suppressed: {e!r}")
    if first is not None:
        raise first


def swallow(logger: KafkaLogger, level: int, what: str, code: Callable[[], Any]) -> None:
    """Run the code; log what it raises (3.7.1)."""
    try:
        code()
    except Exception as e:  # noqa: BLE001  # that is what swallowing means
        logger.underlying.log(level, "%s error: %s", what, e, exc_info=e)


def read_fully(fd: int, destination: bytearray | memoryview, position: int) -> int:
    """Read from the file into the buffer until it is full or the file ends; how many bytes were read."""
    if position < 0:
        raise ValueError(f"The file channel position cannot be negative, but it is {position}")
    view = memoryview(destination)
    done = 0
    while done < len(view):
        n = os.preadv(fd, [view[done:]], position + done)
        if n == 0:
            break
        done += n
    return done
