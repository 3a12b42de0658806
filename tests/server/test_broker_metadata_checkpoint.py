"""meta.properties."""

from __future__ import annotations

import pathlib

import pytest

from kafka_py.server.broker_metadata_checkpoint import BrokerMetadata, BrokerMetadataCheckpoint


def test_write_and_read(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "meta.properties"
    checkpoint = BrokerMetadataCheckpoint(file)
    assert checkpoint.read() is None
    checkpoint.write(BrokerMetadata(7))
    assert BrokerMetadataCheckpoint(str(file)).read() == BrokerMetadata(7)
    lines = file.read_text().splitlines()
    assert lines[0] == "#"
    assert lines[1].startswith("#")
    assert lines[2:] == ["version=0", "broker.id=7"]
    assert list(tmp_path.iterdir()) == [file]


def test_leftover_temporary_file_is_removed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "meta.properties.tmp").write_text("half")
    assert BrokerMetadataCheckpoint(tmp_path / "meta.properties").read() is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("version=9\nbroker.id=1\n", OSError, "Unrecognized version of the server meta.properties file: 9"),
        ("nonsense\n", ValueError, "Missing required property 'version'"),
        ("version=0\n", ValueError, r"Missing required property 'broker\.id'"),
        ("version=0\nbroker.id=-1\n", ValueError, "not in the range"),
        ("version=0\nbroker.id=one\n", ValueError, "one"),
    ],
)
def test_bad_files(tmp_path: pathlib.Path, text: str, error: type[Exception], message: str) -> None:
    file = tmp_path / "meta.properties"
    file.write_text(text)
    with pytest.raises(error, match=message):
        BrokerMetadataCheckpoint(file).read()


def test_java_spelling(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "meta.properties"
    file.write_text("# comment\n! another\n\n version = 0 \nbroker.id = 12\ncluster.id=abc\n")
    assert BrokerMetadataCheckpoint(file).read() == BrokerMetadata(12)
