"""Orders of Scala's and Java's maps, against nodes that real brokers wrote."""

from __future__ import annotations

from kafka_py.zk.scala_map_order import immutable_map, java_string_hash, mutable_map, properties

# The assignment of __consumer_offsets as any Kafka of that time writes it.
FIFTY = [
    *(45, 34, 12, 8, 19, 23, 4, 40, 15, 11, 9, 44, 33, 22, 26, 37, 13, 46, 24, 35, 16, 5, 10, 48, 21, 43, 32, 49, 6),
    *(36, 1, 39, 17, 25, 14, 47, 31, 42, 0, 20, 27, 2, 38, 18, 30, 7, 29, 41, 3, 28),
]


def test_java_string_hash() -> None:
    assert java_string_hash("") == 0
    assert java_string_hash("hello") == 99162322
    assert java_string_hash("\U0001f600") == 0xD83D * 31 + 0xDE00


def test_small_immutable_maps_keep_their_order() -> None:
    assert list(immutable_map(dict.fromkeys("dcba"))) == list("dcba")


def test_larger_immutable_maps_are_hash_tries() -> None:
    assert list(immutable_map({str(i): i for i in range(50)}).values()) == FIFTY
    names = ["version", "leader", "leader_epoch", "controller_epoch", "isr"]
    assert list(immutable_map(dict.fromkeys(names))) == ["controller_epoch", "leader", "version", "leader_epoch", "isr"]


def test_mutable_maps_go_down_their_table() -> None:
    names = ["version", "host", "port", "endpoints", "jmx_port", "timestamp", "listener_security_protocol_map"]
    expected = ["listener_security_protocol_map", "endpoints", "jmx_port", "host", "timestamp", "port", "version"]
    assert list(mutable_map(dict.fromkeys(names))) == expected


def test_properties_go_down_their_table_and_survive_its_growth() -> None:
    assert list(properties({"a": 1, "b": 2, "c": 3})) == ["b", "a", "c"]  # buckets 10, 9 and 0 of 11
    many = {f"key.{i}": i for i in range(40)}
    assert properties(many) == many
    assert len(properties(many)) == 40
