// @platformatic/kafka asked for the steps of the conformance suite. It knows the protocol of Kafka 3.5 and later only:
// it produces, and says of everything else which version it misses. Should one of these work some day, that is an error
// here, so that the steps get written.
import kafkajs from 'kafkajs'
import { Consumer, Producer, stringDeserializers, stringSerializers } from '@platformatic/kafka'
import { Skipped, serve } from './driver.mjs'

const bootstrapBrokers = process.argv[2].split(',')
const settings = { clientId: 'platformatic', bootstrapBrokers, serializers: stringSerializers, idempotent: true }
const admin = new kafkajs.Kafka({ clientId: 'topics', brokers: bootstrapBrokers }).admin()
const connected = admin.connect()
const producer = new Producer(settings)

async function misses(what) {
  try {
    await what
  } catch (e) {
    const missed = /No usable implementation found for API (\w+)/.exec(e.message)?.[1]
    if (e.code === 'PLT_KFK_UNSUPPORTED_API' && missed) {
      throw new Skipped(`@platformatic/kafka speaks to Kafka 3.5 and later: it has no version of ${missed} from before 3.0`)
    }
    throw e
  }
  throw new Error('this works: its steps can be written')
}

function consumer({ group, topics }) {
  const made = new Consumer({
    clientId: 'platformatic',
    groupId: group,
    bootstrapBrokers,
    deserializers: stringDeserializers,
  })
  return misses(made.consume({ topics, mode: 'earliest', autocommit: false }))
}

serve({
  createTopic: async ({ topic, partitions }) => {
    await connected
    await admin.createTopics({ topics: [{ topic, numPartitions: partitions, replicationFactor: 1 }] })
  },
  produce: ({ topic, partition, values }) =>
    producer.send({ acks: -1, messages: values.map(value => ({ topic, partition, key: '', value })) }).then(() => null),
  consumer,
  transactions: ({ id }) => misses(new Producer({ ...settings, transactionalId: id }).beginTransaction()),
})
