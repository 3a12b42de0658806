"""Helpers of the protocol and client side."""

from __future__ import annotations

import errno
import io
import logging
import os
import pathlib

import pytest

from kafka_py.common.errors import KafkaException
from kafka_py.common.metrics.metrics import Metrics
from kafka_py.common.utils import utils
from kafka_py.common.utils.app_info_parser import AppInfoParser
from kafka_py.common.utils.exit import Exit
from kafka_py.common.utils.sanitizer import Sanitizer
from kafka_py.common.utils.time import Time
from kafka_py.common.utils.utils import (
    atomic_move_with_fallback,
    close_all,
    close_quietly,
    format_address,
    format_bytes,
    get_host,
    get_port,
    is_blank,
    load_props,
    murmur2,
    parse_props,
    read_fully,
    read_fully_or_fail,
    size_delimited,
    to_positive,
    utf8,
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


@pytest.mark.ported("UtilsTest.testFormatBytes")
@pytest.mark.parametrize(
    ("n", "text"),
    [
        (-1, "-1"),
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KB"),
        (1024 * 1024 - 1, "1024 KB"),
        (1024 * 1024, "1 MB"),
        (int(1.1 * 1024 * 1024), "1.1 MB"),
        (10 * 1024 * 1024, "10 MB"),
        (2**100, str(float(2**100))),
    ],
)
def test_format_bytes(n: int, text: str) -> None:
    assert format_bytes(n) == text


def test_is_blank() -> None:
    assert [is_blank(s) for s in (None, "", " \t\n", " a")] == [True, True, True, False]


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
    assert to_positive(expected) == expected & 0x7FFFFFFF >= 0


def test_small_functions() -> None:
    assert [utils.abs_(n) for n in (0, -10, -(2**31), 2**31 - 1)] == [0, 10, 0, 2**31 - 1]
    assert utf8(b"gr\xc3\xbcn\xff") == "grün\ufffd"
    assert utf8(memoryview(b"xabcx"), 1, 3) == "abc"
    assert utf8("ü") == b"\xc3\xbc"
    assert [utils.utf8_length(s) for s in ("abc", "ü", "€", "😀")] == [3, 2, 3, 4]
    assert utils.to_array(memoryview(b"abcd"), 1, 2) == b"bc"
    assert utils.to_nullable_array(None) is None
    assert utils.to_nullable_array(utils.wrap_nullable(b"a")) == b"a"
    assert utils.join([1, 2], ",") == "1,2"
    assert utils.mk_string({"a": 1, "b": 2}, "{", "}", "=", ",") == "{a=1,b=2}"
    assert utils.safe(None) == []
    assert utils.entries_with_prefix({"a.b": 1, "a.": 2, "c": 3}, "a.") == {"b": 1}
    assert [utils.long_hashcode(n) for n in (1, -1, 2**32, -(2**63))] == [1, 0, 1, -(2**31)]
    assert utils.props_to_string_map({1: 2}) == {"1": "2"}
    with pytest.raises(TypeError):
        utils.not_null(None)
    assert "OSError: x" in utils.stack_trace(OSError("x"))


def test_classes_by_name() -> None:
    assert utils.new_instance("collections.OrderedDict", dict) == {}
    with pytest.raises(ImportError):
        utils.load_class("collections.Nothing")
    with pytest.raises(TypeError):
        utils.load_class("collections.OrderedDict", list)
    with pytest.raises(KafkaException, match="Could not instantiate class"):
        utils.new_instance("kafka_py.utils.concurrent.CountDownLatch")


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


def test_files(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("new")
    target.write_text("old")
    atomic_move_with_fallback(source, target, need_flush_parent_dir=True)
    assert utils.read_file_as_string(target) == "new"
    assert not source.exists()
    with pytest.raises(FileNotFoundError):
        atomic_move_with_fallback(source, target)
    utils.flush_dir_if_exists(tmp_path)
    utils.flush_file_if_exists(target)
    utils.flush_dir_if_exists(tmp_path / "none")
    utils.flush_file_if_exists(tmp_path / "none")
    assert [record.getMessage() for record in caplog.records] == [
        f"Failed to flush directory {tmp_path / 'none'}",
        f"Failed to flush file {tmp_path / 'none'}",
    ]


@pytest.mark.parametrize(("code", "copied"), [(errno.EXDEV, True), (errno.EIO, False), (errno.ENOSPC, False)])
def test_a_move_copies_only_between_file_systems(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, code: int, copied: bool
) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("new")

    def fail(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "replace", fail)
    monkeypatch.setattr(os, "rename", fail)
    if copied:
        atomic_move_with_fallback(source, target)
    else:
        with pytest.raises(OSError, match=os.strerror(code)):
            atomic_move_with_fallback(source, target)
    assert (source.exists(), target.exists()) == (not copied, copied)


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


@pytest.mark.ported("UtilsTest.testReadFullyOrFailWithRealFile")
@pytest.mark.ported("UtilsTest.testReadFullyIfEofIsReached")
def test_read_fully(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    fd = os.open(path, os.O_RDWR)
    try:
        buffer = bytearray(4)
        read_fully_or_fail(fd, buffer, 2, "header")
        assert buffer == b"2345"
        assert read_fully(fd, memoryview(bytearray(20)), 4) == 6
        with pytest.raises(EOFError, match=r"Failed to read `header`.*after reading 2 bytes"):
            read_fully_or_fail(fd, buffer, 8, "header")
        with pytest.raises(ValueError, match="cannot be negative"):
            read_fully_or_fail(fd, buffer, -1, "header")
        utils.write_fully(fd, memoryview(b"ab"))
    finally:
        os.close(fd)
    assert path.read_bytes() == b"ab23456789"
    assert utils.read_fully_from_stream(io.BytesIO(b"abc"), 2) == b"ab"
    assert utils.read_fully_from_stream(io.BytesIO(b"abc"), 9) == b"abc"


def test_size_delimited() -> None:
    assert utils.to_nullable_array(size_delimited(b"x\0\0\0\x02abc", 1)) == b"ab"
    assert size_delimited(b"\xff\xff\xff\xff", 0) is None


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


def test_close_quietly_and_swallow(caplog: pytest.LogCaptureFixture) -> None:
    close_quietly(None, "nothing")
    close_quietly(Closing(ValueError("x")), "thing")

    def fail() -> None:
        raise OSError("y")

    utils.swallow(get_logger("kafka.test"), logging.ERROR, "trying", fail)
    assert [record.getMessage() for record in caplog.records] == [
        "Failed to close thing with type Closing",
        "trying error: y",
    ]


def test_croak(capsys: pytest.CaptureFixture[str]) -> None:
    codes: list[int] = []
    Exit.set_exit_procedure(lambda code, message: codes.append(code))
    utils.croak("too bad")
    Exit.reset_exit_procedure()
    assert codes == [1]
    assert capsys.readouterr().err == "too bad\n"


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
