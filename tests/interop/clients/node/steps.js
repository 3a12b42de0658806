// What is asked of a client written for node: the steps of the conformance suite, one JSON line each.
//
// A client has createTopic, produce, consumer, transactions, isFenced, groups, describe, deleteGroup, alterOffset,
// deleteOffset, offsetOf and close; a consumer events, records, assignment, commit, commitAsync, seek, pause, resume and
// close. Both libraries push what they read, so a consumer's records are an array that fills by itself.

'use strict'

const assert = require('node:assert/strict')
const { randomUUID } = require('node:crypto')

const WAIT_MS = 25000
const CLOSE_MS = 1500

class Skipped extends Error {}

const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))
const name = what => `${what}-${randomUUID().slice(0, 8)}`
const numbered = (count, since = 0) => Array.from({ length: count }, (_, i) => `value ${since + i}`)
const key = ({ topic, partition }) => `${topic} ${partition}`
const keys = partitions => partitions.map(key).sort()

async function until(holds, what) {
  const deadline = Date.now() + WAIT_MS
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`never: ${typeof what === 'function' ? what() : what}`)
    await sleep(20)
  }
}

// Exactly this many records, which are taken from what came.
async function read(consumer, count) {
  const owned = () => `${count} records, ${consumer.records.length} came; owned: ${keys(consumer.assignment())}`
  await until(() => consumer.records.length >= count, owned)
  return consumer.records.splice(0)
}

async function expect(consumer, values) {
  assert.deepEqual((await read(consumer, values.length)).map(record => record.value), values)
}

class Suite {
  constructor(client) {
    this.client = client
    this.open = []
  }

  async topic(what, partitions = 1, records = 0) {
    const topic = name(what)
    await this.client.createTopic(topic, partitions)
    if (records) await this.client.produce(topic, 0, numbered(records))
    return topic
  }

  async consumer(group, topics, options = {}) {
    const made = await this.client.consumer(group, topics, options)
    this.open.push(made)
    return made
  }

  // Closes it; the milliseconds that took.
  async close(consumer) {
    this.open.splice(this.open.indexOf(consumer), 1)
    const since = Date.now()
    await consumer.close()
    return Date.now() - since
  }

  owns(consumer, count) {
    return until(() => consumer.assignment().length === count, () => `${count} owned: ${keys(consumer.assignment())}`)
  }

  async shared(assignor, fewer, more) {
    const topics = [await this.topic('shared-1', 3), await this.topic('shared-2', 3)]
    const every = topics.flatMap(topic => [0, 1, 2].map(partition => ({ topic, partition })))
    const group = name('shared')
    const one = await this.consumer(group, topics, { assignor })
    await this.owns(one, 6)
    const two = await this.consumer(group, topics, { assignor })
    const shares = () => [one.assignment(), two.assignment()]
    await until(
      () => {
        const sizes = shares().map(share => share.length).sort()
        return sizes[0] === fewer && sizes[1] === more && keys(shares().flat()).join() === keys(every).join()
      },
      () => `two members with ${fewer} and ${more}: ${JSON.stringify(shares())}`
    )
    for (const { topic, partition } of every) await this.client.produce(topic, partition, ['x'])
    await until(
      () => new Set([...one.records, ...two.records].map(key)).size === 6,
      () => `all read, only ${keys([...one.records, ...two.records])}`
    )
    await this.close(two)
    await this.owns(one, 6)
  }

  async static_member() {
    const topics = [await this.topic('static', 4)]
    const group = name('static')
    const one = await this.consumer(group, topics, { instanceId: 'one' })
    const two = await this.consumer(group, topics, { instanceId: 'two' })
    await Promise.all([this.owns(one, 2), this.owns(two, 2)])
    const had = keys(two.assignment())
    one.events.length = 0
    await this.close(two)
    const again = await this.consumer(group, topics, { instanceId: 'two' })
    await until(() => keys(again.assignment()).join() === had.join(), 'who came back has what it had')
    await sleep(700)
    assert.deepEqual(one.events, [], 'the other member was disturbed')
  }

  async commit(expected, commit, options = {}) {
    const topic = await this.topic('commit', 1, 10)
    const group = name('commit')
    const one = await this.consumer(group, [topic], options)
    const found = await read(one, 10)
    assert.deepEqual(found.map(record => record.value), numbered(10))
    await commit(one, topic)
    assert.equal(await this.client.offsetOf(group, topic, 0), expected)
    await this.close(one)
    await this.client.produce(topic, 0, numbered(5, 10))
    await expect(await this.consumer(group, [topic]), numbered(15 - expected, expected))
  }

  commit_sync() {
    return this.commit(10, (member, topic) => member.commit(topic, 0, 10))
  }

  commit_async() {
    return this.commit(10, member => member.commitAsync(), { autoCommit: true })
  }

  commit_specific() {
    return this.commit(3, (member, topic) => member.commit(topic, 0, 3))
  }

  async seek() {
    const topic = await this.topic('seek', 1, 10)
    const one = await this.consumer(name('seek'), [topic])
    await read(one, 10)
    await one.seek(topic, 0, 4)
    await expect(one, numbered(6, 4))
  }

  async pause_resume() {
    const topic = await this.topic('pause', 2, 3)
    const one = await this.consumer(name('pause'), [topic])
    await read(one, 3)
    await one.pause(topic, 0)
    for (const partition of [0, 1]) await this.client.produce(topic, partition, numbered(2))
    const found = await read(one, 2)
    await sleep(500)
    for (const record of [...found, ...one.records.splice(0)]) assert.equal(record.partition, 1)
    await one.resume(topic, 0)
    for (const record of await read(one, 2)) assert.equal(record.partition, 0)
  }

  async rebalance_callbacks() {
    const topics = [await this.topic('callbacks', 4)]
    const group = name('callbacks')
    const one = await this.consumer(group, topics)
    const told = wanted =>
      until(() => one.events.join() === wanted.join(), () => `${wanted} instead of ${one.events}`)
    await told(['assigned 4'])
    one.events.length = 0
    const two = await this.consumer(group, topics)
    await told(['rebalancing', 'assigned 2'])
    await this.owns(two, 2)
    one.events.length = 0
    await this.close(two)
    await told(['rebalancing', 'assigned 4'])
  }

  async close_at_once() {
    const topics = [await this.topic('close', 4)]
    const group = name('close')
    const one = await this.consumer(group, topics)
    const two = await this.consumer(group, topics)
    await Promise.all([this.owns(one, 2), this.owns(two, 2)])
    let took = await this.close(two)
    assert.ok(took < CLOSE_MS, `closing took ${took} ms`)
    const since = Date.now()
    await this.owns(one, 4)
    assert.ok(Date.now() - since < 5000, 'the partitions came late')
    took = await this.close(one)
    assert.ok(took < CLOSE_MS, `closing the last member took ${took} ms`)
  }

  async txn_consume_transform_produce() {
    const source = await this.topic('source', 1, 10)
    const target = await this.topic('target')
    const group = name('transform')
    const one = await this.consumer(group, [source])
    const found = await read(one, 10)
    const producer = await this.client.transactions(name('transform'))
    const upper = found.map(record => record.value.toUpperCase())
    await producer.begin()
    for (const value of upper) await producer.send(target, value)
    await producer.sendOffsets(one, group, found.at(-1))
    await producer.commit()
    await producer.close()
    // the coordinator of transactions answers before its markers are everywhere
    await until(async () => (await this.client.offsetOf(group, source, 0)) === 10, 'the offset is committed')
    await expect(await this.consumer(name('reader'), [target], { readCommitted: true }), upper)
  }

  async txn_abort() {
    const source = await this.topic('source', 1, 3)
    const topic = await this.topic('abort')
    const group = name('abort')
    const one = await this.consumer(group, [source])
    const found = await read(one, 3)
    const producer = await this.client.transactions(name('abort'))
    await producer.begin()
    for (const value of numbered(5)) await producer.send(topic, value)
    await producer.sendOffsets(one, group, found.at(-1))
    await producer.abort()
    await producer.begin()
    for (const value of numbered(5, 5)) await producer.send(topic, value)
    await producer.commit()
    await producer.close()
    await expect(await this.consumer(name('reader'), [topic], { readCommitted: true }), numbered(5, 5))
    await expect(await this.consumer(name('reader'), [topic], { readCommitted: false }), numbered(10))
    assert.equal(await this.client.offsetOf(group, source, 0), null)
  }

  async txn_fencing() {
    const topic = await this.topic('fencing')
    const id = name('fencing')
    const zombie = await this.client.transactions(id)
    await zombie.begin()
    await zombie.send(topic, 'zombie')
    const successor = await this.client.transactions(id)
    await successor.begin()
    await successor.send(topic, 'successor')
    await successor.commit()
    const again = async () => {
      await zombie.send(topic, 'zombie again')
      await zombie.commit()
    }
    await assert.rejects(again, error => {
      if (!this.client.isFenced(error)) throw error
      return true
    })
    await successor.close()
    await zombie.close()
    await expect(await this.consumer(name('reader'), [topic], { readCommitted: true }), ['successor'])
  }

  async member(what) {
    const topic = await this.topic(what, 1, 5)
    const group = name(what)
    const one = await this.consumer(group, [topic])
    await read(one, 5)
    await one.commit(topic, 0, 5)
    return [topic, group, one]
  }

  async admin_list_groups() {
    const [, group] = await this.member('list')
    assert.ok((await this.client.groups()).includes(group))
  }

  async admin_describe_group() {
    const [, group, one] = await this.member('describe')
    assert.deepEqual(await this.client.describe(group), ['stable', 1])
    await this.close(one)
    assert.deepEqual(await this.client.describe(group), ['empty', 0])
  }

  async admin_delete_group() {
    const [, group, one] = await this.member('delete')
    await assert.rejects(() => this.client.deleteGroup(group))
    await this.close(one)
    await this.client.deleteGroup(group)
    assert.ok(!(await this.client.groups()).includes(group))
  }

  async admin_alter_offsets() {
    const [topic, group, one] = await this.member('alter')
    await this.close(one)
    await this.client.alterOffset(group, topic, 0, 2)
    assert.equal(await this.client.offsetOf(group, topic, 0), 2)
    await expect(await this.consumer(group, [topic]), numbered(3, 2))
  }

  async admin_delete_offsets() {
    const [topic, group, one] = await this.member('forget')
    assert.equal(await this.client.offsetOf(group, topic, 0), 5)
    await this.close(one)
    await this.client.deleteOffset(group, topic, 0)
    assert.equal(await this.client.offsetOf(group, topic, 0), null)
  }

  async report(step, run) {
    const since = Date.now()
    const line = { step, ok: true, why: '' }
    try {
      await run()
    } catch (error) {
      line.ok = error instanceof Skipped ? 'skipped' : false
      line.why = error.message || String(error)
      if (line.ok === false) console.error(step, error)
    }
    console.log(JSON.stringify({ ...line, ms: Date.now() - since }))
    for (const consumer of this.open.splice(0).reverse()) await consumer.close()
  }
}

const SHARED = [
  ['subscribe_range', 'range', 2, 4],
  ['subscribe_round_robin', 'roundrobin', 3, 3],
  ['subscribe_sticky', 'sticky', 3, 3],
  ['subscribe_cooperative', 'cooperative-sticky', 3, 3]
]
const OTHERS = Object.getOwnPropertyNames(Suite.prototype).filter(step => step.includes('_') || step === 'seek')

// Run the steps that the arguments name, or all.
async function main(make) {
  const [bootstrap, ...wanted] = process.argv.slice(2)
  const suite = new Suite(await make(bootstrap.split(',')))
  const runs = [
    ...SHARED.map(([step, ...more]) => [step, () => suite.shared(...more)]),
    ...OTHERS.map(step => [step, () => suite[step]()])
  ]
  for (const [step, run] of runs) if (!wanted.length || wanted.includes(step)) await suite.report(step, run)
  await suite.client.close()
  process.exit(0)
}

module.exports = { Skipped, main }
