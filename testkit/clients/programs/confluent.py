"""Writes or reads one topic with librdkafka: produce|transact|consume BOOTSTRAP TOPIC FILE COUNT [PROTOCOL]."""
import sys
import time

from confluent_kafka import Consumer, Producer

verb, bootstrap, topic, path, count = sys.argv[1:6]
count = int(count)
protocol = sys.argv[6] if len(sys.argv) > 6 else "classic"  # of the consumer's group
failed = []


def send(producer, value):
    while True:
        try:
            producer.produce(topic, value, on_delivery=lambda error, _: error and failed.append(error))
            return
        except BufferError:
            producer.poll(0.1)


def lines():
    with open(path, "rb") as file:
        return [line.rstrip(b"\n") for line in file]


if verb == "produce":
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5})
    for line in lines():
        send(producer, line)
    left = producer.flush(120)
    sys.exit("%d undelivered, %s" % (left, failed[:3]) if left or failed else 0)
elif verb == "transact":  # in transactions of COUNT lines, each after one that is aborted
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "confluent-" + topic, "linger.ms": 5})
    producer.init_transactions(60)
    all_lines = lines()
    for at in range(0, len(all_lines), count):
        for prefix in (b"aborted-", b""):
            producer.begin_transaction()
            for line in all_lines[at:at + count]:
                send(producer, prefix + line)
            producer.flush(60)
            producer.abort_transaction(60) if prefix else producer.commit_transaction(60)
    sys.exit("undelivered: %s" % failed[:3] if failed else 0)
else:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "confluent-%s-%s" % (protocol, topic), "group.protocol": protocol, "auto.offset.reset": "earliest",
                         "isolation.level": "read_committed"})
    consumer.subscribe([topic])
    deadline = time.monotonic() + 120
    with open(path, "wb") as out:
        while count > 0 and time.monotonic() < deadline:
            for message in consumer.consume(1000, 0.5):
                if message.error() is None:
                    out.write(message.value() + b"\n")
                    count -= 1
    consumer.close()
    sys.exit(0 if count == 0 else "%d records missing after 120 s" % count)
