"""A small original in Scala, one in Java, and ours that mirrors them; made up for the tests."""

SCALA = '''package kafka.made

/** Says how things are: class Not, def not(. */
object Kettle {
  val Default = 3
  def apply(size: Int): Kettle = new Kettle(size)
}

class Kettle(val size: Int,
             name: String = "a { brace")
  extends Vessel
  with Logging {

  private val lock = new Object // class Nor { def nor(

  // whether it boils
  @volatile var boils = false

  def boil(degrees: Int,
           minutes: Int = 1): Unit = lock synchronized {
    if (degrees > 99) {
      boils = true
      def inner(): Int = 1
    }
  }

  private[made] def pour(): Int = size

  def whistle(): Unit = {
    warn("""three
      } quotes""")
  }

  class Lid {
    def lift(): Unit = {}
  }
}
'''
JAVA = """package org.made;

public final class Cup {
    private final int size;

    public Cup(int size) { this.size = size; }

    /* {{ */
    @Override
    public String toString() {
        if (size > 1) {
            return "big";
        }
        return "small <b>";
    }

    protected static <T> java.util.List<T> fill(T drink,
                                                int often)
            throws Exception {
        return null;
    }

    private enum Kind {
        HOT;
        boolean isHot() { return true; }
    }
}
"""
OURS = '''"""Kettles and cups.

Mirrors: core/src/main/scala/kafka/made/Kettle.scala @ 1.1.1;
    clients/src/main/java/org/made/Cup.java, Spoon.java @ 2.5.1
"""


class Kettle:
    """Boils water.

    Mirrors: kafka.made.Kettle
    Differs: boil does not wait; the rest is as it was.
    Left out: whistle, apply -- nobody listens
    """

    DEFAULT = 3

    def __init__(self, size: int) -> None:
        self.size = size
        self._boils = False

    def boil(self, degrees: int) -> None:
        """Boil."""
        self._boils = degrees > 99

    def _pour(self) -> int:
        """Pour it out."""
        return self.size

    def polish(self) -> str:
        """Ours alone."""
        return "<shining>"


class Lid:
    """On top."""

    def lift(self) -> None:
        """Off with it.

        Differs: slowly.
        """
        return


class Cup:
    """Holds tea."""

    def __str__(self) -> str:
        return "small"
'''
