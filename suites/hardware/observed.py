#!/usr/bin/env python3
"""observed.py RESULTS [-o FILE]   makes a table of the behaviour of real cards that no document specifies.

RESULTS is the directory that run.sh or lent.sh of the bundle wrote on the machine. The default of FILE is
suites/visibility/observed/DRIVER-CARD.toml. The same run always gives the same bytes. Runs on simulated devices are
refused, because they show the behaviour of the simulator.
"""

import argparse
import json
import re
import sys
from pathlib import Path

TABLES = Path(__file__).resolve().parents[1] / "visibility" / "observed"
OBSERVATION = re.compile(r"observed: (?P<question>.*) -> (?P<part>\w+)")
PLACE = re.compile(r"device_(\d+)")


class Refused(Exception):
    pass


def read(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Refused(f"failed to read {path}: {error}") from error


def text(value):
    """The value as a string of TOML. Strings of JSON are valid in TOML, except DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def number(value):
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def evidence(run_dir):
    """Reads the report of a run. Refuses runs that are not on real NVIDIA cards."""
    report = read(run_dir / "report.json")
    run = report["run"]
    if run["simulated"] or any(case["simulated"] for case in report["cases"]):
        sim = run["sim"] or {"topology": "some devices", "driver": "a simulator"}
        raise Refused(f"run {run['id']} is simulated ({sim['topology']} on {sim['driver']}): it says nothing of hardware")
    if "cuda.driver" not in run["stack"]:
        raise Refused(f"run {run['id']} does not know its driver: there is no cuda.driver in its stack")
    return report


def card_names(run_dir):
    devices = read(run_dir / "devices-before.json")["devices"]
    return [device["name"] for device in sorted(devices, key=lambda device: device["pci"])
            if device["backend"] == "cuda"]


def is_speed(measure):
    return (measure["unit"].endswith("/s") or measure["name"].endswith(".share")) and measure["value"] is not None


def repeated(run_dir):
    """{(name, unit): [the median of each process]} of the repeated runs of lent.sh."""
    journal, found = run_dir / "journal.jsonl", {}
    try:
        records = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise Refused(f"failed to read {journal}: {error}") from error
    for record in records:
        if record["type"] == "attempt_ended" and record["verdict"]["outcome"] == "pass":
            for measure in filter(is_speed, record.get("measures", ())):
                found.setdefault((measure["name"], measure["unit"]), []).append(float(measure["value"]))
    return found


def answers(case):
    """{question: {part: number}} of one case, and its other measures."""
    observed, measured = {}, []
    for measure in case["measures"]:
        match = OBSERVATION.fullmatch(measure["name"])
        if match and measure["value"] is not None:
            observed.setdefault(match["question"], {})[match["part"]] = measure["value"]
        elif not match:
            measured.append(measure)
    return observed, measured


def result_lines(parts):
    """The lines of one observation. Devices are one list in the order of enumeration. Other parts keep their names."""
    places = {int(match[1]): value for part, value in parts.items() if (match := PLACE.fullmatch(part))}
    lines = [f"{part} = {number(value)}" for part, value in sorted(parts.items()) if not PLACE.fullmatch(part)]
    if places:
        lines.append(f"devices = [{', '.join(number(places[i]) for i in sorted(places))}]")
    return lines


def table(report, cards, medians):
    run = report["run"]
    lines = ["# What an NVIDIA driver did where no document says what it must, and how fast its cards were.",
             "# Written by suites/hardware/observed.py from one run on hardware. Devices are places in the pool, in PCI order;",
             "# codes are cudaError_t; {0}, {uuid1} .. are the words of suites/visibility/cuda/mask_values.h.",
             f"driver = {text(run['stack']['cuda.driver'])}",
             f"runtime = {text(run['stack'].get('cuda.runtime', ''))}",
             f"date = {run['started'][:10]}",
             f"devices = [{', '.join(text(card) for card in cards)}]"]
    speeds = []
    questions = 0
    for case in sorted(report["cases"], key=lambda case: case["id"]):
        if case["outcome"] != "pass" or case["backend"] != "cuda":
            continue
        observed, measured = answers(case)
        for question, parts in sorted(observed.items()):
            questions += 1
            lines += ["", "[[observed]]", f"case = {text(case['id'])}", f"value = {text(question)}", *result_lines(parts)]
        for measure in sorted(measured, key=lambda measure: measure["name"]):
            if not is_speed(measure) or measure["spread"] is None or measure["n"] < 2:
                continue
            speeds += ["", "[[measured]]", f"name = {text(measure['name'])}", f"median = {float(measure['value'])!r}",
                       f"unit = {text(measure['unit'])}", f"n = {measure['n']}", f"spread = {float(measure['spread'])!r}"]
    for (name, unit), values in sorted(medians.items()):
        speeds += ["", "[[repeated]]", f"name = {text(name)}", f"unit = {text(unit)}",
                   f"medians = [{', '.join(map(repr, values))}]"]
    if questions == 0:
        raise Refused(f"run {run['id']} has no observation: no check that records one has passed in it")
    return "\n".join(lines + speeds) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("-o", dest="out", type=Path, metavar="FILE")
    options = parser.parse_args()
    try:
        run_dir, speeds = options.results, options.results / "speeds"
        if (options.results / "suites").is_dir():  # results of lent.sh, which have a directory for each step
            run_dir = options.results / "suites"
        report = evidence(run_dir)
        medians = {}
        if (speeds / "report.json").exists():
            evidence(speeds)
            medians = repeated(speeds)
        cards = card_names(run_dir)
        written = table(report, cards, medians)
        name = "-".join([report["run"]["stack"]["cuda.driver"], *dict.fromkeys(cards)])
        out = options.out or TABLES / (re.sub(r"[^0-9A-Za-z.+-]", "_", name) + ".toml")
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(written, encoding="utf-8")
    except Refused as refused:
        print(f"observed: {refused}", file=sys.stderr)
        return 2
    except (KeyError, TypeError, AttributeError) as error:
        print(f"observed: {options.results} is no run directory of proctor: {error!r}", file=sys.stderr)
        return 2
    print(out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
