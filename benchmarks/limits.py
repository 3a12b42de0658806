"""What this machine can do at all: the ceilings that no broker on it goes through."""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator

from crc32c import crc32c

from benchmarks.measure import Figures, quantile

SECTION_S = 1.0
FILE_BYTES = 256 << 20
ROUND_TRIPS = 20_000


def rate(step: Callable[[], int], seconds: float = SECTION_S) -> float:
    """Bytes a second, in GB, of a step that gives how many it moved."""
    moved = 0
    start = time.perf_counter()
    while (now := time.perf_counter()) < start + seconds:
        moved += step()
    return moved / (now - start) / 1e9


@contextlib.contextmanager
def peer(serve: Callable[[socket.socket], None]) -> Iterator[socket.socket]:
    """A loopback connection whose other end is served by a process of its own until ours closes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        child = os.fork()
        if child == 0:
            accepted, _ = listener.accept()
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            serve(accepted)
            os._exit(0)
        try:
            with socket.create_connection(listener.getsockname()) as ours:
                ours.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                yield ours
        finally:
            os.waitpid(child, 0)


def drain(sock: socket.socket) -> None:
    buffer = bytearray(1 << 20)
    while sock.recv_into(buffer):
        continue


def echo(sock: socket.socket) -> None:
    while data := sock.recv(4096):
        sock.send(data)


def memory_and_checksum() -> Figures:
    source, target = memoryview(os.urandom(1 << 20) * 256), memoryview(bytearray(FILE_BYTES))
    small = os.urandom(65536)

    def copy() -> int:
        target[:] = source
        return len(source)

    def checksum() -> int:
        crc32c(small)
        return len(small)

    return {"memcpy_gb_s": rate(copy), "crc32c_64k_gb_s": rate(checksum)}


def files_and_sockets() -> Figures:
    chunk = os.urandom(1 << 20)
    with tempfile.NamedTemporaryFile() as file:
        fd = file.fileno()

        def append() -> int:
            if os.lseek(fd, 0, os.SEEK_CUR) >= FILE_BYTES:
                os.ftruncate(fd, 0)
                os.lseek(fd, 0, os.SEEK_SET)
            return os.write(fd, chunk)

        figures = {"append_1m_gb_s": rate(append)}
        os.ftruncate(fd, 0)
        os.lseek(fd, 0, os.SEEK_SET)
        for _ in range(FILE_BYTES // len(chunk)):
            os.write(fd, chunk)
        with peer(drain) as sock:
            figures["send_1m_gb_s"] = rate(lambda: sock.send(chunk))
        position = 0
        with peer(drain) as sock:

            def sendfile() -> int:
                nonlocal position
                sent = os.sendfile(sock.fileno(), fd, position, len(chunk))
                position = (position + sent) % (FILE_BYTES - len(chunk))
                return sent

            figures["sendfile_1m_gb_s"] = rate(sendfile)
    return figures


def _round_trips(trip: Callable[[], None]) -> list[float]:
    took = []
    for _ in range(ROUND_TRIPS):
        before = time.perf_counter()
        trip()
        took.append(time.perf_counter() - before)
    return sorted(took)


def round_trips() -> Figures:
    with peer(echo) as sock:

        def call() -> None:
            sock.send(b"x" * 160)
            sock.recv(4096)

        tcp = _round_trips(call)
    there: queue.SimpleQueue[int | None] = queue.SimpleQueue()
    back: queue.SimpleQueue[int] = queue.SimpleQueue()

    def bounce() -> None:
        while (item := there.get()) is not None:
            back.put(item)

    thread = threading.Thread(target=bounce, name="bounce")
    thread.start()

    def hand_over() -> None:
        there.put(1)
        back.get()

    threads = _round_trips(hand_over)
    there.put(None)
    thread.join()
    return {
        "tcp_echo_p50_us": quantile(tcp, 0.5) * 1e6,
        "tcp_echo_p99_us": quantile(tcp, 0.99) * 1e6,
        "thread_round_trip_p50_us": quantile(threads, 0.5) * 1e6,
    }


def limits() -> Figures:
    """All of them; takes about six seconds."""
    return memory_and_checksum() | files_and_sockets() | round_trips()
