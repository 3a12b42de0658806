"""Names of topics."""

from __future__ import annotations

import pytest

from kafka_py.common.errors import InvalidTopicException
from kafka_py.common.internals.topic import Topic


@pytest.mark.ported("TopicTest.shouldAcceptValidTopicNames")
@pytest.mark.parametrize("name", ["valid", "TOPIC", "nAmEs", "ar6", "VaL1d", "_0-9_.", "...", "a" * 249])
def test_valid_names(name: str) -> None:
    Topic.validate(name)


@pytest.mark.ported("TopicTest.shouldThrowOnInvalidTopicNames")
@pytest.mark.parametrize(
    "name", ["", "foo bar", "..", ".", "foo:bar", "foo=bar", "a/b", "a\0", "a\n", "\u00e4", "a" * 250, "x" * 300]
)
def test_invalid_names(name: str) -> None:
    with pytest.raises(InvalidTopicException):
        Topic.validate(name)


@pytest.mark.ported("TopicTest.shouldRecognizeInvalidCharactersInTopicNames")
@pytest.mark.parametrize("char", "/\\,\u0000:\"';*?\t\r\n=\u00e9")
def test_invalid_characters(char: str) -> None:
    assert not Topic.contains_valid_pattern(f"Is {char}illegal")
    assert not Topic.contains_valid_pattern(char)


@pytest.mark.ported("TopicTest.testTopicHasCollisionChars")
@pytest.mark.parametrize(("name", "expected"), [("start", False), ("a.b", True), ("a_b", True), ("a-b", False)])
def test_collision_characters(name: str, expected: bool) -> None:
    assert Topic.has_collision_chars(name) is expected


@pytest.mark.ported("TopicTest.testTopicHasCollision")
def test_collision() -> None:
    for a, b in [("_", "."), ("a_b", "a.b"), ("topic.name", "topic_name"), ("same", "same")]:
        assert Topic.has_collision(a, b)
        assert Topic.has_collision(b, a)
    assert not Topic.has_collision("before.", "after_")


def test_internal_topics() -> None:
    assert Topic.is_internal("__consumer_offsets")
    assert Topic.is_internal("__transaction_state")
    assert not Topic.is_internal("consumer_offsets")
