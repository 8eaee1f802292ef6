# SPDX-License-Identifier: Apache-2.0
"""The shared library: finding it, calling it, its errors, its options."""
from __future__ import annotations

import ctypes
import difflib
import glob
import inspect
import keyword
import os
import signal
import site
import sys
import threading
import warnings
from typing import Any, Callable, Dict, List, NamedTuple, NoReturn, Optional, TypeVar, Union

import numpy as np
import numpy.typing as npt

from . import _abi, _options, _results
from ._error import Error
from ._result import Result


# ---- loading ----------------------------------------------------------------

def _begin(library, folder):
    """Where the system has no OpenCL driver, takes that of PyPI's intel-opencl-rt; else, where none finds a device, the one
    of the wheel."""
    for prefix in (sys.prefix, site.getuserbase()):
        driver = os.path.join(prefix, "lib", "libintelocl.so")
        if os.path.exists(driver) and not os.environ.get("OCL_ICD_VENDORS") and not glob.glob("/etc/OpenCL/vendors/*.icd"):
            os.environ["OCL_ICD_VENDORS"] = driver
    library.clvox_environment_begin(os.fsencode(folder))


def _load():
    here = os.path.dirname(os.path.abspath(__file__))
    # By name; beside the package, as in a wheel; in a build folder; where the loader finds it.
    places = [os.environ.get("CLVOX_LIBRARY"), os.path.join(here, "lib", "libclvox.so.0"),
              os.path.join(here, "..", "..", "libclvox.so.0")]
    place = next((p for p in places if p and os.path.exists(p)), "libclvox.so.0")
    try:
        library = ctypes.CDLL(place)
    except OSError as error:
        raise ImportError(f"clvox: the library cannot be loaded ({error}); install libclvox0, or name the file in "
                          "the environment variable CLVOX_LIBRARY") from None
    for name, (result, parameters) in _abi.FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, parameters
    version = library.clvox_version().decode()
    if version != _abi.VERSION:
        raise ImportError(f"clvox: {place} is version {version}, and this package is for {_abi.VERSION}")
    _begin(library, os.path.join(here, "lib"))
    return library


lib = _load()
_process: List[int] = []  # which uses devices


def _same_process() -> None:
    """Drivers do not live on in a child that was forked: its calls would wait for threads that only the parent has."""
    if _process and _process[0] != os.getpid():
        raise Error("this process was forked after clvox had used a device, and drivers do not survive that: start processes with "
                    "multiprocessing.get_context(\"spawn\") (or \"forkserver\")", _abi.CLVOX_ERROR_DEVICE)


def use_devices() -> None:
    """Before a device is opened or listed."""
    _same_process()
    _process[:] = [os.getpid()]
    lib.clvox_environment_settle(None, 0)


def owner() -> bool:
    """Whether what this process was given of the library is its own to release."""
    return not _process or _process[0] == os.getpid()


class Held:
    """An object that holds memory of the library or a device, and frees it at its end."""

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"a clvox.{type(self).__name__} cannot be copied or pickled; make another one")


class _Interrupt:
    """Ctrl-C while the library works. Python would raise it inside of a callback, before its first line, where it is lost:
    it is kept until the callback asks, or the function ends."""
    handler: Any = None
    came: Any = None

    def keep(self, number, frame):
        """In place of the program's handler."""
        self.came = number, frame

    def deliver(self):
        """Calls the program's handler, which raises KeyboardInterrupt unless it was set by the program."""
        came, self.came = self.came, None
        if came:
            self.handler(*came)

    def around(self, function, arguments):
        """Calls the function."""
        main = threading.current_thread() is threading.main_thread()
        handler = signal.getsignal(signal.SIGINT) if main else None
        if not callable(handler) or handler == self.keep:
            return function(*arguments)
        self.handler = handler
        signal.signal(signal.SIGINT, self.keep)
        try:
            return function(*arguments)
        finally:
            signal.signal(signal.SIGINT, handler)
            self.deliver()


_interrupt = _Interrupt()


def call(function, *arguments, progress=None):
    """Calls a function of the library; a negative result becomes an Error, or what a callback raised. progress: is told how far
    a function is that has no callback of its own, in place of its context's."""
    contexts = [a for a in arguments if isinstance(a, Context)]
    if contexts:
        _same_process()
    kept, told = [context.progress.told for context in contexts], watcher(progress)
    for context in contexts if progress is not None else ():
        context.progress.told = told
    try:
        status = _interrupt.around(function, arguments)
    finally:
        for context, before in zip(contexts, kept):
            context.progress.told = before
        _close(told)
    for context in contexts:
        context.progress.settle()
    if status < 0:
        raise Error(lib.clvox_message().decode(errors="replace"), status)
    return status


def words(prefix):
    """The names of an enumeration, in lower case: words("CLVOX_KIND_") is {"scalar": 0, "label": 1, ...}."""
    return {name[len(prefix):].lower(): value for name, value in vars(_abi).items() if name.startswith(prefix)}


def word(prefix, name, what):
    """The value of one of these names."""
    return one_of(words(prefix), name, what)


def one_of(known, name, what):
    """The value of a name."""
    if not isinstance(name, str) or name not in known:
        raise Error(f"{what}: {name!r} is not known; the choices are {', '.join(known)}")
    return known[name]


def numbers(array: npt.ArrayLike, what: str, kind: Any = np.float64, order: Any = None) -> np.ndarray:
    """An array of numbers of that kind, not copied where it is one; complex numbers, texts and dates are none."""
    try:
        given = np.asanyarray(array)
        if given.dtype.kind not in "biufO":
            raise Error(f"{what}: an array of {given.dtype} is none of real numbers", kind=TypeError)
        return np.asarray(given, dtype=kind, order=order)
    except (TypeError, ValueError) as error:
        if isinstance(error, Error):
            raise
        raise Error(f"{what}: not an array of real numbers", kind=TypeError) from None


# ---- devices ----------------------------------------------------------------

class Context(Held):
    """An OpenCL device in use. device: an index of devices(), "gpu", "cpu" or a part of a name; None: the environment's
    CLVOX_DEVICE, else the best. profile: keep a timer for every kernel. threads: of the host, for what is done with this
    context; 0: one a core. verbosity: 0: silent; 1: remarks; 2: what was built and chosen; None: 1 with a log, else 0. log: is
    called with (level, line) for what verbosity asks for; None: it goes to standard error. progress: called with a Step by
    functions that have no `progress` of their own, such as filters, apply and tensor.fit; what it raises stops them, as does
    Ctrl-C. True: a bar on standard error. One thread at a time may use a context."""

    def __init__(self, device: object = None, *, cache: bool = True, wisdom: bool = True, verbosity: Optional[int] = None,
                 profile: bool = False, threads: int = 0, log: Optional[Callable[[int, str], Any]] = None,
                 progress: "Watcher" = None) -> None:
        silent = verbosity is None and log is None
        if verbosity is None:
            verbosity = int(log is not None)
        options = sized(_abi.clvox_context_options, device=None if device is None else str(device).encode(), no_cache=not cache,
                                             no_wisdom=not wisdom, verbosity=verbosity, profile=profile, threads=threads)
        if log is not None:
            self._log = _abi.clvox_log(lambda _, level, line: log(level, line.decode(errors="replace")))
            options.log = self._log
        self.progress = Progress(progress)
        options.progress = self.progress.pointer
        self._as_parameter_ = ctypes.c_void_p()
        use_devices()
        call(lib.clvox_context_create, options, self._as_parameter_)
        platform = lib.clvox_context_limits(self)[0].platform
        for remark in (lib.clvox_context_remark(self), lib.clvox_environment_remark(platform)):
            if silent and remark:
                warnings.warn("clvox: " + remark.decode(errors="replace"), stacklevel=2)  # Python says it once

    def __del__(self):
        if getattr(self, "_as_parameter_", None) and owner():
            lib.clvox_context_destroy(self._as_parameter_)

    @property
    def name(self) -> str:
        """The name of the device."""
        return lib.clvox_context_limits(self)[0].name.decode()

    def timings(self) -> List[_results.Timing]:
        """What the kernels and transfers took so far, the longest first: label, calls, seconds, bytes. Of a context with
        profile, on a device that times its kernels; else empty."""
        rows = ctypes.POINTER(_abi.clvox_timing)()
        count = call(lib.clvox_timings, self, rows)
        try:
            return [values(rows[i]) for i in range(count)]
        finally:
            lib.clvox_timings_destroy(rows)

    def bandwidth(self) -> float:
        """Bytes a second, read and written, that a plain copy on the device reaches."""
        found = ctypes.c_double()
        call(lib.clvox_copy_bandwidth, self, found)
        return found.value


class Contexts(Held):
    """Several devices in use for one atlas(), or one device several times. device: as of the command's --device: "gpu:all",
    "0,1", "0,0". at_once: contexts on each device; None: 2 on a GPU with 16 GB or more, else 1. threads: as Context's."""

    def __init__(self, device: object = None, *, at_once: Optional[int] = None, threads: int = 0) -> None:
        self.count, self.all = 0, ctypes.POINTER(ctypes.c_void_p)()
        options = sized(_abi.clvox_context_options, device=None if device is None else str(device).encode(), threads=threads,
                                             at_once=_abi.CLVOX_AT_ONCE_GPUS if at_once is None else at_once, most_at_once=2)
        use_devices()
        self.count = call(lib.clvox_contexts_create, options, self.all)

    def __del__(self):
        if self.count and owner():
            lib.clvox_contexts_destroy(self.all, self.count)

    def __len__(self):
        return self.count


_own = threading.local()


def use(device: object = None, **more: Any) -> Context:
    """Opens the device that calls of this thread without `context` go to from now on; arguments as Context's."""
    _own.context = Context(device, **more)
    return _own.context


def context_or_own(context):
    """`context`, or for None that of this thread."""
    if isinstance(context, Contexts):
        raise Error("context: several devices (Contexts) are for atlas and atlas_regression; give a Context")
    return context or getattr(_own, "context", None) or use()


class Device(_results.DeviceLimits):
    """A device that the drivers offer."""
    usable: bool
    is_default: bool
    reason: str


def devices() -> List[Device]:
    """The OpenCL devices, best first: name, platform, driver, usable, is_default, reason (why it is not usable), ..."""
    use_devices()
    array = ctypes.POINTER(_abi.clvox_device)()
    count = call(lib.clvox_devices_list, array)
    try:
        rows = [values(array[i]) for i in range(count)]
    finally:
        lib.clvox_devices_destroy(array)
    return [Device(**vars(row.limits), usable=row.usable, is_default=row.is_default, reason=row.reason) for row in rows]


# ---- structs ----------------------------------------------------------------

def _attribute(name):
    """A name of the library in Python: update_sigma, lambda_."""
    name = name.replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


adopted: Dict[Any, Callable[[Any], Any]] = {}  # what becomes of pointers to structs, by type: set by the modules that have such objects


def values(struct, into=None):
    """A struct as an object: numbers, words, arrays, texts, and objects for what the library made, which they then own."""
    found, of = {}, type(struct).__name__
    for name, kind in struct._fields_:
        value = getattr(struct, name)
        if name in _abi.WORDS.get(of, ()):
            value = _abi.WORDS[of][name].get(value, value)
        elif kind in adopted:
            value = adopted[kind](value) if value else None
        elif isinstance(value, ctypes.Structure):
            value = values(value)
        elif isinstance(value, ctypes.Array) and isinstance(value[0], ctypes.Structure):
            value = [values(one) for one in value]
        elif isinstance(value, ctypes.Array) and kind._type_ in adopted:
            value = [adopted[kind._type_](one) if one else None for one in value]
        elif isinstance(value, ctypes.Array):
            value = np.array(value)
        elif isinstance(value, bytes):
            value = value.decode(errors="replace")
        found[_attribute(name)] = value
    return (into or _results.OF[of])(**found)


# ---- options ----------------------------------------------------------------

TABLES = {"register": "clvox_register_table", "surface denoise": "clvox_denoise_table", "tensor fit": "clvox_tensor_fit_table",
          "tensor denoise": "clvox_tensor_denoise_table", "filter nlm": "clvox_nlm_table", "filter tv": "clvox_tv_table",
          "filter n4": "clvox_bias_table", "atlas": "clvox_atlas_table", "stats": "clvox_stats_table",
          "entropy": "clvox_entropy_table", "register series": "clvox_series_table",
          "segment": "clvox_segment_table"}


def _table(verb):
    if verb not in TABLES:
        raise Error(f"{verb!r} has no options of its own; these have: {', '.join(TABLES)}")
    return getattr(lib, TABLES[verb])()


def options(verb: str) -> Dict[str, Any]:
    """The options of a function, by keyword: options("register")["metric"].help, .argument (what it takes), .standard.
    verb: as the command names it, "register", "register series", "segment", "atlas", "stats", "entropy", "surface denoise",
    "tensor fit", "tensor denoise", "filter nlm", "filter tv", "filter n4"."""
    rows, text, at = {}, _abi.clvox_option_text(), 0
    while lib.clvox_option_describe(_table(verb), at, text):
        at += 1
        row = values(text)
        if row.name:  # else a field that other options set
            rows[_attribute(row.name)] = row
    return rows


table_options = options  # for functions that have a parameter of that name


def option_texts(verb, given):
    """The options that are given, as the command takes them: names and texts. None and False: not given."""
    known = options(verb)
    names, texts = [], []
    for key, value in given.items():
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            raise Error(f"{verb}: there is no option {key}" + (f"; did you mean {near[0]}?" if near else
                                                               f"; there are {', '.join(known)}"), kind=TypeError)
        row = known[key]
        if value is None or value is False:
            continue
        if row.type == "choice" and not isinstance(value, str):
            raise Error(f"{verb}: {key} is a word, {row.argument}, not {value!r}", kind=TypeError)
        if isinstance(value, (tuple, list, np.ndarray)):
            value = ("," if "," in row.argument or isinstance(value[0], str) else "x").join(str(v) for v in value)
        elif row.flag and value is not True:
            raise Error(f"{verb}: {key} is True or False")
        elif value is True and not row.flag:
            raise Error(f"{verb}: {key} takes {row.argument}")
        names.append(row.name.encode())
        texts.append(str(value).encode())
    return names, texts


def set_options(verb, given, struct, edge=0.0):
    """Sets fields of an options struct by keyword. edge: of a voxel, in mm."""
    names, texts = option_texts(verb, given)
    count = len(names)
    call(lib.clvox_options_set, _table(verb), (ctypes.c_char_p * count)(*names), (ctypes.c_char_p * count)(*texts), count, edge,
         ctypes.byref(struct))


F = TypeVar("F", bound=Callable[..., Any])


def with_options(verb: str) -> Callable[[F], F]:
    """A decorator that adds the options of the library to a function's documentation and signature."""
    def decorate(function):
        own = inspect.signature(function)
        hints = {key: hint for key, hint in _options.OF[verb].__annotations__.items() if key not in own.parameters}
        function.__signature__ = own.replace(parameters=[
            *(p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD),
            *(inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint) for key, hint in hints.items())])
        function.__annotations__ = {key: hint for key, hint in function.__annotations__.items() if key != "options"} | hints
        rows = [f"    {key}: {row.argument or 'True'}: {row.help}" + (f" ({row.standard})" if row.standard else "")
                for key, row in options(verb).items()]
        function.__doc__ += "\n\n    Options:\n" + "\n".join(rows)
        return function
    return decorate


class Step(NamedTuple):
    """How far long work is, as `progress` is told."""
    stage: str                # "deformation", "permutations", ...
    fraction: float           # of the whole, or of a registration of its deformation, from 0 to 1
    level: Optional[int]      # of a deformation, and the metric there; None elsewhere
    iteration: Optional[int]
    metric: Optional[float]


Watcher = Union[bool, Callable[[Step], Any], None]


class Bar:
    """What progress=True shows on standard error: tqdm's bar where tqdm is installed, else a line."""

    def __init__(self) -> None:
        try:
            from tqdm.auto import tqdm  # pylint: disable=import-outside-toplevel
        except ImportError:
            tqdm = None
        self.tqdm, self.shown = tqdm, None

    def __call__(self, step: Step) -> None:
        more = "" if step.level is None else f"level {step.level + 1}, iteration {step.iteration}: {step.metric:.6g}"
        if not self.tqdm:
            print(f"\r{step.stage} {100 * step.fraction:3.0f}%{', ' if more else ''}{more}\033[K", end="", file=sys.stderr, flush=True)
            self.shown = sys.stderr
            return
        if not self.shown:
            self.shown = self.tqdm(total=100, bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}")
        self.shown.set_description_str(step.stage, refresh=False)
        self.shown.set_postfix_str(more, refresh=False)
        self.shown.update(100 * step.fraction - self.shown.n)

    def close(self) -> None:
        """Ends the bar."""
        if self.tqdm and self.shown:
            self.shown.close()
        elif self.shown:
            print(file=self.shown, flush=True)
        self.shown = None


def watcher(progress: Watcher) -> Optional[Callable[[Step], Any]]:
    """What is called with a Step; None: nothing."""
    return Bar() if progress is True else progress or None


def _close(told: Any) -> None:
    if isinstance(told, Bar):
        told.close()


class Progress:
    """A callback for the library. What `function` (or Ctrl-C meanwhile) raises stops the library, and call() raises it again."""

    def __init__(self, function: Watcher) -> None:
        self.error: Optional[BaseException] = None
        self.told = watcher(function)

        def body(_, pointer):
            try:
                if threading.current_thread() is threading.main_thread():
                    _interrupt.deliver()
                if self.told:
                    step = pointer[0]
                    within = step.level >= 0
                    self.told(Step(step.stage.decode(), step.fraction, step.level if within else None,
                                   step.iteration if within else None, step.metric if within else None))
                return 0
            except BaseException as error:  # pylint: disable=broad-except
                self.error = error
                return 1
        self.pointer = _abi.clvox_progress(body)

    def call(self, function, *arguments):
        """As call(), with this callback among the arguments' fields."""
        try:
            status = call(function, *arguments)
        except (Error, KeyboardInterrupt):
            self.settle()
            raise
        self.settle()
        return status

    def settle(self):
        """Ends the line of the bar, and raises what the callback raised."""
        _close(self.told)
        error, self.error = self.error, None
        if error:
            raise error from None


def sized(kind, **fields):
    """Options with their size and these fields; 0 elsewhere."""
    return kind(size=ctypes.sizeof(kind), **fields)


def fill(struct, **fields):
    """Sets fields of a struct and returns it."""
    for name, value in fields.items():
        setattr(struct, name, value)
    return struct
