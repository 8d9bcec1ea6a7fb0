"""Verifying many packages, in this process or spread over several.

A report comes for every package, whatever happens: one that a fault of vstore kept from
being verified has a report that says so. Reports come in the order of the packages.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vstore.objects.ids import ObjectId
from vstore.package.checkpoint import Checkpoint
from vstore.verify.report import Report, unread

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

__all__ = ["MAX_JOBS", "Options", "verify_many"]

#: Processes at the most; more than any machine has use for.
MAX_JOBS: Final = 256
#: Packages that are begun at the most before the first of them is done, per process.
_AHEAD: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How packages are verified; see :func:`vstore.verify.verify_package`."""

    recompute: bool = True
    expect: ObjectId | None = None
    extends: ObjectId | Checkpoint | None = None
    fail_fast: bool = False
    base: str | None = None


def verify_many(
    paths: Sequence[str],
    options: Options,
    *,
    jobs: int = 1,
    progress: Callable[[str, int, int], None] | None = None,
    on_fault: Callable[[BaseException], None] | None = None,
) -> Generator[Report, None, None]:
    """Verify packages one after the other or at the same time.

    Args:
        paths: The packages.
        options: For all of them. With ``fail_fast`` no package is begun after one that has
            an error; what is left out has no report.
        jobs: Processes, 1 to :data:`MAX_JOBS`; 1 is this process alone.
        progress: Told the path that is worked at, and how many objects and bytes of it were
            read; with several processes only the path that comes next.
        on_fault: Told of an exception that is a fault of vstore; with several processes
            without its traceback.

    Yields:
        A report a package, in the order of ``paths``.
    """
    if jobs > 1 and len(paths) > 1:
        reports = _spread(paths, options, min(jobs, len(paths), MAX_JOBS), progress, on_fault)
    else:
        reports = _one_by_one(paths, options, progress, on_fault)
    for report in reports:
        yield report
        if options.fail_fast and report.by_severity["error"]:
            return


def _one_by_one(
    paths: Sequence[str],
    options: Options,
    progress: Callable[[str, int, int], None] | None,
    on_fault: Callable[[BaseException], None] | None,
) -> Iterator[Report]:
    for path in paths:
        if progress is not None:
            progress(path, 0, 0)
        try:
            # Where packages are spread, every processor has one to work at already.
            report = _verify(path, options, progress, processes=2)
        except Exception as error:  # noqa: BLE001 - one package's fault must not hide others
            if on_fault is not None:
                on_fault(error)
            report = _failed(path, _reason(error), fault=True)
        yield report


def _verify(
    path: str,
    options: Options,
    progress: Callable[[str, int, int], None] | None = None,
    processes: int = 1,
) -> Report:
    from vstore.verify.replay import verify_package

    told = None
    if progress is not None:
        tell = progress

        def told(objects: int, size: int) -> None:
            tell(path, objects, size)

    return verify_package(
        path,
        base=options.base,
        recompute=options.recompute,
        expect=options.expect,
        extends=options.extends,
        fail_fast=options.fail_fast,
        processes=processes,
        progress=told,
    )


def _spread(
    paths: Sequence[str],
    options: Options,
    jobs: int,
    progress: Callable[[str, int, int], None] | None,
    on_fault: Callable[[BaseException], None] | None,
) -> Iterator[Report]:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # Spawned, not forked: the same on every system, whatever threads there are.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin)
    futures: dict[int, Future[Report]] = {}
    done = False
    try:
        for position, path in enumerate(paths):
            for later in range(len(futures) + position, len(paths)):
                if len(futures) >= jobs * _AHEAD:
                    break
                futures[later] = _submit(pool, paths[later], options)
            if progress is not None:
                progress(path, 0, 0)
            yield _result(futures.pop(position), path, on_fault)
        done = True
    finally:
        _end(pool, now=not done)


def _submit(pool: ProcessPoolExecutor, path: str, options: Options) -> Future[Report]:
    from concurrent.futures import BrokenExecutor, Future

    try:
        return pool.submit(_verify, path, options)
    except BrokenExecutor as error:
        failed: Future[Report] = Future()
        failed.set_exception(error)
        return failed


def _result(
    future: Future[Report], path: str, on_fault: Callable[[BaseException], None] | None
) -> Report:
    from concurrent.futures import BrokenExecutor

    try:
        return future.result()
    except BrokenExecutor:
        # Killed from outside, most likely for lack of memory: nobody knows which package
        # it was that needed it, so none of those in work is judged.
        return _failed(path, "a process that verifies packages was ended", fault=False)
    except Exception as error:  # noqa: BLE001 - one package's fault must not hide others
        if on_fault is not None:
            on_fault(error)
        return _failed(path, _reason(error), fault=True)


def _begin() -> None:
    """Leave Ctrl-C to the process that was asked."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end(pool: ProcessPoolExecutor, *, now: bool) -> None:
    """End the processes; ``now``: without waiting for packages in work."""
    processes = list((getattr(pool, "_processes", None) or {}).values()) if now else []
    pool.shutdown(wait=not now, cancel_futures=True)
    for one in processes:
        one.terminate()
    for one in processes:
        one.join()


def _failed(path: str, reason: str, *, fault: bool) -> Report:
    return unread(path, "VS-VER-004", reason, fault=fault)


def _reason(error: BaseException) -> str:
    """The type of an exception and where in vstore it came from; never its text."""
    place, trace = "", error.__traceback__
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] == "vstore":
            place = f" in {module}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"this is a fault of vstore itself: {type(error).__name__}{place}"
