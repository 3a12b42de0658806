"""SkimpyOffsetMap: one key at a time, many at a time, with numpy and without."""

from __future__ import annotations

import random

import pytest

from kafka_py.log import offset_map
from kafka_py.log.offset_map import SkimpyOffsetMap
from tests.log.cleaner_support import FakeOffsetMap, key


@pytest.fixture(params=[True, False], ids=["numpy", "plain"])
def _either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.param:
        monkeypatch.setattr(offset_map, "_numpy", lambda: None)


@pytest.mark.ported("OffsetMapTest.testBasicValidation")
@pytest.mark.parametrize("items", [10, 100, 1000, 5000])
def test_basic_validation(items: int) -> None:
    table = SkimpyOffsetMap(items * 2 * 24)
    for i in range(items):
        table.put(key(i), i)
    assert [table.get(key(i)) for i in range(items)] == list(range(items))
    assert table.size == items
    assert table.utilization == 0.5
    assert table.latest_offset == items - 1
    assert 0 <= table.collision_rate < 1


@pytest.mark.ported("OffsetMapTest.testClear")
@pytest.mark.usefixtures("_either")
def test_clear() -> None:
    table = SkimpyOffsetMap(4000)
    for i in range(10):
        table.put(key(i), i)
    assert [table.get(key(i)) for i in range(10)] == list(range(10))
    table.clear()
    assert [table.get(key(i)) for i in range(10)] == [-1] * 10
    assert (table.size, table.latest_offset, table.collision_rate) == (0, -1, 0.0)


@pytest.mark.ported("OffsetMapTest.testGetWhenFull")
@pytest.mark.usefixtures("_either")
def test_get_when_full() -> None:
    table = SkimpyOffsetMap(4096)
    i = 37
    while table.size < table.slots:
        table.put(key(i), i)
        i += 1
    assert table.get(key(i)) == -1
    assert table.get(key(i - 1)) == i - 1
    some = [key(n) for n in range(i - 20, i + 20)]
    assert table.have_no_later(some, [0] * 40) == bytes(20) + b"\1" * 20
    with pytest.raises(ValueError, match="Attempt to add a new entry to a full offset map"):
        table.put(key(i), i)
    with pytest.raises(ValueError, match="full offset map"):
        table.put_all(some, list(range(40)))


def test_an_entry_takes_hash_and_offset() -> None:
    assert SkimpyOffsetMap(4096).slots == 4096 // 24
    assert SkimpyOffsetMap(4096, "SHA-1").slots == 4096 // 28
    assert SkimpyOffsetMap(4096, "SHA-256").slots == 4096 // 40
    with pytest.raises(ValueError, match="nonsense"):
        SkimpyOffsetMap(4096, "nonsense")


def test_offset_zero_and_latest_offset() -> None:
    table = SkimpyOffsetMap(240)
    table.put(b"", 0)
    assert table.get(b"") == 0
    table.put(b"a", 7)
    table.update_latest_offset(12)
    assert table.latest_offset == 12


@pytest.mark.usefixtures("_either")
@pytest.mark.parametrize("algorithm", ["MD5", "SHA-1", "SHA-256"])
def test_many_keys_at_once_is_the_same_as_one_by_one(algorithm: str) -> None:
    rng = random.Random(5)
    table, model = SkimpyOffsetMap(2000 * 24, algorithm), FakeOffsetMap(10**9)
    offset = 0
    while table.size + 200 < table.slots * 0.95:
        count = rng.randrange(1, 200)
        keys = [key(rng.randrange(3000)) for _ in range(count)]
        offsets = list(range(offset, offset + count))
        offset += count
        table.put_all(keys, offsets)
        model.put_all(keys, offsets)
        assert (table.size, table.latest_offset) == (model.size, model.latest_offset)
    everything = [key(i) for i in range(3100)]
    assert [table.get(k) for k in everything] == [model.get(k) for k in everything]
    wanted = [rng.randrange(offset) for _ in everything]
    assert table.have_no_later(everything, wanted) == model.have_no_later(everything, wanted)
    table.put_all([], [])
    assert table.have_no_later([], []) == b""


def test_one_key_at_a_time_finds_what_numpy_put_and_the_reverse() -> None:
    table = SkimpyOffsetMap(3000 * 24)
    table.put_all([key(i) for i in range(2500)], list(range(2500)))
    assert [table.get(key(i)) for i in range(2600)] == [*range(2500), *[-1] * 100]
    for i in range(2400, 2600):
        table.put(key(i), i + 1)
    assert table.size == 2600
    assert table.have_no_later([key(i) for i in range(2600)], list(range(2600))) == b"\1" * 2400 + bytes(200)
