"""The GIL is free while models load and run."""

import concurrent.futures
import copy
import io
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
import torchlet
from conftest import DIGITS


def test_python_goes_on_meanwhile(endless):
    counted = 0
    done = threading.Event()
    worker = threading.Thread(target=lambda: (endless(3_000_000), done.set()))
    worker.start()
    while not done.is_set():
        counted += 1
    worker.join()
    assert counted > 10000


def test_threads_run_at_once(endless):
    """Two threads use more of the processors than one could, as soon as the machine has them free."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one processor")

    def processors_used(threads):
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            start, work = time.perf_counter(), time.process_time()
            list(pool.map(endless, [1_000_000] * threads))
            return (time.process_time() - work) / (time.perf_counter() - start)

    deadline = time.perf_counter() + 30
    while time.perf_counter() < deadline:
        if processors_used(2) > 1.3:
            return
    if os.getloadavg()[0] > len(os.sched_getaffinity(0)):
        pytest.skip("other programs have the processors")
    pytest.fail("never more than one thread at once")


def test_threads_are_inside_at_once(script, monkeypatch):
    """Each of two programs goes on when both have printed."""
    model = script('def forward(self: __torch__.M, x: int) -> int:\n  print("x is", x)\n  return x')
    barrier = threading.Barrier(2, timeout=30)

    class Meeting:
        def write(self, text):
            barrier.wait()

    monkeypatch.setattr(sys, "stdout", Meeting())
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert list(pool.map(model, [1, 2])) == [1, 2]


def test_many_threads_one_model(digits, seven):
    expected = digits(seven)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for y in pool.map(lambda _: digits(seven), range(200)):
            np.testing.assert_array_equal(y, expected)


def test_many_threads_first_calls(seven):
    model = torchlet.load(DIGITS)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: model(seven), range(8)))
    for y in results:
        np.testing.assert_array_equal(y, results[0])


def test_copies_have_their_own_state(digits):
    other = copy.deepcopy(digits)
    assert other is not digits and other.type_name == digits.type_name


def test_print_goes_to_stdout(script, capsys):
    model = script('def forward(self: __torch__.M, x: int) -> int:\n  print("x is", x)\n  return x')
    model(3)
    assert capsys.readouterr().out == "x is 3\n"


def test_print_by_threads_while_others_hold_the_gil(script, monkeypatch):
    model = script('def forward(self: __torch__.M, x: int) -> int:\n  print("x is", x)\n  return x')
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(model, i) for i in range(200)]
        for _ in range(50):
            model.placement, model.methods, model.graph, torchlet.num_threads()
            torchlet.set_num_threads(0)
        assert sorted(call.result() for call in calls) == list(range(200))
    assert sorted(sys.stdout.getvalue().split("\n")[:-1]) == sorted(f"x is {i}" for i in range(200))


def test_what_print_raises_comes_out(script, monkeypatch):
    model = script('def forward(self: __torch__.M, x: int) -> int:\n  print("x is", x)\n  return x')

    class Full:
        def write(self, text):
            raise BlockingIOError("the pipe is full")

    monkeypatch.setattr(sys, "stdout", Full())
    with pytest.raises(BlockingIOError, match="the pipe is full"):
        model(1)


def test_print_may_call_models(script, monkeypatch, digits, seven):
    model = script('def forward(self: __torch__.M, x: int) -> int:\n  print("x is", x)\n  return x')
    seen = []

    class Calls:
        def write(self, text):
            seen.append(digits(seven).argmax())

    monkeypatch.setattr(sys, "stdout", Calls())
    model(1)
    assert seen == [7]


def test_cancel(endless):
    timer = threading.Timer(0.1, endless.cancel)
    timer.start()
    with pytest.raises(torchlet.CancelledError):
        endless(2**62)
    with pytest.raises(torchlet.CancelledError):
        endless(2**62)
    endless.cancel(False)
    assert endless(3) == 3


@pytest.fixture
def listens():
    """Shells start programs in the background with SIGINT ignored, and Python then leaves it so."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_control_c(endless, listens):
    timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        endless(2**62)
    assert time.perf_counter() - start < 5
    assert endless(3) == 3
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_program_stays_its_own(endless):
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:
        timer = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        assert endless(3_000_000) > 0
        timer.join()
        time.sleep(0)
        assert heard == [1]
    finally:
        signal.signal(signal.SIGINT, before)


def python(program: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120, **options
    )


def test_fork():
    done = python(f"""
        import os, sys, numpy, torchlet
        model = torchlet.load({str(DIGITS)!r})
        x = torchlet.load_image(numpy.zeros((300, 300, 3), numpy.uint8))
        before = model(x)
        for _ in range(5):
            child = os.fork()
            if child == 0:
                os._exit(0 if (model(x) == before).all() else 1)
            assert os.waitpid(child, 0)[1] == 0
    """)
    assert done.returncode == 0, done.stderr


def test_the_interpreter_ends_while_a_thread_runs(tmp_path):
    from conftest import write_script

    write_script(
        tmp_path / "m.pt",
        "def forward(self: __torch__.M, n: int) -> int:\n  t = 0\n  for i in range(n):\n    t = torch.add(t, i)\n  return t",
    )
    # Long calls, which run on, and short ones, which come back to Python at any moment of its end.
    for count in 10000, 1, 1, 1, 1:
        done = python(f"""
            import threading, time, torchlet
            model = torchlet.load({str(tmp_path / "m.pt")!r})
            def calls():
                while True:
                    model({count})
            for _ in range(3):
                threading.Thread(target=calls, daemon=True).start()
            time.sleep(0.2)
        """)
        assert done.returncode == 0 and done.stderr == "", done.stderr


def test_inputs_that_end_with_the_interpreter():
    done = python(f"""
        import numpy, torchlet
        model = torchlet.load({str(DIGITS)!r})
        x = numpy.zeros((1, 3, 32, 32), numpy.float32)
        y = model(x)
        t = torchlet.Tensor(x)
        p = torchlet.profile()
        p.__enter__()
    """)
    assert done.returncode == 0 and done.stderr == "", done.stderr
