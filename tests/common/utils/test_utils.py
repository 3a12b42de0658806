"""Helpers of the protocol and client side."""

from __future__ import annotations

import logging
import os
import pathlib

import pytest

from kafka_py.common.metrics.metrics import Metrics
from kafka_py.common.utils import utils
from kafka_py.common.utils.app_info_parser import AppInfoParser
from kafka_py.common.utils.sanitizer import Sanitizer
from kafka_py.common.utils.time import Time
from kafka_py.common.utils.utils import (
    close_all,
    format_address,
    get_host,
    get_port,
    load_props,
    murmur2,
    parse_props,
    read_fully,
)
from kafka_py.utils.logging import get_logger
from kafka_py.utils.mbeans import PLATFORM_MBEAN_SERVER


@pytest.mark.ported("UtilsTest.testGetHost")
@pytest.mark.ported("UtilsTest.testGetPort")
@pytest.mark.parametrize(
    ("address", "host", "port"),
    [
        ("127.0.0.1:8000", "127.0.0.1", 8000),
        ("PLAINTEXT://mydomain.com:8080", "mydomain.com", 8080),
        ("MY_HOST:1", "MY_HOST", 1),
        ("SSL://host_name:5678", "host_name", 5678),
        ("[::1]:1234", "::1", 1234),
        ("PLAINTEXT://[2001:db8:85a3:8d3:1319:8a2e:370:7348]:5678", "2001:db8:85a3:8d3:1319:8a2e:370:7348", 5678),
        ("no port", None, None),
    ],
)
def test_host_and_port(address: str, host: str | None, port: int | None) -> None:
    assert get_host(address) == host
    assert get_port(address) == port


@pytest.mark.ported("UtilsTest.testFormatAddress")
def test_format_address() -> None:
    assert format_address("127.0.0.1", 8000) == "127.0.0.1:8000"
    assert format_address("::1", 1234) == "[::1]:1234"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_as_java_computes_it(data: bytes, expected: int) -> None:
    assert murmur2(data) == expected
    assert murmur2(memoryview(bytearray(data))) == expected


def test_small_functions() -> None:
    assert utils.join([1, 2], ",") == "1,2"
    assert utils.safe(None) == []
    assert "OSError: x" in utils.stack_trace(OSError("x"))


def test_java_properties(tmp_path: pathlib.Path) -> None:
    text = (
        "# comment\n! comment\n\na=1\n b : 2 \nc 3\nd=one\\\n   two\ne\\=\\:=x\\ty\\u00fc\nempty=\nbare\n"
        "path=C:\\\\temp\r\nspace\\ key = v\na=4\nlast=no\\\\\nend=\\"
    )
    expected = {
        "a": "4",
        "b": "2 ",
        "c": "3",
        "d": "onetwo",
        "e=:": "x\tyü",
        "empty": "",
        "bare": "",
        "path": "C:\\temp",
        "space key": "v",
        "last": "no\\",
        "end": "",
    }
    assert parse_props(text) == expected
    path = tmp_path / "server.properties"
    path.write_bytes(text.encode())
    assert load_props(path) == expected
    with pytest.raises(FileNotFoundError):
        load_props(tmp_path / "none")


@pytest.mark.ported("UtilsTest.testRecursiveDelete")
def test_recursive_delete(tmp_path: pathlib.Path) -> None:
    utils.delete(None)
    utils.delete(tmp_path / "none")
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "sub" / "file").write_text("x")
    (tmp_path / "link").symlink_to(tree)
    utils.delete(tmp_path / "link")
    assert tree.exists(), "a link goes, not what it points to"
    utils.delete(tree)
    assert not tree.exists()


@pytest.mark.ported("UtilsTest.testReadFullyIfEofIsReached")
def test_read_fully(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    fd = os.open(path, os.O_RDONLY)
    try:
        buffer = bytearray(20)
        assert read_fully(fd, memoryview(buffer), 4) == 6
        assert buffer[:6] == b"456789"
        with pytest.raises(ValueError, match="cannot be negative"):
            read_fully(fd, buffer, -1)
    finally:
        os.close(fd)


def test_flushing_a_directory_that_is_gone_is_logged(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    utils.flush_dir_if_exists(tmp_path)
    utils.flush_dir_if_exists(tmp_path / "none")
    assert [record.getMessage() for record in caplog.records] == [f"Failed to flush directory {tmp_path / 'none'}"]


class Closing:
    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.closed = False

    def close(self) -> None:
        self.closed = True
        if self.error is not None:
            raise self.error


@pytest.mark.ported("UtilsTest.testCloseAll")
def test_close_all() -> None:
    all_ = [Closing(), Closing(OSError("first")), Closing(OSError("second"))]
    with pytest.raises(OSError, match="first") as caught:
        close_all(all_[0], None, *all_[1:])
    assert caught.value.__notes__ == ["suppressed: OSError('second')"]
    assert all(c.closed for c in all_)


def test_swallow(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise OSError("y")

    utils.swallow(get_logger("kafka.test"), logging.ERROR, "trying", fail)
    assert [record.getMessage() for record in caplog.records] == ["trying error: y"]


@pytest.mark.ported("SanitizerTest.testSanitize")
@pytest.mark.ported("SanitizerTest.testJmxSanitize")
def test_sanitizer() -> None:
    principal = "CN=Some characters !@#$%&*()_-+=';:,/~"
    sanitized = Sanitizer.sanitize(principal)
    assert sanitized.replace("%", "").replace("_", "").replace("-", "").isalnum()
    assert Sanitizer.desanitize(sanitized) == principal
    assert Sanitizer.sanitize("a b*~") == "a%20b%2A%7E"
    assert Sanitizer.jmx_sanitize(sanitized) == sanitized
    assert Sanitizer.jmx_sanitize("a,b=c") == '"a,b=c"'
    assert Sanitizer.jmx_sanitize('q"*?\\\n') == '"q\\"\\*\\?\\\\\\n"'


def test_system_time() -> None:
    time = Time.SYSTEM
    first_ms, first_ns = time.milliseconds(), time.nanoseconds()
    time.sleep(2)
    assert time.milliseconds() - first_ms >= 1
    assert time.nanoseconds() - first_ns >= 2_000_000
    assert abs(time.hi_res_clock_ms() - time.nanoseconds() // 1_000_000) <= 1000


def test_app_info(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "org.apache.kafka"), Metrics() as metrics:
        AppInfoParser.register_app_info("kafka.server", "0", metrics)
        version = metrics.metric(metrics.metric_name("version", "app-info"))
        assert version is not None
        assert version.metric_value() == "1.1.1"
        assert PLATFORM_MBEAN_SERVER.get_attribute("kafka.server:type=app-info,id=0", "Version") == "1.1.1"
        AppInfoParser.unregister_app_info("kafka.server", "0", metrics)
        assert not PLATFORM_MBEAN_SERVER.is_registered("kafka.server:type=app-info,id=0")
        assert metrics.metric(metrics.metric_name("version", "app-info")) is None
    lines = [record.getMessage() for record in caplog.records]
    assert lines[0] == "Kafka version : 1.1.1"
    assert lines[1].startswith("Kafka commitId : ")
