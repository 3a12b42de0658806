"""The function of lab 1 in the place of Acceptor's own: to whom a new connection goes.

Ours, no original. Run by child.py.
"""

from __future__ import annotations

import pathlib
import socket
from collections.abc import Callable, Sequence
from typing import Any, Final
from unittest import mock

from kafka_py.common.network.listener_name import ListenerName
from kafka_py.labs.child import attempt, load
from kafka_py.labs.clients import wait_for
from kafka_py.labs.finding import Finding
from kafka_py.labs.pipelining import server_with
from kafka_py.network.acceptor import Acceptor

Assign = Callable[[Sequence[Any], int, Callable[[Any, bool], bool]], int]
_MOST_OFFERS: Final = 100


class Offers:
    """Notes to whom a connection is offered, and lets processors without room refuse it."""

    def __init__(self, full: Sequence[str] = ()) -> None:
        self._full = full
        self.made: list[tuple[str, bool]] = []
        self.taken: list[str] = []

    def __call__(self, processor: str, may_block: bool) -> bool:
        self.made.append((processor, may_block))
        if len(self.made) > _MOST_OFFERS:
            raise RuntimeError("it offers one connection for ever")
        takes = processor not in self._full or may_block
        if takes:
            self.taken.append(processor)
        return takes


def findings(file: pathlib.Path) -> list[Finding]:
    """The function is tried with processors of its own, and then in a broker's acceptor."""
    assign: Assign = load(file).assign
    return [
        attempt("connections go round", _goes_round, assign),
        attempt("one without room is passed over", _passes_over, assign),
        attempt("only the last one asked is waited for", _waits_last, assign),
        attempt("processors may have become fewer", _fewer, assign),
        attempt("in a broker's acceptor", _in_an_acceptor, assign),
    ]


def _goes_round(assign: Assign) -> str:
    names, index, taken = ["p0", "p1", "p2"], 0, []
    for _ in range(7):
        offers = Offers()
        index = assign(names, index, offers)
        taken += offers.taken
    return "" if taken == ["p0", "p1", "p2", "p0", "p1", "p2", "p0"] else f"seven connections went to {taken}"


def _passes_over(assign: Assign) -> str:
    offers, after = Offers(full=["p1"]), Offers()
    index = assign(["p0", "p1", "p2"], 1, offers)
    assign(["p0", "p1", "p2"], index, after)
    if offers.taken != ["p2"]:
        return f"p1 has no room, and the connection went to {offers.taken}"
    return "" if after.taken == ["p0"] else f"p2 got the connection, and then {after.taken} the next"


def _waits_last(assign: Assign) -> str:
    offers = Offers(full=["p0", "p1", "p2"])
    assign(["p0", "p1", "p2"], 2, offers)
    wanted = [("p2", False), ("p0", False), ("p1", True)]
    return (
        ""
        if offers.made == wanted
        else f"nobody has room, beginning with p2: (processor, may_block) were {offers.made}"
    )


def _fewer(assign: Assign) -> str:
    offers = Offers()
    index = assign(["p0", "p1", "p2"], 4, offers)
    if offers.taken != ["p1"]:
        return f"beginning with 4 of what are now 3, the connection went to {offers.taken}"
    after = Offers()
    assign(["p0", "p1", "p2"], index, after)
    return "" if after.taken == ["p2"] else f"and the next one to {after.taken}"


def _in_an_acceptor(assign: Assign) -> str:
    def in_its_place(acceptor: Any, channel: socket.socket) -> None:
        def offer(processor: Any, may_block: bool) -> bool:
            return bool(acceptor.assign_new_connection(channel, processor, may_block))

        acceptor._current_processor_index = assign(acceptor.processors, acceptor._current_processor_index, offer)

    with mock.patch.object(Acceptor, "_assign_to_a_processor", in_its_place):
        server = server_with(processors=3)
        clients: list[socket.socket] = []
        try:
            address = ("127.0.0.1", server.bound_port(ListenerName("PLAINTEXT")))
            clients += [socket.create_connection(address) for _ in range(6)]
            acceptor = server.data_plane_acceptor("PLAINTEXT")
            assert acceptor is not None

            def counts() -> list[int]:
                return [len(processor.selector.channels) for processor in acceptor.processors]

            wait_for(lambda: sum(counts()) == len(clients), "all connections being with processors", 5)
            return "" if counts() == [2, 2, 2] else f"six connections over three processors: {counts()}"
        finally:
            for client in clients:
                client.close()
            server.shutdown()
            server.metrics.close()
