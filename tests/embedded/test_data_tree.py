"""Paths, and the rollback of the tree."""

from __future__ import annotations

import pytest

from kafka_py.embedded.data_tree import CreateTxn, DataTree, SetDataTxn, TreeException, parent_of, validate_path
from kafka_py.embedded.jute import JuteException, Reader, Writer
from kafka_py.zookeeper.keeper_exception import Code
from kafka_py.zookeeper.zoo_defs import Ids

OPEN = tuple(Ids.OPEN_ACL_UNSAFE)


@pytest.mark.parametrize("path", ["/", "/a", "/a/b.c", "/ä/..b", "/a b"])
def test_paths(path: str) -> None:
    validate_path(path)


@pytest.mark.parametrize("path", ["", "a", "//", "/a/", "/a//b", "/a/./b", "/..", "/a\x00", "/a\x7f"])
def test_text_that_is_no_path(path: str) -> None:
    with pytest.raises(TreeException) as raised:
        validate_path(path)
    assert raised.value.code is Code.BADARGUMENTS


def test_a_sequential_path_may_end_in_a_slash() -> None:
    validate_path("/a/", is_sequential=True)
    assert [parent_of(path) for path in ("/a", "/a/b", "/a/b/c")] == ["/", "/a", "/a/b"]


def test_rollback_restores_everything() -> None:
    tree = DataTree()
    events: list[str] = []
    tree.apply(CreateTxn("/a", b"1", OPEN, 0), 1, 10, lambda event, path: events.append(path))
    before = b"".join(tree.serialize())
    tree.begin()
    tree.apply(SetDataTxn("/a", b"2"), 2, 20, lambda event, path: events.append(path))
    tree.apply(CreateTxn("/a/e", b"", OPEN, 5), 2, 20, lambda event, path: events.append(path))
    tree.apply(CreateTxn("/a/e2", b"", OPEN, 5), 2, 20, lambda event, path: events.append(path))
    tree.rollback(1)
    assert b"".join(tree.serialize()) == before
    assert tree.ephemerals.get(5, set()) == set()
    assert events == ["/a", "/", "/a", "/a/e", "/a", "/a/e2", "/a"]


def test_a_snapshot_is_the_tree() -> None:
    tree = DataTree()
    tree.sessions[5] = 1000
    tree.apply(CreateTxn("/e", None, OPEN, 5), 1, 10, lambda event, path: None)
    data = b"".join(tree.serialize())
    again = DataTree.deserialize(data)
    assert b"".join(again.serialize()) == data
    assert again.ephemerals == {5: {"/e"}}
    assert again.nodes["/"].children == {"zookeeper", "e"}
    with pytest.raises(JuteException):
        DataTree.deserialize(data[:-1])


def test_jute_refuses_what_is_too_short_or_too_long() -> None:
    assert Reader(Writer().write_buffer(None).out).read_buffer() is None
    assert Reader(Writer().write_strings(["a", "ü"]).out).read_strings() == ["a", "ü"]
    for data in (b"\0\0\0\5abc", b"\0\0", b"\xff\xff\xff\xf0"):
        with pytest.raises(JuteException):
            Reader(data).read_buffer()
    with pytest.raises(JuteException):
        Reader(b"\x7f\xff\xff\xff").read_strings()
    with pytest.raises(JuteException):
        Reader(b"\0\0\0\1\xff").read_string()
