"""kafka-consumer-groups --reset-offsets: where to, of what, and whether it is done."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any, cast

import pytest

from kafka_py.admin import consumer_group_command
from kafka_py.admin.consumer_group_command import ConsumerGroupService
from kafka_py.admin.consumer_group_command_options import ConsumerGroupCommandOptions
from kafka_py.admin.consumer_group_resets import convert_timestamp, duration_ms, parse_reset_plan
from kafka_py.admin.consumer_groups_client import ConsumerGroupsClient
from kafka_py.common.errors import IllegalArgumentException, UnknownMemberIdException, UnknownTopicOrPartitionException
from kafka_py.common.topic_partition import TopicPartition
from tests.admin.fake_groups import FakeGroup, FakeGroups, FakeLog

Capture = pytest.CaptureFixture[str]
GROUP = "test.group"
FOO = TopicPartition("foo", 0)
HOUR_MS = 3_600_000


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGroups]:
    """A topic foo of one partition: 100 records of an hour ago, 100 of now; the group has read the first 100."""
    made = FakeGroups()
    now = made.mock_time.milliseconds()
    made.logs[FOO] = FakeLog(0, [now - HOUR_MS] * 100 + [now] * 100)
    made.groups[GROUP] = FakeGroup(offsets={FOO: 100})
    monkeypatch.setattr(ConsumerGroupsClient, "create", staticmethod(lambda servers: cast("Any", made)))
    yield made
    made.close()


def service(cluster: FakeGroups, *args: str, group: str = GROUP) -> ConsumerGroupService:
    opts = ConsumerGroupCommandOptions(["--bootstrap-server", "b:1", "--reset-offsets", "--group", group, *args])
    return ConsumerGroupService(opts, cluster, cluster.mock_time)


def reset(cluster: FakeGroups, *args: str, scope: str = "--all-topics") -> int:
    """The partition's new offset, which is what was committed."""
    new = service(cluster, *scope.split(), *args, "--execute").reset_offsets()[GROUP]
    assert cluster.groups[GROUP].offsets == new
    assert list(new) == [FOO]
    return new[FOO]


# -- where to ----------------------------------------------------------------------------------------------------------


@pytest.mark.ported("ResetConsumerGroupOffsetTest.testResetOffsetsByDuration")
@pytest.mark.ported("ResetConsumerGroupOffsetTest.testResetOffsetsByDurationToEarliest")
@pytest.mark.ported("ResetConsumerGroupOffsetTest.testResetOffsetsToEarliest")
@pytest.mark.ported("ResetConsumerGroupOffsetTest.testResetOffsetsToLatest")
@pytest.mark.ported("ResetConsumerGroupOffsetTest.testResetOffsetsToCurrentOffset")
@pytest.mark.ported("ResetConsumerGroupOffsetTest.testResetOffsetsToSpecificOffset")
@pytest.mark.ported("ResetConsumerGroupOffsetTest.testResetOffsetsShiftPlus")
@pytest.mark.ported("ResetConsumerGroupOffsetTest.testResetOffsetsShiftMinus")
@pytest.mark.ported("ResetConsumerGroupOffsetTest.testResetOffsetsShiftByLowerThanEarliest")
@pytest.mark.ported("ResetConsumerGroupOffsetTest.testResetOffsetsShiftByHigherThanLatest")
@pytest.mark.parametrize(
    ("scenario", "offset"),
    [
        ("--to-earliest", 0),
        ("--to-latest", 200),
        ("--to-current", 100),
        ("--to-offset 1", 1),
        ("--shift-by 50", 150),
        ("--shift-by -50", 50),
        ("--shift-by -150", 0),
        ("--shift-by 150", 200),
        ("--by-duration PT1M", 100),
        ("--by-duration P1D", 0),
        ("--by-duration PT-1M", 200),
    ],
)
def test_where_to(cluster: FakeGroups, scenario: str, offset: int) -> None:
    assert reset(cluster, *scenario.split()) == offset


@pytest.mark.ported("ResetConsumerGroupOffsetTest.testResetOffsetsToLocalDateTime")
@pytest.mark.ported("ResetConsumerGroupOffsetTest.testResetOffsetsToZonedDateTime")
def test_to_a_moment(cluster: FakeGroups) -> None:
    first = convert_timestamp("2026-11-23T10:00:00.000")
    cluster.logs[FOO].timestamps = [first] * 50 + [first + 1] * 50
    assert reset(cluster, "--to-datetime", "2026-11-22T10:00:00.000") == 0
    assert reset(cluster, "--to-datetime", "2026-11-23T12:00:00.001+02:00") == 50
    assert reset(cluster, "--to-datetime", "2026-11-23T12:00:00.001") == 100


def test_an_offset_outside_the_log_is_moved_into_it(cluster: FakeGroups, caplog: pytest.LogCaptureFixture) -> None:
    cluster.logs[FOO] = FakeLog(10, [0] * 10)
    assert reset(cluster, "--to-offset", "5") == 10
    assert reset(cluster, "--to-offset", "25") == 20
    assert [(record.name, record.getMessage()) for record in caplog.records] == [
        (
            "kafka.admin.ConsumerGroupCommand$",
            "New offset (5) is lower than earliest offset for topic partition foo-0. Value will be set to 10",
        ),
        (
            "kafka.admin.ConsumerGroupCommand$",
            "New offset (25) is higher than latest offset for topic partition foo-0. Value will be set to 20",
        ),
    ]


def test_what_was_never_committed_is_at_its_end(cluster: FakeGroups) -> None:
    other = cluster.topic("bar", records=7)[0]
    prepared = service(cluster, "--topic", "foo", "--topic", "bar", "--to-current")
    assert prepared.reset_offsets() == {GROUP: {other: 7, FOO: 100}}
    with pytest.raises(IllegalArgumentException, match="Cannot shift offset for partition bar-0 since there is no"):
        service(cluster, "--topic", "bar", "--shift-by", "1").reset_offsets()


# -- of what -----------------------------------------------------------------------------------------------------------


@pytest.mark.ported("ResetConsumerGroupOffsetTest.testResetOffsetsToEarliestOnOneTopic")
def test_of_one_topic(cluster: FakeGroups) -> None:
    assert reset(cluster, "--to-earliest", scope="--topic foo") == 0


@pytest.mark.ported("ResetConsumerGroupOffsetTest.testResetOffsetsToEarliestOnOneTopicAndPartition")
@pytest.mark.ported("ResetConsumerGroupOffsetTest.testResetOffsetsToEarliestOnTopics")
@pytest.mark.ported("ResetConsumerGroupOffsetTest.testResetOffsetsToEarliestOnTopicsAndPartitions")
def test_of_topics_and_partitions(cluster: FakeGroups) -> None:
    a0, a1 = cluster.topic("a", 2, records=10)
    b0, b1 = cluster.topic("b", 2, records=10)
    before = {a0: 5, a1: 5, b0: 5, b1: 5}
    for topics, changed in (("a:1", [a1]), ("a b", [a0, a1, b0, b1]), ("a:1 b:1", [a1, b1]), ("a:0,1 a", [a0, a1])):
        cluster.groups[GROUP].offsets = dict(before)
        scope = [word for topic in topics.split() for word in ("--topic", topic)]
        new = service(cluster, *scope, "--to-earliest", "--execute").reset_offsets()
        assert new == {GROUP: dict.fromkeys(changed, 0)}
        assert cluster.groups[GROUP].offsets == before | dict.fromkeys(changed, 0)


def test_of_what_is_not_there(cluster: FakeGroups, capsys: Capture) -> None:
    with pytest.raises(UnknownTopicOrPartitionException):
        service(cluster, "--topic", "none", "--to-earliest").reset_offsets()
    with pytest.raises(SystemExit):
        service(cluster, "--topic", "foo:7", "--to-earliest").reset_offsets()
    assert "Error getting starting offset of topic partition: foo-7" in capsys.readouterr().err


# -- which groups ------------------------------------------------------------------------------------------------------


@pytest.mark.ported("ResetConsumerGroupOffsetTest.testResetOffsetsNotExistingGroup")
def test_a_group_that_is_not_there(cluster: FakeGroups) -> None:
    resets = service(cluster, "--all-topics", "--to-current", "--execute", group="missing.group")
    assert resets.reset_offsets() == {"missing.group": {}}
    assert "missing.group" not in cluster.groups


@pytest.mark.ported("ResetConsumerGroupOffsetTest.testResetOffsetsNewConsumerExistingTopic")
def test_a_group_to_come_and_a_dry_run(cluster: FakeGroups) -> None:
    args = ["--topic", "foo", "--to-offset", "50"]
    for dry in ([], ["--dry-run"]):
        assert service(cluster, *args, *dry, group="new").reset_offsets() == {"new": {FOO: 50}}
        assert "new" not in cluster.groups
    service(cluster, *args, "--execute", group="new").reset_offsets()
    assert cluster.groups["new"].offsets == {FOO: 50}


def test_a_group_with_members_is_left_alone(cluster: FakeGroups, capsys: Capture) -> None:
    cluster.groups[GROUP] = FakeGroup("Stable", members=[("c", [FOO])], offsets={FOO: 3})
    assert service(cluster, "--all-topics", "--to-earliest", "--execute").reset_offsets() == {GROUP: {}}
    assert capsys.readouterr().out == (
        f"Error: Assignments can only be reset if the group '{GROUP}' is inactive, but the current state is Stable.\n"
    )
    assert cluster.groups[GROUP].offsets == {FOO: 3}


def test_a_member_that_comes_meanwhile_is_noticed(cluster: FakeGroups) -> None:
    """Described as Empty, but the coordinator does not take the offsets any more."""
    cluster.groups[GROUP].members = [("c", [FOO])]
    with pytest.raises(UnknownMemberIdException):
        service(cluster, "--all-topics", "--to-earliest", "--execute").reset_offsets()


def test_all_groups(cluster: FakeGroups, capsys: Capture) -> None:
    cluster.groups["other"] = FakeGroup(offsets={FOO: 1})
    code = consumer_group_command.main(
        ["--bootstrap-server", "b:1", "--reset-offsets", "--all-groups", "--all-topics", "--to-latest", "--execute"]
    )
    assert code == 0
    assert {name: group.offsets for name, group in cluster.groups.items()} == {GROUP: {FOO: 200}, "other": {FOO: 200}}
    assert [line.split() for line in capsys.readouterr().out.splitlines()[1:]] == [
        ["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"],
        ["other", "foo", "0", "200"],
        [GROUP, "foo", "0", "200"],
    ]


# -- plans -------------------------------------------------------------------------------------------------------------


@pytest.mark.ported("ResetConsumerGroupOffsetTest.testResetOffsetsExportImportPlan")
def test_a_plan_is_printed_and_read(cluster: FakeGroups, tmp_path: pathlib.Path, capsys: Capture) -> None:
    b0, b1 = cluster.topic("bar", 2, records=50)
    cluster.groups[GROUP].offsets = {b0: 50, b1: 50}
    assert consumer_group_command.main(
        ["--bootstrap-server", "b:1", "--reset-offsets", "--group", GROUP, "--all-topics", "--to-offset", "2",
         "--export", "--dry-run"]
    ) == 0  # fmt: skip
    plan = capsys.readouterr().out
    assert plan == "bar,0,2\nbar,1,2\n\n"
    (tmp_path / "plan.csv").write_text(plan)
    from_file = ["--from-file", str(tmp_path / "plan.csv")]
    assert service(cluster, "--all-topics", *from_file, "--dry-run").reset_offsets() == {GROUP: {b0: 2, b1: 2}}
    assert cluster.groups[GROUP].offsets == {b0: 50, b1: 50}
    service(cluster, *from_file, "--execute").reset_offsets()
    assert cluster.groups[GROUP].offsets == {b0: 2, b1: 2}


def test_a_plan_of_several_groups(cluster: FakeGroups, tmp_path: pathlib.Path, capsys: Capture) -> None:
    cluster.groups["other"] = FakeGroup(offsets={FOO: 1})
    opts = ConsumerGroupCommandOptions(
        ["--bootstrap-server", "b:1", "--reset-offsets", "--all-groups", "--all-topics", "--to-offset", "9", "--export"]
    )
    exporting = ConsumerGroupService(opts, cluster, cluster.mock_time)
    plan = exporting.export_offsets_to_reset(exporting.reset_offsets())
    assert plan == f"other,foo,0,9\n{GROUP},foo,0,9\n"
    (tmp_path / "plan.csv").write_text(plan)
    from_file = ["--from-file", str(tmp_path / "plan.csv")]
    assert service(cluster, *from_file).reset_offsets() == {GROUP: {FOO: 9}}
    assert service(cluster, *from_file, group="third").reset_offsets() == {"third": {}}
    assert capsys.readouterr().out == "Error: No reset plan for group third found\n"


@pytest.mark.parametrize("text", ["foo,0", "foo,0,1,2,3", "foo,x,1", "foo,0,1\ng,foo,0,1"])
def test_lines_that_are_no_plan(text: str) -> None:
    with pytest.raises(ValueError, match=r"Not a line|invalid literal"):
        parse_reset_plan(text, [GROUP])


# -- moments and durations ---------------------------------------------------------------------------------------------


@pytest.mark.ported("ResetConsumerGroupOffsetTest.testDateTimeFormats")
@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01T00:00:00.000", 0),
        ("1970-01-02T00:00:01.250", 86_401_250),
        ("1970-01-01T01:00:00.000+01:00", 0),
        ("1970-01-01T01:00:00.000+0100", 0),
        ("1970-01-01T01:00:00.000+01", 0),
        ("1969-12-31T22:30:00.001-01:30", 1),
        ("1970-01-01T00:00:00.5Z", 5),
        ("1970-01-01T24:00:00.000", 86_400_000),
    ],
)
def test_moments(text: str, ms: int) -> None:
    assert convert_timestamp(text) == ms


@pytest.mark.parametrize(
    "text", ["1970-01-01T00:00:00", "1970-01-01T00:00:00.Z", "1970-01-01", "", "1970-01-01T00:00:00.000CET"]
)
def test_what_is_no_moment(text: str) -> None:
    with pytest.raises(ValueError, match="Unparseable date"):
        convert_timestamp(text)


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("PT0.1S", 100),
        ("PT1M", 60_000),
        ("P1DT2H3M4.005S", 93_784_005),
        ("-PT1H", -3_600_000),
        ("PT-1.5S", -1500),
        ("pt1h", 3_600_000),
    ],
)
def test_durations(text: str, ms: int) -> None:
    assert duration_ms(text) == ms


@pytest.mark.parametrize("text", ["P", "PT", "1H", "P1M", "PT1", "P1DT", ""])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="Text cannot be parsed to a Duration"):
        duration_ms(text)


# -- options -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--all-topics", "--to-latest", "--to-earliest"], "can't be used with option"),
        (["--all-topics", "--to-latest", "--dry-run", "--execute"], "only accepts one of [execute] and [dry-run]"),
        (["--to-latest"], "One of the reset scopes should be defined: --all-topics, --topic."),
        (
            ["--all-topics"],
            "Option '[reset-offsets]' requires one of the following scenarios: [to-offset], [shift-by],",
        ),
        (["--all-topics", "--to-offset", "x"], "Cannot parse argument 'x' of option to-offset"),
    ],
)
def test_options_that_make_no_sense(cluster: FakeGroups, capsys: Capture, args: list[str], said: str) -> None:
    with pytest.raises(SystemExit):
        consumer_group_command.main(["--bootstrap-server", "b:1", "--reset-offsets", "--group", GROUP, *args])
    assert said in capsys.readouterr().err


def test_who_says_neither_is_warned(cluster: FakeGroups, capsys: Capture) -> None:
    line = ["--bootstrap-server", "b:1", "--reset-offsets", "--group", GROUP, "--all-topics", "--to-latest"]
    consumer_group_command.main(line)
    assert "You should add the --dry-run option explicitly" in capsys.readouterr().err
    consumer_group_command.main([*line, "--dry-run"])
    out, err = capsys.readouterr()
    assert "--dry-run" not in err
    assert out == (
        "\nTOPIC                          PARTITION  NEW-OFFSET     \n"
        "foo                            0          200            \n"
    )
