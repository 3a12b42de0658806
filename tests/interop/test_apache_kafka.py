"""How the jars are found when there is no Maven, and what is said when they cannot be had."""

from __future__ import annotations

import pathlib

import pytest

from tests.interop import apache_kafka
from tests.interop.apache_kafka import ApacheKafka, UnavailableError, fetch_jars


@pytest.fixture
def repository(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """An empty Maven repository on this machine, an empty cache, and no Maven."""
    monkeypatch.setenv("KAFKA_PY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(apache_kafka, "CENTRAL", (tmp_path / "central").as_uri())
    monkeypatch.setattr("shutil.which", lambda name: None)
    return tmp_path / "central"


def test_jars_are_downloaded_once(repository: pathlib.Path) -> None:
    for coordinates in apache_kafka.JARS:
        group, artifact, version = coordinates.split(":")
        jar = repository.joinpath(*group.split("."), artifact, version, f"{artifact}-{version}.jar")
        jar.parent.mkdir(parents=True)
        jar.write_text(coordinates)
    libs = fetch_jars()
    assert (libs / "kafka_2.12-1.1.1.jar").read_text() == "org.apache.kafka:kafka_2.12:1.1.1"
    assert len(list(libs.iterdir())) == len(apache_kafka.JARS)
    repository.rename(repository.with_name("gone"))
    assert fetch_jars() == libs


def test_no_jars(repository: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with pytest.raises(UnavailableError, match=r"kafka_2\.12-1\.1\.1\.jar"):
        fetch_jars()
    assert list((tmp_path / "cache").rglob("*.*ar*")) == []


def test_no_java(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apache_kafka, "find_java", lambda: None)
    with pytest.raises(UnavailableError, match="needs a Java"):
        ApacheKafka(tmp_path)
