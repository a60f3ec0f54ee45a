"""The pytest plugin of Proctor. It writes the child protocol (harness/journal/child_protocol.h) to PROCTOR_EVENTS_FD.

    pytest ARGS -p proctor_pytest --proctor-list            one `case` event for each test that ARGS select, after
                                                            `options`, if options may have left out some tests
    pytest ARGS -p proctor_pytest --proctor-case=NODEID     runs exactly that test
    pytest ARGS -p proctor_pytest --proctor-cases=FILE      runs the tests of a JSON array, in one process

    pytest ARGS --proctor                                   proctor run -- pytest ARGS, if the plugin is installed

The plugin does nothing unless one of these options is set. It reports each test by `start`, `step` (setup, call,
teardown), `fail`, `retry`, `skip` and `end`, as it happens. If the process dies, the last `start` names the test that
ran. The result always follows pytest's own report.

The plugin is one file for Python >= 3.9 and pytest >= 7, and needs no other package.
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
# Options that write one file for a session. Under Proctor a session is many processes, so they are switched off. Each
# row has the name of the value, the option as typed, and the value that switches the option off.
SESSION_FILES = {
    "htmlpath": ("--html", None), "csv_path": ("--csv", None), "json_report": ("--json-report", False),
    "report_log": ("--report-log", None), "md_report": ("--md-report", False), "tap_combined": ("--tap-combined", False),
    "tap_stream": ("--tap-stream", False), "tap_files": ("--tap-files", False), "excelpath": ("--excelreport", None),
    "benchmark_json": ("--benchmark-json", None),
}
TERMINAL = os.isatty(0)  # read before pytest starts to capture


def pytest_addoption(parser):
    group = parser.getgroup("proctor", "Proctor's child protocol")
    group.addoption("--proctor", action="store_true", help="run the tests under Proctor: proctor run -- pytest ...")
    group.addoption("--proctor-list", action="store_true", help="announce the tests instead of running them")
    group.addoption("--proctor-case", metavar="NODEID", help="run exactly this test")
    group.addoption("--proctor-cases", metavar="FILE", help="run exactly the tests of this JSON array")
    group.addoption("--proctor-captured", metavar="FILE", help="keep captured output in FILE.before, FILE.out and FILE.err")


@pytest.hookimpl(hookwrapper=True, trylast=True)  # pytest captures already, and no other plugin has started
def pytest_load_initial_conftests(early_config):
    options = early_config.known_args_namespace
    if options.proctor_list or options.proctor_case or options.proctor_cases:
        share_coverage(options)
    name_captured(early_config, options.proctor_captured)
    yield


def share_coverage(options):
    """Gives each process a separate coverage file for `coverage combine`, because pytest-cov erases the data of the
    previous session. A listing runs no test, so it has no coverage. Only the combined data has a report and a
    threshold."""
    if not getattr(options, "cov_source", None) or getattr(options, "no_cov", False):
        return
    if options.proctor_list:
        options.no_cov = True
        return
    options.cov_report, options.cov_fail_under = {"": None}, 0
    with contextlib.suppress(Exception):  # coverage itself reports an invalid configuration
        import coverage

        base = os.path.abspath(coverage.Coverage(config_file=options.cov_config).config.data_file)
        os.environ["COVERAGE_FILE"] = f"{base}.proctor-{uuid.uuid4().hex[:12]}"


def name_captured(early_config, name):
    """Makes pytest capture into named files, which Proctor can read. pytest's own files have no name, so they are lost
    when the process dies."""
    manager = early_config.pluginmanager.getplugin("capturemanager")
    capturing = getattr(manager, "_global_capturing", None)
    if name is None or capturing is None:
        return
    manager.suspend_global_capture()
    for stream in ("out", "err"):
        tmpfile = getattr(getattr(capturing, stream, None), "tmpfile", None)
        with contextlib.suppress(AttributeError, OSError):  # -s does not capture, --capture=sys captures in memory
            replace_file(tmpfile.fileno(), f"{name}.{stream}")
    manager.resume_global_capture()


def replace_file(fd, name):
    """Replaces the file of the descriptor by a new one with this name."""
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
    # Switches off options for several processes, reports and selections: this is one process, Proctor reports its
    # results, and the tests were selected when they were listed.
    unused = [typed for name, (typed, _) in SESSION_FILES.items() if getattr(option, name, None)]
    for name, value in {"numprocesses": None, "dist": "no", "tx": [], "xmlpath": None,
                        **{name: none for name, (_, none) in SESSION_FILES.items()}}.items():
        if hasattr(option, name):
            setattr(option, name, value)
    if option.proctor_list:
        warn_of_files(events, option, unused)
        option.collectonly = True
        option.continue_on_collection_errors = True
        option.maxfail = 0  # -x is for tests: an import error must not hide the tests of other files
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
    """Warns of options that would write one file for a session, and of --cov, which writes one for each process."""
    if unused:
        one = len(unused) == 1
        events.send("warn", message=f"{', '.join(unused)} {'has' if one else 'have'} no effect: each of the processes would write "
                                    f"the file{'' if one else 's'}; the reports of the run have all tests")
    if getattr(option, "cov_source", None) and not getattr(option, "no_cov", False):
        events.send("warn", message="--cov writes a data file of each process, without a report and a threshold: "
                                    "`coverage combine` joins them, then use `coverage report --fail-under=N`")


def run_under_proctor(arguments):
    """Replaces this process by the program proctor of this Python environment, or else of PATH."""
    own = os.path.join(sysconfig.get_path("scripts"), "proctor")
    runner = own if os.access(own, os.X_OK) else shutil.which("proctor")
    if runner is None:
        raise pytest.UsageError("--proctor needs the program proctor in PATH")
    as_module = os.path.basename(sys.argv[0]) == "__main__.py"  # this form puts the current directory into sys.path
    command = [sys.executable, "-m", "pytest"] if as_module else [sys.argv[0]]
    rest = [str(word) for word in arguments if word != "--proctor"]
    sys.stdout.flush()
    os.execv(runner, ["proctor", "run", "--", *command, *rest])


def why_unfit(option):
    """Returns (reason, sentence) if a pass would be meaningless, else None."""
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
    """Restricts collection to the files of the wanted tests. rootdir and conftest files stay those of the command.
    If an id contains no path, everything is collected."""
    arguments = [places_of(config, argument) for argument in config.args]
    names = list(dict.fromkeys(id.split("::")[0] for id in wanted))
    files = [os.path.abspath(config.rootpath / name) for name in names]
    if all(name and os.path.exists(file) and is_below(file, sum(arguments, [])) for name, file in zip(names, files)):
        config.args = files
        return
    # An id of a file outside rootdir is relative to the argument that contains the file (--pyargs, -c). That
    # argument must stay.
    found = [{os.path.realpath(file) for place in sum(arguments, [str(config.rootpath)])
              for file in (os.path.join(place, name), place)
              if os.path.isfile(file) and (file != place or path_in_package(file) == name)} for name in names]
    if all(found):
        wanted_files = set().union(*found)
        config.args = [argument for argument, places in zip(config.args, arguments)
                       if any(is_below(file, map(os.path.realpath, places)) for file in wanted_files)]
        config.pluginmanager.register(OnlyFiles(wanted_files), "proctor-only-files")


def places_of(config, argument):
    """Returns the files or directories that an argument can name: it is a path or a package."""
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
    """Excludes all other files from collection, except each __init__.py, which may contain fixtures of its package."""

    def __init__(self, files):
        self.files = files

    def pytest_ignore_collect(self, collection_path):
        if collection_path.is_dir() or collection_path.name == "__init__.py":
            return None
        return True if os.path.realpath(collection_path) not in self.files else None


class Events:
    """Writes events to the descriptor of Proctor: one line of JSON per event, each in one write."""

    def __init__(self):
        fd = os.environ.pop("PROCTOR_EVENTS_FD", None)
        if fd is None:
            raise pytest.UsageError("--proctor-list and --proctor-case(s) need PROCTOR_EVENTS_FD, a descriptor to write to")
        self.fd = int(fd)
        self.pid = os.getpid()
        os.set_inheritable(self.fd, False)  # not for programs that a test starts

    def send(self, event, **fields):
        """Writes one event. Long texts are shortened to the limit of a line. Fields that name a test, or affect how it
        runs, are not shortened: if the line is still too long, it is not written, and the result is False."""
        if os.getpid() != self.pid:  # a fork of a test that returned into pytest
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
    """Returns the value with readable() applied to every text in it."""
    if isinstance(value, str):
        return value if value.isascii() else readable(value)
    if isinstance(value, (list, tuple)):
        return [clean(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    return value


ENCODER = json.JSONEncoder(ensure_ascii=False)  # json.dumps() would create one for each line


def encode(event, fields):
    record = {"v": 1, "event": event}
    record.update((key, clean(value)) for key, value in fields.items() if value is not None)
    return ENCODER.encode(record).encode("utf-8", "backslashreplace") + b"\n"


def readable(text):
    """Returns the text without lone surrogates, which cannot be encoded in UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def one_line(text):
    return " ".join(readable(text).split())[:MAX_REASON]


def junit_names(nodeid, prefix):
    """Returns (classname, name) as in pytest's own --junitxml."""
    path, bracket, parameters = nodeid.partition("[")
    names = path.split("::")
    names[0] = re.sub(r"\.py$", "", names[0].replace("/", "."))
    names[-1] += bracket + parameters
    return ".".join(([prefix] if prefix else []) + names[:-1]), names[-1]


def own_id(node):
    """Returns the node id. If an argument outside rootdir is the file itself, pytest's id has no path. The result then
    begins at the package."""
    nodeid = readable(node.nodeid)
    without_path = nodeid.startswith("::") or (not nodeid and isinstance(node, pytest.File))
    return readable(path_in_package(node.path)) + nodeid if without_path else nodeid


def path_in_package(file):
    """Returns the path of a module below the directory of its outermost package."""
    file = Path(file)
    top = file.parent
    while (top / "__init__.py").is_file():
        top = top.parent
    return str(file.relative_to(top))


def marker_values(mark):
    return [value if isinstance(value, int) else None for value in mark.args]


def skip_reason(report):
    """Returns the reason of a skipped test or collector."""
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return one_line(text.removeprefix("Skipped: ")) or "framework"


def failure(report, root):
    """Returns message, file and line of a failed report, from the innermost frame in the test's own file."""
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
    """Reports the collected tests as `case` events, in pytest's order."""

    def __init__(self, config, events):
        self.events = events
        self.config = config
        self.prefix = getattr(config.option, "junitprefix", None)
        self.skipped = []
        self.files = []  # (report, id) for each failed or skipped report of a file
        self.broken = []  # files with import errors: each becomes a case that fails with the traceback
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
        """Reports options of the project that may exclude tests. Proctor warns of them and adds them to the plan."""
        addopts = [readable(word) for word in self.config.getini("addopts")]
        if addopts or self.deselected:
            file = self.config.inipath.name if self.config.inipath else ""
            if not self.events.send("options", addopts=addopts, file=readable(file), deselected=self.deselected):
                self.refuse(f"addopts of {file}")

    def send_gpu_modules(self):
        """Reports the imported modules that use a device. Without such a module, or a setting of the user, Proctor
        assigns no device to the tests."""
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
        gc.freeze()  # no test ran, so the final garbage collection is not needed

    def announce(self, nodeid, markers):
        classname, name = junit_names(nodeid, self.prefix)
        if not self.events.send("case", case=readable(nodeid), file=readable(nodeid.split("::")[0]),
                                classname=readable(classname), name=readable(name), markers=markers):
            self.refuse(nodeid)

    def refuse(self, what):
        """Reports an error for a name that is too long: a shortened one would have another meaning."""
        self.events.send("fail", message=f"{one_line(what)}: what there is to say of it does not fit into a line of "
                                         f"{MAX_LINE // 1024} KiB")


def is_of_part(report):
    """Returns true for the report of a subtest, which exists in addition to that of its test."""
    return hasattr(report, "context")


class Case:
    """The result of one wanted id. It has several items if the whole file was skipped when it was listed."""

    def __init__(self):
        self.items = 0  # collected items that have not ended
        self.begun = False
        self.failed = None  # the phase that failed; "" for the call
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
                return result, one_line(reason.removeprefix("reason: "))  # pytest.xfail() adds this prefix
        return "error", "no_report"


class Before:
    """Writes the captured output of the ended steps of a test to a file, because pytest prints it only at the end of
    the session."""

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
    """Runs the wanted tests and reports the events of each."""

    def __init__(self, config, events, wanted):
        self.events = events
        self.root = config.rootpath
        self.cases = {id: Case() for id in wanted}
        self.owners = {}  # item -> wanted id
        self.current = None  # wanted id
        self.broken_off = False
        self.unread = {}  # id of a collector that failed or was skipped -> its report
        self.before = None  # copy of the case before the current item
        self.failures = []  # failed reports of the current item that pytest has not logged

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
        if outcome.excinfo is not None:  # pytest stops here (pytest.exit, Ctrl-C), so the test has no result
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
        """Reports a failure after which a plugin runs the test again. It stays part of the attempt."""
        self.tell("retry", **failure(report, self.root))
        self.tell("output", text=report.longreprtext[-MAX_OUTPUT:] + "\n")

    def forget(self, report):
        """Removes a logged report from the failures that pytest has not logged. The logged report of a subtest is a
        copy of the last one, so it is not found by identity."""
        if is_of_part(report) and report.failed:
            del self.failures[-1:]
        self.failures = [failed for failed in self.failures if failed is not report]

    def pytest_runtest_logreport(self, report):
        self.forget(report)
        if self.current is None:
            return
        # pytest-rerunfailures has the outcome "rerun", pytest-retry has "retried".
        if report.outcome not in ("passed", "failed", "skipped"):
            vars(self.cases[self.current]).update(vars(self.before))
            self.send_retry(report)
            return
        self.cases[self.current].add(report)
        if report.when == "teardown":  # its fixtures have called record_property and record_testsuite_property
            for name, value in report.user_properties:
                self.tell_property(name, value)
        if report.failed:
            self.tell("fail", t_ns=time.monotonic_ns(), **failure(report, self.root))
            sections = "".join(f"\n---- {title} ----\n{content}" for title, content in report.sections)
            self.tell("output", text=(report.longreprtext + sections)[-MAX_OUTPUT:])

    def tell_property(self, name, value):
        try:
            name, text = str(name), str(value)
        except Exception as error:  # str() of a class of the test can fail, for example on a lost device
            name, text = "property", f"<{type(value).__name__}: {type(error).__name__}>"
        self.tell("property", name=name, value=text)
        if type(value) in (int, float) and -1e300 < value < 1e300:  # excludes NaN
            self.tell("measure", name=name, value=value)

    # ---- end ----

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        if self.broken_off or session.exitstatus in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR):
            return  # the running test has no result, and the remaining ones did not begin
        missing = [id for id, case in self.cases.items() if not case.begun]
        for id in missing:
            self.begin(id)
            self.explain(id)
            self.end()
        if any(self.cases[id].failed is not None for id in missing):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def explain(self, id):
        """Reports why a wanted test was not collected: its file, or a parent collector, had an error or was skipped."""
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
