import java.time.Duration;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;

/** The clients of 2.5 and later. */
final class ThisEra implements Era {
    @Override
    public String lacks(String step) {
        return null;
    }

    @Override
    public ConsumerRecords<byte[], byte[]> poll(KafkaConsumer<byte[], byte[]> consumer, long ms) {
        return consumer.poll(Duration.ofMillis(ms));
    }

    @Override
    public OffsetAndMetadata committed(KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition) {
        return consumer.committed(Collections.singleton(partition)).get(partition);
    }

    @Override
    public void sendOffsets(
            KafkaProducer<byte[], byte[]> producer,
            KafkaConsumer<byte[], byte[]> consumer,
            String group,
            Map<TopicPartition, OffsetAndMetadata> offsets) {
        producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
    }

    @Override
    public Set<String> groups(AdminClient admin) throws Exception {
        Set<String> found = new TreeSet<>();
        admin.listConsumerGroups().all().get().forEach(group -> found.add(group.groupId()));
        return found;
    }

    @Override
    public String describe(AdminClient admin, String group) throws Exception {
        ConsumerGroupDescription found =
                admin.describeConsumerGroups(Collections.singleton(group)).all().get().get(group);
        return found.state() + " " + found.members().size();
    }

    @Override
    public void delete(AdminClient admin, String group) throws Exception {
        admin.deleteConsumerGroups(Collections.singleton(group)).all().get();
    }

    @Override
    public void alter(AdminClient admin, String group, TopicPartition partition, long offset) throws Exception {
        admin.alterConsumerGroupOffsets(group, Collections.singletonMap(partition, new OffsetAndMetadata(offset)))
                .all()
                .get();
    }

    @Override
    public void deleteOffset(AdminClient admin, String group, TopicPartition partition) throws Exception {
        admin.deleteConsumerGroupOffsets(group, Collections.singleton(partition)).all().get();
    }

    @Override
    public Long offsetOf(AdminClient admin, String group, TopicPartition partition) throws Exception {
        OffsetAndMetadata found =
                admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(partition);
        return found == null ? null : found.offset();
    }
}
