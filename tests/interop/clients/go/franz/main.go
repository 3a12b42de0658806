// franz-go, run through the steps of the conformance suite.
package main

import (
	"context"
	"errors"
	"time"

	"conformance/steps"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const timeout = 20 * time.Second

var balancers = map[string]func() kgo.GroupBalancer{
	"range":              kgo.RangeBalancer,
	"roundrobin":         kgo.RoundRobinBalancer,
	"sticky":             kgo.StickyBalancer,
	"cooperative-sticky": kgo.CooperativeStickyBalancer,
}

func within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), timeout)
}

func flat(partitions map[string][]int32) []steps.Partition {
	var found []steps.Partition
	for topic, numbers := range partitions {
		for _, number := range numbers {
			found = append(found, steps.Partition{Topic: topic, Partition: number})
		}
	}
	return found
}

type consumer struct {
	client *kgo.Client
	events steps.Events
	owned  chan map[steps.Partition]bool
}

func newConsumer(bootstrap []string, group string, topics []string, options steps.Options) (*consumer, error) {
	c := &consumer{owned: make(chan map[steps.Partition]bool, 1)}
	c.owned <- map[steps.Partition]bool{}
	told := func(what string, holds bool) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			owned := <-c.owned
			for _, p := range flat(partitions) {
				if holds {
					owned[p] = true
				} else {
					delete(owned, p)
				}
			}
			c.owned <- owned
			c.events.Tell(what, flat(partitions))
		}
	}
	isolation := kgo.ReadUncommitted()
	if options.ReadCommitted {
		isolation = kgo.ReadCommitted()
	}
	all := []kgo.Opt{
		kgo.SeedBrokers(bootstrap...), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topics...),
		kgo.Balancers(balancers[options.Assignor]()), kgo.FetchIsolationLevel(isolation),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(),
		kgo.HeartbeatInterval(300 * time.Millisecond), kgo.SessionTimeout(10 * time.Second),
		kgo.FetchMaxWait(pollWait),
		kgo.OnPartitionsAssigned(told("assigned", true)), kgo.OnPartitionsRevoked(told("revoked", false)),
		kgo.OnPartitionsLost(told("lost", false)),
	}
	if options.InstanceID != "" {
		all = append(all, kgo.InstanceID(options.InstanceID))
	}
	client, err := kgo.NewClient(all...)
	c.client = client
	return c, err
}

const pollWait = 100 * time.Millisecond

func (c *consumer) Events() *steps.Events { return &c.events }

func (c *consumer) Poll(for_ time.Duration) ([]steps.Record, error) {
	ctx, cancel := context.WithTimeout(context.Background(), for_)
	defer cancel()
	var found []steps.Record
	fetches := c.client.PollFetches(ctx)
	for _, failed := range fetches.Errors() {
		if !errors.Is(failed.Err, context.DeadlineExceeded) {
			return nil, failed.Err
		}
	}
	fetches.EachRecord(func(r *kgo.Record) {
		found = append(found, steps.Record{
			Partition: steps.Partition{Topic: r.Topic, Partition: r.Partition}, Offset: r.Offset, Value: string(r.Value),
		})
	})
	return found, nil
}

func (c *consumer) Assignment() []steps.Partition {
	owned := <-c.owned
	var found []steps.Partition
	for p := range owned {
		found = append(found, p)
	}
	c.owned <- owned
	return found
}

func (c *consumer) Commit() error {
	ctx, cancel := within()
	defer cancel()
	return c.client.CommitUncommittedOffsets(ctx)
}

func (c *consumer) CommitAsync(done func(error)) {
	go func() { done(c.Commit()) }()
}

func (c *consumer) CommitOffset(p steps.Partition, offset int64) error {
	ctx, cancel := within()
	defer cancel()
	return c.client.CommitRecords(ctx, &kgo.Record{Topic: p.Topic, Partition: p.Partition, Offset: offset - 1, LeaderEpoch: -1})
}

func (c *consumer) Seek(p steps.Partition, offset int64) error {
	c.client.SetOffsets(map[string]map[int32]kgo.EpochOffset{p.Topic: {p.Partition: {Epoch: -1, Offset: offset}}})
	return nil
}

func (c *consumer) Pause(p steps.Partition) {
	c.client.PauseFetchPartitions(map[string][]int32{p.Topic: {p.Partition}})
}

func (c *consumer) Resume(p steps.Partition) {
	c.client.ResumeFetchPartitions(map[string][]int32{p.Topic: {p.Partition}})
}

func (c *consumer) Close() error {
	c.client.Close()
	return nil
}

type transactions struct {
	client *kgo.Client
}

func (t *transactions) Begin() error { return t.client.BeginTransaction() }

func (t *transactions) Send(topic, value string) error {
	ctx, cancel := within()
	defer cancel()
	return t.client.ProduceSync(ctx, &kgo.Record{Topic: topic, Partition: 0, Value: []byte(value)}).FirstErr()
}

// SendOffsets uses the requests themselves: the library's own way is a GroupTransactSession, which owns its consumer.
func (t *transactions) SendOffsets(member steps.Consumer, group string, p steps.Partition, offset int64) error {
	ctx, cancel := within()
	defer cancel()
	return sendOffsets(ctx, t.client, member.(*consumer).client, group, p, offset)
}

func (t *transactions) end(how kgo.TransactionEndTry) error {
	ctx, cancel := within()
	defer cancel()
	return t.client.EndTransaction(ctx, how)
}

func (t *transactions) Commit() error { return t.end(kgo.TryCommit) }
func (t *transactions) Abort() error  { return t.end(kgo.TryAbort) }
func (t *transactions) Close()        { t.client.Close() }

type client struct {
	bootstrap []string
	producer  *kgo.Client
	admin     *kadm.Client
}

func (c *client) CreateTopic(name string, partitions int32) error {
	ctx, cancel := within()
	defer cancel()
	_, err := c.admin.CreateTopic(ctx, partitions, 1, nil, name)
	return err
}

func (c *client) Produce(topic string, partition int32, values []string) error {
	ctx, cancel := within()
	defer cancel()
	var records []*kgo.Record
	for _, value := range values {
		records = append(records, &kgo.Record{Topic: topic, Partition: partition, Value: []byte(value)})
	}
	return c.producer.ProduceSync(ctx, records...).FirstErr()
}

func (c *client) Consumer(group string, topics []string, options steps.Options) (steps.Consumer, error) {
	return newConsumer(c.bootstrap, group, topics, options)
}

func (c *client) Transactions(id string) (steps.Transactions, error) {
	made, err := kgo.NewClient(kgo.SeedBrokers(c.bootstrap...), kgo.TransactionalID(id), manual)
	if err != nil {
		return nil, err
	}
	ctx, cancel := within()
	defer cancel()
	// what fences the others comes with the id, which is asked for with the first transaction if not before
	_, _, err = made.ProducerID(ctx)
	return &transactions{made}, err
}

func (c *client) IsFenced(err error) bool {
	return errors.Is(err, kerr.InvalidProducerEpoch) || errors.Is(err, kerr.ProducerFenced)
}

func (c *client) Groups() ([]string, error) {
	ctx, cancel := within()
	defer cancel()
	found, err := c.admin.ListGroups(ctx)
	return found.Groups(), err
}

func (c *client) Describe(group string) (string, int, error) {
	ctx, cancel := within()
	defer cancel()
	found, err := c.admin.DescribeGroups(ctx, group)
	return found[group].State, len(found[group].Members), errors.Join(err, found[group].Err)
}

func (c *client) DeleteGroup(group string) error {
	ctx, cancel := within()
	defer cancel()
	_, err := c.admin.DeleteGroup(ctx, group)
	return err
}

func (c *client) AlterOffset(group string, p steps.Partition, offset int64) error {
	ctx, cancel := within()
	defer cancel()
	var offsets kadm.Offsets
	offsets.AddOffset(p.Topic, p.Partition, offset, -1)
	return c.admin.CommitAllOffsets(ctx, group, offsets)
}

func (c *client) DeleteOffset(group string, p steps.Partition) error {
	ctx, cancel := within()
	defer cancel()
	var partitions kadm.TopicsSet
	partitions.Add(p.Topic, p.Partition)
	found, err := c.admin.DeleteOffsets(ctx, group, partitions)
	return errors.Join(err, found.Error())
}

func (c *client) OffsetOf(group string, p steps.Partition) (int64, error) {
	ctx, cancel := within()
	defer cancel()
	found, err := c.admin.FetchOffsets(ctx, group)
	if offset, ok := found.Lookup(p.Topic, p.Partition); ok {
		return offset.At, errors.Join(err, offset.Err)
	}
	return -1, err
}

func (c *client) Close() {
	c.producer.Close()
	c.admin.Close()
}

var manual = kgo.RecordPartitioner(kgo.ManualPartitioner())

func main() {
	steps.Main(func(bootstrap []string) (steps.Client, error) {
		producer, err := kgo.NewClient(kgo.SeedBrokers(bootstrap...), manual)
		if err != nil {
			return nil, err
		}
		admin, err := kadm.NewOptClient(kgo.SeedBrokers(bootstrap...))
		return &client{bootstrap, producer, admin}, err
	})
}

// sendOffsets adds the group to the transaction, then its offset.
func sendOffsets(ctx context.Context, producer, member *kgo.Client, group string, p steps.Partition, offset int64) error {
	id, epoch, err := producer.ProducerID(ctx)
	if err != nil {
		return err
	}
	transactionalID := producer.OptValue(kgo.TransactionalID).(string)
	add := kmsg.NewAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = transactionalID, id, epoch, group
	added, err := add.RequestWith(ctx, producer)
	if err = errors.Join(err, kerr.ErrorForCode(added.ErrorCode)); err != nil {
		return err
	}
	partition := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	partition.Partition, partition.Offset = p.Partition, offset
	topic := kmsg.NewTxnOffsetCommitRequestTopic()
	topic.Topic, topic.Partitions = p.Topic, []kmsg.TxnOffsetCommitRequestTopicPartition{partition}
	commit := kmsg.NewTxnOffsetCommitRequest()
	commit.TransactionalID, commit.ProducerID, commit.ProducerEpoch, commit.Group = transactionalID, id, epoch, group
	commit.MemberID, commit.Generation = member.GroupMetadata()
	commit.Topics = []kmsg.TxnOffsetCommitRequestTopic{topic}
	committed, err := commit.RequestWith(ctx, producer)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(committed.Topics[0].Partitions[0].ErrorCode)
}
