"""A name on the page leads to its source and to Kafka's."""

from __future__ import annotations

import pytest

from kafka_py.network import processor
from kafka_py.xray.source_view import source


def test_a_method_with_its_place_in_kafka() -> None:
    told = source("Processor.run")
    assert told["file"] == "kafka_py/network/processor.py"
    assert "def run(self)" in told["text"]
    assert told["scala"] == {
        "path": "core/src/main/scala/kafka/network/SocketServer.scala",
        "version": "3.7.1",
        "url": "https://github.com/apache/kafka/blob/3.7.1/core/src/main/scala/kafka/network/SocketServer.scala",
    }
    assert processor.Processor.__name__ in source("Processor")["text"]


@pytest.mark.parametrize("name", ["", "Nobody.run", "Processor.nothing", "os.system", "../etc", "a" * 5000, "sys.path"])
def test_a_name_that_is_none(name: str) -> None:
    with pytest.raises(KeyError):
        source(name)
