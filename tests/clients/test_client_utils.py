"""Addresses as users write them."""

from __future__ import annotations

import logging
import socket
from typing import Any

import pytest

from kafka_py.clients.client_utils import ClientUtils
from kafka_py.common.errors import ConfigException


@pytest.fixture(autouse=True)
def resolver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Knows every name but those that end as no name does."""

    def getaddrinfo(host: str, port: int, **_: Any) -> list[object]:
        if host.endswith(".local"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        host.encode("idna")
        return []

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.mark.ported("ClientUtilsTest.testParseAndValidateAddresses")
def test_parse_and_validate_addresses(caplog: pytest.LogCaptureFixture) -> None:
    parse = ClientUtils.parse_and_validate_addresses
    assert parse(["127.0.0.1:8000"]) == [("127.0.0.1", 8000)]
    assert parse(["mydomain.com:8080"]) == [("mydomain.com", 8080)]
    assert parse(["[::1]:8000"]) == [("::1", 8000)]
    assert parse(["[2001:db8:85a3:8d3:1319:8a2e:370:7348]:1234", "mydomain.com:10000"]) == [
        ("2001:db8:85a3:8d3:1319:8a2e:370:7348", 1234),
        ("mydomain.com", 10000),
    ]
    with caplog.at_level(logging.WARNING):
        found = parse(["", "some.invalid.hostname.foo.bar.local:9999", "mydomain.com:10000", f"{'a' * 64}:1"])
    assert found == [("mydomain.com", 10000)]
    assert [record.getMessage() for record in caplog.records] == [
        f"Removing server {host}:{port} from bootstrap.servers as DNS resolution failed for {host}"
        for host, port in (("some.invalid.hostname.foo.bar.local", 9999), ("a" * 64, 1))
    ]


@pytest.mark.parametrize(
    ("url", "message"),
    [
        pytest.param(
            "127.0.0.1",
            "Invalid url in bootstrap.servers: 127.0.0.1",
            marks=pytest.mark.ported("ClientUtilsTest.testNoPort"),
        ),
        pytest.param(
            "some.invalid.hostname.foo.bar.local:9999",
            "No resolvable bootstrap urls given in bootstrap.servers",
            marks=pytest.mark.ported("ClientUtilsTest.testOnlyBadHostname"),
        ),
        ("", "No resolvable bootstrap urls given in bootstrap.servers"),
        ("localhost:65536", "Invalid port in bootstrap.servers: localhost:65536"),
    ],
)
def test_addresses_without_use(url: str, message: str) -> None:
    with pytest.raises(ConfigException) as caught:
        ClientUtils.parse_and_validate_addresses([url])
    assert str(caught.value) == message
