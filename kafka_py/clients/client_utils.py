"""From what a user writes to addresses a client can connect to.

Mirrors: clients/src/main/java/org/apache/kafka/clients/ClientUtils.java @ 1.1.1
"""

from __future__ import annotations

import socket
from collections.abc import Iterable

from kafka_py.common.errors import ConfigException
from kafka_py.common.utils.utils import get_host, get_port
from kafka_py.utils.logging import Logging

BOOTSTRAP_SERVERS_CONFIG = "bootstrap.servers"
_MAX_PORT = 65_535


class ClientUtils(Logging):
    """Helpers of clients.

    Mirrors: org.apache.kafka.clients.ClientUtils
    Left out: closeQuietly, createChannelBuilder -- our clients close what they opened and are plaintext
    """

    @staticmethod
    def parse_and_validate_addresses(urls: Iterable[str]) -> list[tuple[str, int]]:
        """Host and port of every ``host:port`` whose host is known to the resolver; of the others a warning is logged.

        Raises ConfigException for another form, a port that is none, or when no address is left.
        """
        addresses: list[tuple[str, int]] = []
        for url in filter(None, urls):
            host, port = get_host(url), get_port(url)
            if host is None or port is None:
                raise ConfigException(f"Invalid url in {BOOTSTRAP_SERVERS_CONFIG}: {url}")
            if port > _MAX_PORT:
                raise ConfigException(f"Invalid port in {BOOTSTRAP_SERVERS_CONFIG}: {url}")
            try:
                socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            except (OSError, UnicodeError):  # the latter for what can be no host's name
                ClientUtils().warn(
                    "Removing server %s from %s as DNS resolution failed for %s", url, BOOTSTRAP_SERVERS_CONFIG, host
                )
            else:
                addresses.append((host, port))
        if not addresses:
            raise ConfigException(f"No resolvable bootstrap urls given in {BOOTSTRAP_SERVERS_CONFIG}")
        return addresses
