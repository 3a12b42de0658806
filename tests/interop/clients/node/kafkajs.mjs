// KafkaJS run through the steps of the conformance suite. Its consumers push: what they are handed waits here for polls.
import kafkajs from 'kafkajs'
import { Fenced, Skipped, serve, told } from './driver.mjs'

const { Kafka, logLevel } = kafkajs
const brokers = process.argv[2].split(',')
const kafka = new Kafka({ clientId: 'kafkajs', brokers, logLevel: logLevel.ERROR, retry: { initialRetryTime: 50 } })
const admin = kafka.admin()
const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
const ready = Promise.all([admin.connect(), producer.connect()])
const consumers = new Map()
const producers = new Map()
const key = (topic, partition) => `${topic} ${partition}`

/** A member of a group and what it was handed. */
class Member {
  constructor({ of, group, read_committed: readCommitted }) {
    this.of = of
    this.group = group
    this.owned = []
    this.records = []
    this.next = new Map()
    this.consumer = kafka.consumer({
      groupId: group,
      heartbeatInterval: 300,
      sessionTimeout: 10000,
      maxWaitTimeInMs: 100,
      readUncommitted: !readCommitted,
    })
    this.consumer.on(this.consumer.events.GROUP_JOIN, event => this.assigned(event.payload.memberAssignment))
    this.consumer.on(this.consumer.events.REBALANCING, () => this.revoked())
  }

  assigned(assignment) {
    this.owned = Object.entries(assignment).flatMap(([topic, numbers]) => numbers.map(number => [topic, number]))
    told(this.of, 'assigned', this.owned)
  }

  revoked() {
    if (this.owned.length) told(this.of, 'revoked', this.owned)
    this.owned = []
  }

  async start(topics) {
    await this.consumer.connect()
    await this.consumer.subscribe({ topics, fromBeginning: true })
    await this.consumer.run({
      autoCommit: false,
      partitionsConsumedConcurrently: 4,
      eachMessage: async ({ topic, partition, message }) => {
        this.records.push([topic, partition, Number(message.offset), message.value.toString()])
      },
    })
  }

  async poll(ms) {
    const deadline = Date.now() + ms
    while (!this.records.length && Date.now() < deadline) await new Promise(done => setTimeout(done, 10))
    const found = this.records.splice(0)
    for (const [topic, partition, offset] of found) {
      this.next.set(key(topic, partition), { topic, partition, offset: String(offset + 1) })
    }
    return found
  }
}

async function consumer(given) {
  if (given.instance_id) throw new Skipped('KafkaJS has no static members')
  if (given.assignor && given.assignor !== 'roundrobin') {
    throw new Skipped(`KafkaJS has no ${given.assignor} assignor: its one is round-robin`)
  }
  const member = new Member(given)
  consumers.set(given.of, member)
  await member.start(given.topics)
}

async function transactions({ of, id }) {
  const made = kafka.producer({ transactionalId: id, idempotent: true, maxInFlightRequests: 1 })
  await made.connect()
  producers.set(of, { producer: made, transaction: null })
}

async function unlessFenced(done) {
  try {
    return await done
  } catch (e) {
    if (['PRODUCER_FENCED', 'INVALID_PRODUCER_EPOCH'].includes(e.type ?? e.cause?.type)) throw new Fenced(e.message)
    throw e
  }
}

const onto = (topic, partition, values) => ({
  topic,
  acks: -1,
  messages: values.map(value => ({ value, partition })),
})
const at = offsets => offsets.map(([topic, partition, offset]) => ({ topic, partition, offset: String(offset) }))

function byTopic(offsets) {
  const topics = new Map()
  for (const { topic, partition, offset } of at(offsets)) {
    topics.set(topic, [...(topics.get(topic) ?? []), { partition, offset }])
  }
  return { topics: [...topics].map(([topic, partitions]) => ({ topic, partitions })) }
}

async function offsetOf({ group, topic, partition }) {
  const [found] = await admin.fetchOffsets({ groupId: group, topics: [topic] })
  const offset = Number(found?.partitions.find(one => one.partition === partition)?.offset ?? -1)
  return offset < 0 ? null : offset
}

async function deleteGroup({ group }) {
  try {
    await admin.deleteGroups([group])
  } catch (e) {
    throw new Error(e.groups?.[0]?.error?.message ?? e.message)
  }
}

const commit = ({ of }) => consumers.get(of).consumer.commitOffsets([...consumers.get(of).next.values()])

serve({
  createTopic: async ({ topic, partitions }) => {
    await ready
    await admin.createTopics({ topics: [{ topic, numPartitions: partitions, replicationFactor: 1 }] })
  },
  produce: ({ topic, partition, values }) => producer.send(onto(topic, partition, values)),
  consumer,
  poll: ({ of, ms }) => consumers.get(of).poll(ms),
  assignment: ({ of }) => consumers.get(of).owned,
  commit,
  commitAsync: commit,
  commitOffsets: ({ of, offsets }) => consumers.get(of).consumer.commitOffsets(at(offsets)),
  committed: ({ of, ...where }) => offsetOf({ group: consumers.get(of).group, ...where }),
  seek: ({ of, topic, partition, offset }) => {
    const member = consumers.get(of)
    member.consumer.seek({ topic, partition, offset: String(offset) })
    member.records = member.records.filter(([t, p]) => t !== topic || p !== partition)
  },
  pause: ({ of, topic, partition }) => consumers.get(of).consumer.pause([{ topic, partitions: [partition] }]),
  resume: ({ of, topic, partition }) => consumers.get(of).consumer.resume([{ topic, partitions: [partition] }]),
  closeConsumer: ({ of }) => consumers.get(of).consumer.disconnect(),
  transactions,
  begin: async ({ of }) => {
    const made = producers.get(of)
    made.transaction = await made.producer.transaction()
  },
  send: ({ of, topic, partition, value }) =>
    unlessFenced(producers.get(of).transaction.send(onto(topic, partition, [value]))),
  sendOffsets: ({ of, consumer: number, offsets }) =>
    producers.get(of).transaction.sendOffsets({ consumerGroupId: consumers.get(number).group, ...byTopic(offsets) }),
  commitTransaction: ({ of }) => unlessFenced(producers.get(of).transaction.commit()),
  abortTransaction: ({ of }) => producers.get(of).transaction.abort(),
  closeTransactions: ({ of }) => producers.get(of).producer.disconnect(),
  groups: async () => (await admin.listGroups()).groups.map(group => group.groupId),
  describe: async ({ group }) => {
    const [found] = (await admin.describeGroups([group])).groups
    return [found.state, found.members.length]
  },
  deleteGroup,
  alterOffset: ({ group, topic, partition, offset }) =>
    admin.setOffsets({ groupId: group, topic, partitions: [{ partition, offset: String(offset) }] }),
  deleteOffset: () => {
    throw new Skipped("KafkaJS's administration cannot delete offsets")
  },
  offsetOf,
})
