"""Fetch sessions: the cache and who may evict whom, and what each kind of context answers."""

from __future__ import annotations

import pytest

from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.requests.fetch_metadata import FetchMetadata
from kafka_py.common.requests.fetch_request import FetchRequest
from kafka_py.common.requests.fetch_response import FetchResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.server.fetch_session import (
    CachedPartition,
    FetchContext,
    FetchManager,
    FetchSession,
    FetchSessionCache,
    FullFetchContext,
    IncrementalFetchContext,
    SessionErrorContext,
    SessionlessFetchContext,
)
from kafka_py.testing.mock_time import MockTime
from tests.server.replica_support import records

FOO0, FOO1, BAR0, BAR1 = (TopicPartition(t, p) for t in ("foo", "bar") for p in (0, 1))
ReqMap = dict[TopicPartition, FetchRequest.PartitionData]
RespMap = dict[TopicPartition, FetchResponse.PartitionData]


def req(fetch_offset: int, log_start_offset: int = 0, max_bytes: int = 100) -> FetchRequest.PartitionData:
    return FetchRequest.PartitionData(fetch_offset, log_start_offset, max_bytes)


def resp(
    high_watermark: int = 10,
    log_start_offset: int = 0,
    error: Errors = Errors.NONE,
    data: MemoryRecords = MemoryRecords.EMPTY,
) -> FetchResponse.PartitionData:
    return FetchResponse.PartitionData(error, high_watermark, high_watermark, log_start_offset, None, data)


def dummy_create(size: int) -> dict[TopicPartition, CachedPartition]:
    return {TopicPartition("test", i): CachedPartition(TopicPartition("test", i)) for i in range(size)}


def asked(context: FetchContext) -> list[tuple[TopicPartition, int]]:
    found: list[tuple[TopicPartition, int]] = []
    context.foreach_partition(lambda tp, data: found.append((tp, data.fetch_offset)))
    return found


@pytest.fixture
def mock_time() -> MockTime:
    return MockTime()


@pytest.fixture
def cache() -> FetchSessionCache:
    return FetchSessionCache(10, 1000)


@pytest.fixture
def manager(mock_time: MockTime, cache: FetchSessionCache) -> FetchManager:
    return FetchManager(mock_time, cache)


@pytest.mark.ported("FetchSessionTest.testNewSessionId")
def test_new_session_ids_are_positive_and_new() -> None:
    cache = FetchSessionCache(3, 100)
    assert all(cache.new_session_id() > 0 for _ in range(1000))


@pytest.mark.ported("FetchSessionTest.testSessionCache")
def test_the_stale_session_is_evicted_first() -> None:
    cache = FetchSessionCache(3, 100)
    id1 = cache.maybe_create_session(0, False, 10, lambda: dummy_create(10))
    id2 = cache.maybe_create_session(10, False, 20, lambda: dummy_create(20))
    id3 = cache.maybe_create_session(20, False, 30, lambda: dummy_create(30))
    assert cache.maybe_create_session(30, False, 40, lambda: dummy_create(40)) == 0, "all are young"
    assert cache.maybe_create_session(40, False, 5, lambda: dummy_create(5)) == 0
    assert cache.size() == 3
    session1 = cache.get(id1)
    assert session1 is not None
    cache.touch(session1, 200)
    id4 = cache.maybe_create_session(210, False, 11, lambda: dummy_create(11))
    assert cache.get(id2) is None, "the least recently used one is stale"
    for session_id in (id1, id3, id4):
        assert cache.get(session_id) is not None
    cache.touch(session1, 400)
    session3 = cache.get(id3)
    assert session3 is not None
    cache.touch(session3, 390)
    session4 = cache.get(id4)
    assert session4 is not None
    cache.touch(session4, 400)
    id5 = cache.maybe_create_session(410, False, 50, lambda: dummy_create(50))
    assert cache.get(id1) is None, "of those in use, the smallest that is not young"
    for session_id in (id3, id4, id5):
        assert cache.get(session_id) is not None
    assert cache.total_partitions() == 30 + 11 + 50


@pytest.mark.ported("FetchSessionTest.testResizeCachedSessions")
def test_the_number_of_cached_partitions_follows_the_sessions() -> None:
    cache = FetchSessionCache(2, 100)
    assert cache.total_partitions() == 0
    id1 = cache.maybe_create_session(0, False, 2, lambda: dummy_create(2))
    assert (cache.total_partitions(), cache.size()) == (2, 1)
    session1 = cache.get(id1)
    assert session1 is not None
    assert session1.size() == 2
    id2 = cache.maybe_create_session(0, False, 4, lambda: dummy_create(4))
    session2 = cache.get(id2)
    assert session2 is not None
    assert (cache.total_partitions(), cache.size(), cache.evictions_meter.count >= 0) == (6, 2, True)
    cache.touch(session1, 200)
    cache.touch(session2, 200)
    id3 = cache.maybe_create_session(200, False, 5, lambda: dummy_create(5))
    assert cache.get(id1) is None
    assert cache.get(id2) is session2
    assert (cache.total_partitions(), cache.size()) == (9, 2)
    assert cache.remove(id3) is not None
    assert cache.remove(id3) is None
    assert (cache.total_partitions(), cache.size()) == (4, 1)
    for i in (0, 1):
        del session2.partition_map[TopicPartition("test", i)]
    assert session2.cached_size == 4
    cache.touch(session2, session2.last_used_ms)
    assert (cache.total_partitions(), session2.cached_size) == (2, 2)


def test_a_followers_session_drives_a_consumers_out_but_not_the_other_way_round() -> None:
    cache = FetchSessionCache(1, 100)
    consumer = cache.maybe_create_session(0, False, 50, lambda: dummy_create(50))
    follower = cache.maybe_create_session(1, True, 1, lambda: dummy_create(1))
    assert follower != 0
    assert cache.get(consumer) is None
    assert cache.maybe_create_session(50, False, 500, lambda: dummy_create(500)) == 0
    session = cache.get(follower)
    assert session is not None
    cache.touch(session, 102)
    assert cache.maybe_create_session(103, False, 500, lambda: dummy_create(500)) == 0
    assert cache.maybe_create_session(104, True, 2, lambda: dummy_create(2)) != 0


@pytest.mark.ported("FetchSessionTest.testCachedPartitionEqual", changes="the dict's key stands for the partition")
def test_a_cached_partition_responds_with_news_only() -> None:
    cached = CachedPartition(FOO0, req(5, 1, 77), resp(10))
    assert (cached.topic, cached.partition, cached.topic_partition()) == ("foo", 0, FOO0)
    assert cached.req_data() == req(5, 1, 77)
    assert (cached.fetch_offset, cached.fetcher_log_start_offset, cached.max_bytes) == (5, 1, 77)
    assert not cached.update_response_data(resp(10))
    assert cached.update_response_data(resp(11))
    assert cached.update_response_data(resp(11, log_start_offset=2))
    assert cached.update_response_data(resp(11, 2, data=records(b"a")))
    assert not cached.update_response_data(resp(11, 2))
    assert cached.update_response_data(resp(11, 2, error=Errors.NOT_LEADER_FOR_PARTITION))
    assert cached.update_response_data(resp(11, 2)), "told again when the error is gone"
    assert not cached.update_response_data(resp(11, 2))
    assert "fetchOffset=5" in repr(cached)


@pytest.mark.ported("FetchSessionTest.testFetchRequests")
def test_full_incremental_and_error_contexts(manager: FetchManager, cache: FetchSessionCache) -> None:
    sessionless = manager.new_context(FetchMetadata.LEGACY, {FOO0: req(0)}, [], False)
    assert isinstance(sessionless, SessionlessFetchContext)
    assert sessionless.update_and_generate_response_data({FOO0: resp()}).session_id() == 0

    request: ReqMap = {FOO0: req(0), FOO1: req(10)}
    full = manager.new_context(FetchMetadata.INITIAL, request, [], False)
    assert isinstance(full, FullFetchContext)
    assert asked(full) == [(FOO0, 0), (FOO1, 10)]
    assert (full.get_fetch_offset(FOO1), full.get_fetch_offset(BAR0)) == (10, None)
    response = full.update_and_generate_response_data({FOO0: resp(100), FOO1: resp(10)})
    session_id = response.session_id()
    assert (response.error(), list(response.response_data())) == (Errors.NONE, [FOO0, FOO1])
    assert session_id != 0

    wrong_epoch = manager.new_context(FetchMetadata(session_id, 5), {}, [], False)
    assert isinstance(wrong_epoch, SessionErrorContext)
    assert wrong_epoch.update_and_generate_response_data({}).error() is Errors.INVALID_FETCH_SESSION_EPOCH
    assert asked(wrong_epoch) == []
    assert wrong_epoch.get_fetch_offset(FOO0) is None
    wrong_id = manager.new_context(FetchMetadata(session_id % 1000 + 1_000_000, 1), {}, [], False)
    assert wrong_id.update_and_generate_response_data({}).error() is Errors.FETCH_SESSION_ID_NOT_FOUND

    incremental = manager.new_context(FetchMetadata(session_id, 1), {}, [], False)
    assert isinstance(incremental, IncrementalFetchContext)
    assert asked(incremental) == [(FOO0, 0), (FOO1, 10)]
    assert incremental.get_fetch_offset(FOO1) == 10
    again = manager.new_context(FetchMetadata(session_id, 1), {}, [], False)
    assert again.update_and_generate_response_data({}).error() is Errors.INVALID_FETCH_SESSION_EPOCH
    answer = incremental.update_and_generate_response_data({FOO0: resp(100), FOO1: resp(11)})
    assert (answer.error(), answer.session_id(), list(answer.response_data())) == (Errors.NONE, session_id, [FOO1])

    closing = manager.new_context(FetchMetadata(session_id, FetchMetadata.FINAL_EPOCH), request, [], False)
    assert isinstance(closing, SessionlessFetchContext)
    assert cache.size() == 0


@pytest.mark.ported("FetchSessionTest.testIncrementalFetchSession")
def test_partitions_are_added_updated_and_forgotten(manager: FetchManager) -> None:
    full = manager.new_context(FetchMetadata.INITIAL, {FOO0: req(0), FOO1: req(10)}, [], False)
    session_id = full.update_and_generate_response_data({FOO0: resp(100), FOO1: resp(10)}).session_id()
    change = manager.new_context(FetchMetadata(session_id, 1), {FOO1: req(12), BAR0: req(15)}, [FOO0], False)
    assert asked(change) == [(FOO1, 12), (BAR0, 15)]
    assert change.get_fetch_offset(FOO0) is None
    answer = change.update_and_generate_response_data({FOO1: resp(10), BAR0: resp(10)})
    assert list(answer.response_data()) == [BAR0]


def test_a_duplicate_request_is_told_that_the_session_has_moved_on(manager: FetchManager) -> None:
    full = manager.new_context(FetchMetadata.INITIAL, {FOO0: req(0)}, [], False)
    session_id = full.update_and_generate_response_data({FOO0: resp()}).session_id()
    first = manager.new_context(FetchMetadata(session_id, 1), {}, [], False)
    second = manager.new_context(FetchMetadata(session_id, 2), {}, [], False)
    assert second.update_and_generate_response_data({FOO0: resp()}).error() is Errors.NONE
    late = first.update_and_generate_response_data({FOO0: resp()})
    assert (late.error(), late.session_id()) == (Errors.INVALID_FETCH_SESSION_EPOCH, session_id)


def test_partitions_with_news_go_to_the_end_of_the_line(manager: FetchManager) -> None:
    full = manager.new_context(FetchMetadata.INITIAL, {FOO0: req(0), FOO1: req(0), BAR0: req(0)}, [], False)
    session_id = full.update_and_generate_response_data({tp: resp() for tp in (FOO0, FOO1, BAR0)}).session_id()
    first = manager.new_context(FetchMetadata(session_id, 1), {}, [], False)
    first.update_and_generate_response_data({FOO0: resp(data=records(b"a")), FOO1: resp(), BAR0: resp()})
    second = manager.new_context(FetchMetadata(session_id, 2), {}, [], False)
    assert [tp for tp, _ in asked(second)] == [FOO1, BAR0, FOO0]


@pytest.mark.ported("FetchSessionTest.testZeroSizeFetchSession")
def test_a_session_without_partitions_is_closed(manager: FetchManager, cache: FetchSessionCache) -> None:
    full = manager.new_context(FetchMetadata.INITIAL, {FOO0: req(0), FOO1: req(10)}, [], False)
    session_id = full.update_and_generate_response_data({FOO0: resp(), FOO1: resp()}).session_id()
    assert cache.size() == 1
    empty = manager.new_context(FetchMetadata(session_id, 1), {}, [FOO0, FOO1], False)
    assert isinstance(empty, SessionlessFetchContext)
    answer = empty.update_and_generate_response_data({})
    assert (answer.session_id(), answer.response_data(), cache.size()) == (0, {}, 0)


def test_a_request_that_waits_while_its_session_is_closed_is_answered(manager: FetchManager) -> None:
    full = manager.new_context(FetchMetadata.INITIAL, {FOO0: req(0)}, [], False)
    session_id = full.update_and_generate_response_data({FOO0: resp()}).session_id()
    waiting = manager.new_context(FetchMetadata(session_id, 1), {}, [], False)
    manager.new_context(FetchMetadata(session_id, 2), {}, [FOO0], False)
    late = waiting.update_and_generate_response_data({FOO0: resp(11)})
    assert (late.error(), late.response_data()) == (Errors.INVALID_FETCH_SESSION_EPOCH, {})


def test_a_session_in_use_does_not_become_stale(mock_time: MockTime) -> None:
    cache = FetchSessionCache(1, 1000)
    manager = FetchManager(mock_time, cache)
    full = manager.new_context(FetchMetadata.INITIAL, {FOO0: req(0), FOO1: req(0)}, [], True)
    session_id = full.update_and_generate_response_data({FOO0: resp(), FOO1: resp()}).session_id()
    for epoch in range(1, 5):
        mock_time.sleep(600)
        context = manager.new_context(FetchMetadata(session_id, epoch), {}, [], True)
        assert isinstance(context, IncrementalFetchContext)
        newcomer = manager.new_context(FetchMetadata.INITIAL, {BAR0: req(0)}, [], False)
        assert newcomer.update_and_generate_response_data({BAR0: resp()}).session_id() == 0
    mock_time.sleep(1001)
    newcomer = manager.new_context(FetchMetadata.INITIAL, {BAR0: req(0)}, [], False)
    assert newcomer.update_and_generate_response_data({BAR0: resp()}).session_id() != 0


def test_the_session_keeps_the_readers_leader_epoch(manager: FetchManager) -> None:
    data = FetchRequest.PartitionData(0, 0, 100, 7)
    full = manager.new_context(FetchMetadata.INITIAL, {FOO0: data}, [], False)
    session_id = full.update_and_generate_response_data({FOO0: resp()}).session_id()
    seen: list[FetchRequest.PartitionData] = []
    manager.new_context(FetchMetadata(session_id, 1), {}, [], False).foreach_partition(
        lambda tp, data: seen.append(data)
    )
    assert seen == [data]


def test_printed_with_sizes_or_names() -> None:
    session = FetchSession(7, True, dummy_create(2), 1, 2, 3)
    assert repr(session).startswith("FetchSession(id=7, privileged=true, partitionMap.size=2, creationMs=1,")
    assert session.metadata() == FetchMetadata(7, 3)
    assert FetchSession.partitions_to_log_string([FOO0, BAR1], False) == "2 partition(s)"
    assert FetchSession.partitions_to_log_string([FOO0, BAR1], True) == "(foo-0, bar-1)"
