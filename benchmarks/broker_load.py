"""Loads of raw sockets: prebuilt requests, answers hardly looked into."""

from __future__ import annotations

import functools
import json
import os
import random
import resource
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import frames
from benchmarks.codecs import CODECS, Codec
from benchmarks.measure import Figures, Measurement, latencies, process_rss_mb, quantile
from benchmarks.raw_client import (
    RECEIVE_BYTES,
    Connection,
    Fetcher,
    Pipeline,
    Session,
    SkippedError,
    closed_loop,
    produce_check,
)
from benchmarks.workload import Workload

WARM_UP_S = 0.2
LAST_FETCH_WAIT_MS = 100
PRELOAD_BATCH = 256 * 1024
FETCH_BYTES = 1 << 20
# Just below message.max.bytes, 1000012 unless configured.
LARGEST_BATCH = 983_040
ROOT = Path(__file__).resolve().parent.parent


def now_ms() -> int:
    return int(time.time() * 1000)


def batch_of(size: int, record_size: int, vary: bool = False) -> tuple[bytes, int]:
    """A batch of about ``size`` bytes and how many records are in it; ``vary``: half to whole the record size."""
    count = max(1, size // (record_size + 12))
    chance = random.Random(1)
    sizes = [chance.randrange(record_size // 2, record_size) if vary else record_size for _ in range(count)]
    return frames.record_batch([os.urandom(size) for size in sizes], now_ms()), count


def compressed_batch_of(size: int, record_size: int, codec: Codec) -> tuple[bytes, int]:
    """A batch of about ``size`` bytes before they are compressed, to a quarter or so, and how many records it has."""
    count = max(1, size // (record_size + 12))
    chance = random.Random(1)
    words = [b"%012x " % chance.getrandbits(48) for _ in range(500)]
    values = [b"".join(chance.choices(words, k=record_size // 13 + 1))[:record_size] for _ in range(count)]
    return frames.record_batch(values, now_ms(), codec.id, codec.compress), count


# -- small requests -------------------------------------------------------------------------------------------------


def sequential(connection: Connection, request: bytes, seconds: float, limit: int = sys.maxsize) -> list[float]:
    """Call after call on one connection; the duration of each in seconds. The answers come in one piece."""
    clock = time.perf_counter
    send, receive = connection.socket.send, connection.socket.recv
    took: list[float] = []
    before = clock()
    end = before + seconds
    while before < end and len(took) < limit:
        send(request)
        answer = receive(RECEIVE_BYTES)
        after = clock()
        if len(answer) < 4 or len(answer) != 4 + int.from_bytes(answer[:4], "big"):
            raise ConnectionError(f"{len(answer)} bytes are not one whole answer")
        took.append(after - before)
        before = clock()
    return took


def raw_latency(session: Session) -> Figures:
    topic = session.create_topic()
    request = session.produce_frame(topic, 0, batch_of(1, 100)[0])
    with session.connect(topic) as connection:
        warm = sequential(connection, request, WARM_UP_S)
        measurement = Measurement(session.settings.pid)
        took = sequential(connection, request, session.settings.seconds)
        figures = measurement.stop(requests=len(took))
    session.verify_end_offset(topic, len(warm) + len(took))
    return figures | latencies(took)


def raw_latency_busy(session: Session, load: str) -> Figures:
    """Another process loads the broker meanwhile; it may write more than a workload usually does."""
    settings = session.settings
    spec = {
        "host": settings.host,
        "port": settings.port,
        "pid": None,
        "seconds": settings.seconds + 1.5,
        "max_bytes": settings.max_bytes * 3,
        "workload": load,
    }
    command = [sys.executable, "-m", "benchmarks.worker", json.dumps(spec)]
    other = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        time.sleep(1.0)
        figures = raw_latency(session)
        if other.poll() is not None:
            raise RuntimeError(f"the load {load} ended before the measurement")
    finally:
        output, _ = other.communicate(timeout=60)
    loaded = json.loads(output)
    if loaded["error"]:
        raise RuntimeError(f"the load {load}: {loaded['error']}")
    figures["load_mb_s"] = loaded["figures"]["mb_s"]
    return figures


def raw_rps(session: Session, connections: int) -> Figures:
    topic = session.create_topic()
    request = session.produce_frame(topic, 0, batch_of(1, 100)[0])
    check = produce_check(topic)
    open_ = [session.connect(topic) for _ in range(connections)]
    try:
        warm = closed_loop(open_, request, WARM_UP_S, check)
        measurement = Measurement(session.settings.pid)
        took = closed_loop(open_, request, session.settings.seconds, check)
        figures = measurement.stop(requests=len(took))
    finally:
        close_all(open_)
    session.verify_end_offset(topic, len(warm) + len(took))
    return figures | latencies(took)


def close_all(connections: Sequence[Connection]) -> None:
    for connection in connections:
        connection.close()


# -- produce --------------------------------------------------------------------------------------------------------


def raw_produce(
    session: Session, batch_size: int, record_size: int = 1024, connections: int = 1, depth: int = 5, vary: bool = False
) -> Figures:
    """A partition for each connection."""
    topic = session.create_topic(connections)
    batch, count = batch_of(batch_size, record_size, vary)
    open_ = [session.connect(topic, partition) for partition in range(connections)]
    requests = [session.produce_frame(topic, partition, batch) for partition in range(connections)]
    pipeline = Pipeline(open_, requests, depth, produce_check(topic))
    try:
        warm = pipeline.run(WARM_UP_S, sys.maxsize)
        measurement = Measurement(session.settings.pid)
        answered = pipeline.run(session.settings.seconds, max(1, session.settings.max_bytes // len(batch)))
        figures = measurement.stop(nbytes=answered * len(batch), requests=answered, records=answered * count)
    finally:
        pipeline.close()
        close_all(open_)
    session.verify_end_offset(topic, (warm + answered) * count, connections)
    return figures | latencies(pipeline.latencies)


def raw_compressed(session: Session, codec: Codec, batch_size: int = 65536, record_size: int = 100) -> Figures:
    """One connection, 5 in flight; the figure is in records, for the size of a batch depends on its codec."""
    if session.produce_version < codec.produce_version:
        raise SkippedError(f"Produce version {codec.produce_version} is needed")
    topic = session.create_topic()
    batch, count = compressed_batch_of(batch_size, record_size, codec)
    with session.connect(topic) as connection:
        pipeline = Pipeline([connection], [session.produce_frame(topic, 0, batch)], 5, produce_check(topic))
        warm = pipeline.run(WARM_UP_S, sys.maxsize)
        measurement = Measurement(session.settings.pid)
        answered = pipeline.run(session.settings.seconds, max(1, session.settings.max_bytes // len(batch)))
        figures = measurement.stop(nbytes=answered * len(batch), requests=answered, records=answered * count)
        pipeline.close()
    session.verify_end_offset(topic, (warm + answered) * count)
    return figures | latencies(pipeline.latencies)


def preload(session: Session, topic: str, nbytes: int, record_size: int = 1024) -> int:
    """Fill partition 0 with about so many bytes; how many records that are."""
    batch, count = batch_of(PRELOAD_BATCH, record_size)
    with session.connect(topic) as connection:
        pipeline = Pipeline([connection], [session.produce_frame(topic, 0, batch)], 4, produce_check(topic))
        answered = pipeline.run(60.0, max(1, min(nbytes, session.settings.max_bytes) // len(batch)))
        pipeline.close()
    session.verify_end_offset(topic, answered * count)
    return answered * count


# -- fetch ----------------------------------------------------------------------------------------------------------


def raw_fetch(session: Session, connections: int = 1, data: int = 256 << 20, at_once: int = FETCH_BYTES) -> Figures:
    """Each connection reads the whole partition, from the start again when it is at the end."""
    topic = session.create_topic()
    records = preload(session, topic, data)
    fetchers = [Fetcher(session, topic, 0, at_once) for _ in range(connections)]
    selector = selectors.DefaultSelector()
    for fetcher in fetchers:
        selector.register(fetcher.socket, selectors.EVENT_READ, fetcher)
    try:
        measurement = Measurement(session.settings.pid)
        calls = _fetch_round_and_round(selector, fetchers, records, session.settings.seconds)
        nbytes, read = sum(fetcher.bytes for fetcher in fetchers), sum(fetcher.records for fetcher in fetchers)
        figures = measurement.stop(nbytes=nbytes, requests=calls, records=read)
    finally:
        selector.close()
        for fetcher in fetchers:
            fetcher.close()
    return figures | {"bytes_per_fetch": nbytes / calls}


def _fetch_round_and_round(
    selector: selectors.BaseSelector, fetchers: Sequence[Fetcher], records: int, seconds: float
) -> int:
    end = time.perf_counter() + seconds
    for fetcher in fetchers:
        fetcher.send()
    calls, live = 0, len(fetchers)
    while live:
        for key, _ in selector.select():
            fetcher = key.data
            if not fetcher.receive():
                raise RuntimeError(f"nothing at offset {fetcher.offset} of {records}")
            calls += 1
            if time.perf_counter() > end:
                selector.unregister(fetcher.socket)
                live -= 1
                continue
            if fetcher.offset == records:
                fetcher.offset = 0
            fetcher.send()
    return calls


def raw_e2e(session: Session) -> Figures:
    """A Fetch waits at the end of the log; from the Produce sent to the Fetch answered."""
    topic = session.create_topic()
    request = session.produce_frame(topic, 0, batch_of(1, 100)[0])
    check = produce_check(topic)
    clock = time.perf_counter
    took = []
    with session.connect(topic) as producer, Fetcher(session, topic) as fetcher:
        measurement = Measurement(session.settings.pid)
        end = clock() + session.settings.seconds
        while clock() < end:
            fetcher.send(2000)
            time.sleep(0.0005)
            before = clock()
            producer.send(request)
            while not fetcher.receive():
                fetcher.send(2000)
            took.append(clock() - before)
            check(producer.receive(), 0)
        figures = measurement.stop(requests=len(took))
        session.verify_end_offset(topic, fetcher.offset)
    return figures | latencies(took)


def raw_mixed(session: Session) -> Figures:
    """One connection produces 64 KiB batches while another one reads them; the sum of both directions."""
    topic = session.create_topic()
    batch, count = batch_of(65536, 1024)
    request = session.produce_frame(topic, 0, batch)
    limit = max(1, session.settings.max_bytes // 2 // len(batch))
    sent = 0
    produced = threading.Event()
    with session.connect(topic) as producer, Fetcher(session, topic, 0, FETCH_BYTES) as fetcher:

        def read() -> None:
            while not produced.is_set() or fetcher.offset < sent * count:
                fetcher.send(LAST_FETCH_WAIT_MS)
                fetcher.receive()

        reader = threading.Thread(target=read, name="reader", daemon=True)
        pipeline = Pipeline([producer], [request], 5, produce_check(topic))
        measurement = Measurement(session.settings.pid)
        reader.start()
        sent = pipeline.run(session.settings.seconds, limit)
        produced.set()
        reader.join(20)
        figures = measurement.stop(nbytes=sent * len(batch) + fetcher.bytes)
        pipeline.close()
        session.verify_end_offset(topic, fetcher.offset)
    return figures | {"produced_mb_s": sent * len(batch) / figures["wall_s"] / 1e6}


# -- connections ----------------------------------------------------------------------------------------------------


def conn_churn(session: Session) -> Figures:
    """Connect, ApiVersions, close."""
    request = frames.api_versions_request()
    address = session.settings.address
    clock = time.perf_counter
    took = []
    measurement = Measurement(session.settings.pid)
    end = clock() + session.settings.seconds
    before = clock()
    while before < end:
        with socket.socket() as sock:
            sock.connect(address)
            sock.send(request)
            if not sock.recv(65536):
                raise ConnectionError("the broker closed the connection")
        after = clock()
        took.append(after - before)
        before = after
    return measurement.stop(requests=len(took)) | latencies(took)


def conn_idle(session: Session, count: int) -> Figures:
    """Sequential small requests on one connection, first alone, then beside ``count`` idle ones."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < count + 100:
        raise SkippedError(f"only {hard} open files are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    topic = session.create_topic()
    request = session.produce_frame(topic, 0, batch_of(1, 100)[0])
    pid = session.settings.pid
    idle: list[Connection] = []
    half = session.settings.seconds / 2
    with session.connect(topic) as live:
        sequential(live, request, WARM_UP_S)
        alone = sorted(sequential(live, request, half))
        before = process_rss_mb(pid) if pid else 0.0
        start = time.perf_counter()
        try:
            for _ in range(count):
                idle.append(Connection(session.settings.address))
                idle[-1].call(frames.api_versions_request())
            opening = time.perf_counter() - start
            after = process_rss_mb(pid) if pid else 0.0
            measurement = Measurement(pid)
            took = sequential(live, request, half)
            figures = measurement.stop(requests=len(took)) | latencies(took)
        finally:
            close_all(idle)
    figures["p50_ratio"] = figures["lat_p50_us"] / (quantile(alone, 0.5) * 1e6)
    figures["opened_s"] = count / opening
    if pid:
        figures["rss_kib_per_connection"] = max(0.0, after - before) * 1024 / count
    return figures


def _produce(name: str, about: str, by_default: bool = True, metric: str = "mb_s", **arguments: Any) -> Workload:
    return Workload(name, functools.partial(raw_produce, **arguments), metric, about, by_default)


def _compressed(name: str, codec: Codec) -> Workload:
    about = "batches of 64 KiB of 100 byte records, so compressed"
    return Workload(f"raw_{name}", functools.partial(raw_compressed, codec=codec), "records_s", about, False)


def _busy(name: str, load: str, by_default: bool) -> Workload:
    about = f"raw_latency while another process runs {load}"
    return Workload(name, functools.partial(raw_latency_busy, load=load), "lat_p99_us", about, by_default)


WORKLOADS = (
    Workload("raw_latency", raw_latency, "lat_p50_us", "one record of 100 bytes a request, the next after the answer"),
    _busy("raw_latency_busy", "raw_produce_16k_100b", True),
    _busy("raw_latency_busy_64k", "raw_produce_64k", False),
    _busy("raw_latency_busy_fetch", "raw_fetch", False),
    Workload(
        "raw_rps_8", functools.partial(raw_rps, connections=8), "requests_s", "the same requests on 8 connections"
    ),
    Workload("raw_rps_64", functools.partial(raw_rps, connections=64), "requests_s", "the same on 64 connections"),
    _produce(
        "raw_rps_pipe",
        "the same on 8 connections of 8 partitions, 16 in flight on each",
        metric="requests_s",
        batch_size=1,
        record_size=100,
        connections=8,
        depth=16,
    ),
    _produce("raw_produce_64k", "batches of 64 KiB of 1 KiB records, 5 in flight", batch_size=65536),
    _produce("raw_produce_64k_c8", "the same, 8 connections and partitions", batch_size=65536, connections=8),
    _produce("raw_produce_1m", "batches of 0.94 MiB of 1 KiB records", batch_size=LARGEST_BATCH),
    _produce("raw_produce_1m_c4", "the same, 4 connections and partitions", batch_size=LARGEST_BATCH, connections=4),
    _produce("raw_produce_16k_100b", "batches of 16 KiB of 100 byte records", batch_size=16384, record_size=100),
    _produce(
        "raw_produce_16k_vary", "the same, records of 75 to 149 bytes", batch_size=16384, record_size=150, vary=True
    ),
    *(_compressed(name, codec) for name, codec in CODECS.items()),
    Workload("raw_fetch", raw_fetch, "mb_s", "1 MiB fetches of a partition of 256 MiB, again and again"),
    Workload("raw_fetch_c4", functools.partial(raw_fetch, connections=4), "mb_s", "the same, 4 connections"),
    Workload(
        "raw_fetch_64k",
        functools.partial(raw_fetch, at_once=65536),
        "mb_s",
        "the same partition, 64 KiB at a time",
    ),
    Workload("raw_e2e", raw_e2e, "lat_p50_us", "from the Produce sent to the waiting Fetch answered"),
    Workload("raw_mixed", raw_mixed, "mb_s", "64 KiB batches produced and fetched at the same time"),
    Workload("conn_churn", conn_churn, "requests_s", "connect, ApiVersions, close"),
    Workload(
        "conn_idle",
        functools.partial(conn_idle, count=5000),
        "p50_ratio",
        "raw_latency beside 5,000 idle connections against none",
    ),
)
