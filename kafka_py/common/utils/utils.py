"""Helpers of the protocol and client side.

Mirrors: clients/src/main/java/org/apache/kafka/common/utils/Utils.java @ 1.1.1 (3.7.1 where a function says so)

Static methods of Java are functions here: `from kafka_py.common.utils.utils import format_address`.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import math
import os
import pathlib
import re
import shutil
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, BinaryIO, Protocol, TypeVar

from kafka_py.common.errors import KafkaException
from kafka_py.common.utils import throwables
from kafka_py.common.utils.exit import Exit
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


def utf8(data: Buffer | str, offset: int = 0, length: int | None = None) -> Any:
    """Bytes (a part of them) as str, what is no UTF-8 replaced by U+FFFD; a str as bytes."""
    if isinstance(data, str):
        return data.encode()
    end = len(data) if length is None else offset + length
    return str(data[offset:end], "utf-8", "replace")


def utf8_length(s: str) -> int:
    """How many bytes the text takes in UTF-8."""
    return len(s) if s.isascii() else len(s.encode())


def abs_(n: int) -> int:
    """The absolute value; 0 for the smallest int, which has none."""
    return 0 if n == -(2**31) else abs(n)


def to_positive(number: int) -> int:
    """The number without its sign bit: cheaper than abs and never negative."""
    return number & 0x7FFFFFFF


def to_array(buffer: Buffer, offset: int = 0, size: int | None = None) -> bytes:
    """A copy of (a part of) the buffer."""
    return bytes(buffer[offset : len(buffer) if size is None else offset + size])


def to_nullable_array(buffer: Buffer | None) -> bytes | None:
    """A copy of the buffer; None for None."""
    return None if buffer is None else bytes(buffer)


def wrap_nullable(array: Buffer | None) -> memoryview | None:
    """A view of the bytes; None for None."""
    return None if array is None else memoryview(array)


def not_null(value: T | None) -> T:
    """The value; TypeError if it is None."""
    if value is None:
        raise TypeError("the value must not be None")
    return value


def load_class(class_name: str, base: type = object) -> Any:
    """The class of that dotted name; ImportError if there is none, TypeError if it is no subclass of base."""
    module, _, name = class_name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), name)
    except (AttributeError, ValueError) as e:
        raise ImportError(f"no class {class_name}") from e
    if not (isinstance(found, type) and issubclass(found, base)):
        raise TypeError(f"{class_name} is no subclass of {base.__name__}")
    return found


def new_instance(class_: type[T] | str, base: type = object) -> Any:
    """An instance made without arguments; KafkaException if that fails."""
    found = load_class(class_, base) if isinstance(class_, str) else class_
    try:
        return found()
    except Exception as e:
        raise KafkaException(f"Could not instantiate class {found.__module__}.{found.__qualname__}") from e


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


def is_blank(text: str | None) -> bool:
    """Whether the text is None, empty or only white space (3.7.1)."""
    return text is None or not text.strip()


def format_bytes(n: int) -> str:
    """A number of bytes for people: `1.5 KB`."""
    if n < 0:
        return str(n)
    ordinal = 0 if n == 0 else int(math.log(n) / math.log(1024) + 1e-12)
    if ordinal >= len(_BYTE_SCALE_SUFFIXES):
        return str(float(n))
    scaled = f"{n / 1024**ordinal:.2f}".rstrip("0").rstrip(".")
    return f"{scaled} {_BYTE_SCALE_SUFFIXES[ordinal]}"


def join(items: Iterable[Any], separator: str) -> str:
    """The items as text with the separator between them."""
    return separator.join(map(str, items))


def mk_string(map_: Mapping[Any, Any], begin: str, end: str, key_value_separator: str, element_separator: str) -> str:
    """A mapping as text."""
    body = element_separator.join(f"{key}{key_value_separator}{value}" for key, value in map_.items())
    return f"{begin}{body}{end}"


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


def props_to_string_map(props: Mapping[Any, Any]) -> dict[str, str]:
    """Keys and values as text."""
    return {str(key): str(value) for key, value in props.items()}


def stack_trace(e: BaseException) -> str:
    """The exception as Java prints it."""
    return throwables.stack_trace(e)


def croak(message: str) -> None:
    """Print the message and end the process."""
    print(message, file=sys.stderr)
    Exit.exit(1)


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


def atomic_move_with_fallback(
    source: str | os.PathLike[str], target: str | os.PathLike[str], need_flush_parent_dir: bool = False
) -> None:
    """Rename, replacing the target; copy if the two lie on different file systems. OSError if both fail.

    With need_flush_parent_dir (3.7.1) the rename has reached the disk when this returns.
    """
    try:
        os.replace(source, target)
    except OSError as outer:
        if outer.errno != errno.EXDEV:
            raise
        try:
            shutil.move(source, target)
        except OSError as inner:
            inner.add_note(f"suppressed: {outer!r}")
            raise
        _log.debug("Non-atomic move of %s to %s succeeded after atomic move failed due to %s", source, target, outer)
    if need_flush_parent_dir:
        flush_dir(os.path.dirname(os.path.abspath(target)))


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


def flush_file_if_exists(path: str | os.PathLike[str]) -> None:
    """Bring a file's content to the disk; one that was removed meanwhile is logged (3.7.1)."""
    try:
        with open(path, "rb+") as file:
            os.fsync(file.fileno())
    except FileNotFoundError:
        _log.warn("Failed to flush file %s", path)


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


def close_quietly(closeable: Closeable | None, name: str, logger: KafkaLogger = _log) -> None:
    """Close; what that raises is logged."""
    if closeable is not None:
        try:
            closeable.close()
        except Exception as e:  # noqa: BLE001  # the caller is closing and has no better use for it
            logger.warn("Failed to close %s with type %s", name, type(closeable).__qualname__, exc=e)


def swallow(logger: KafkaLogger, level: int, what: str, code: Callable[[], Any]) -> None:
    """Run the code; log what it raises (3.7.1)."""
    try:
        code()
    except Exception as e:  # noqa: BLE001  # that is what swallowing means
        logger.underlying.log(level, "%s error: %s", what, e, exc_info=e)


def long_hashcode(value: int) -> int:
    """java.lang.Long.hashCode of the number."""
    folded = (value ^ (value & 0xFFFFFFFFFFFFFFFF) >> 32) & 0xFFFFFFFF
    return folded - (1 << 32) if folded & 0x80000000 else folded


def size_delimited(buffer: Buffer, start: int) -> memoryview | None:
    """The bytes behind a 4-byte size at start; None for a negative size."""
    size = int.from_bytes(buffer[start : start + 4], "big", signed=True)
    return None if size < 0 else memoryview(buffer)[start + 4 : start + 4 + size]


def read_fully_or_fail(fd: int, destination: bytearray | memoryview, position: int, description: str) -> None:
    """Fill the buffer from the file; EOFError if the file ends first, ValueError below position 0."""
    n = read_fully(fd, destination, position)
    if n < len(destination):
        raise EOFError(
            f"Failed to read `{description}` from file channel `{fd}`. Expected to read {len(destination)} bytes, "
            f"but reached end of file after reading {n} bytes. Started read from position {position}."
        )


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


def write_fully(fd: int, source: Buffer) -> None:
    """Write the whole buffer to the file."""
    view = memoryview(source)
    done = 0
    while done < len(view):
        done += os.write(fd, view[done:])


def read_fully_from_stream(stream: BinaryIO, size: int) -> bytes:
    """Up to size bytes: fewer only if the stream ends."""
    parts = []
    while size > 0 and (part := stream.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def entries_with_prefix(map_: Mapping[str, T], prefix: str, strip: bool = True) -> dict[str, T]:
    """The entries whose key begins with the prefix (and is longer), the prefix taken off (3.7.1)."""
    cut = len(prefix) if strip else 0
    return {k[cut:]: v for k, v in map_.items() if k.startswith(prefix) and len(k) > len(prefix)}
