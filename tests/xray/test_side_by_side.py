"""Where a name is in the reader's own side-by-side site."""

from __future__ import annotations

import json
import pathlib

import pytest

from kafka_py.xray.side_by_side import SideBySide


@pytest.fixture
def site(tmp_path: pathlib.Path) -> SideBySide:
    (tmp_path / "index.json").write_text(json.dumps({"Processor.run": "network.SocketServer.html#Processor.run"}))
    (tmp_path / "network.SocketServer.html").write_text("")
    return SideBySide(str(tmp_path))


def test_a_member_has_a_place_and_a_file_a_page(site: SideBySide) -> None:
    path = "core/src/main/scala/kafka/network/SocketServer.scala"
    assert site.place_of("Processor.run", path) == "sidebyside/network.SocketServer.html#Processor.run"
    assert site.place_of("Processor", path) == "sidebyside/network.SocketServer.html"
    assert site.place_of("Processor", "core/src/main/scala/kafka/log/Log.scala") is None
    assert site.place_of("Xray", None) is None


def test_without_a_site_nothing_has_a_place(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    assert SideBySide("").place_of("Processor.run", None) is None
    assert caplog.records == []
    empty = SideBySide(str(tmp_path))
    assert empty.place_of("Processor.run", None) is None
    assert empty.place_of("Processor.run", None) is None
    assert [record.message.startswith("[SideBySide] No site of kafka-sidebyside") for record in caplog.records] == [
        True
    ]
