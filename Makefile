# The short way in. Everything here is cmake, ctest and two scripts; nothing else knows about this file.
#
#   make test PRESET=asan-ubsan             another preset of CMakePresets.json
#   make test CMAKE_ARGS=-DTORCHLET_WERROR=ON
PRESET ?= release
JOBS ?= $(shell nproc)
CMAKE_ARGS ?=

BUILD_DIR = build/$(patsubst asan-ubsan,asan,$(PRESET))
MINUTES ?= 1
TARGETS ?=
ABIS ?=
DIGIT ?= models/samples/digit_7.png
MODEL ?= models/digits_mobilenet_v2.pt

.PHONY: help deps configure build command demo nnapi-demo test test-arm64 test-armv7 test-x86 test-java test-python test-spark \
  test-apple test-android test-small test-demos aar size fuzz format clean

help:
	@echo 'make demo     install what is missing, build the command, classify a picture and time it'
	@echo 'make nnapi-demo  quantize a MobileNetV2 in four ways, convert it to NNAPI, time all of them; MODEL=float.pt'
	@echo 'make test     install what is missing, build, run every test'
	@echo 'make test-arm64, test-armv7, test-x86    cross-compile; test the kernels, the libraries for Android and the sample model'
	@echo 'make test-java, test-python, test-apple   the bindings; test-demos, test-spark   the demo apps, batch scoring on Apache Spark'
	@echo 'make aar      build/aar/maven with an AAR, by the NDK in ANDROID_NDK_HOME; make test-android tests it without one'
	@echo 'make size     build libtorchlet.so, show what takes its room, and the sizes of builds for one model; ABIS="arm64 armv7"'
	@echo 'make test-small  run models by libraries for one model, for 64-bit Arm under QEMU'
	@echo 'make fuzz     build the fuzzers with Clang, run each for MINUTES=1; TARGETS="load run" takes some of them'
	@echo 'make command  build the commands alone: build/release/torchlet and speed_benchmark_torch'
	@echo 'make build    build the library, the command and the tests'
	@echo 'make format   clang-format over the C++ sources'
	@echo 'make clean    remove build/'
	@echo 'Presets: PRESET=release (default), debug, asan-ubsan, tsan'

deps:
	@scripts/install_deps.sh

configure: deps
	@cmake --preset $(PRESET) $(CMAKE_ARGS) --log-level=WARNING >/dev/null

build: configure
	@cmake --build --preset $(PRESET) --parallel $(JOBS)

command: configure
	@cmake --build --preset $(PRESET) --parallel $(JOBS) --target torchlet_cli speed_benchmark_torch

demo: configure
	@cmake --build --preset $(PRESET) --parallel $(JOBS) --target torchlet_cli
	$(BUILD_DIR)/torchlet run models/digits_mobilenet_v2.pt --image $(DIGIT) --labels models/digits_labels.txt
	$(BUILD_DIR)/torchlet bench models/digits_mobilenet_v2.pt --shape 1,3,224,224

nnapi-demo: configure
	@cmake --build --preset $(PRESET) --parallel $(JOBS) --target torchlet_cli speed_benchmark_torch neuralnetworks
	python3 examples/nnapi_mobilenetv2/run.py $(MODEL) --input $(DIGIT) --calibration models/samples --programs $(BUILD_DIR)

test: build
	@ctest --preset $(PRESET) --parallel $(JOBS) --progress

test-arm64 test-armv7 test-x86: test-%:
	@JOBS=$(JOBS) CMAKE_ARGS="$(CMAKE_ARGS)" scripts/test_processor.sh $*

test-java test-python test-spark test-apple test-android test-small test-demos: test-%:
	@JOBS=$(JOBS) CMAKE_ARGS="$(CMAKE_ARGS)" scripts/test_$*.sh

aar:
	@JOBS=$(JOBS) scripts/build_aar.sh

size: deps
	@scripts/check_size.sh $(JOBS)
	@JOBS=$(JOBS) scripts/size_report.sh $(ABIS)

fuzz:
	@JOBS=$(JOBS) CMAKE_ARGS="$(CMAKE_ARGS)" scripts/fuzz.sh $(MINUTES) $(TARGETS)

format:
	@scripts/install_deps.sh clang-format
	@git ls-files '*.cc' '*.h' '*.inc' | xargs -r clang-format -i

clean:
	rm -rf build
