import subprocess
import sys

import pytest

from taskorder.ordering.clock import Clock, log_compilation


def test_a_clock_ends_at_its_limit():
    clock = Clock(60)
    assert not clock.report(1.0, 0.0)
    assert 0 < clock.left <= 60
    clock.compiling -= 60  # as if a minute had passed: on a busy machine no short time is sure to be long enough
    assert clock.report(1.0, 0.0)
    assert clock.left == 0
    assert not clock.stopped


def test_the_watcher_sees_the_sign_it_wants_and_may_stop_the_search():
    seen = []

    def watch(error, bound, seconds):
        seen.append((error, bound))
        return True

    clock = Clock(60, watch, unit=-2.0)
    assert clock.report(-2.0, -3.0)
    assert seen == [(4.0, 6.0)]
    assert clock.stopped
    assert clock.share(0.5).left == 0


def test_without_a_unit_the_watcher_sees_what_is_reported():
    seen = []
    Clock(60, lambda *state: seen.append(state[:2])).report(2.0, 1.0)
    assert seen == [(2.0, 1.0)]


def test_a_share_ends_with_its_part_and_with_the_whole():
    clock = Clock(60)
    part = clock.share(0.5)
    assert 20 < part.left <= 30
    clock.compiling -= 30
    assert part.report(1.0, 0.0)
    assert not clock.report(1.0, 0.0)
    stopping = Clock(60, lambda *state: True)
    part = stopping.share(0.5, unit=-1.0)
    assert part.report(1.0, 0.0)
    assert stopping.stopped


def test_what_a_share_decides_does_not_depend_on_how_much_time_has_passed():
    clock = Clock(100)
    clock.compiling -= 60
    part = clock.share(0.5)
    assert part.limit == 50
    assert 10 < part.left <= 20


def test_a_share_of_a_share_that_was_cut_short_is_known_to_the_whole():
    clock = Clock(100)
    part = clock.share(0.5)
    smaller = part.share(0.5)
    assert not smaller.report(1.0, 0.0)
    assert not clock.cut
    assert not part.cut
    clock.compiling -= 30
    assert smaller.report(1.0, 0.0)
    assert clock.cut
    assert part.cut
    assert not part.report(1.0, 0.0)


def test_a_quiet_share_tells_no_watcher_but_ends_with_the_whole():
    seen = []
    clock = Clock(60, lambda *state: seen.append(state))
    part = clock.share(1.0, quiet=True)
    assert not part.report(1.0, 0.0)
    assert not seen
    clock.stopped = True
    assert part.report(1.0, 0.0)


def test_compilation_does_not_count():
    clock = Clock(60)
    with clock.without_compilation():
        from numba import njit

        njit(lambda x: x + 1)(1)
    assert clock.compiling > 0.01
    before = clock.seconds
    clock.compiling += 60
    assert before - clock.seconds > 30


def test_the_first_compilation_is_logged_and_only_that(caplog):
    from numba import njit

    kernels = [njit(lambda x: x + 1), njit(lambda x: x + 2)]
    log_compilation.cache_clear()
    caplog.set_level("INFO", "taskorder")
    with Clock(60).without_compilation():
        for kernel in kernels:
            kernel(1)
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("compiling numerical kernels for this machine: about 20 s, once")
    log_compilation.cache_clear()
    with Clock(60).without_compilation():
        kernels[0](1)
    assert len(caplog.messages) == 1


@pytest.mark.slow("compile")
def test_threads_of_a_fresh_process_may_all_solve():
    """Importing numba in two threads at once used to wait forever, now and then."""
    code = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from taskorder import chain, solve\n"
        "with ThreadPoolExecutor(4) as threads:\n"
        "    plans = list(threads.map(lambda P: solve(chain(P, 0.8), retention=1), (9, 10, 9, 10)))\n"
        "print([plan.proven for plan in plans])\n"
    )
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
        assert done.stdout.split() == ["[True,", "True,", "True,", "True]"]
