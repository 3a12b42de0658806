// Lets a Node client do what the conformance suite asks: a call a line, an answer a line.
import { createInterface } from 'node:readline'

/** The client has no such thing. */
export class Skipped extends Error {
  kind = 'skipped'
}

/** Another producer has taken the transactional id. */
export class Fenced extends Error {
  kind = 'fenced'
}

const write = what => process.stdout.write(JSON.stringify(what) + '\n')

/** Reports what the listener of a consumer was told; partitions are [topic, partition]. */
export const told = (of, event, partitions) => write({ of, event, partitions })

async function answer(doing, { id, do: what, with: given }) {
  try {
    if (!(what in doing)) throw new Error(`${what}?`)
    write({ id, is: (await doing[what](given)) ?? null })
  } catch (e) {
    if (!(e instanceof Skipped)) console.error(e)
    write({ id, error: e.message, kind: e.kind ?? '' })
  }
}

/** Does what it is told until its input ends; calls overlap. */
export function serve(doing) {
  const lines = createInterface({ input: process.stdin })
  lines.on('line', line => answer(doing, JSON.parse(line)))
  lines.on('close', () => process.exit(0))
}
