"""Writes or reads one topic with kafka-python: produce|transact|consume BOOTSTRAP TOPIC FILE COUNT."""
import sys
import time

from kafka import KafkaConsumer, KafkaProducer

verb, bootstrap, topic, path, count = sys.argv[1:6]
count = int(count)
if verb == "produce":
    producer = KafkaProducer(bootstrap_servers=bootstrap.split(","), acks="all", linger_ms=5)
    with open(path, "rb") as lines:
        sent = [producer.send(topic, line.rstrip(b"\n")) for line in lines]
    producer.flush(timeout=120)
    for each in sent:
        each.get(timeout=1)
    producer.close()
elif verb == "transact":  # in transactions of COUNT lines, each after one that is aborted
    producer = KafkaProducer(bootstrap_servers=bootstrap.split(","), transactional_id="python-" + topic, linger_ms=5)
    producer.init_transactions()
    with open(path, "rb") as file:
        lines = [line.rstrip(b"\n") for line in file]
    for at in range(0, len(lines), count):
        for prefix in (b"aborted-", b""):
            producer.begin_transaction()
            sent = [producer.send(topic, prefix + line) for line in lines[at:at + count]]
            producer.flush(timeout=120)
            for each in sent:
                each.get(timeout=1)
            producer.abort_transaction() if prefix else producer.commit_transaction()
    producer.close()
else:
    consumer = KafkaConsumer(topic, bootstrap_servers=bootstrap.split(","), group_id="python-" + topic,
                             auto_offset_reset="earliest", enable_auto_commit=True,
                             isolation_level="read_committed")
    deadline = time.monotonic() + 120
    with open(path, "wb") as out:
        while count > 0 and time.monotonic() < deadline:
            for records in consumer.poll(timeout_ms=500).values():
                for record in records:
                    out.write(record.value + b"\n")
                    count -= 1
    consumer.close()
    sys.exit(0 if count == 0 else "%d records missing after 120 s" % count)
