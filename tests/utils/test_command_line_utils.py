"""Command lines are parsed and refused as Kafka's tools do."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

from kafka_py.common.utils.exit import Exit
from kafka_py.utils.command_line_utils import CommandLineUtils, OptionException, OptionParser, OptionSpec


class Exited(Exception):
    pass


@pytest.fixture
def exits() -> Iterator[list[int]]:
    codes: list[int] = []

    def note(code: int, message: str | None) -> None:
        codes.append(code)
        raise Exited(message)

    Exit.set_exit_procedure(note)
    yield codes
    Exit.reset_exit_procedure()


@pytest.mark.ported("CommandLineUtilsTest.testParseEmptyArg")
def test_missing_value_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Missing value for key my\.empty\.property"):
        CommandLineUtils.parse_key_value_args(["my.empty.property="], accept_missing_value=False)


@pytest.mark.ported("CommandLineUtilsTest.testParseEmptyArgAsValid")
@pytest.mark.ported("CommandLineUtilsTest.testParseSingleArg")
@pytest.mark.ported("CommandLineUtilsTest.testParseArgs")
def test_key_value_args() -> None:
    args = ["my.empty.property=", "first.property=first", "second.property=second"]
    assert CommandLineUtils.parse_key_value_args(args) == {
        "my.empty.property": "",
        "first.property": "first",
        "second.property": "second",
    }


def test_two_values_end_the_tool(exits: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Exited):
        CommandLineUtils.parse_key_value_args(["a=b=c"])
    assert exits == [1]
    assert "Invalid command line properties: a=b=c" in capsys.readouterr().err


@pytest.fixture
def parser() -> OptionParser:
    return OptionParser()


@pytest.fixture
def topic(parser: OptionParser) -> OptionSpec:
    return parser.accepts("topic", "The topic.").with_required_arg().described_as("name").of_type(str)


@pytest.fixture
def partitions(parser: OptionParser) -> OptionSpec:
    return parser.accepts("partitions", "How many.").with_required_arg().of_type(int).defaults_to(1)


@pytest.fixture
def list_(parser: OptionParser) -> OptionSpec:
    return parser.accepts("list", "List them.")


def test_options(parser: OptionParser, topic: OptionSpec, partitions: OptionSpec, list_: OptionSpec) -> None:
    options = parser.parse(["--topic=a", "--list", "--topic", "b", "--part", "3", "rest", "--", "--more"])
    assert options.has(list_)
    assert options.has("topic")
    assert options.has_argument(topic)
    assert not options.has_argument(list_)
    assert options.values_of(topic) == ["a", "b"]
    assert options.value_of(partitions) == 3
    assert options.non_option_arguments == ["rest", "--more"]
    assert options.specs() == [topic, list_, topic, partitions]
    with pytest.raises(OptionException, match="multiple arguments"):
        options.value_of(topic)
    none = parser.parse([])
    assert (none.value_of(partitions), none.value_of(topic), none.has(list_)) == (1, None, False)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--nothing"], "nothing is not a recognized option"),
        (["--"[:1] + "x"], "x is not a recognized option"),
        (["--topic"], "Option topic requires an argument"),
        (["--partitions", "many"], "Cannot parse argument 'many' of option partitions"),
        (["--list=x"], "does not allow an argument"),
    ],
)
@pytest.mark.usefixtures("topic", "partitions", "list_")
def test_refused(parser: OptionParser, args: list[str], message: str) -> None:
    with pytest.raises(OptionException, match=message):
        parser.parse(args)


def test_required_optional_and_separated(parser: OptionParser) -> None:
    ids = parser.accepts_all(["ids", "i"], "Ids.").with_optional_arg().of_type(int).with_values_separated_by(",")
    must = parser.accepts("must").with_required_arg().required()
    help_ = parser.accepts("help")
    with pytest.raises(OptionException, match=r"Missing required option\(s\) \[must\]"):
        parser.parse(["-i", "1,2"])
    options = parser.parse(["--ids", "1,2", "--must", "x"])
    assert options.values_of(ids) == [1, 2]
    bare = parser.parse(["-i", "--must=x"])
    assert bare.has(ids)
    assert not bare.has_argument(ids)
    assert bare.value_of(must) == "x"
    assert parser.parse(["--help", "--must", "x"]).has(help_)


def test_abbreviation_must_be_unambiguous(parser: OptionParser) -> None:
    parser.accepts("delete")
    parser.accepts("describe")
    assert parser.parse(["--del"]).has("delete")
    with pytest.raises(OptionException):
        parser.parse(["--de"])
    exact = OptionParser(allow_abbreviations=False)
    exact.accepts("delete")
    with pytest.raises(OptionException):
        exact.parse(["--del"])


def test_help(parser: OptionParser, topic: OptionSpec, partitions: OptionSpec, list_: OptionSpec) -> None:
    out = io.StringIO()
    parser.print_help_on(out)
    lines = [line.split(None, 3) for line in out.getvalue().splitlines()]
    assert lines == [
        ["Option", "Description"],
        ["------", "-----------"],
        ["--list", "List", "them."],
        ["--partitions", "<Integer>", "How", "many. (default: 1)"],
        ["--topic", "<String:", "name>", "The topic."],
    ]


@pytest.mark.usefixtures("list_")
def test_checks(
    parser: OptionParser,
    topic: OptionSpec,
    partitions: OptionSpec,
    exits: list[int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = parser.parse(["--topic", "a", "--partitions", "2"])
    CommandLineUtils.check_required_args(parser, options, topic, partitions)
    CommandLineUtils.check_invalid_args(parser, parser.parse(["--topic", "a"]), topic, {partitions})
    with pytest.raises(Exited, match=r'Option "\[topic\]" can\'t be used with option"\[partitions\]"'):
        CommandLineUtils.check_invalid_args(parser, options, topic, {partitions})
    with pytest.raises(Exited, match=r'Missing required argument "\[topic\]"'):
        CommandLineUtils.check_required_args(parser, parser.parse([]), topic)
    with pytest.raises(Exited):
        CommandLineUtils.parse(parser, ["--wrong"])
    assert exits == [1, 1, 1]
    assert "Description" in capsys.readouterr().err
