"""Helpers used all over the broker.

Mirrors: core/src/main/scala/kafka/utils/CoreUtils.scala @ 1.1.1
"""

from __future__ import annotations

import base64
import errno
import importlib
import itertools
import re
import uuid
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from kafka_py.common.utils import utils
from kafka_py.common.utils.kafka_thread import KafkaThread
from kafka_py.utils import logging as log_levels
from kafka_py.utils.concurrent import ConcurrentHashMap, ReentrantLock, ReentrantReadWriteLock
from kafka_py.utils.logging import Logging, get_logger
from kafka_py.utils.mbeans import PLATFORM_MBEAN_SERVER, Attributes

if TYPE_CHECKING:
    from kafka_py.cluster.end_point import EndPoint
    from kafka_py.common.network.listener_name import ListenerName
    from kafka_py.common.security.auth.security_protocol import SecurityProtocol

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
_logger = get_logger("kafka.utils.CoreUtils")


def is_out_of_descriptors(error: OSError) -> bool:
    """Whether the process, or the machine, has as many open files as it may have: no fault of disk or peer."""
    return error.errno in (errno.EMFILE, errno.ENFILE)


def min_or(values: Iterable[int], if_empty: int) -> int:
    """The smallest value, or if_empty if there is none."""
    return min(values, default=if_empty)


def new_thread(name: str, daemon: bool, fun: Callable[[], None]) -> KafkaThread:
    """An unstarted thread that runs the function."""
    return KafkaThread(name, fun, daemon)


def swallow(action: Callable[[], Any], logging: Logging | None = None, log_level: int = log_levels.WARN) -> None:
    """Run the action; log what it raises, at log_level, instead of raising it."""
    try:
        action()
    except Exception as e:  # noqa: BLE001  # that is what swallowing means
        logger = _logger if logging is None else logging.logger
        logger.underlying.log(log_level, "%s", e, exc_info=e)


def delete(files: Iterable[str]) -> None:
    """Delete files and whole directories; those that are not there are skipped."""
    for file in files:
        utils.delete(file)


def try_all(actions: Iterable[Callable[[], Any]]) -> None:
    """Run every action, whatever the others raise; raise the first failure at the end, with notes on the others."""
    first: BaseException | None = None
    for action in actions:
        try:
            action()
        except Exception as e:  # noqa: BLE001  # raised below, when all have run
            if first is None:
                first = e
            else:
                first.add_note(f"suppressed: {e!r}")
    if first is not None:
        raise first


def register_m_bean(attributes: Attributes, name: str) -> bool:
    """Make an object's attributes readable under a bean name, in place of one of that name."""
    PLATFORM_MBEAN_SERVER.register(name, attributes)
    return True


def unregister_m_bean(name: str) -> None:
    """Forget the bean of that name, if there is one."""
    PLATFORM_MBEAN_SERVER.unregister(name)


def parse_csv_map(text: str) -> dict[str, str]:
    """`k1:v1, k2:v2` as a dict; the last colon of a pair divides it, so keys may be IPv6 addresses."""
    if text == "":
        return {}
    pairs = (pair.rpartition(":") for pair in re.split(r"\s*,\s*", text))
    return {key.strip(): value.strip() for key, _, value in pairs}


def parse_csv_list(csv_list: str | None) -> list[str]:
    """`a, b` as a list without empty entries; [] for None."""
    if not csv_list:
        return []
    return [v for v in re.split(r"\s*,\s*", csv_list) if v]


def create_object(class_name: str, *args: Any) -> Any:
    """An instance of the class of that dotted name; ImportError or AttributeError if there is none."""
    module, _, name = class_name.rpartition(".")
    return getattr(importlib.import_module(module), name)(*args)


def circular_iterator(coll: Collection[T]) -> Iterator[T]:
    """The elements again and again, for ever."""
    return itertools.cycle(coll)


def replace_suffix(s: str, old_suffix: str, new_suffix: str) -> str:
    """The string with another ending; ValueError if it does not have the old one."""
    if not s.endswith(old_suffix):
        raise ValueError(f"Expected string to end with '{old_suffix}' but string is '{s}'")
    return s[: len(s) - len(old_suffix)] + new_suffix


def read_int(data: bytes, offset: int) -> int:
    """The big-endian 32-bit int at the offset."""
    return int.from_bytes(data[offset : offset + 4], "big", signed=True)


def in_lock(lock: ReentrantLock, fun: Callable[[], T]) -> T:
    """Run the function while holding the lock."""
    with lock:
        return fun()


def in_read_lock(lock: ReentrantReadWriteLock, fun: Callable[[], T]) -> T:
    """Run the function while holding the read lock."""
    with lock.read_lock():
        return fun()


def in_write_lock(lock: ReentrantReadWriteLock, fun: Callable[[], T]) -> T:
    """Run the function while holding the write lock."""
    with lock.write_lock():
        return fun()


def json_escape_string(s: str) -> str:
    """The string with everything escaped that JSON wants escaped, and control characters of both sets."""
    short = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}

    def escape(c: str) -> str:
        if c in short:
            return short[c]
        return f"\\u{ord(c):04x}" if c <= "\x1f" or "\x7f" <= c <= "\x9f" else c

    return "".join(map(escape, s))


def duplicates(items: Iterable[K]) -> list[K]:
    """The items that occur more than once, each once."""
    seen: dict[K, int] = {}
    for item in items:
        seen[item] = seen.get(item, 0) + 1
    return [item for item, n in seen.items() if n > 1]


def listener_list_to_end_points(
    listeners: str, security_protocol_map: Mapping[ListenerName, SecurityProtocol]
) -> list[EndPoint]:
    """`PLAINTEXT://host:9092,…` as end points; ValueError if malformed, or if a port or a name comes twice."""
    from kafka_py.cluster.end_point import EndPoint

    try:
        end_points = [EndPoint.create_end_point(text, security_protocol_map) for text in parse_csv_list(listeners)]
    except Exception as e:  # whatever is wrong with the text, the caller learns which text it was
        raise ValueError(f"Error creating broker listeners from '{listeners}': {e}") from e
    ports = [e.port for e in end_points if e.port != 0]  # 0: the system chooses, as tests ask it to
    if len(set(ports)) != len(ports):
        raise ValueError(f"requirement failed: Each listener must have a different port, listeners: {listeners}")
    if len({e.listener_name for e in end_points}) != len(end_points):
        raise ValueError(f"requirement failed: Each listener must have a different name, listeners: {listeners}")
    return end_points


def generate_uuid_as_base64() -> str:
    """A random UUID in 22 characters."""
    return base64.urlsafe_b64encode(get_bytes_from_uuid(uuid.uuid4())).decode().rstrip("=")


def get_bytes_from_uuid(value: uuid.UUID) -> bytes:
    """Its 16 bytes, most significant first."""
    return value.bytes


def props_with(*props: tuple[str, str]) -> dict[str, str]:
    """Properties of these pairs."""
    return dict(props)


def atomic_get_or_update(map_: ConcurrentHashMap[K, V], key: K, create_value: Callable[[], V]) -> V:
    """The key's value, created if there is none; all threads get the same."""
    value = map_.get(key)
    if value is not None:
        return value
    created = create_value()
    found = map_.put_if_absent(key, created)
    return created if found is None else found


class CoreUtils(Logging):
    """The module's functions under the name they have in Kafka.

    Mirrors: kafka.utils.CoreUtils
    Left out: runnable, read, validate -- functions are runnables; transport layers read; part of \
listenerListToEndPoints
    """

    min = staticmethod(min_or)
    new_thread = staticmethod(new_thread)
    swallow = staticmethod(swallow)
    delete = staticmethod(delete)
    try_all = staticmethod(try_all)
    register_m_bean = staticmethod(register_m_bean)
    unregister_m_bean = staticmethod(unregister_m_bean)
    parse_csv_map = staticmethod(parse_csv_map)
    parse_csv_list = staticmethod(parse_csv_list)
    create_object = staticmethod(create_object)
    circular_iterator = staticmethod(circular_iterator)
    replace_suffix = staticmethod(replace_suffix)
    read_int = staticmethod(read_int)
    in_lock = staticmethod(in_lock)
    in_read_lock = staticmethod(in_read_lock)
    in_write_lock = staticmethod(in_write_lock)
    json_escape_string = staticmethod(json_escape_string)
    duplicates = staticmethod(duplicates)
    listener_list_to_end_points = staticmethod(listener_list_to_end_points)
    generate_uuid_as_base64 = staticmethod(generate_uuid_as_base64)
    get_bytes_from_uuid = staticmethod(get_bytes_from_uuid)
    props_with = staticmethod(props_with)
    atomic_get_or_update = staticmethod(atomic_get_or_update)
