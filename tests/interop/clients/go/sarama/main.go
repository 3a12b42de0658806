// Sarama run through the steps of the conformance suite. Its consumers push: what they are handed waits here for polls.
package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/IBM/sarama"

	. "conformance/driver"
)

const fetchWait = 100 * time.Millisecond

var (
	seeds      []string
	client     sarama.Client
	admin      sarama.ClusterAdmin
	producer   sarama.SyncProducer
	consumers  Numbered[*member]
	producers  Numbered[sarama.SyncProducer]
	strategies = map[string]sarama.BalanceStrategy{
		"":           sarama.NewBalanceStrategyRange(),
		"range":      sarama.NewBalanceStrategyRange(),
		"roundrobin": sarama.NewBalanceStrategyRoundRobin(),
		"sticky":     sarama.NewBalanceStrategySticky(),
	}
)

// member of a group: the handler of a consumer group whose Consume is called again after each rebalance.
type member struct {
	of      int
	group   string
	members sarama.ConsumerGroup
	stop    context.CancelFunc
	ended   chan struct{}
	records chan *sarama.ConsumerMessage
	lock    sync.Mutex
	session sarama.ConsumerGroupSession // nil between two sessions
}

func settings() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.V2_5_0_0
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Metadata.AllowAutoTopicCreation = false
	return config
}

func idempotent(config *sarama.Config) *sarama.Config {
	config.Producer.Idempotent = true
	config.Net.MaxOpenRequests = 1
	return config
}

func consumer(w With) (any, error) {
	strategy, known := strategies[w.Assignor]
	if !known {
		return nil, Skipped("Sarama has no cooperative assignor")
	}
	config := settings()
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategy}
	config.Consumer.Group.Heartbeat.Interval = 300 * time.Millisecond
	config.Consumer.Group.InstanceId = w.InstanceID
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.MaxWaitTime = fetchWait
	if w.ReadCommitted {
		config.Consumer.IsolationLevel = sarama.ReadCommitted
	}
	members, err := sarama.NewConsumerGroup(seeds, w.Group, config)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	m := &member{of: w.Of, group: w.Group, members: members, stop: stop}
	m.ended, m.records = make(chan struct{}), make(chan *sarama.ConsumerMessage)
	go m.run(ctx, w.Topics)
	consumers.Put(w.Of, m)
	return nil, nil
}

func (m *member) run(ctx context.Context, topics []string) {
	defer close(m.ended)
	for ctx.Err() == nil {
		if err := m.members.Consume(ctx, topics, m); errors.Is(err, sarama.ErrClosedConsumerGroup) {
			return
		} else if err != nil {
			println(err.Error())
			time.Sleep(100 * time.Millisecond)
		}
	}
}

func claims(session sarama.ConsumerGroupSession) [][]any {
	flat := [][]any{}
	if session == nil {
		return flat
	}
	for topic, partitions := range session.Claims() {
		for _, partition := range partitions {
			flat = append(flat, []any{topic, partition})
		}
	}
	return flat
}

// Setup is called as a session begins.
func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.lock.Lock()
	m.session = session
	m.lock.Unlock()
	Told(m.of, "assigned", claims(session))
	return nil
}

// Cleanup is called as a session ends.
func (m *member) Cleanup(session sarama.ConsumerGroupSession) error {
	m.lock.Lock()
	m.session = nil
	m.lock.Unlock()
	Told(m.of, "revoked", claims(session))
	return nil
}

// ConsumeClaim hands over one partition's records until the session ends.
func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case record, open := <-claim.Messages():
			if !open {
				return nil
			}
			select {
			case m.records <- record:
			case <-session.Context().Done():
				return nil
			}
		case <-session.Context().Done():
			return nil
		}
	}
}

func (m *member) current() sarama.ConsumerGroupSession {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.session
}

func poll(w With) (any, error) {
	m := consumers.Get(w.Of)
	found := [][]any{}
	wait := time.After(time.Duration(w.Ms) * time.Millisecond)
	for {
		select {
		case r := <-m.records:
			if session := m.current(); session != nil {
				session.MarkMessage(r, "")
			}
			found = append(found, Record(r.Topic, r.Partition, r.Offset, r.Value))
			wait = time.After(20 * time.Millisecond)
		case <-wait:
			return found, nil
		}
	}
}

func commit(w With) (any, error) {
	session := consumers.Get(w.Of).current()
	if session == nil {
		return nil, errors.New("no session")
	}
	for _, o := range w.Offsets {
		session.ResetOffset(o.Topic, o.Partition, o.Offset, "")
	}
	session.Commit()
	return nil, nil
}

func closeConsumer(w With) (any, error) {
	m := consumers.Get(w.Of)
	m.stop()
	err := m.members.Close()
	<-m.ended
	return nil, err
}

func partitions(w With) map[string][]int32 {
	return map[string][]int32{w.Topic: {w.Partition}}
}

func makeTransactions(w With) (any, error) {
	config := idempotent(settings())
	config.Producer.Transaction.ID = w.ID
	made, err := sarama.NewSyncProducer(seeds, config)
	producers.Put(w.Of, made)
	return nil, fenced(err)
}

func fenced(err error) error {
	if errors.Is(err, sarama.ErrProducerFenced) || errors.Is(err, sarama.ErrInvalidProducerEpoch) {
		return Fenced{Cause: err}
	}
	return err
}

func sendTo(producer sarama.SyncProducer, w With, values ...string) error {
	var records []*sarama.ProducerMessage
	for _, value := range values {
		records = append(records, &sarama.ProducerMessage{
			Topic: w.Topic, Partition: w.Partition, Value: sarama.StringEncoder(value)})
	}
	err := producer.SendMessages(records)
	var failed sarama.ProducerErrors
	if errors.As(err, &failed) && len(failed) > 0 {
		return fenced(failed[0].Err)
	}
	return fenced(err)
}

func sendOffsets(w With) (any, error) {
	offsets := map[string][]*sarama.PartitionOffsetMetadata{}
	for _, o := range w.Offsets {
		offset := &sarama.PartitionOffsetMetadata{Partition: o.Partition, Offset: o.Offset, LeaderEpoch: -1}
		offsets[o.Topic] = append(offsets[o.Topic], offset)
	}
	return nil, producers.Get(w.Of).AddOffsetsToTxn(offsets, consumers.Get(w.Consumer).group)
}

func groups(With) (any, error) {
	found, err := admin.ListConsumerGroups()
	names := []string{}
	for name := range found {
		names = append(names, name)
	}
	return names, err
}

func describe(w With) (any, error) {
	found, err := admin.DescribeConsumerGroups([]string{w.Group})
	if err != nil {
		return nil, err
	}
	return []any{found[0].State, len(found[0].Members)}, nil
}

func alterOffset(w With) (any, error) {
	offsets, err := sarama.NewOffsetManagerFromClient(w.Group, client)
	if err != nil {
		return nil, err
	}
	partition, err := offsets.ManagePartition(w.Topic, w.Partition)
	if err != nil {
		return nil, err
	}
	partition.ResetOffset(w.Offset, "")
	return nil, errors.Join(partition.Close(), offsets.Close())
}

func offsetOf(w With) (any, error) {
	found, err := admin.ListConsumerGroupOffsets(w.Group, partitions(w))
	if err != nil {
		return nil, err
	}
	block := found.GetBlock(w.Topic, w.Partition)
	if block == nil || block.Offset < 0 {
		return nil, nil
	}
	return block.Offset, nil
}

func refuse(why string) func(With) (any, error) {
	return func(With) (any, error) { return nil, Skipped(why) }
}

func must[T any](made T, err error) T {
	if err != nil {
		panic(err)
	}
	return made
}

func main() {
	seeds = strings.Split(os.Args[1], ",")
	client = must(sarama.NewClient(seeds, idempotent(settings())))
	admin = must(sarama.NewClusterAdminFromClient(client))
	producer = must(sarama.NewSyncProducerFromClient(client))
	Serve(Doing{
		"createTopic": func(w With) (any, error) {
			return nil, admin.CreateTopic(
				w.Topic, &sarama.TopicDetail{NumPartitions: w.Partitions, ReplicationFactor: 1}, false)
		},
		"produce":  func(w With) (any, error) { return nil, sendTo(producer, w, w.Values...) },
		"consumer": consumer, "poll": poll, "closeConsumer": closeConsumer,
		"assignment": func(w With) (any, error) { return claims(consumers.Get(w.Of).current()), nil },
		"commit":     commit, "commitOffsets": commit,
		"commitAsync": refuse("Sarama commits when told and waits, or by itself from time to time"),
		"committed": func(w With) (any, error) {
			w.Group = consumers.Get(w.Of).group
			return offsetOf(w)
		},
		"seek": refuse("a member of a group starts where the group has committed; Sarama cannot move it within a session"),
		"pause": func(w With) (any, error) {
			consumers.Get(w.Of).members.Pause(partitions(w))
			time.Sleep(3 * fetchWait) // what a fetch under way brings is handed over still
			return nil, nil
		},
		"resume": func(w With) (any, error) {
			consumers.Get(w.Of).members.Resume(partitions(w))
			return nil, nil
		},
		"transactions":      makeTransactions,
		"begin":             func(w With) (any, error) { return nil, fenced(producers.Get(w.Of).BeginTxn()) },
		"send":              func(w With) (any, error) { return nil, sendTo(producers.Get(w.Of), w, w.Value) },
		"sendOffsets":       sendOffsets,
		"commitTransaction": func(w With) (any, error) { return nil, fenced(producers.Get(w.Of).CommitTxn()) },
		"abortTransaction":  func(w With) (any, error) { return nil, producers.Get(w.Of).AbortTxn() },
		"closeTransactions": func(w With) (any, error) { return nil, producers.Get(w.Of).Close() },
		"groups":            groups, "describe": describe,
		"deleteGroup": func(w With) (any, error) { return nil, admin.DeleteConsumerGroup(w.Group) },
		"alterOffset": alterOffset, "offsetOf": offsetOf,
		"deleteOffset": func(w With) (any, error) {
			return nil, admin.DeleteConsumerGroupOffset(w.Group, w.Topic, w.Partition)
		},
	})
}
