"""Who is at the other end of a socket, also after it has gone.

Ours: java.net.Socket remembers its peer and names IPv4 peers of a dual-stack socket by their IPv4 address; Python's
does neither.
"""

from __future__ import annotations

import socket
from typing import Any

_V4_IN_V6 = "::ffff:"


class AcceptedSocket(socket.socket):
    """A socket that knows the address it was accepted from."""

    __slots__ = ("remote",)

    remote: tuple[str, int]

    @classmethod
    def accept_from(cls, server: socket.socket) -> AcceptedSocket:
        """The next connection of a listening socket. Raises BlockingIOError when there is none, OSError."""
        # what server.accept() is made of, which would make a socket that cannot be told its address
        descriptor, remote = server._accept()  # type: ignore[attr-defined]
        accepted = cls(server.family, server.type, server.proto, descriptor)
        accepted.remote = (canonical_address(str(remote[0])), int(remote[1]))
        return accepted


def canonical_address(address: str) -> str:
    """An IPv4 address that a dual-stack socket wrote as IPv6, as IPv4."""
    if address.startswith(_V4_IN_V6) and "." in address:
        return address[len(_V4_IN_V6) :]
    return address


def inet_address(host: str) -> str:
    """The IP address of a host name or of an address's text. Raises OSError for a name that is not known."""
    if host[:1].isdigit() and _is_ipv4(host):
        return host  # the address of nearly every connection: the resolver need not be asked
    try:
        return canonical_address(str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0]))
    except UnicodeError as e:  # no name at all: an empty label, or one of more than 63 characters
        raise OSError(f"{host} is not known: {e}") from e


def _is_ipv4(host: str) -> bool:
    try:
        socket.inet_pton(socket.AF_INET, host)
    except OSError:
        return False
    return True


def peer_of(channel: socket.socket) -> tuple[str, int]:
    """(address, port) of the other end. Raises OSError when it is gone and the socket is no AcceptedSocket."""
    remote: Any = getattr(channel, "remote", None)
    if remote is None:
        remote = channel.getpeername()
    return canonical_address(str(remote[0])), int(remote[1])


def peer_address(channel: socket.socket) -> str:
    """The IP address of the other end; empty when nobody knows any more."""
    try:
        return peer_of(channel)[0]
    except (OSError, IndexError, ValueError):
        return ""
