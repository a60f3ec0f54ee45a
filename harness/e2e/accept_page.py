"""docs/explanation/accept-faults.md, of the outcomes of the rows of accept_faults.py."""

from collections import Counter

from harness import ROOT

PAGE = ROOT / "docs/explanation/accept-faults.md"
WORDS = {"right": "right", "beside": "right, others incomplete", "incomplete": "incomplete", "missed": "not caught",
         "wrong": "wrong"}


def count_table(rows, found):
    kinds = list(dict.fromkeys(row.kind() for row in rows))
    counts = {kind: Counter(found[row.key()].word for row in rows if row.kind() == kind) for kind in kinds}
    counts["all"] = sum(counts.values(), Counter())
    return [f"| class | {' | '.join(WORDS.values())} |", "| --- " * (len(WORDS) + 1) + "|",
            *(f"| {kind} | {' | '.join(str(of_kind[word]) for word in WORDS)} |" for kind, of_kind in counts.items())]


def missed_list(rows, without, found):
    """Each fault once, with the machines on which it was missed."""
    missed = {}
    for row in rows:
        if found[row.key()].word == "missed":
            missed.setdefault(row.fault, []).append((row, found[row.key()]))
    lines = [f"* `{fault}`: {tries[0][1].why} ({', '.join(f'`{row.sim}` level {row.level}' for row, _ in tries)})"
             for fault, tries in missed.items()]
    reasons = {}
    for fault, why in without.items():
        reasons.setdefault(why, []).append(f"`{fault}`")
    return lines + [f"* {', '.join(names)}: {why}" for why, names in reasons.items()]


def verdict_words(outcome):
    """What the devices got, those that are accepted left out."""
    named = [f"`{device}` {action or verdict}" for device, (verdict, action) in outcome.verdicts.items() if verdict != "accepted"]
    actions = {action for _, action in outcome.verdicts.values()}
    if len(named) == len(outcome.verdicts) > 1 and len(actions) == 1:
        named = [f"all {actions.pop() or 'incomplete'}"]
    return ", ".join(named) or "all accepted"


def fault_table(rows, found):
    lines = ["| fault | simulated machine | level | outcome | verdicts | seconds | found by |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        outcome = found[row.key()]
        names = ", ".join(f"`{case}`" for case in outcome.found_by[:3]) or "no case"
        more = f" and {len(outcome.found_by) - 3} more" if len(outcome.found_by) > 3 else ""
        word = WORDS[outcome.word] + (f": {outcome.why}" if outcome.word == "wrong" else "")
        lines.append(f"| {row.what} (`{outcome.planted}`) | `{row.sim}` | {row.level} | {word} | {verdict_words(outcome)} | "
                     f"{outcome.seconds:.1f} | {names}{more} |")
    return lines


def found_alone(rows, found):
    alone = {}
    for row in rows:
        outcome = found[row.key()]
        if len(outcome.found_by) == 1:
            alone.setdefault(outcome.found_by[0], set()).add(f"`{row.fault.partition(':')[0]}`")
    return [f"* `{case}`: {', '.join(sorted(faults))}" for case, faults in sorted(alone.items())]


def not_run(rows, controls):
    if not rows and not controls:
        return []
    return ["", "## Not run on this build", "", "`harness/e2e/accept.py page` goes on with these:", "",
            *(f"* `{row.fault}` on `{row.sim}`, level {row.level}" for row in rows), *(f"* control: {name}" for name in controls)]


def write_page(rows, without, controls, found):
    """Rows that were not run yet are listed as such."""
    text = PAGE.read_text()
    head = text[:text.index("<!-- table -->")]
    left = not_run([row for row in rows if row.key() not in found],
                   [name for name in controls if f"control: {name}" not in found])
    rows = [row for row in rows if row.key() in found]
    controls = [name for name in controls if f"control: {name}" in found]
    parts = [head + "<!-- table -->", *count_table(rows, found),
             "", "## Not caught", "", *missed_list(rows, without, found),
             "", "## Good devices", "", "All devices of these machines are accepted:", "",
             *(f"* {control}" + ("" if found[f"control: {control}"].word == "right" else ": wrong, " +
                                 verdict_words(found[f"control: {control}"])) for control in controls),
             "", "## All faults", "", *fault_table(rows, found),
             "", "## Found by one check alone", "", *found_alone(rows, found), *left, ""]
    PAGE.write_text("\n".join(parts))
