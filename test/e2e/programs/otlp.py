# A customer's program: spans with Python's OpenTelemetry SDK and its OTLP/HTTP exporter. argv: URL TOKEN;
# prints a line of JSON a span, of what the SDK recorded.
import json
import sys

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

url, token, compression = sys.argv[1:4]
memory = InMemorySpanExporter()
provider = TracerProvider(resource=Resource.create({"service.name": "ledger-" + compression, "cells": 7}))
exporter = OTLPSpanExporter(
    endpoint=url, headers={"Authorization": "Bearer " + token}, compression=Compression(compression)
)
provider.add_span_processor(BatchSpanProcessor(exporter))
provider.add_span_processor(SimpleSpanProcessor(memory))
trace.set_tracer_provider(provider)
tracer = trace.get_tracer("ledger", "4.5.6")

for entry in range(5):
    kind = trace.SpanKind.CONSUMER if entry % 2 else trace.SpanKind.SERVER
    with tracer.start_as_current_span("book", kind=kind, attributes={"entry": entry}) as root:
        link = trace.Link(root.get_span_context(), {"why": "reversal"})
        attributes = {"cents": -9223372036854775808, "limit": 9223372036854775807, "rate": 0.1, "tags": ["a", "ü"]}
        with tracer.start_as_current_span("write", attributes=attributes, links=[link]) as child:
            child.add_event("locked", {"row": 2**60, "waited": True})
        if entry % 2:
            root.set_status(trace.Status(trace.StatusCode.ERROR, "out of balance"))
provider.shutdown()


def plain(attributes):
    return {key: list(value) if isinstance(value, tuple) else value for key, value in (attributes or {}).items()}


for span in memory.get_finished_spans():
    print(
        json.dumps(
            {
                "traceId": format(span.context.trace_id, "032x"),
                "spanId": format(span.context.span_id, "016x"),
                "parentSpanId": None if span.parent is None else format(span.parent.span_id, "016x"),
                "name": span.name,
                "kind": span.kind.name.lower(),
                "start": str(span.start_time),
                "end": str(span.end_time),
                "status": span.status.status_code.name.lower(),
                "statusMessage": span.status.description or "",
                "attributes": plain(span.attributes),
                "events": [
                    {"name": event.name, "time": str(event.timestamp), "attributes": plain(event.attributes)}
                    for event in span.events
                ],
                "links": [
                    {
                        "traceId": format(link.context.trace_id, "032x"),
                        "spanId": format(link.context.span_id, "016x"),
                        "attributes": plain(link.attributes),
                    }
                    for link in span.links
                ],
                "resource": plain(span.resource.attributes),
                "scope": {"name": span.instrumentation_scope.name, "version": span.instrumentation_scope.version},
            }
        )
    )
