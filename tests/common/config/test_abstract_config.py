"""Typed access to options, and the memory of which were used."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest

from kafka_py.common.config.abstract_config import AbstractConfig
from kafka_py.common.config.config_def import ConfigDef
from kafka_py.common.errors import ConfigException, KafkaException

Type, HIGH = ConfigDef.Type, ConfigDef.Importance.HIGH


class Reporter:
    """Something an option may name."""

    def __init__(self) -> None:
        self.configs: Mapping[str, Any] = {}

    def configure(self, configs: Mapping[str, Any]) -> None:
        self.configs = configs


def config(**props: Any) -> AbstractConfig:
    definition = (
        ConfigDef()
        .define("reporters", Type.LIST, "", None, HIGH, "docs")
        .define("one", Type.CLASS, None, None, HIGH, "docs")
        .define("size", Type.INT, 10, ConfigDef.Range.at_least(0), HIGH, "docs")
        .define("name", Type.STRING, "none", None, HIGH, "docs")
        .define("sasl.jaas.config", Type.PASSWORD, None, None, HIGH, "docs")
    )
    return AbstractConfig(definition, {k.replace("__", "."): v for k, v in props.items()}, do_log=False)


@pytest.mark.ported("AbstractConfigTest.testConfiguredInstances")
def test_named_classes_are_made_and_configured() -> None:
    name = f"{__name__}.Reporter"
    [reporter] = config(reporters=name, extra="5").get_configured_instances("reporters", Reporter, {"more": 1})
    assert reporter.configs["extra"] == "5"
    assert reporter.configs["more"] == 1
    assert isinstance(config(one=name).get_configured_instance("one", Reporter), Reporter)
    assert config().get_configured_instance("one", Reporter) is None
    with pytest.raises(KafkaException, match="is not an instance of"):
        config(reporters=name).get_configured_instances("reporters", int)
    with pytest.raises(KafkaException, match="ClassNotFoundException"):
        config(reporters="no.such.Class").get_configured_instances("reporters", Reporter)


@pytest.mark.ported("AbstractConfigTest.testOriginalsWithPrefix")
def test_originals_with_prefix() -> None:
    c = config(foo__bar="abc", foo__="x", size="1")
    assert c.originals_with_prefix("foo.") == {"bar": "abc"}
    assert c.originals_with_prefix("foo.", strip=False) == {"foo.bar": "abc"}


@pytest.mark.ported("AbstractConfigTest.testValuesWithPrefixOverride")
def test_values_with_prefix_override() -> None:
    c = config(size="1", l__size="2", l__unknown="x", l__plain__sasl__jaas__config="secret")
    values = c.values_with_prefix_override("l.")
    assert values["size"] == 2
    assert values["name"] == "none"
    assert "unknown" not in values
    assert values["plain.sasl.jaas.config"].value() == "secret"
    with pytest.raises(ConfigException, match="Value must be at least 0"):
        config(l__size="-1").values_with_prefix_override("l.")


@pytest.mark.ported("AbstractConfigTest.testValuesWithPrefixAllOrNothing")
def test_values_with_prefix_all_or_nothing() -> None:
    assert config(size="1", l__size="2").values_with_prefix_all_or_nothing("l.") == {"size": 2}
    assert config(size="1").values_with_prefix_all_or_nothing("l.")["size"] == 1


@pytest.mark.ported("AbstractConfigTest.testUnused")
def test_unused_options_are_known_and_told(caplog: pytest.LogCaptureFixture) -> None:
    c = config(size="1", strange="x", other="y")
    assert c.get("size") == 1
    c.ignore("other")
    assert c.unused() == {"strange"}
    with caplog.at_level(logging.WARNING):
        c.log_unused()
    assert [r.getMessage() for r in caplog.records] == [
        "The configuration 'strange' was supplied but isn't a known config."
    ]
    assert c.originals().get("strange") == "x"
    assert c.unused() == set()


def test_unknown_names_and_odd_keys_are_refused() -> None:
    with pytest.raises(ConfigException, match="Unknown configuration 'nope'"):
        config().get("nope")
    with pytest.raises(ConfigException, match="Key must be a string"):
        AbstractConfig(ConfigDef(), {1: "x"}, do_log=False)
    with pytest.raises(TypeError, match="Non-string value"):
        config(size=1).originals_strings()


def test_typed_getters() -> None:
    c = config(size="7", name=" n ", reporters="a,b")
    assert (c.get_int("size"), c.get_string("name"), c.get_list("reporters")) == (7, "n", ["a", "b"])
    assert c.type_of("size") is Type.INT
    assert c.type_of("nope") is None
    assert c == config(size="7", name=" n ", reporters="a,b")
    assert hash(c) == hash(config(size="7", name=" n ", reporters="a,b"))
    assert c != config()


def test_values_are_logged_once_and_secrets_stay_hidden(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        config(sasl__jaas__config="secret").log_all()
    [text] = [r.getMessage() for r in caplog.records]
    assert "\tsasl.jaas.config = [hidden]" in text
    assert "\tone = null" in text
    assert "secret" not in text
