"""Incremental fetch sessions (KIP-227): a fetcher names only what changed, and hears only of what changed.

Mirrors: core/src/main/scala/kafka/server/FetchSession.scala @ 1.1.1
Read next: server/kafka_apis.py (handle_fetch_request), clients/fetch_session_handler.py (the other side)
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from bisect import bisect_left, insort
from typing import TYPE_CHECKING, ClassVar, Generic, NamedTuple, TypeVar

from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.fetch_metadata import FetchMetadata as JFetchMetadata
from kafka_py.common.requests.fetch_request import FetchRequest
from kafka_py.common.requests.fetch_response import FetchResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.utils.concurrent import ReentrantLock
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from kafka_py.common.utils.time import Time

    REQ_MAP = Mapping[TopicPartition, FetchRequest.PartitionData]
    RESP_MAP = dict[TopicPartition, FetchResponse.PartitionData]
    CACHE_MAP = dict[TopicPartition, "CachedPartition"]

K = TypeVar("K", bound=tuple[object, ...])
V = TypeVar("V")
INVALID_SESSION_ID = JFetchMetadata.INVALID_SESSION_ID
_NONE = Errors.NONE
_UNKNOWN_REQ_DATA = FetchRequest.PartitionData(-1, -1, -1)


class CachedPartition:
    """What a session remembers of one partition: what the fetcher asks, and what it was last told.

    `fetcher_log_start_offset` is the follower's, `local_log_start_offset` ours.

    Mirrors: kafka.server.CachedPartition
    Differs: the links of ImplicitLinkedHashSet are not needed, a dict keeps its entries in order; the request's own
        data are kept whole, not field by field
    Left out: next, setNext, prev, setPrev, canEqual, equals, hashCode, toString -- see Differs; `__repr__`
    """

    __slots__ = ("_req_data", "_topic_partition", "high_watermark", "local_log_start_offset")

    def __init__(
        self,
        part: TopicPartition,
        req_data: FetchRequest.PartitionData | None = None,
        resp_data: FetchResponse.PartitionData | None = None,
    ) -> None:
        """What neither request nor response tells is -1."""
        self._topic_partition = part
        self._req_data = _UNKNOWN_REQ_DATA if req_data is None else req_data  # volatile: holder of session.lock
        self.high_watermark = -1 if resp_data is None else resp_data.high_watermark  # volatile: holder of session.lock
        self.local_log_start_offset = (
            -1 if resp_data is None else resp_data.log_start_offset
        )  # volatile: holder of session.lock

    @property
    def topic(self) -> str:
        """Name of the topic."""
        return self._topic_partition.topic

    @property
    def partition(self) -> int:
        """Number of the partition."""
        return self._topic_partition.partition

    def topic_partition(self) -> TopicPartition:
        """Topic and partition."""
        return self._topic_partition

    def req_data(self) -> FetchRequest.PartitionData:
        """The request for this partition as if it had been named in full."""
        return self._req_data

    @property
    def max_bytes(self) -> int:
        """How much the fetcher takes of this partition."""
        return self._req_data.max_bytes

    @property
    def fetch_offset(self) -> int:
        """Where the fetcher reads on."""
        return self._req_data.fetch_offset

    @property
    def fetcher_log_start_offset(self) -> int:
        """The follower's log start offset."""
        return self._req_data.log_start_offset

    def update_request_params(self, req_data: FetchRequest.PartitionData) -> None:
        """Take over what a request says anew of this partition."""
        self._req_data = req_data

    def update_response_data(self, resp_data: FetchResponse.PartitionData) -> bool:
        """Remember what the fetcher is about to be told; True if it is news and belongs into the response.

        News are records, another high watermark or log start offset, and every error. After an error the remembered
        high watermark is -1, so that the partition is told again when the error is gone.
        """
        must_respond = resp_data.records is not None and resp_data.records.size_in_bytes() > 0
        if self.high_watermark != resp_data.high_watermark:
            must_respond = True
            self.high_watermark = resp_data.high_watermark
        if self.local_log_start_offset != resp_data.log_start_offset:
            must_respond = True
            self.local_log_start_offset = resp_data.log_start_offset
        if resp_data.error is not _NONE:
            self.high_watermark = -1
            must_respond = True
        return must_respond

    def __repr__(self) -> str:
        return (
            f"CachedPartition(topic={self.topic}, partition={self.partition}, maxBytes={self.max_bytes}, "
            f"fetchOffset={self.fetch_offset}, highWatermark={self.high_watermark}, "
            f"fetcherLogStartOffset={self.fetcher_log_start_offset}, "
            f"localLogStartOffset={self.local_log_start_offset})"
        )


class LastUsedKey(NamedTuple):
    """Order of sessions by age.

    Mirrors: kafka.server.LastUsedKey
    Left out: compareTo -- tuples compare field by field
    """

    last_used_ms: int
    id: int


class EvictableKey(NamedTuple):
    """Order of sessions by worth: the least one is the first to be evicted.

    Mirrors: kafka.server.EvictableKey
    Left out: compareTo -- tuples compare field by field
    """

    privileged: bool
    size: int
    id: int


class FetchSession:
    """One fetcher's partitions, in the order in which they are read: those with news last.

    `creation_ms`, `last_used_ms` and `cached_size` (-1 outside a cache) belong to FetchSessionCache.

    Mirrors: kafka.server.FetchSession
    Locks: `lock` before any field is read or written; the cache's lock is never taken under it
    Left out: toString -- `__repr__`
    """

    NUM_INCREMENTAL_FETCH_SESSISONS: ClassVar[str] = "NumIncrementalFetchSessions"
    NUM_INCREMENTAL_FETCH_PARTITIONS_CACHED: ClassVar[str] = "NumIncrementalFetchPartitionsCached"
    INCREMENTAL_FETCH_SESSIONS_EVICTIONS_PER_SEC: ClassVar[str] = "IncrementalFetchSessionEvictionsPerSec"
    EVICTIONS: ClassVar[str] = "evictions"

    def __init__(
        self, id: int, privileged: bool, partition_map: CACHE_MAP, creation_ms: int, last_used_ms: int, epoch: int
    ) -> None:
        """A privileged session is a follower's."""
        self.lock = ReentrantLock()
        self.id = id
        self.privileged = privileged
        self.partition_map = partition_map  # volatile: holder of lock
        self.creation_ms = creation_ms
        self.last_used_ms = last_used_ms  # volatile: FetchSessionCache.touch under lock
        self.epoch = epoch  # volatile: holder of lock
        self.cached_size = -1  # volatile: FetchSessionCache.touch under lock

    @staticmethod
    def partitions_to_log_string(partitions: Collection[TopicPartition], trace_enabled: bool) -> str:
        """Their names at trace level, their number otherwise."""
        if trace_enabled:
            return "(" + ", ".join(map(str, partitions)) + ")"
        return f"{len(partitions)} partition(s)"

    def size(self) -> int:
        """How many partitions the session has."""
        with self.lock:
            return len(self.partition_map)

    def is_empty(self) -> bool:
        """True without partitions."""
        with self.lock:
            return not self.partition_map

    def last_used_key(self) -> LastUsedKey:
        """Its place in the order by age."""
        with self.lock:
            return LastUsedKey(self.last_used_ms, self.id)

    def evictable_key(self) -> EvictableKey:
        """Its place in the order by worth."""
        with self.lock:
            return EvictableKey(self.privileged, self.cached_size, self.id)

    def metadata(self) -> JFetchMetadata:
        """Session id and the epoch that the next request must bear."""
        with self.lock:
            return JFetchMetadata(self.id, self.epoch)

    def get_fetch_offset(self, topic_partition: TopicPartition) -> int | None:
        """Fetch offset of a partition, None if it is not in the session."""
        with self.lock:
            cached = self.partition_map.get(topic_partition)
            return None if cached is None else cached.fetch_offset

    def update(
        self, fetch_data: REQ_MAP, to_forget: Iterable[TopicPartition], req_metadata: JFetchMetadata
    ) -> tuple[list[TopicPartition], list[TopicPartition], list[TopicPartition]]:
        """Take in an incremental request: (added, updated, removed)."""
        added: list[TopicPartition] = []
        updated: list[TopicPartition] = []
        with self.lock:
            partition_map = self.partition_map
            for topic_part, req_data in fetch_data.items():
                cached_part = partition_map.get(topic_part)
                if cached_part is None:
                    partition_map[topic_part] = CachedPartition(topic_part, req_data)
                    added.append(topic_part)
                else:
                    cached_part.update_request_params(req_data)
                    updated.append(topic_part)
            removed = [p for p in to_forget if partition_map.pop(p, None) is not None]
        return added, updated, removed

    def __repr__(self) -> str:
        with self.lock:
            return (
                f"FetchSession(id={self.id}, privileged={str(self.privileged).lower()}, "
                f"partitionMap.size={len(self.partition_map)}, creationMs={self.creation_ms}, "
                f"lastUsedMs={self.last_used_ms}, epoch={self.epoch})"
            )


class FetchContext(Logging, ABC):
    """One Fetch request with its session looked up: which partitions it means, and what its answer contains.

    Mirrors: kafka.server.FetchContext
    """

    @abstractmethod
    def get_fetch_offset(self, part: TopicPartition) -> int | None:
        """Fetch offset of a partition of the request."""

    @abstractmethod
    def foreach_partition(self, fun: Callable[[TopicPartition, FetchRequest.PartitionData], object]) -> None:
        """Call `fun` with each partition, named in the request or remembered."""

    @abstractmethod
    def update_and_generate_response_data(self, updates: RESP_MAP) -> FetchResponse:
        """The response (before down-conversion) to what was read; the session takes note of it."""

    def partitions_to_log_string(self, partitions: Collection[TopicPartition]) -> str:
        """For log lines."""
        return FetchSession.partitions_to_log_string(partitions, self.is_trace_enabled)


class SessionErrorContext(FetchContext):
    """A request whose session is unknown or out of step: which partitions it meant, nobody knows.

    Mirrors: kafka.server.SessionErrorContext
    """

    def __init__(self, error: Errors, req_metadata: JFetchMetadata) -> None:
        self.error_code = error
        self.req_metadata = req_metadata

    def get_fetch_offset(self, part: TopicPartition) -> int | None:
        """None: the request has no partitions."""
        return None

    def foreach_partition(self, fun: Callable[[TopicPartition, FetchRequest.PartitionData], object]) -> None:
        """Call nothing: the request has no partitions."""
        return

    def update_and_generate_response_data(self, updates: RESP_MAP) -> FetchResponse:
        """The session's error, without partitions."""
        self.debug("Session error fetch context returning %s", self.error_code)
        return FetchResponse(self.error_code, {}, 0, INVALID_SESSION_ID)


class SessionlessFetchContext(FetchContext):
    """A request that names everything and wants no session.

    Mirrors: kafka.server.SessionlessFetchContext
    """

    def __init__(self, fetch_data: REQ_MAP) -> None:
        self.fetch_data = fetch_data

    def get_fetch_offset(self, part: TopicPartition) -> int | None:
        """Fetch offset in the request."""
        data = self.fetch_data.get(part)
        return None if data is None else data.fetch_offset

    def foreach_partition(self, fun: Callable[[TopicPartition, FetchRequest.PartitionData], object]) -> None:
        """Call `fun` with each partition of the request."""
        for part, data in self.fetch_data.items():
            fun(part, data)

    def update_and_generate_response_data(self, updates: RESP_MAP) -> FetchResponse:
        """Everything that was read."""
        if self.is_debug_enabled:
            self.debug("Sessionless fetch context returning %s", self.partitions_to_log_string(updates.keys()))
        return FetchResponse(_NONE, updates, 0, INVALID_SESSION_ID)


class FullFetchContext(FetchContext):
    """A request that names everything and would like a session for the next ones.

    Mirrors: kafka.server.FullFetchContext
    """

    def __init__(
        self,
        time: Time,
        cache: FetchSessionCache,
        req_metadata: JFetchMetadata,
        fetch_data: REQ_MAP,
        is_from_follower: bool,
    ) -> None:
        self._time = time
        self._cache = cache
        self._req_metadata = req_metadata
        self._fetch_data = fetch_data
        self._is_from_follower = is_from_follower

    def get_fetch_offset(self, part: TopicPartition) -> int | None:
        """Fetch offset in the request."""
        data = self._fetch_data.get(part)
        return None if data is None else data.fetch_offset

    def foreach_partition(self, fun: Callable[[TopicPartition, FetchRequest.PartitionData], object]) -> None:
        """Call `fun` with each partition of the request."""
        for part, data in self._fetch_data.items():
            fun(part, data)

    def update_and_generate_response_data(self, updates: RESP_MAP) -> FetchResponse:
        """Everything that was read, with the id of a new session if the cache has room for one."""

        def create_new_session() -> CACHE_MAP:
            fetch_data = self._fetch_data
            return {part: CachedPartition(part, fetch_data[part], resp) for part, resp in updates.items()}

        response_session_id = self._cache.maybe_create_session(
            self._time.milliseconds(), self._is_from_follower, len(updates), create_new_session
        )
        if self.is_debug_enabled:
            self.debug(
                "Full fetch context with session id %d returning %s",
                response_session_id,
                self.partitions_to_log_string(updates.keys()),
            )
        return FetchResponse(_NONE, updates, 0, response_session_id)


class IncrementalFetchContext(FetchContext):
    """A request of a session: the remembered partitions with the changes that it names.

    Mirrors: kafka.server.IncrementalFetchContext
    """

    def __init__(self, time: Time, req_metadata: JFetchMetadata, session: FetchSession) -> None:
        self._time = time
        self._req_metadata = req_metadata
        self._session = session

    def get_fetch_offset(self, part: TopicPartition) -> int | None:
        """Fetch offset the session remembers."""
        return self._session.get_fetch_offset(part)

    def foreach_partition(self, fun: Callable[[TopicPartition, FetchRequest.PartitionData], object]) -> None:
        """Call `fun` with each partition of the session, in the session's order."""
        session = self._session
        with session.lock:
            for part, cached in session.partition_map.items():
                fun(part, cached.req_data())

    def update_and_generate_response_data(self, updates: RESP_MAP) -> FetchResponse:
        """Only the news; INVALID_FETCH_SESSION_EPOCH when another request of the session came in between.

        A partition with news moves to the end, so that the next Fetch, whose size is limited, begins with others.
        """
        session = self._session
        with session.lock:
            expected_epoch = JFetchMetadata.next_epoch(self._req_metadata.epoch())
            if session.epoch != expected_epoch:
                self.info(
                    "Incremental fetch session %d expected epoch %d, but got %d.  Possible duplicate request.",
                    session.id,
                    expected_epoch,
                    session.epoch,
                )
                return FetchResponse(Errors.INVALID_FETCH_SESSION_EPOCH, {}, 0, session.id)
            partition_map = session.partition_map
            news: RESP_MAP = {}
            for part, resp_data in updates.items():
                cached = partition_map[part]
                if cached.update_response_data(resp_data):
                    del partition_map[part]
                    partition_map[part] = cached
                    news[part] = resp_data
            if self.is_debug_enabled:
                self.debug(
                    "Incremental fetch context with session id %d returning %s",
                    session.id,
                    self.partitions_to_log_string(news.keys()),
                )
            return FetchResponse(_NONE, news, 0, session.id)


class _SortedMap(Generic[K, V]):
    """As much of java.util.TreeMap as the cache needs; it holds at most a few thousand sessions."""

    def __init__(self) -> None:
        self._keys: list[K] = []  # volatile: holder of the cache's lock
        self._values: dict[K, V] = {}  # volatile: holder of the cache's lock

    def put(self, key: K, value: V) -> None:
        """Map the key."""
        if key not in self._values:
            insort(self._keys, key)
        self._values[key] = value

    def remove(self, key: K) -> None:
        """Unmap the key, if it is mapped."""
        if self._values.pop(key, None) is not None:
            del self._keys[bisect_left(self._keys, key)]

    def first_entry(self) -> tuple[K, V] | None:
        """The entry with the smallest key."""
        return (self._keys[0], self._values[self._keys[0]]) if self._keys else None

    def __len__(self) -> int:
        return len(self._keys)


class FetchSessionCache(KafkaMetricsGroup):
    """All fetch sessions of the broker, at most `max_entries`.

    Mirrors: kafka.server.FetchSessionCache
    Locks: `lock` -> FetchSession.lock, never the other way round
    """

    def __init__(self, max_entries: int, eviction_ms: int) -> None:
        """`eviction_ms`: how long a session must be unused to count as stale, and how long a new one is safe."""
        self._max_entries = max_entries
        self._eviction_ms = eviction_ms
        # ms between two uses of a session that are both noted
        self.touch_interval_ms = eviction_ms // 100
        self.lock = ReentrantLock()
        self._num_partitions = 0  # guarded by: lock
        self._sessions: dict[int, FetchSession] = {}  # guarded by: lock
        self._last_used: _SortedMap[LastUsedKey, FetchSession] = _SortedMap()  # guarded by: lock
        # which sessions may be evicted in favour of any, and which only in favour of a follower's
        self._evictable_by_all: _SortedMap[EvictableKey, FetchSession] = _SortedMap()  # guarded by: lock
        self._evictable_by_privileged: _SortedMap[EvictableKey, FetchSession] = _SortedMap()  # guarded by: lock
        self.remove_metric(FetchSession.NUM_INCREMENTAL_FETCH_SESSISONS)
        self.new_gauge(FetchSession.NUM_INCREMENTAL_FETCH_SESSISONS, self.size)
        self.remove_metric(FetchSession.NUM_INCREMENTAL_FETCH_PARTITIONS_CACHED)
        self.new_gauge(FetchSession.NUM_INCREMENTAL_FETCH_PARTITIONS_CACHED, self.total_partitions)
        self.remove_metric(FetchSession.INCREMENTAL_FETCH_SESSIONS_EVICTIONS_PER_SEC)
        self.evictions_meter = self.new_meter(
            FetchSession.INCREMENTAL_FETCH_SESSIONS_EVICTIONS_PER_SEC, FetchSession.EVICTIONS
        )

    def get(self, session_id: int) -> FetchSession | None:
        """The session of that id."""
        with self.lock:
            return self._sessions.get(session_id)

    def size(self) -> int:
        """How many sessions there are."""
        with self.lock:
            return len(self._sessions)

    def total_partitions(self) -> int:
        """How many partitions the sessions have in all."""
        with self.lock:
            return self._num_partitions

    def new_session_id(self) -> int:
        """A random positive id that no session has."""
        with self.lock:
            while True:
                session_id = random.randrange(1, 0x7FFFFFFF)
                if session_id not in self._sessions and session_id != INVALID_SESSION_ID:
                    return session_id

    def maybe_create_session(
        self, now: int, privileged: bool, size: int, create_partitions: Callable[[], CACHE_MAP]
    ) -> int:
        """Create a session of `size` partitions if there is room or room can be made; its id or INVALID_SESSION_ID."""
        with self.lock:
            if len(self._sessions) < self._max_entries or self.try_evict(
                privileged, EvictableKey(privileged, size, 0), now
            ):
                session = FetchSession(
                    self.new_session_id(),
                    privileged,
                    create_partitions(),
                    now,
                    now,
                    JFetchMetadata.next_epoch(JFetchMetadata.INITIAL_EPOCH),
                )
                self.debug("Created fetch session %s", session)
                self._sessions[session.id] = session
                self.touch(session, now)
                return session.id
            self.debug("No fetch session created for privileged=%s, size=%d.", privileged, size)
            return INVALID_SESSION_ID

    def try_evict(self, privileged: bool, key: EvictableKey, now: int) -> bool:
        """Make room for a session worth `key`; False if all others are worth more.

        A session has to go if it is stale; else if it is a consumer's and the new one a follower's; else if it has
        fewer partitions than the new one and is not young.
        """
        with self.lock:
            last_used_entry = self._last_used.first_entry()
            if last_used_entry is None:
                self.trace("There are no cache entries to evict.")
                return False
            if now - last_used_entry[0].last_used_ms > self._eviction_ms:
                self.trace("Evicting stale FetchSession %d.", last_used_entry[1].id)
                self.remove(last_used_entry[1])
                self.evictions_meter.mark()
                return True
            evictable = self._evictable_by_privileged if privileged else self._evictable_by_all
            evictable_entry = evictable.first_entry()
            if evictable_entry is None:
                self.trace("No evictable entries found.")
                return False
            if key < evictable_entry[0]:
                self.trace("Can't evict %s with %s", evictable_entry[0], key)
                return False
            self.trace("Evicting %s with %s.", evictable_entry[0], key)
            self.remove(evictable_entry[1])
            self.evictions_meter.mark()
            return True

    def remove(self, session: int | FetchSession) -> FetchSession | None:
        """Take a session (or the one of that id) out of the cache; None if it was not in it."""
        with self.lock:
            found = self._sessions.get(session) if isinstance(session, int) else session
            if found is None:
                return None
            with found.lock:
                self._last_used.remove(found.last_used_key())
                evictable_key = found.evictable_key()
            self._evictable_by_all.remove(evictable_key)
            self._evictable_by_privileged.remove(evictable_key)
            removed = self._sessions.pop(found.id, None)
            if removed is not None:
                self._num_partitions -= found.cached_size
            return removed

    def touch(self, session: FetchSession, now: int) -> None:
        """Note a use of the session at `now` and its present size."""
        with self.lock, session.lock:
            self._last_used.remove(session.last_used_key())
            session.last_used_ms = now
            self._last_used.put(session.last_used_key(), session)
            old_size = session.cached_size
            if old_size != -1:
                old_evictable_key = session.evictable_key()
                self._evictable_by_privileged.remove(old_evictable_key)
                self._evictable_by_all.remove(old_evictable_key)
                self._num_partitions -= old_size
            session.cached_size = session.size()
            new_evictable_key = session.evictable_key()
            is_old = now - session.creation_ms > self._eviction_ms
            if not session.privileged or is_old:
                self._evictable_by_privileged.put(new_evictable_key, session)
            if is_old:
                self._evictable_by_all.put(new_evictable_key, session)
            self._num_partitions += session.cached_size


class FetchManager(Logging):
    """Finds out for each Fetch request what kind of context it has.

    Mirrors: kafka.server.FetchManager
    Differs: a use of a session is noted, now and then, as from 2.3.2 on (KAFKA-9137). 1.1.1 never does, so that
        every session counts as stale two minutes after it began, a follower's in constant use as well. A session
        that is closed for want of partitions moves on to its next epoch: a request of it that still waits is
        answered with INVALID_FETCH_SESSION_EPOCH, where Kafka's fails without an answer.
    """

    def __init__(self, time: Time, cache: FetchSessionCache) -> None:
        self._time = time
        self._cache = cache

    def new_context(
        self,
        req_metadata: JFetchMetadata,
        fetch_data: REQ_MAP,
        to_forget: Iterable[TopicPartition],
        is_follower: bool,
    ) -> FetchContext:
        """Full, sessionless, incremental or error context of a request."""
        if req_metadata.is_full():
            return self._new_full_context(req_metadata, fetch_data, is_follower)
        cache = self._cache
        with cache.lock:
            session = cache.get(req_metadata.session_id())
            if session is None:
                self.info(
                    "Created a new error FetchContext for session id %d: no such session ID found.",
                    req_metadata.session_id(),
                )
                return SessionErrorContext(Errors.FETCH_SESSION_ID_NOT_FOUND, req_metadata)
            with session.lock:
                return self._new_incremental_context(session, req_metadata, fetch_data, to_forget)

    def _new_full_context(self, req_metadata: JFetchMetadata, fetch_data: REQ_MAP, is_follower: bool) -> FetchContext:
        removed_fetch_session_str = ""
        session_id = req_metadata.session_id()
        # a full request closes the session it names
        if session_id != INVALID_SESSION_ID and self._cache.remove(session_id) is not None:
            removed_fetch_session_str = f" Removed fetch session {session_id}."
        context: FetchContext
        if req_metadata.epoch() == JFetchMetadata.FINAL_EPOCH:
            suffix = " Will not try to create a new session."
            context = SessionlessFetchContext(fetch_data)
        else:
            suffix = ""
            context = FullFetchContext(self._time, self._cache, req_metadata, fetch_data, is_follower)
        if self.is_debug_enabled:
            self.debug(
                "Created a new full FetchContext with %s.%s%s",
                self.partitions_to_log_string(fetch_data.keys()),
                removed_fetch_session_str,
                suffix,
            )
        return context

    def _new_incremental_context(
        self,
        session: FetchSession,
        req_metadata: JFetchMetadata,
        fetch_data: REQ_MAP,
        to_forget: Iterable[TopicPartition],
    ) -> FetchContext:
        """Caller holds the locks of the cache and of the session."""
        cache = self._cache
        if session.epoch != req_metadata.epoch():
            self.debug(
                "Created a new error FetchContext for session id %d: expected epoch %d, but got epoch %d.",
                session.id,
                session.epoch,
                req_metadata.epoch(),
            )
            return SessionErrorContext(Errors.INVALID_FETCH_SESSION_EPOCH, req_metadata)
        added, updated, removed = session.update(fetch_data, to_forget, req_metadata)
        if session.is_empty():
            if self.is_debug_enabled:
                self.debug(
                    "Created a new sessionless FetchContext and closing session id %d, epoch %d: after removing %s, "
                    "there are no more partitions left.",
                    session.id,
                    session.epoch,
                    self.partitions_to_log_string(removed),
                )
            cache.remove(session)
            # an earlier request that still waits must not look for its partitions
            session.epoch = JFetchMetadata.next_epoch(session.epoch)
            return SessionlessFetchContext(fetch_data)
        now = self._time.milliseconds()
        if len(session.partition_map) != session.cached_size or now - session.last_used_ms > cache.touch_interval_ms:
            cache.touch(session, now)
        session.epoch = JFetchMetadata.next_epoch(session.epoch)
        if self.is_debug_enabled:
            self.debug(
                "Created a new incremental FetchContext for session id %d, epoch %d: added %s, updated %s, removed %s",
                session.id,
                session.epoch,
                self.partitions_to_log_string(added),
                self.partitions_to_log_string(updated),
                self.partitions_to_log_string(removed),
            )
        return IncrementalFetchContext(self._time, req_metadata, session)

    def partitions_to_log_string(self, partitions: Collection[TopicPartition]) -> str:
        """For log lines."""
        return FetchSession.partitions_to_log_string(partitions, self.is_trace_enabled)
