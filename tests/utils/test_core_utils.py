"""The broker's helpers."""

from __future__ import annotations

import itertools
import logging
import pathlib
import uuid

import pytest

from kafka_py.common.errors import KafkaException
from kafka_py.utils import core_utils
from kafka_py.utils.concurrent import AtomicInteger, ConcurrentHashMap, ReentrantLock, ReentrantReadWriteLock
from kafka_py.utils.core_utils import (
    atomic_get_or_update,
    circular_iterator,
    create_object,
    duplicates,
    generate_uuid_as_base64,
    get_bytes_from_uuid,
    in_lock,
    in_read_lock,
    in_write_lock,
    json_escape_string,
    min_or,
    new_thread,
    parse_csv_list,
    parse_csv_map,
    props_with,
    read_int,
    register_m_bean,
    replace_suffix,
    swallow,
    try_all,
    unregister_m_bean,
)
from kafka_py.utils.logging import ERROR, Logging
from kafka_py.utils.mbeans import PLATFORM_MBEAN_SERVER
from kafka_py.utils.pool import Pool


class Log(Logging):
    logger_name = "kafka.test.Log"


def fail() -> None:
    raise KafkaException("test")


@pytest.mark.ported("CoreUtilsTest.testSwallow")
def test_swallow(caplog: pytest.LogCaptureFixture) -> None:
    swallow(fail, Log())
    swallow(fail, Log(), ERROR)
    swallow(fail)
    assert [(r.name, r.levelno, r.getMessage()) for r in caplog.records] == [
        ("kafka.test.Log", logging.WARNING, "test"),
        ("kafka.test.Log", logging.ERROR, "test"),
        ("kafka.utils.CoreUtils", logging.WARNING, "test"),
    ]


@pytest.mark.ported("CoreUtilsTest.testTryAll")
def test_try_all() -> None:
    ran: list[str] = []
    with pytest.raises(KafkaException) as caught:
        try_all([lambda: ran.append("first"), fail, fail, lambda: ran.append("last")])
    assert ran == ["first", "last"]
    assert caught.value.__notes__ == ["suppressed: KafkaException('test')"]
    try_all([])


@pytest.mark.ported("CoreUtilsTest.testCircularIterator")
def test_circular_iterator() -> None:
    assert list(itertools.islice(circular_iterator([1, 2]), 5)) == [1, 2, 1, 2, 1]


@pytest.mark.ported("CoreUtilsTest.testReplaceSuffix")
def test_replace_suffix() -> None:
    assert replace_suffix("blah.foo.txt", ".txt", ".text") == "blah.foo.text"
    assert replace_suffix("blah.foo", "", ".txt") == "blah.foo.txt"
    with pytest.raises(ValueError, match="Expected string to end with"):
        replace_suffix("foo", ".txt", "")


@pytest.mark.ported("CoreUtilsTest.testReadInt")
def test_read_int() -> None:
    for n in (0, 1, -1, 2**31 - 1, -(2**31)):
        assert read_int(b"\0" + n.to_bytes(4, "big", signed=True), 1) == n


@pytest.mark.ported("CoreUtilsTest.testCsvList")
def test_csv_list() -> None:
    assert parse_csv_list(None) == []
    assert parse_csv_list("") == []
    assert parse_csv_list("a , b,, c") == ["a", "b", "c"]


@pytest.mark.ported("CoreUtilsTest.testCsvMap")
def test_csv_map() -> None:
    assert parse_csv_map("") == {}
    assert parse_csv_map("key1:value1, key2:value2") == {"key1": "value1", "key2": "value2"}
    assert parse_csv_map("a:b:c:v,d:e:f:7") == {"a:b:c": "v", "d:e:f": "7"}


@pytest.mark.ported("CoreUtilsTest.testInLock")
def test_in_lock() -> None:
    lock, shared = ReentrantLock(), ReentrantReadWriteLock()
    assert in_lock(lock, lock.is_held_by_current_thread)
    assert not lock.is_held_by_current_thread()
    assert in_read_lock(shared, shared.get_read_hold_count) == 1
    assert in_write_lock(shared, shared.is_write_locked_by_current_thread)
    assert not shared.is_write_locked_by_current_thread()


@pytest.mark.ported("CoreUtilsTest.testUrlSafeBase64EncodeUUID")
@pytest.mark.ported("CoreUtilsTest.testGenerateUuidAsBase64")
def test_uuids() -> None:
    assert get_bytes_from_uuid(uuid.UUID(int=0xABC)) == bytes(14) + b"\x0a\xbc"
    cluster_id = generate_uuid_as_base64()
    assert len(cluster_id) == 22
    assert set("+/=").isdisjoint(cluster_id)
    assert cluster_id != generate_uuid_as_base64()


@pytest.mark.ported("CoreUtilsTest.testAtomicGetOrUpdate")
def test_atomic_get_or_update() -> None:
    table: ConcurrentHashMap[int, AtomicInteger] = ConcurrentHashMap()
    first = atomic_get_or_update(table, 0, AtomicInteger)
    assert atomic_get_or_update(table, 0, AtomicInteger) is first


def test_small_helpers(tmp_path: pathlib.Path) -> None:
    assert (min_or([3, 1], 9), min_or([], 9)) == (1, 9)
    assert duplicates(["a", "b", "a", "a"]) == ["a"]
    assert props_with(("a", "1")) == {"a": "1"}
    assert json_escape_string('"\\/\b\f\n\r\t\x01\x85ü') == '\\"\\\\\\/\\b\\f\\n\\r\\t\\u0001\\u0085ü'
    assert create_object("collections.deque", [1]).pop() == 1
    assert new_thread("name", True, fail).daemon
    (tmp_path / "a" / "b").mkdir(parents=True)
    core_utils.delete([str(tmp_path / "a"), str(tmp_path / "none")])
    assert list(tmp_path.iterdir()) == []
    assert register_m_bean({"One": lambda: 1}, "kafka:type=Test")
    assert PLATFORM_MBEAN_SERVER.get_attribute("kafka:type=Test", "One") == 1
    unregister_m_bean("kafka:type=Test")
    assert not PLATFORM_MBEAN_SERVER.is_registered("kafka:type=Test")


class TestPool:
    def test_makes_each_value_once(self) -> None:
        made: list[str] = []
        pool: Pool[str, list[str]] = Pool(lambda key: made.append(key) or [key])  # type: ignore[func-returns-value]
        assert pool.get("a") is None
        assert pool.get_and_maybe_put("a") is pool.get_and_maybe_put("a")
        assert pool.get_and_maybe_put("b", lambda: ["given"]) == ["given"]
        assert made == ["a"]
        assert (pool.keys, pool.values, pool.size, len(pool)) == (["a", "b"], [["a"], ["given"]], 2, 2)

    def test_without_a_factory(self) -> None:
        pool: Pool[str, int] = Pool()
        with pytest.raises(KafkaException, match="Empty value factory"):
            pool.get_and_maybe_put("a")
        assert pool.put("a", 1) is None
        assert pool.put_if_not_exists("a", 2) == 1
        assert pool.contains("a")
        assert "a" in pool
        assert list(pool) == pool.items() == [("a", 1)]
        assert pool.remove("a", 3) is None
        assert pool.remove("a") == 1
        pool.put("b", 1)
        pool.clear()
        assert pool.size == 0
