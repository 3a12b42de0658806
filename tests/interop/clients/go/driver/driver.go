// Package driver lets a Go client do what the conformance suite asks: a call a line, an answer a line.
package driver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

// Skipped says that the client has no such thing.
type Skipped string

func (s Skipped) Error() string { return string(s) }

// Fenced says that another producer has taken the transactional id.
type Fenced struct{ Cause error }

func (f Fenced) Error() string { return f.Cause.Error() }

// Offset is a partition and an offset of it: [topic, partition, offset] on the wire.
type Offset struct {
	Topic     string
	Partition int32
	Offset    int64
}

func (o *Offset) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&o.Topic, &o.Partition, &o.Offset})
}

// With holds the arguments of any call.
type With struct {
	Of            int      `json:"of"`
	Group         string   `json:"group"`
	Topics        []string `json:"topics"`
	Topic         string   `json:"topic"`
	Partition     int32    `json:"partition"`
	Partitions    int32    `json:"partitions"`
	Offset        int64    `json:"offset"`
	Offsets       []Offset `json:"offsets"`
	Value         string   `json:"value"`
	Values        []string `json:"values"`
	Ms            int      `json:"ms"`
	ID            string   `json:"id"`
	Consumer      int      `json:"consumer"`
	Assignor      string   `json:"assignor"`
	InstanceID    string   `json:"instance_id"`
	ReadCommitted bool     `json:"read_committed"`
	Feeds         string   `json:"feeds"`
}

// Record is [topic, partition, offset, value] on the wire.
func Record(topic string, partition int32, offset int64, value []byte) []any {
	return []any{topic, partition, offset, string(value)}
}

// Doing is what a driver has for each word it can be told.
type Doing map[string]func(With) (any, error)

type call struct {
	ID   int    `json:"id"`
	Do   string `json:"do"`
	With With   `json:"with"`
}

var writing sync.Mutex

func write(what map[string]any) {
	writing.Lock()
	defer writing.Unlock()
	if err := json.NewEncoder(os.Stdout).Encode(what); err != nil {
		panic(err)
	}
}

// Told reports what the listener of a consumer was told.
func Told(of int, event string, partitions [][]any) {
	if partitions == nil {
		partitions = [][]any{}
	}
	write(map[string]any{"of": of, "event": event, "partitions": partitions})
}

func answer(asked call, doing Doing) {
	do, known := doing[asked.Do]
	if !known {
		write(map[string]any{"id": asked.ID, "error": asked.Do + "?", "kind": ""})
		return
	}
	is, err := do(asked.With)
	switch e := err.(type) {
	case nil:
		write(map[string]any{"id": asked.ID, "is": is})
	case Skipped:
		write(map[string]any{"id": asked.ID, "error": e.Error(), "kind": "skipped"})
	case Fenced:
		write(map[string]any{"id": asked.ID, "error": e.Error(), "kind": "fenced"})
	default:
		write(map[string]any{"id": asked.ID, "error": err.Error(), "kind": ""})
	}
}

// Serve does what it is told until its input ends; calls overlap.
func Serve(doing Doing) {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var asked call
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		go answer(asked, doing)
	}
}

// Numbered keeps what was made under the numbers of the callers.
type Numbered[T any] struct {
	lock sync.Mutex
	made map[int]T
}

func (n *Numbered[T]) Put(number int, what T) {
	n.lock.Lock()
	defer n.lock.Unlock()
	if n.made == nil {
		n.made = map[int]T{}
	}
	n.made[number] = what
}

func (n *Numbered[T]) Get(number int) T {
	n.lock.Lock()
	defer n.lock.Unlock()
	return n.made[number]
}
