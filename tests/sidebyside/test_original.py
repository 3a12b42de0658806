"""Members are found by braces; strings, comments and heads over several lines do not mislead."""

from __future__ import annotations

from kafka_py.sidebyside.original import members_of, own_name
from tests.sidebyside.made import JAVA, SCALA


def found(text: str, is_java: bool) -> dict[str, str]:
    """Class.member -> its text."""
    lines = text.split("\n")
    return {f"{m.cls}.{m.name}": "\n".join(lines[m.first - 1 : m.last]) for m in members_of(text, is_java)}


def test_members_of_scala() -> None:
    members = found(SCALA, False)
    assert list(members) == [
        *("Kettle.Default", "Kettle.apply", "Kettle.lock", "Kettle.boils", "Kettle.boil", "Kettle.pour"),
        *("Kettle.whistle", "Kettle.Lid", "Lid.lift"),
    ]
    assert members["Kettle.boils"] == "  // whether it boils\n  @volatile var boils = false"
    assert members["Kettle.boil"].startswith("  def boil(degrees")
    assert members["Kettle.boil"].endswith("def inner(): Int = 1\n    }\n  }")
    assert members["Kettle.pour"] == "  private[made] def pour(): Int = size"
    assert members["Kettle.whistle"].endswith('quotes""")\n  }')
    assert members["Kettle.Lid"] == "  class Lid {\n    def lift(): Unit = {}\n  }"


def test_members_of_java() -> None:
    members = found(JAVA, True)
    assert list(members) == ["Cup.Cup", "Cup.toString", "Cup.fill", "Cup.Kind", "Kind.isHot"]
    assert members["Cup.toString"].startswith("    /* {{ */\n    @Override\n")
    assert members["Cup.toString"].endswith('"small <b>";\n    }')
    assert members["Cup.fill"].endswith("return null;\n    }")


def test_names_meet_without_underscores_and_case() -> None:
    assert own_name("_maybe_shrink_isr") == own_name("maybeShrinkIsr") == "maybeshrinkisr"
    assert own_name("DEFAULT") == own_name("Default")
