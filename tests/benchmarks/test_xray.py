"""The paced load of benchmarks/xray.py against a socket that answers, and its medians."""

from __future__ import annotations

import os
import socket
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import xray

ANSWER = b"\0\0\0\4\0\0\0\7"
REQUEST = b"what"


def echo(sock: socket.socket) -> None:
    """Answer each request, in two parts."""
    while data := sock.recv(1 << 16):
        answers = ANSWER * (len(data) // len(REQUEST))
        sock.sendall(answers[:3])
        sock.sendall(answers[3:])


def test_a_paced_load_counts_whole_answers_and_keeps_its_pace() -> None:
    pairs = [socket.socketpair() for _ in range(2)]
    servers = [threading.Thread(target=echo, args=(there,), name="echo") for _, there in pairs]
    for server in servers:
        server.start()
    checked: list[bytes] = []
    connections: list[Any] = [SimpleNamespace(socket=here) for here, _ in pairs]
    load = xray.PacedLoad(
        connections, REQUEST, 200, lambda answer, start: checked.append(bytes(answer[start : start + 8]))
    )
    answered = load.run(0.3)
    assert 0 < answered <= 62
    assert checked == [ANSWER] * answered
    assert xray.section(load, os.getpid(), 0.1)["requests_s"] > 0
    for here, _ in pairs:
        here.shutdown(socket.SHUT_RDWR)
    for server in servers:
        server.join()
    for here, there in pairs:
        here.close()
        there.close()


def test_the_medians_of_neighbours() -> None:
    alone = [{"requests_s": 2000.0, "cpu_us": 100.0}, {"requests_s": 1000.0, "cpu_us": 200.0}]
    watched = [{"requests_s": 1000.0, "cpu_us": 150.0}, {"requests_s": 1000.0, "cpu_us": 400.0}]
    found = xray.compared(alone, watched)
    assert (found["requests_s_ratio"], found["cpu_us_ratio"]) == (0.75, 1.75)
    assert (found["requests_s_alone"], found["cpu_us_watched"]) == (1500.0, 275.0)


def test_no_watchers_are_no_process() -> None:
    with xray.watchers(0, 0):
        assert xray.line({"requests_s": 2000.0, "cpu_us": 99.6}) == "  2000/s   100 us"


def test_options() -> None:
    assert xray.parser().parse_args([]).rate == 2000
    with pytest.raises(SystemExit):
        xray.parser().parse_args(["--xray", "much"])
