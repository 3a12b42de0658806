import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;

/** The client of 1.1.1. */
final class ThisEra implements Era {
    @Override
    public String lacks(String step) {
        if (step.equals("subscribe_cooperative")) return "the cooperative assignor came with 2.4";
        if (step.equals("static_member")) return "static members came with 2.3";
        return step.startsWith("admin_") ? "the administration of groups came to the Java client with 2.0" : null;
    }

    @Override
    public ConsumerRecords<byte[], byte[]> poll(KafkaConsumer<byte[], byte[]> consumer, long ms) {
        return consumer.poll(ms);
    }

    @Override
    public OffsetAndMetadata committed(KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition) {
        return consumer.committed(partition);
    }

    @Override
    public void sendOffsets(
            KafkaProducer<byte[], byte[]> producer,
            KafkaConsumer<byte[], byte[]> consumer,
            String group,
            Map<TopicPartition, OffsetAndMetadata> offsets) {
        producer.sendOffsetsToTransaction(offsets, group);
    }

    @Override
    public Set<String> groups(AdminClient admin) {
        throw new UnsupportedOperationException();
    }

    @Override
    public String describe(AdminClient admin, String group) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void delete(AdminClient admin, String group) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void alter(AdminClient admin, String group, TopicPartition partition, long offset) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void deleteOffset(AdminClient admin, String group, TopicPartition partition) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Long offsetOf(AdminClient admin, String group, TopicPartition partition) {
        throw new UnsupportedOperationException();
    }
}
