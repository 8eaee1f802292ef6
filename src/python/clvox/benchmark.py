# SPDX-License-Identifier: Apache-2.0
"""How long the kernels of a call take on a device: what the command prints with --profile."""
from __future__ import annotations

import time
from typing import Any, Callable, List

from . import _results
from ._library import Context, Error, Result


class KernelTime(_results.Timing):
    """Of a kernel, in one call."""
    calls: float  # type: ignore[assignment]
    rate: float
    share: float


class Benchmark(Result):
    """What bench() found."""
    seconds: float
    device_seconds: float
    bandwidth: float
    kernels: List[KernelTime]


def bench(function: Callable[..., Any], *arguments: Any, repeat: int = 3, device: object = None, **options: Any) -> Benchmark:
    """Calls function(*arguments, context=..., **options) `repeat` times on a device that times its kernels, after once to
    build them, and tells what they took:

        clvox.bench(clvox.filter.gaussian, image, "2mm").kernels[0].label

    Returns seconds (the shortest call, on the host's clock), device_seconds (all kernels and transfers of a call), bandwidth
    (bytes a second of a plain copy on the device) and kernels: of each and of each kind of transfer, the longest first, label,
    calls, seconds and bytes of one call, rate (bytes a second) and share (of bandwidth). kernels is empty on a device without
    timers."""
    if repeat < 1:
        raise Error(f"bench: {repeat} calls; at least one is needed")
    context = Context(device, profile=True)
    function(*arguments, context=context, **options)
    before = {row.label: row for row in context.timings()}
    walls = []
    for _ in range(repeat):
        start = time.perf_counter()
        function(*arguments, context=context, **options)
        walls.append(time.perf_counter() - start)
    after, bandwidth = context.timings(), context.bandwidth()
    kernels: List[KernelTime] = []
    for row in after:
        old = before.get(row.label)
        calls, seconds, size = (getattr(row, name) - (getattr(old, name) if old else 0) for name in ("calls", "seconds", "bytes"))
        if calls > 0:
            rate = size / seconds if seconds > 0 else float("nan")
            kernels.append(KernelTime(label=row.label, calls=calls / repeat, seconds=seconds / repeat, bytes=size / repeat, rate=rate,
                                  share=rate / bandwidth))
    kernels.sort(key=lambda row: -row.seconds)
    return Benchmark(seconds=min(walls), device_seconds=sum(row.seconds for row in kernels), bandwidth=bandwidth, kernels=kernels)
