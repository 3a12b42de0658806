"""How many requests the network layer alone answers: a SocketServer, its handlers, and an API that does nothing.

Two processes: the server, bound to one core as a broker is, and a load generator of raw sockets on another one.
Each connection sends a small request, waits for the answer and sends the next.

    python benchmarks/reactor.py [--seconds 3] [--connections 1,8,64] [--api bare|produce] [--profile]

``produce`` decodes a Produce v5 of one small batch and encodes its answer; ``bare`` leaves the codecs out, so that what
remains is the reactor: sockets, headers, queues, request objects and metrics.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import socket
import statistics
import struct
import subprocess
import sys
import time
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HOST = "127.0.0.1"


# -- the server ---------------------------------------------------------------------------------------------------


def serve(api: str, profile: bool) -> None:
    """Serve until the parent closes our standard input; print the port first."""
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.network.network_send import NetworkSend
    from kafka_py.common.protocol.api_keys import ApiKeys
    from kafka_py.common.protocol.errors import Errors
    from kafka_py.common.requests.produce_response import ProduceResponse
    from kafka_py.common.requests.request_and_size import RequestAndSize
    from kafka_py.common.requests.request_context import RequestContext
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.common.utils.time import Time
    from kafka_py.network.request_channel import Request
    from kafka_py.network.socket_server import SocketServer
    from kafka_py.security.credential_provider import CredentialProvider
    from kafka_py.server.api_version_manager import SimpleApiVersionManager
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.server.kafka_request_handler import ApiRequestHandler, KafkaRequestHandlerPool
    from kafka_py.server.request_local import RequestLocal
    from kafka_py.utils.cpu_affinity import pin_process

    print(pin_process(os.environ.get("AFFINITY", "auto")), file=sys.stderr)

    class Config(KafkaConfig):
        def add_reconfigurable(self, reconfigurable: Any) -> None:
            """Nothing changes while this runs."""

    config = Config({"zookeeper.connect": "none:1", "listeners": f"PLAINTEXT://{HOST}:0", "broker.id": "0"})

    class Handlers:
        min_version, max_version = 0, 100

    manager = SimpleApiVersionManager("BROKER", {ApiKeys.PRODUCE: Handlers()})
    server = SocketServer(config, Metrics(), Time.SYSTEM, CredentialProvider([]), manager)
    channel = server.data_plane_request_channel
    answer = ProduceResponse({TopicPartition("bench", 0): ProduceResponse.PartitionResponse(Errors.NONE, 42, -1, 0)})
    if api == "bare":
        parsed: Any = RequestAndSize(None, 100)  # type: ignore[arg-type]  # nobody looks at it
        parts = [b"\0\0\0\7" + bytes(50)]
        RequestContext.parse_request = lambda self, buffer: parsed  # type: ignore[method-assign]
        RequestContext.build_response_send = lambda self, body: NetworkSend(self.connection_id, parts)  # type: ignore[method-assign]

    class Apis(ApiRequestHandler):
        def handle(self, request: Request, request_local: RequestLocal) -> None:
            channel.send_response(request, answer)

    pool = KafkaRequestHandlerPool(
        0, channel, Apis(), Time.SYSTEM, config.num_io_threads, "RequestHandlerAvgIdlePercent", "data-plane"
    )
    server.enable_request_processing().get(5000)
    print(server.bound_port(config.inter_broker_listener_name), flush=True)
    if profile:
        profile_threads()
    sys.stdin.read()
    pool.shutdown()
    server.shutdown()


def profile_threads() -> None:
    """Sample what the threads do, every 2 ms; print the lines found most often at the end."""
    import atexit
    import collections
    import threading

    found: collections.Counter[str] = collections.Counter()
    done = threading.Event()

    def sample() -> None:
        me = threading.get_ident()
        while not done.wait(0.002):
            for ident, frame in sys._current_frames().items():
                if ident != me:
                    code = frame.f_code
                    found[f"{os.path.basename(code.co_filename)}:{frame.f_lineno} {code.co_name}"] += 1

    threading.Thread(target=sample, daemon=True).start()

    def report() -> None:
        done.set()
        for line, count in found.most_common(45):
            print(f"{count:7} {line}", file=sys.stderr)

    atexit.register(report)


# -- the load -----------------------------------------------------------------------------------------------------


def frame() -> bytes:
    """A Produce v5 with its size: one partition, one record of 100 bytes."""
    from kafka_py.common.record.memory_records import MemoryRecords
    from kafka_py.common.record.simple_record import SimpleRecord

    batch = bytes(MemoryRecords.with_records(SimpleRecord(1, None, bytes(100))).buffer)
    body = struct.pack(">hhi", 0, 5, 7) + b"\0\5bench" + struct.pack(">hhii", -1, 1, 1000, 1)
    body += b"\0\5bench" + struct.pack(">iii", 1, 0, len(batch)) + batch
    return struct.pack(">i", len(body)) + body


def load(port: int, connections: int, seconds: float) -> dict[str, float]:
    """Requests per second, and with one connection the time of a request."""
    request = frame()
    socks = []
    for _ in range(connections):
        sock = socket.create_connection((HOST, port))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        socks.append(sock)
    if connections == 1:
        return sequential(socks[0], request, seconds)
    epoll = select.epoll()
    by_fd = {}
    for sock in socks:
        sock.setblocking(False)
        epoll.register(sock.fileno(), select.EPOLLIN)
        by_fd[sock.fileno()] = (sock.recv, sock.send)
        sock.send(request)
    done = 0
    start = time.perf_counter()
    end = start + seconds
    while (now := time.perf_counter()) < end:
        for fd, _ in epoll.poll(1):
            recv, send = by_fd[fd]
            if not recv(65536):
                raise ConnectionError("the server closed a connection")
            send(request)
            done += 1
    for sock in socks:
        sock.close()
    epoll.close()
    return {"rps": done / (now - start)}


def sequential(sock: socket.socket, request: bytes, seconds: float) -> dict[str, float]:
    """Times of single requests, one after the other."""
    times = []
    end = time.perf_counter() + seconds
    before = time.perf_counter()
    while before < end:
        sock.send(request)
        if not sock.recv(65536):
            raise ConnectionError("the server closed the connection")
        now = time.perf_counter()
        times.append(now - before)
        before = now
    sock.close()
    quantiles = statistics.quantiles(times, n=100)
    return {"rps": len(times) / sum(times), "p50_us": quantiles[49] * 1e6, "p99_us": quantiles[98] * 1e6}


def cpu_seconds(pid: int) -> float:
    """Processor time of a process so far."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Start the server, run the loads, print a table and JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--connections", default="1,8,64")
    parser.add_argument("--api", choices=("bare", "produce"), default="bare")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--serve", action="store_true")
    args = parser.parse_args()
    if args.serve:
        serve(args.api, args.profile)
        return
    command = [sys.executable, __file__, "--serve", "--api", args.api, *(["--profile"] if args.profile else [])]
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    environment = {**os.environ, "PYTHONPATH": root}
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    assert server.stdin is not None
    assert server.stdout is not None
    port = int(server.stdout.readline())
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[0]})  # auto gives the server the second one
    results = {}
    try:
        load(port, 8, 0.5)
        for count in map(int, args.connections.split(",")):
            before = cpu_seconds(server.pid)
            result = load(port, count, args.seconds)
            result["cpu_us_per_request"] = (cpu_seconds(server.pid) - before) / (result["rps"] * args.seconds) * 1e6
            results[count] = {name: round(value, 1) for name, value in result.items()}
            print(f"{count:4} connections: " + "  ".join(f"{k} {v:,}" for k, v in results[count].items()))
    finally:
        server.stdin.close()
        server.wait(10)
    print(json.dumps({"api": args.api, "results": results}))


if __name__ == "__main__":
    main()
