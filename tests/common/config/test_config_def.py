"""Reading and checking options through a ConfigDef."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_py.common.config.config_def import ConfigDef
from kafka_py.common.config.types.password import Password
from kafka_py.common.errors import ConfigException

Type, Importance, Range = ConfigDef.Type, ConfigDef.Importance, ConfigDef.Range
HIGH = Importance.HIGH


@pytest.mark.ported("ConfigDefTest.testBasicTypes")
def test_every_type_is_read_from_text_and_defaults() -> None:
    definition = (
        ConfigDef()
        .define("a", Type.INT, 5, Range.between(0, 14), HIGH, "docs")
        .define("b", Type.LONG, ConfigDef.NO_DEFAULT_VALUE, None, HIGH, "docs")
        .define("c", Type.STRING, "hello", None, HIGH, "docs")
        .define("d", Type.LIST, ConfigDef.NO_DEFAULT_VALUE, None, HIGH, "docs")
        .define("e", Type.DOUBLE, ConfigDef.NO_DEFAULT_VALUE, None, HIGH, "docs")
        .define("f", Type.CLASS, ConfigDef.NO_DEFAULT_VALUE, None, HIGH, "docs")
        .define("g", Type.BOOLEAN, ConfigDef.NO_DEFAULT_VALUE, None, HIGH, "docs")
        .define("h", Type.BOOLEAN, ConfigDef.NO_DEFAULT_VALUE, None, HIGH, "docs")
        .define("i", Type.BOOLEAN, ConfigDef.NO_DEFAULT_VALUE, None, HIGH, "docs")
        .define("j", Type.PASSWORD, ConfigDef.NO_DEFAULT_VALUE, None, HIGH, "docs")
    )
    values = definition.parse(
        {
            "a": "1   ",
            "b": 2,
            "d": " a , b, c",
            "e": 42.5,
            "f": "kafka_py.common.config.types.password.Password",
            "g": "true",
            "h": "FalSE",
            "i": "TRUE",
            "j": "password",
        }
    )
    assert values == {
        "a": 1,
        "b": 2,
        "c": "hello",
        "d": ["a", "b", "c"],
        "e": 42.5,
        "f": Password,
        "g": True,
        "h": False,
        "i": True,
        "j": Password("password"),
    }
    assert str(values["j"]) == "[hidden]"


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (Type.INT, "+0007", 7),
        (Type.LONG, "-9223372036854775808", -(1 << 63)),
        (Type.INT, "0" * 5000 + "12", 12),
        (Type.DOUBLE, "1.5d", 1.5),
        (Type.DOUBLE, ".5F", 0.5),
        (Type.DOUBLE, "5.", 5.0),
        (Type.DOUBLE, "-1e3", -1000.0),
        (Type.DOUBLE, "Infinity", float("inf")),
        (Type.STRING, "\x00 \t\u00a0x\u00a0 \n", "\u00a0x\u00a0"),
        (Type.LIST, "a\u00a0, b\t,c", ["a\u00a0", "b", "c"]),
        (Type.PASSWORD, "\u2003secret\u2003 ", Password("\u2003secret\u2003")),
    ],
)
def test_text_is_read_as_java_reads_it(type_: ConfigDef.Type, text: str, value: Any) -> None:
    assert ConfigDef.parse_type("name", text, type_) == value


@pytest.mark.parametrize("text", ["9" * 5000, "5\u00a0", "1_000", "", "+", "1.0"])
@pytest.mark.parametrize("type_", [Type.SHORT, Type.INT, Type.LONG])
def test_text_that_java_does_not_read_as_a_whole_number(type_: ConfigDef.Type, text: str) -> None:
    with pytest.raises(ConfigException, match=f"Not a number of type {type_}"):
        ConfigDef.parse_type("name", text, type_)


@pytest.mark.parametrize("text", ["nan", "inf", "-infinity", "1_0.0", "", ".", "e3", "1e", "Infinityd1"])
def test_text_that_java_does_not_read_as_a_double(text: str) -> None:
    with pytest.raises(ConfigException, match="Not a number of type DOUBLE"):
        ConfigDef.parse_type("name", text, Type.DOUBLE)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.5, "0.5"),
        (0.001, "0.001"),
        (9999999.0, "9999999.0"),
        (-0.0, "-0.0"),
        (1e7, "1.0E7"),
        (12345678.9, "1.23456789E7"),
        (-9.99e-4, "-9.99E-4"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (float("-inf"), "-Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_doubles_are_written_as_java_writes_them(number: float, text: str) -> None:
    assert ConfigDef.convert_to_string(number, Type.DOUBLE) == text
    assert ConfigDef.convert_to_string_map_with_password_values({"a": number}) == {"a": text}


@pytest.mark.ported("ConfigDefTest.testInvalidDefault")
def test_a_default_of_the_wrong_type_is_refused_at_once() -> None:
    with pytest.raises(ConfigException, match="Not a number of type INT"):
        ConfigDef().define("a", Type.INT, "hello", None, HIGH, "docs")


@pytest.mark.ported("ConfigDefTest.testMissingRequired")
def test_a_required_option_must_be_given() -> None:
    definition = ConfigDef().define("a", Type.INT, ConfigDef.NO_DEFAULT_VALUE, None, HIGH, "docs")
    with pytest.raises(ConfigException) as e:
        definition.parse({})
    assert str(e.value) == 'Missing required configuration "a" which has no default value.'


@pytest.mark.ported("ConfigDefTest.testParsingEmptyDefaultValueForStringFieldShouldSucceed")
def test_the_empty_string_is_a_default() -> None:
    assert ConfigDef().define("a", Type.STRING, "", None, HIGH, "docs").parse({}) == {"a": ""}


@pytest.mark.ported("ConfigDefTest.testDefinedTwice")
def test_an_option_is_defined_once() -> None:
    definition = ConfigDef().define("a", Type.STRING, "", None, HIGH, "docs")
    with pytest.raises(ConfigException, match="Configuration a is defined twice"):
        definition.define("a", Type.INT, 1, None, HIGH, "docs")


@pytest.mark.ported("ConfigDefTest.testBadInputs")
@pytest.mark.parametrize(
    ("type_", "bad"),
    [
        (Type.INT, ["hello", "42.5", 42.5, 2**31, str(2**31), True, "1_0", "", "0x1"]),
        (Type.SHORT, ["32768", "-32769", "x"]),
        (Type.LONG, ["hello", "42.5", str(2**63), 42.5, True]),
        (Type.DOUBLE, ["hello", object(), "1_0.5", True]),
        (Type.STRING, [object(), 1]),
        (Type.LIST, [53, object()]),
        (Type.BOOLEAN, ["hello", "truee", "fals", 0, 1]),
        (Type.CLASS, ["ClassDoesNotExist", "kafka_py.no_such_module.X", 5]),
        (Type.PASSWORD, [5]),
    ],
)
def test_bad_values_are_refused(type_: ConfigDef.Type, bad: list[Any]) -> None:
    definition = ConfigDef().define("name", type_, ConfigDef.NO_DEFAULT_VALUE, None, HIGH, "docs")
    for value in bad:
        with pytest.raises(ConfigException):
            definition.parse({"name": value})


def test_messages_are_kafkas() -> None:
    def message(type_: ConfigDef.Type, value: Any) -> str:
        with pytest.raises(ConfigException) as e:
            ConfigDef.parse_type("num.network.threads", value, type_)
        return str(e.value)

    prefix = "Invalid value zero for configuration num.network.threads: "
    assert message(Type.INT, "zero") == prefix + "Not a number of type INT"
    assert message(Type.BOOLEAN, "zero") == prefix + "Expected value to be either true or false"
    assert message(Type.CLASS, "zero") == prefix + "Class zero could not be found."


@pytest.mark.ported("ConfigDefTest.testInvalidDefaultRange")
def test_a_default_out_of_range_is_refused_at_once() -> None:
    with pytest.raises(ConfigException, match="Value must be no more than 10"):
        ConfigDef().define("name", Type.INT, 11, Range.between(0, 10), HIGH, "docs")


@pytest.mark.ported("ConfigDefTest.testValidators")
@pytest.mark.parametrize(
    ("type_", "validator", "default", "good", "bad"),
    [
        (Type.INT, Range.between(0, 10), 5, [0, 5, 9], [-1, 11, None]),
        (Type.INT, Range.at_least(1), 5, [1, 2**31 - 1], [0, -5]),
        (Type.STRING, ConfigDef.ValidString.in_("good", "values"), "values", ["good"], ["bad", "inputs", None]),
        (Type.LIST, ConfigDef.ValidList.in_("1", "2", "3"), "1", [["1", "2"], "1,2,3"], [["4"], "1,2,4"]),
        (Type.STRING, ConfigDef.NonNullValidator(), "a", ["abb"], [None]),
        (Type.STRING, ConfigDef.NonEmptyString(), "a", ["abb", None], [""]),
        (
            Type.STRING,
            ConfigDef.CompositeValidator.of(ConfigDef.NonNullValidator(), ConfigDef.ValidString.in_("a", "b")),
            "a",
            ["a", "b"],
            [None, "c"],
        ),
    ],
)
def test_validators(
    type_: ConfigDef.Type, validator: ConfigDef.Validator, default: Any, good: list[Any], bad: list[Any]
) -> None:
    definition = ConfigDef().define("name", type_, default, validator, HIGH, "docs")
    for value in good:
        assert "name" in definition.parse({"name": value})
    for value in bad:
        with pytest.raises(ConfigException):
            definition.parse({"name": value})


@pytest.mark.ported("ConfigDefTest.testNullDefault")
def test_none_is_a_default() -> None:
    assert ConfigDef().define("a", Type.INT, None, None, HIGH, "docs").parse({}) == {"a": None}


@pytest.mark.ported("ConfigDefTest.testParseForValidate")
def test_validate_all_collects_what_is_wrong() -> None:
    definition = (
        ConfigDef()
        .define("a", Type.INT, ConfigDef.NO_DEFAULT_VALUE, None, HIGH, "docs", group="group", dependents=["b", "c"])
        .define("b", Type.INT, ConfigDef.NO_DEFAULT_VALUE, None, HIGH, "docs", group="group")
        .define("c", Type.INT, ConfigDef.NO_DEFAULT_VALUE, Range.at_least(0), HIGH, "docs", group="group")
    )
    found = definition.validate_all({"a": "1", "c": "x"})
    assert found["a"].value() == 1
    assert found["a"].error_messages() == []
    assert found["b"].error_messages() == ['Missing required configuration "b" which has no default value.']
    assert found["c"].error_messages()[0] == "Invalid value x for configuration c: Not a number of type INT"
    assert definition.get_configs_with_no_parent() == {"a"}
    assert definition.groups() == ["group"]


@pytest.mark.ported("ConfigDefTest.testMissingDependentConfigs")
def test_dependents_must_be_defined() -> None:
    definition = ConfigDef().define("parent", Type.STRING, "", None, HIGH, "docs", dependents=["child"])
    with pytest.raises(ConfigException, match="not defined: child"):
        definition.parse({})
    assert definition.validate_all({})["child"].error_messages() == [
        "child is referred in the dependents, but not defined."
    ]


@pytest.mark.ported("ConfigDefTest.testConvertValueToStringNestedClass")
def test_values_go_back_to_text() -> None:
    to_string = ConfigDef.convert_to_string
    assert to_string(True, Type.BOOLEAN) == "true"
    assert to_string(5, Type.INT) == "5"
    assert to_string(["a", "b"], Type.LIST) == "a,b"
    assert to_string(None, Type.INT) is None
    assert to_string(Password("x"), Type.PASSWORD) == "[hidden]"
    assert to_string(Password, Type.CLASS) == "kafka_py.common.config.types.password.Password"
    in_the_clear = ConfigDef.convert_to_string_map_with_password_values
    assert in_the_clear({"p": Password("x"), "l": ["a", "b"], "n": None}) == {"p": "x", "l": "a,b"}


def test_the_documentation_table_shows_what_is_not_internal() -> None:
    definition = (
        ConfigDef()
        .define("z.low", Type.INT, 1, Range.at_least(1), Importance.LOW, "low docs")
        .define("a.required", Type.STRING, ConfigDef.NO_DEFAULT_VALUE, None, HIGH, "required docs")
        .define_internal("hidden", Type.STRING, "", Importance.LOW)
    )
    html = definition.to_html_table()
    assert html.index("a.required") < html.index("z.low")
    assert "[1,...]" in html
    assert "hidden" not in html
