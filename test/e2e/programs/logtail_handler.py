# A customer's program: Python's logging with the handler of logtail-python. argv: URL TOKEN; prints a line of JSON a record.
import json
import logging
import sys
from datetime import datetime, timezone

from logtail import LogtailHandler

url, token = sys.argv[1:3]
handler = LogtailHandler(source_token=token, host=url, include_extra_attributes=True)
log = logging.getLogger("ledger")
log.setLevel(logging.DEBUG)
log.addHandler(handler)


class Print(logging.Handler):
    def emit(self, record):
        print(
            json.dumps(
                {
                    "message": record.getMessage(),
                    "level": record.levelname.lower(),
                    "time": datetime.fromtimestamp(record.created, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f000Z"),
                    "line": record.lineno,
                    "entry": record.entry,
                }
            )
        )


log.addHandler(Print())
entry = {
    "service": "ledger",
    "entry": {"cents": 9223372036854775807, "low": -9223372036854775808, "rate": 0.1, "tags": ["a", "ü", None]},
    "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
    "span_id": "00f067aa0ba902b7",
}
log.debug("opened", extra=entry)
log.info("booked %d of %d ✓", 3, 4, extra=entry)
log.warning("late", extra=entry)
log.error("out of balance", extra=entry)
log.critical("closing", extra=entry)
handler.flush()
logging.shutdown()
