#!/usr/bin/env python3
"""count.py READER FILE...: reads reports of Proctor with an independent reader, and prints its counts as one line of JSON
for each file.

junitparser  tests, failures, errors and skipped of all suites, by its own walk over the cases
ctrf         the statuses of all tests; the file is first validated against the schema in the variable CTRF_SCHEMA
page         outcomes of the cases in the data of index.html; an HTML parser first checks that the page has no other
             elements, attributes and addresses than Proctor writes
otlp         the number of spans, and of those with the status OK, ERROR and UNSET; the length of ids is checked

Exits with 77 and names the missing package if the reader is not installed.
"""
import base64
import collections
import html.parser
import json
import os
import re
import sys
import zlib


def missing(error):
    print(error)
    sys.exit(77)


def junitparser(path):
    try:
        from junitparser import Error, Failure, JUnitXml, Skipped, TestSuite
    except ImportError as error:
        missing(error)
    root = JUnitXml.fromfile(path)
    suites = [root] if isinstance(root, TestSuite) else list(root)
    words = {Failure: "failures", Error: "errors", Skipped: "skipped"}
    seen = collections.Counter(tests=0, failures=0, errors=0, skipped=0)
    names = collections.Counter()
    for suite in suites:
        for case in suite:
            seen["tests"] += 1
            names[case.classname, case.name] += 1
            for kind, word in words.items():
                seen[word] += any(type(result) is kind for result in case.result)
    stated = {key: sum(getattr(suite, key) for suite in suites) for key in ("tests", "failures", "errors", "skipped")}
    if stated != dict(seen):
        raise SystemExit(f"{path}: it says {stated}, but has {dict(seen)}")
    if len(names) != seen["tests"]:
        raise SystemExit(f"{path}: {seen['tests'] - len(names)} names are there twice")
    return seen


def ctrf(path):
    try:
        from jsonschema import Draft7Validator
    except ImportError as error:
        missing(error)
    with open(os.environ["CTRF_SCHEMA"], encoding="utf-8") as file:
        schema = json.load(file)
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    for error in Draft7Validator(schema).iter_errors(report):
        raise SystemExit(f"{path}: /{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}")
    summary = report["results"]["summary"]
    seen = collections.Counter(test["status"] for test in report["results"]["tests"])
    stated = {key: summary[key] for key in ("passed", "failed", "skipped", "pending", "other")}
    if +collections.Counter(stated) != seen or summary["tests"] != sum(seen.values()):
        raise SystemExit(f"{path}: it says {stated}, but has {seen}")
    return {**stated, "tests": summary["tests"]}


def otlp(path):
    try:
        from google.protobuf import json_format
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
        from opentelemetry.proto.trace.v1.trace_pb2 import Status
    except ImportError as error:
        missing(error)
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    # OTLP writes ids in hexadecimal, but the JSON of protobuf has base64 (OTLP 1.x, "JSON Protobuf Encoding").
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for key in ("traceId", "spanId", "parentSpanId"):
                    if key in span:
                        span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
    request = json_format.ParseDict(document, ExportTraceServiceRequest())
    spans = [span for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans]
    ids = {span.span_id for span in spans}
    roots = [span for span in spans if not span.parent_span_id]
    if len(ids) != len(spans) or len(roots) != 1:
        raise SystemExit(f"{path}: {len(spans)} spans with {len(ids)} ids and {len(roots)} roots")
    for span in spans:
        if (len(span.trace_id), len(span.span_id)) != (16, 8) or span.trace_id != roots[0].trace_id:
            raise SystemExit(f"{path}: {span.name}: its ids are {span.trace_id} and {span.span_id}")
        if span.end_time_unix_nano < span.start_time_unix_nano or (span.parent_span_id or roots[0].span_id) not in ids:
            raise SystemExit(f"{path}: {span.name}: its time or its parent")
    codes = {Status.STATUS_CODE_OK: "OK", Status.STATUS_CODE_ERROR: "ERROR", Status.STATUS_CODE_UNSET: "UNSET"}
    counts = collections.Counter(codes[span.status.code] for span in spans)
    results = collections.Counter(attribute.value.string_value for span in spans for attribute in span.attributes
                                  if attribute.key == "test.case.result.status")
    return {"spans": len(spans), **counts, **{f"result {key}": count for key, count in results.items()}}


class PageParser(html.parser.HTMLParser):
    """Refuses elements, attributes and addresses that Proctor does not write, and keeps the data of the page."""

    TAGS = set("html head meta title style body a header nav p h1 h2 h3 span strong small em ul ol li main section div table thead tbody "
               "tr th td details summary dl dt dd br code pre footer script template svg rect".split())
    ATTRIBUTES = set("lang charset http-equiv content name class href id aria-label aria-labelledby aria-hidden hidden scope data-label data-copy open title "
                     "type role tabindex viewbox width height preserveaspectratio fill x".split())

    # The address of a commit, a comparison or a source line (reports/page/page_text.h).
    SOURCE = re.compile(r"https?://[\w.-]*(github|gitlab)[\w.-]*/[\w./~%-]+(#L\d+)?", re.ASCII)

    def __init__(self, path):
        super().__init__()
        self.path, self.data, self.block, self.scripts, self.title = path, {}, None, 0, ""

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        address = given.get("href") or "#"
        leads_away = re.match(r"[a-zA-Z.+-]*:|//", address) and not self.SOURCE.fullmatch(address)
        if tag not in self.TAGS or set(given) - self.ATTRIBUTES or leads_away:
            raise SystemExit(f"{self.path}: <{tag} {attributes}>"[:500])
        if tag == "script":
            self.block = given.get("id")
            self.scripts += self.block is None

    def handle_comment(self, data):
        raise SystemExit(f"{self.path}: <!--{data[:300]}")

    def handle_endtag(self, tag):
        self.block = None if tag == "script" else self.block

    def handle_data(self, data):
        if self.block:
            self.data[self.block] = self.data.get(self.block, "") + data


def page(path):
    with open(path, encoding="utf-8") as file:
        parser = PageParser(path)
        parser.feed(file.read())
        parser.close()
    if parser.scripts != 1:
        raise SystemExit(f"{path}: {parser.scripts} scripts")
    blocks = {name: json.loads(zlib.decompress(base64.b64decode(text))) for name, text in parser.data.items()}
    cases = blocks["data-list"]
    verdicts = cases["verdict"] if isinstance(cases["verdict"], list) else [cases["verdict"]] * len(cases["id"])
    return collections.Counter(cases["verdicts"][verdict].split("\n")[0] for verdict in verdicts)


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("junitparser", "ctrf", "otlp", "page"):
        return __doc__
    for path in sys.argv[2:]:
        print(json.dumps(globals()[sys.argv[1]](path)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
