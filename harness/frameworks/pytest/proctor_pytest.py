"""The pytest plugin of Proctor: speaks its child protocol (harness/journal/child_protocol.h) on PROCTOR_EVENTS_FD.

    pytest ARGS -p proctor_pytest --proctor-list            one `case` event for each test that ARGS select, after
                                                            `options`, if anything may have left some out
    pytest ARGS -p proctor_pytest --proctor-case=NODEID     runs exactly that one
    pytest ARGS -p proctor_pytest --proctor-cases=FILE      runs those of a JSON array, in one process

    pytest ARGS --proctor                                   proctor run -- pytest ARGS, where this is an installed plugin

Without one of these options it does nothing. Each test is announced by `start`, `step` (setup, call, teardown), `fail`, `retry`, `skip` and `end`, as it happens:
when the process dies, the last `start` names the test that did it. What decides is always pytest's own report.

One file, for Python >= 3.9 and pytest >= 7, with nothing else to install.
"""

import contextlib
import copy
import gc
import importlib.util
import json
import os
import re
import shutil
import sys
import sysconfig
import time
import uuid
from pathlib import Path

import pytest

MAX_LINE = 64 * 1024
MAX_MESSAGE = 4 * 1024
MAX_OUTPUT = 32 * 1024
MAX_REASON = 200
# Modules that use a device, each with the only vendor whose devices it uses; "": any vendor.
GPU_MODULES = {
    "cudf": "cuda", "cuda.bindings": "cuda", "cuda.core": "cuda", "cupy": "cuda", "nvidia.dali": "cuda",
    "numba.cuda": "cuda", "pycuda": "cuda", "pynvml": "cuda", "rmm": "cuda", "warp": "cuda",
    "dpctl": "xpu", "dpnp": "xpu", "intel_extension_for_pytorch": "xpu", "numba_dpex": "xpu", "oneccl_bindings_for_pytorch": "xpu",
    "jax": "", "mxnet": "", "onnxruntime": "", "paddle": "", "pyopencl": "", "tensorflow": "", "torch": "",
    "triton": "", "tvm": "", "vllm": "",
}
# Options that make one file of a session, which here is many processes: the name of the value, as typed, and the value of none.
SESSION_FILES = {
    "htmlpath": ("--html", None), "csv_path": ("--csv", None), "json_report": ("--json-report", False),
    "report_log": ("--report-log", None), "md_report": ("--md-report", False), "tap_combined": ("--tap-combined", False),
    "tap_stream": ("--tap-stream", False), "tap_files": ("--tap-files", False), "excelpath": ("--excelreport", None),
    "benchmark_json": ("--benchmark-json", None),
}
TERMINAL = os.isatty(0)  # as it is before pytest captures


def pytest_addoption(parser):
    group = parser.getgroup("proctor", "Proctor's child protocol")
    group.addoption("--proctor", action="store_true", help="run the tests under Proctor: proctor run -- pytest ...")
    group.addoption("--proctor-list", action="store_true", help="announce the tests instead of running them")
    group.addoption("--proctor-case", metavar="NODEID", help="run exactly this test")
    group.addoption("--proctor-cases", metavar="FILE", help="run exactly the tests of this JSON array")
    group.addoption("--proctor-captured", metavar="FILE", help="keep captured output in FILE.before, FILE.out and FILE.err")


@pytest.hookimpl(hookwrapper=True, trylast=True)  # pytest captures already, and no other plugin has begun
def pytest_load_initial_conftests(early_config):
    options = early_config.known_args_namespace
    if options.proctor_list or options.proctor_case or options.proctor_cases:
        share_coverage(options)
    name_captured(early_config, options.proctor_captured)
    yield


def share_coverage(options):
    """pytest-cov erases the data of the session before. No test runs in a listing, and each other process has a file of its own
    for `coverage combine`. Only the whole has a report and a threshold."""
    if not getattr(options, "cov_source", None) or getattr(options, "no_cov", False):
        return
    if options.proctor_list:
        options.no_cov = True
        return
    options.cov_report, options.cov_fail_under = {"": None}, 0
    with contextlib.suppress(Exception):  # coverage refuses its configuration itself
        import coverage

        base = os.path.abspath(coverage.Coverage(config_file=options.cov_config).config.data_file)
        os.environ["COVERAGE_FILE"] = f"{base}.proctor-{uuid.uuid4().hex[:12]}"


def name_captured(early_config, name):
    """pytest captures into files without a name, which go with a process that dies. Proctor reads those with one."""
    manager = early_config.pluginmanager.getplugin("capturemanager")
    capturing = getattr(manager, "_global_capturing", None)
    if name is None or capturing is None:
        return
    manager.suspend_global_capture()
    for stream in ("out", "err"):
        tmpfile = getattr(getattr(capturing, stream, None), "tmpfile", None)
        with contextlib.suppress(AttributeError, OSError):  # -s captures nothing, --capture=sys in memory
            replace_file(tmpfile.fileno(), f"{name}.{stream}")
    manager.resume_global_capture()


def replace_file(fd, name):
    """From now on the descriptor is that of a new file."""
    file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    os.dup2(file, fd, inheritable=False)
    os.close(file)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    option = config.option
    if not (option.proctor_list or option.proctor_case or option.proctor_cases):
        if option.proctor:
            run_under_proctor(config.invocation_params.args)
        return
    events = Events()
    # One process, and its verdicts are reported by Proctor. The selection was made when the tests were listed.
    unused = [typed for name, (typed, _) in SESSION_FILES.items() if getattr(option, name, None)]
    for name, value in {"numprocesses": None, "dist": "no", "tx": [], "xmlpath": None,
                        **{name: none for name, (_, none) in SESSION_FILES.items()}}.items():
        if hasattr(option, name):
            setattr(option, name, value)
    if option.proctor_list:
        warn_of_files(events, option, unused)
        option.collectonly = True
        option.continue_on_collection_errors = True
        option.maxfail = 0  # -x is about tests: a file that cannot be imported must not hide those of others
        config.pluginmanager.register(Lister(config, events), "proctor-lister")
        return
    for name in ("lf", "failedfirst", "newfirst", "stepwise", "maxfail", "collectonly", "splits", "group"):
        if hasattr(option, name):
            setattr(option, name, 0 if name in ("maxfail", "splits", "group") else False)
    option.continue_on_collection_errors = True
    wanted = [option.proctor_case]
    if option.proctor_cases:
        wanted = json.loads(Path(option.proctor_cases).read_text(encoding="utf-8"))
    unfit = why_unfit(option)
    if unfit:
        return refuse(events, wanted, *unfit)
    narrow(config, wanted)
    config.pluginmanager.register(Teller(config, events, wanted), "proctor-teller")
    if option.proctor_captured:
        config.pluginmanager.register(Before(option.proctor_captured + ".before"), "proctor-before")


def warn_of_files(events, option, unused):
    """Names the options that would write one file of a session."""
    if unused:
        one = len(unused) == 1
        events.send("warn", message=f"{', '.join(unused)} {'has' if one else 'have'} no effect: each of the processes would write "
                                    f"the file{'' if one else 's'}; the reports of the run have all tests")
    if getattr(option, "cov_source", None) and not getattr(option, "no_cov", False):
        events.send("warn", message="--cov writes a data file of each process, without a report and a threshold: "
                                    "`coverage combine` joins them, then use `coverage report --fail-under=N`")


def run_under_proctor(arguments):
    """Becomes the runner. It is that of this environment, or else of PATH."""
    own = os.path.join(sysconfig.get_path("scripts"), "proctor")
    runner = own if os.access(own, os.X_OK) else shutil.which("proctor")
    if runner is None:
        raise pytest.UsageError("--proctor needs the program proctor in PATH")
    as_module = os.path.basename(sys.argv[0]) == "__main__.py"  # which puts the current directory into sys.path
    command = [sys.executable, "-m", "pytest"] if as_module else [sys.argv[0]]
    rest = [str(word) for word in arguments if word != "--proctor"]
    sys.stdout.flush()
    os.execv(runner, ["proctor", "run", "--", *command, *rest])


def why_unfit(option):
    """(reason, sentence) where a pass would say nothing, else None."""
    if TERMINAL:
        return None
    for name, typed in (("trace", "--trace"), ("usepdb", "--pdb")):
        if getattr(option, name, False):
            return "debugger", f"{typed} without a terminal: a test ends where its debugger reads nothing, whatever it would do"
    if sys.flags.optimize:
        return "assertions_off", "Python runs without assertions (-O, or PYTHONOPTIMIZE): what they check is not checked"
    return None


def refuse(events, wanted, reason, sentence):
    for id in wanted:
        events.send("start", case=id, t_ns=time.monotonic_ns())
        events.send("fail", case=id, message=sentence)
        events.send("end", case=id, result="fail", reason=reason, t_ns=time.monotonic_ns())
    return pytest.ExitCode.USAGE_ERROR


def narrow(config, wanted):
    """Collects only the files of the wanted tests; rootdir and conftest files stay those of the whole command. An id may
    also be no path: then all is collected."""
    arguments = [places_of(config, argument) for argument in config.args]
    names = list(dict.fromkeys(id.split("::")[0] for id in wanted))
    files = [os.path.abspath(config.rootpath / name) for name in names]
    if all(name and os.path.exists(file) and is_below(file, sum(arguments, [])) for name, file in zip(names, files)):
        config.args = files
        return
    # Outside rootdir an id begins at the argument below which its file is (--pyargs, -c), and that has to stay.
    found = [{os.path.realpath(file) for place in sum(arguments, [str(config.rootpath)])
              for file in (os.path.join(place, name), place)
              if os.path.isfile(file) and (file != place or path_in_package(file) == name)} for name in names]
    if all(found):
        wanted_files = set().union(*found)
        config.args = [argument for argument, places in zip(config.args, arguments)
                       if any(is_below(file, map(os.path.realpath, places)) for file in wanted_files)]
        config.pluginmanager.register(OnlyFiles(wanted_files), "proctor-only-files")


def places_of(config, argument):
    """The files or directories that an argument can mean, which is a path or a package."""
    argument = str(argument).partition("::")[0]
    places = [os.path.abspath(config.invocation_params.dir / argument)]
    if getattr(config.option, "pyargs", False):
        with contextlib.suppress(ImportError, AttributeError, ValueError):
            spec = importlib.util.find_spec(argument)
            if spec is not None:
                places += map(str, spec.submodule_search_locations or ([spec.origin] if spec.has_location else []))
    return places


def is_below(file, places):
    return any(file == place or file.startswith(os.path.join(place, "")) for place in places)


class OnlyFiles:
    """Leaves all other files out. A package stays what it is: its __init__.py may have a set-up of its own."""

    def __init__(self, files):
        self.files = files

    def pytest_ignore_collect(self, collection_path):
        if collection_path.is_dir() or collection_path.name == "__init__.py":
            return None
        return True if os.path.realpath(collection_path) not in self.files else None


class Events:
    """One line of JSON per event, each in one write."""

    def __init__(self):
        fd = os.environ.pop("PROCTOR_EVENTS_FD", None)
        if fd is None:
            raise pytest.UsageError("--proctor-list and --proctor-case(s) need PROCTOR_EVENTS_FD, a descriptor to write to")
        self.fd = int(fd)
        self.pid = os.getpid()
        os.set_inheritable(self.fd, False)  # the programs that a test starts have nothing to say here

    def send(self, event, **fields):
        """Whether the line is within what Proctor reads. Texts become shorter for it; what names a test, or decides how it
        runs, does not."""
        if os.getpid() != self.pid:  # a fork of a test that came back into pytest
            return True
        texts = [key for key, value in fields.items()
                 if event not in ("case", "options") and key != "case" and isinstance(value, str)]
        line = encode(event, fields)
        while len(line) > MAX_LINE:
            longest = max(texts, key=lambda key: len(fields[key]), default=None)
            if longest is None or not fields[longest]:
                return False
            fields[longest] = fields[longest][(len(fields[longest]) + 1) // 2 :]
            line = encode(event, fields)
        while line:
            line = line[os.write(self.fd, line) :]
        return True


def clean(value):
    """The same with every text as Proctor can read it back."""
    if isinstance(value, str):
        return value if value.isascii() else readable(value)
    if isinstance(value, (list, tuple)):
        return [clean(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    return value


ENCODER = json.JSONEncoder(ensure_ascii=False)  # json.dumps() would make one for each line


def encode(event, fields):
    record = {"v": 1, "event": event}
    record.update((key, clean(value)) for key, value in fields.items() if value is not None)
    return ENCODER.encode(record).encode("utf-8", "backslashreplace") + b"\n"


def readable(text):
    """As Proctor can read it back: no lone surrogates."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def one_line(text):
    return " ".join(readable(text).split())[:MAX_REASON]


def junit_names(nodeid, prefix):
    """(classname, name) as pytest's own --junitxml has them."""
    path, bracket, parameters = nodeid.partition("[")
    names = path.split("::")
    names[0] = re.sub(r"\.py$", "", names[0].replace("/", "."))
    names[-1] += bracket + parameters
    return ".".join(([prefix] if prefix else []) + names[:-1]), names[-1]


def own_id(node):
    """The node id. pytest gives it no path if an argument outside rootdir is the file itself: then it begins at the package."""
    nodeid = readable(node.nodeid)
    without_path = nodeid.startswith("::") or (not nodeid and isinstance(node, pytest.File))
    return readable(path_in_package(node.path)) + nodeid if without_path else nodeid


def path_in_package(file):
    """The path of a module below the directory of its outermost package."""
    file = Path(file)
    top = file.parent
    while (top / "__init__.py").is_file():
        top = top.parent
    return str(file.relative_to(top))


def marker_values(mark):
    return [value if isinstance(value, int) else None for value in mark.args]


def skip_reason(report):
    """The words of a skipped test or collector."""
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return one_line(text.removeprefix("Skipped: ")) or "framework"


def failure(report, root):
    """message, file and line of a failed report: of its traceback the innermost frame inside the test's own file."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None:
        return {"message": str(report.longrepr or "")[-MAX_MESSAGE:]}
    own = os.path.realpath(root / (report.nodeid.split("::")[0] or report.location[0]))
    traceback = getattr(report.longrepr, "reprtraceback", None)
    for entry in reversed(getattr(traceback, "reprentries", [])):
        place = getattr(entry, "reprfileloc", None)
        if place is not None and os.path.realpath(place.path) == own:
            return {"message": crash.message[:MAX_MESSAGE], "file": own, "line": place.lineno}
    return {"message": crash.message[:MAX_MESSAGE], "file": str(crash.path), "line": crash.lineno}


class Lister:
    """Announces what is collected, in pytest's order."""

    def __init__(self, config, events):
        self.events = events
        self.config = config
        self.prefix = getattr(config.option, "junitprefix", None)
        self.skipped = []
        self.files = []  # of each report about a file: the report, the id
        self.broken = []  # files that cannot be imported: each is a case, which fails with the traceback when it runs
        self.deselected = 0

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector):
        report = (yield).get_result()
        if not report.passed and collector.path.is_file():
            self.files.append((report, own_id(collector)))

    def pytest_collectreport(self, report):
        file = next((id for of, id in self.files if of is report), "")
        if report.failed and file:
            self.broken.append(file)
        elif report.failed:
            self.events.send("fail", message=f"{report.nodeid}: {report.longreprtext}"[-MAX_MESSAGE:])
        elif report.skipped:
            self.skipped.append(file or report.nodeid)

    def pytest_deselected(self, items):
        self.deselected += len(items)

    def tell_options(self):
        """What of the project's own options may exclude tests: Proctor says so, and makes them part of the plan."""
        addopts = [readable(word) for word in self.config.getini("addopts")]
        if addopts or self.deselected:
            file = self.config.inipath.name if self.config.inipath else ""
            if not self.events.send("options", addopts=addopts, file=readable(file), deselected=self.deselected):
                self.refuse(f"addopts of {file}")

    def send_gpu_modules(self):
        """Whether the tests may use a device: Proctor gives them one only then, unless the user wrote it."""
        modules = {name: vendor for name, vendor in GPU_MODULES.items() if name in sys.modules}
        if modules:
            self.events.send("gpu_modules", modules=modules)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session):
        self.tell_options()
        self.send_gpu_modules()
        for item in session.items:
            markers = {}
            for mark in item.iter_markers():  # the closest first
                markers.setdefault(mark.name, marker_values(mark))
            self.announce(own_id(item), markers)
        for nodeid in self.skipped + self.broken:
            self.announce(nodeid, {})

    def pytest_sessionfinish(self, session):
        if self.broken and session.testsfailed == len(self.broken) and not session.shouldstop:
            session.exitstatus = pytest.ExitCode.OK  # the list is complete

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self):
        gc.freeze()  # no test ran: what the interpreter would look through at its end goes with the process

    def announce(self, nodeid, markers):
        classname, name = junit_names(nodeid, self.prefix)
        if not self.events.send("case", case=readable(nodeid), file=readable(nodeid.split("::")[0]),
                                classname=readable(classname), name=readable(name), markers=markers):
            self.refuse(nodeid)

    def refuse(self, what):
        """Instead of a part of it, which would mean something else."""
        self.events.send("fail", message=f"{one_line(what)}: what there is to say of it does not fit into a line of "
                                         f"{MAX_LINE // 1024} KiB")


def is_of_part(report):
    """Subtests have reports beside that of their test."""
    return hasattr(report, "context")


class Case:
    """What one wanted id has come to. It has several items when its file was skipped as a whole while it was listed."""

    def __init__(self):
        self.items = 0  # collected and not yet over
        self.begun = False
        self.failed = None  # the phase
        self.skipped = None
        self.xfailed = None
        self.xpassed = None
        self.passed = False

    def add(self, report):
        expected = getattr(report, "wasxfail", None)
        if is_of_part(report) and not report.failed:
            return
        if report.failed:
            self.failed = self.failed or ("" if report.when == "call" else report.when)
        elif report.skipped and expected is not None:
            self.xfailed = expected
        elif report.skipped:
            self.skipped = skip_reason(report)
        elif report.when == "call" and expected is not None:
            self.xpassed = expected
        elif report.when == "call":
            self.passed = True

    def verdict(self):
        if self.failed is not None:
            return "fail", self.failed
        for result, reason in (("xpass", self.xpassed), ("pass", "" if self.passed else None),
                               ("xfail", self.xfailed), ("skip", self.skipped)):
            if reason is not None:
                return result, one_line(reason.removeprefix("reason: "))  # so pytest.xfail() begins it
        return "error", "no_report"


class Before:
    """Keeps what pytest has captured in the steps of a test that are over: it prints that when the session ends."""

    def __init__(self, name):
        self.name = name
        self.text = ""

    def pytest_runtest_logreport(self, report):
        sections = "" if report.when == "teardown" else "".join(
            f"---- {title} ----\n{content}\n" for title, content in report.sections)
        if sections == self.text:
            return
        self.text = sections
        with contextlib.suppress(OSError), open(self.name, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(sections)


class Teller:
    """Runs the wanted tests and tells how each goes."""

    def __init__(self, config, events, wanted):
        self.events = events
        self.root = config.rootpath
        self.cases = {id: Case() for id in wanted}
        self.owners = {}  # item -> wanted id
        self.current = None  # wanted id
        self.broken_off = False
        self.unread = {}  # id of a collector that failed or was skipped -> its report
        self.before = None  # what the case was before the present item
        self.failures = []  # failed reports of the present item that pytest has not logged

    # ---- collection ----

    def pytest_collectstart(self, collector):
        self.events.send("step", name=f"collecting {collector.nodeid or 'the tests'}", t_ns=time.monotonic_ns())

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector):
        report = (yield).get_result()
        if not report.passed:
            self.unread[own_id(collector)] = report

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config, items):
        kept, left_out = [], []
        for item in items:
            chain = [own_id(node) for node in reversed(item.listchain())]
            owner = next((nodeid for nodeid in chain if nodeid in self.cases), None)
            if owner is None:
                left_out.append(item)
                continue
            self.owners[item] = owner
            self.cases[owner].items += 1
            kept.append(item)
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = kept

    # ---- run ----

    def tell(self, event, **fields):
        if self.current is not None:
            self.events.send(event, case=self.current, **fields)

    def begin(self, id):
        self.current = id
        if not self.cases[id].begun:
            self.cases[id].begun = True
            self.tell("start", t_ns=time.monotonic_ns())

    def end(self):
        result, reason = self.cases[self.current].verdict()
        self.tell("end", result=result, reason=reason or None, t_ns=time.monotonic_ns())

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        self.begin(self.owners[item])
        self.before = copy.copy(self.cases[self.current])
        self.failures = []
        outcome = yield
        for report in self.failures:
            self.send_retry(report)
        if outcome.excinfo is not None:  # pytest ends here (pytest.exit, Ctrl-C): the test has no result
            self.broken_off = True
            return
        case = self.cases[self.current]
        case.items -= 1
        if case.items == 0:
            self.end()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        self.tell("step", name=f"setup of {item.name}", t_ns=time.monotonic_ns())

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item):
        self.tell("step", name=f"call of {item.name}", t_ns=time.monotonic_ns())

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item):
        self.tell("step", name=f"teardown of {item.name}", t_ns=time.monotonic_ns())

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self):
        report = (yield).get_result()
        if report.failed:
            self.failures.append(report)

    def send_retry(self, report):
        """A plugin runs the test again after this failure, which stays a part of the attempt."""
        self.tell("retry", **failure(report, self.root))
        self.tell("output", text=report.longreprtext[-MAX_OUTPUT:] + "\n")

    def forget(self, report):
        """A logged failure is not hidden. The logged report of a subtest is a copy of the one made last."""
        if is_of_part(report) and report.failed:
            del self.failures[-1:]
        self.failures = [failed for failed in self.failures if failed is not report]

    def pytest_runtest_logreport(self, report):
        self.forget(report)
        if self.current is None:
            return
        if report.outcome not in ("passed", "failed", "skipped"):  # "rerun", "retried": of pytest-rerunfailures, pytest-retry
            vars(self.cases[self.current]).update(vars(self.before))
            self.send_retry(report)
            return
        self.cases[self.current].add(report)
        if report.when == "teardown":  # record_property and record_testsuite_property of its fixtures are complete
            for name, value in report.user_properties:
                self.tell_property(name, value)
        if report.failed:
            self.tell("fail", t_ns=time.monotonic_ns(), **failure(report, self.root))
            sections = "".join(f"\n---- {title} ----\n{content}" for title, content in report.sections)
            self.tell("output", text=(report.longreprtext + sections)[-MAX_OUTPUT:])

    def tell_property(self, name, value):
        try:
            name, text = str(name), str(value)
        except Exception as error:  # of a test's own class, perhaps about a device that is lost
            name, text = "property", f"<{type(value).__name__}: {type(error).__name__}>"
        self.tell("property", name=name, value=text)
        if type(value) in (int, float) and -1e300 < value < 1e300:  # not NaN either
            self.tell("measure", name=name, value=value)

    # ---- end ----

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        if self.broken_off or session.exitstatus in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR):
            return  # who was running has no result, and the rest did not begin
        missing = [id for id, case in self.cases.items() if not case.begun]
        for id in missing:
            self.begin(id)
            self.explain(id)
            self.end()
        if any(self.cases[id].failed is not None for id in missing):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def explain(self, id):
        """Why a wanted test was not collected: its file, or what is above it, could not be read or was skipped."""
        case = self.cases[id]
        parts = id.split("::")
        above = ["::".join(parts[:n]) for n in range(len(parts), 0, -1)]
        report = next((self.unread[nodeid] for nodeid in above if nodeid in self.unread), None)
        if report is None:
            case.failed = "not_collected"
            self.tell("fail", message="pytest listed this test, but did not collect it again")
        elif report.skipped:
            case.skipped = skip_reason(report)
        else:
            case.failed = "collection"
            self.tell("fail", **failure(report, self.root))
            self.tell("output", text=report.longreprtext[-MAX_OUTPUT:])
