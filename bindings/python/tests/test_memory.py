"""Who keeps what alive, and that nothing stays."""

import gc
import resource
import weakref

import numpy as np
import torchlet


class Array(np.ndarray):
    """With weak references."""


def test_inputs_live_as_long_as_their_tensors(identity):
    x = np.arange(1000.0).view(Array)
    alive = weakref.ref(x)
    y = identity(x)
    del x
    gc.collect()
    assert alive() is not None and y[999] == 999
    del y
    gc.collect()
    assert alive() is None


def test_inputs_that_are_not_given_back_go(digits, seven):
    x = seven.copy().view(Array)
    alive = weakref.ref(x)
    digits(x)
    del x
    gc.collect()
    assert alive() is None


def test_dlpack_inputs_go(identity):
    class Owner:
        def __init__(self, data):
            self.data = data

        def __dlpack__(self, **kwargs):
            return self.data.__dlpack__(**kwargs)

        def __dlpack_device__(self):
            return self.data.__dlpack_device__()

    x = np.arange(10.0).view(Array)
    alive = weakref.ref(x)
    y = identity(Owner(x))
    del x
    gc.collect()
    assert y[9] == 9
    del y
    gc.collect()
    assert alive() is None


def test_results_outlive_the_model(script):
    model = script("def forward(self: __torch__.M, x: Tensor) -> List[Tensor]:\n  return [torch.mul(x, 2), x]")
    gone = weakref.ref(model)
    a, b = model(np.ones(5000, np.float32))
    method = model.method("forward")
    del model
    gc.collect()
    assert gone() is None and a.sum() == 10000 and b.sum() == 5000
    assert method(np.ones(2, np.float32))[0].tolist() == [2, 2]


def test_parameters_outlive_the_model():
    from conftest import DIGITS

    model = torchlet.load(DIGITS)
    weights = model.named_parameters()
    first = [weight.copy() for _, weight in weights]
    del model
    gc.collect()
    for (_, weight), before in zip(weights, first):
        np.testing.assert_array_equal(weight, before)


def test_views_of_results_keep_them(identity):
    y = torchlet.Tensor(np.arange(8.0)).numpy()[2:]
    gc.collect()
    assert y.tolist() == [2, 3, 4, 5, 6, 7]


def resident() -> int:
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize()


def grows(action, times: int) -> int:
    """Bytes that the process has more after so many calls, once it has warmed up."""
    for _ in range(times // 5):
        action()
    gc.collect()
    before = resident()
    for _ in range(times):
        action()
    gc.collect()
    return resident() - before


def test_10000_calls_leave_nothing(digits, seven, anything):
    assert grows(lambda: digits(seven), 10000) < 1 << 20
    x = np.ones(1000)
    value = {"a": [x, (x, None)], "b": ["text", 1.5]}
    value = (value["a"][0], [x, x], {"k": x}, "text" * 100)
    assert grows(lambda: anything(value), 10000) < 1 << 20


def test_10000_errors_leave_nothing(digits):
    def fails():
        try:
            digits(np.ones((1, 2, 3), np.float32))
        except torchlet.Error:
            pass

    def refused():
        try:
            digits(object(), np.ones(100000))
        except torchlet.Error:
            pass

    assert grows(fails, 2000) < 1 << 20
    assert grows(refused, 10000) < 1 << 20


def test_loading_leaves_nothing():
    from conftest import DIGITS

    data = DIGITS.read_bytes()
    assert grows(lambda: torchlet.load(data), 200) < 4 << 20
