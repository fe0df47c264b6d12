#!/usr/bin/env python3
"""What `speed_benchmark_torch` prints, and what scripts made for PyTorch's read of it."""

import os
import re
import subprocess
import unittest

PROGRAM = os.path.join(os.path.dirname(os.environ["TORCHLET"]), "speed_benchmark_torch")
FIXTURES = "tests/fixtures"


def benchmark(*flags: str) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAM, *flags], capture_output=True, text=True)


class SpeedBenchmark(unittest.TestCase):
    def check(self, *flags: str) -> list:
        done = benchmark(*flags)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()

    def fails(self, status: int, message: str, *flags: str):
        done = benchmark(*flags)
        self.assertEqual((done.returncode, done.stderr), (status, f"speed_benchmark_torch: error: {message}\n"))

    def test_the_lines_of_pytorch(self):
        lines = self.check(f"--model={FIXTURES}/linear.pt", "--input_dims=2,5", "--input_type=float", "--warmup=2", "--iter=3")
        self.assertEqual(lines[:3], ["Starting benchmark.", "Running warmup runs.", "Main runs."])
        self.assertEqual(len(lines), 4)
        number = r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
        found = re.fullmatch(f"Main run finished. Microseconds per iter: {number}. Iters per second: {number}", lines[3])
        self.assertTrue(found, lines[3])
        self.assertAlmostEqual(float(found[1]) * float(found[2]) / 1e6, 1, places=3)

    def test_report_pep_has_a_line_for_each_run(self):
        lines = self.check("--model", f"{FIXTURES}/linear.pt", "--input_dims", "2,5", "--input_type", "float", "--iter", "4",
                           "--report_pep")
        pep = [line for line in lines if line.startswith("PyTorchObserver ")]
        self.assertEqual(len(pep), 4)
        for line in pep:
            self.assertRegex(line, r'^PyTorchObserver \{"type": "NET", "unit": "us", "metric": "latency", "value": "\d+"\}$')

    def test_flags_as_gflags_takes_them(self):
        self.check(f"-model={FIXTURES}/linear.pt", "-input_dims=5", "-input_type=float", "-iter=1", "--report_pep=false",
                   "--use_caching_allocator=true", "--pthreadpool_size=1", "--no_inputs=false")

    def test_bundled_inputs(self):
        lines = self.check(f"--model={FIXTURES}/bundled.pt", "--use_bundled_input=1", "--iter=1", "--print_output")
        self.assertRegex(lines[0], r"\[40, 2\] float32")
        self.fails(2, "--use_bundled_input: the model has only 3 bundled inputs (see --help)",
                   f"--model={FIXTURES}/bundled.pt", "--use_bundled_input=3")
        self.fails(1, "the model has no bundled inputs for forward(); add them with `torchlet bundle` or name "
                      "inputs", f"--model={FIXTURES}/linear.pt", "--use_bundled_input=0")

    def test_several_inputs_and_formats(self):
        # linear takes one: the second is refused by the model, so both were made.
        done = benchmark(f"--model={FIXTURES}/linear.pt", "--input_dims=1,5;1,2,3,4", "--input_type=float;uint8_t",
                         "--input_memory_format=contiguous_format;channels_last")
        self.assertEqual(done.returncode, 1)
        self.assertIn("forward", done.stderr)

    def test_wrong_use(self):
        model = f"--model={FIXTURES}/linear.pt"
        self.fails(2, "--model is required (see --help)")
        self.fails(2, "--input_dims: it must be given, unless --no_inputs or --use_bundled_input is (see --help)", model)
        self.fails(2, "--input_dims: '1,x' is no shape such as 1,3,224,224 (see --help)", model, "--input_dims=1,x",
                   "--input_type=float")
        self.fails(2, "--input_type: it must name as many as --input_dims (see --help)", model, "--input_dims=1,5")
        self.fails(2, "--input_type: there is no type 'half'; there are: float, uint8_t, int64 (see --help)", model,
                   "--input_dims=1,5", "--input_type=half")
        self.fails(2, "--input_memory_format: channels_last is for tensors of four dimensions (see --help)", model,
                   "--input_dims=1,5", "--input_type=float", "--input_memory_format=channels_last")
        self.fails(2, "--vulkan: Torchlet has no Vulkan device yet (see --help)", model, "--no_inputs", "--vulkan")


if __name__ == "__main__":
    unittest.main()
