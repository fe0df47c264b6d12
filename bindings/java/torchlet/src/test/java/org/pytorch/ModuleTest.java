package org.pytorch;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.Test;
import org.torchlet.Options;
import org.torchlet.Profiler;
import org.torchlet.Torchlet;
import org.torchlet.TorchletException;

/** Models, values and tensors on a plain JVM. */
public class ModuleTest {
  static final Path REPOSITORY = Path.of(System.getProperty("repository"));
  static final String VALUES = REPOSITORY.resolve("tests/fixtures/values.pt").toString();
  static final String DIGITS = REPOSITORY.resolve("models/digits_mobilenet_v2.pt").toString();

  private static Module values() {
    return Module.load(VALUES);
  }

  private static Tensor three() {
    return Tensor.fromBlob(new float[] {1, 2, 3}, new long[] {3});
  }

  // ---- values ----

  @Test
  public void valuesOfEveryKindGoThroughMethods() {
    Module module = values();
    IValue[] record =
        module.runMethod("record", IValue.from(4), IValue.from(1.5), IValue.from(true), IValue.from("hé\0😀")).toTuple();
    assertEquals(5, record[0].toLong());
    assertEquals(3.0, record[1].toDouble(), 0);
    assertFalse(record[2].toBool());
    assertEquals("hé\0😀!", record[3].toStr());

    IValue[] pair = module.runMethod("swap", IValue.tupleFrom(IValue.from(1), IValue.from("x"))).toTuple();
    assertEquals("x", pair[0].toStr());
    assertTrue(module.runMethod("maybe", IValue.optionalNull()).isNull());
    assertEquals(7, module.runMethod("maybe", IValue.from(7)).toLong());
    assertArrayEquals(
        new double[] {1.5, 2.5}, module.runMethod("floats", IValue.listFrom(1.0, 2.0)).toDoubleList(), 0);
    assertArrayEquals(new double[0], module.runMethod("floats", IValue.listFrom(new double[0])).toDoubleList(), 0);
    assertArrayEquals(new double[] {1, 2}, module.runMethod("imaginary").toComplex(), 0);
    IValue[] nested = module.runMethod("nested", IValue.listFrom(IValue.listFrom(5L, 6L))).toList();
    assertArrayEquals(new long[] {5, 6}, nested[0].toLongList());
    assertArrayEquals(new long[] {1}, nested[1].toLongList());

    Map<String, IValue> counts = new LinkedHashMap<>();
    counts.put("b", IValue.from(1));
    counts.put("a", IValue.from(2));
    Map<String, IValue> more = module.runMethod("counts", IValue.dictStringKeyFrom(counts)).toDictStringKey();
    assertEquals(List.of("b", "a", "more"), new ArrayList<>(more.keySet()));
    assertEquals(2, more.get("more").toLong());
    Map<Long, IValue> numbers = new HashMap<>();
    numbers.put(-3L, IValue.from(0.5));
    assertEquals(0.5, module.runMethod("by_number", IValue.dictLongKeyFrom(numbers)).toDictLongKey().get(-3L).toDouble(), 0);

    assertEquals(
        60.0f,
        module
            .runMethod("total", Map.of("scale", IValue.from(10.0)), IValue.listFrom(three()))
            .toTensor()
            .getDataAsFloatArray()[0],
        0);
  }

  @Test
  public void aValueOfAnotherKindIsRefused() {
    IValue value = IValue.from("text");
    IllegalStateException e = assertThrows(IllegalStateException.class, value::toTensor);
    assertEquals("The value is of kind str, not Tensor", e.getMessage());
    assertThrows(IllegalStateException.class, () -> IValue.from(1).toDouble());
  }

  // ---- tensors ----

  @Test
  public void directBuffersAreNotCopied() {
    FloatBuffer buffer = Tensor.allocateFloatBuffer(3);
    Tensor tensor = Tensor.fromBlob(buffer, new long[] {3});
    Module module = values();
    for (float first : new float[] {1, 10}) {
      buffer.put(0, first);
      Map<String, IValue> result = module.forward(IValue.from(tensor)).toDictStringKey();
      assertArrayEquals(new float[] {2 * first, 0, 0}, result.get("out").toTensor().getDataAsFloatArray(), 0);
      assertEquals(first + 1, result.get("aux").toTensor().getDataAsFloatBuffer().get(0), 0);
    }
  }

  /** All of a buffer counts, wherever its position is. */
  @Test
  public void positionsOfBuffersDoNotMatter() {
    ByteBuffer bytes = Tensor.allocateByteBuffer(12);
    for (float number : new float[] {1, 2, 3}) bytes.putFloat(number);
    FloatBuffer floats = Tensor.allocateFloatBuffer(3);
    floats.put(new float[] {1, 2, 3});
    Tensor[] tensors = {
      Tensor.fromBlob(bytes, DType.FLOAT32, new long[] {3}, MemoryFormat.CONTIGUOUS), Tensor.fromBlob(floats, new long[] {3})
    };
    for (Tensor tensor : tensors) {
      assertArrayEquals(new float[] {1, 2, 3}, tensor.getDataAsFloatArray(), 0);
      Tensor out = values().forward(IValue.from(tensor)).toDictStringKey().get("out").toTensor();
      assertArrayEquals(new float[] {2, 4, 6}, out.getDataAsFloatArray(), 0);
    }
  }

  @Test
  public void tensorsOfEveryType() {
    long[] shape = {2};
    assertArrayEquals(new byte[] {1, -1}, Tensor.fromBlob(new byte[] {1, -1}, shape).getDataAsByteArray());
    assertArrayEquals(new byte[] {1, -1}, Tensor.fromBlobUnsigned(new byte[] {1, -1}, shape).getDataAsUnsignedByteArray());
    assertArrayEquals(new int[] {1, 2}, Tensor.fromBlob(new int[] {1, 2}, shape).getDataAsIntArray());
    assertArrayEquals(new long[] {1, 2}, Tensor.fromBlob(new long[] {1, 2}, shape).getDataAsLongArray());
    assertArrayEquals(new double[] {1, 2}, Tensor.fromBlob(new double[] {1, 2}, shape).getDataAsDoubleArray(), 0);
    Tensor floats = Tensor.fromBlob(new float[] {1.5f, -2}, shape);
    for (DType dtype : new DType[] {DType.FLOAT16, DType.BFLOAT16}) {
      Tensor half = floats.to(dtype, MemoryFormat.CONTIGUOUS);
      assertEquals(dtype, half.dtype());
      assertArrayEquals(new float[] {1.5f, -2}, half.getDataAsFloatArray(), 0);
    }
    assertArrayEquals(new long[] {1, -2}, floats.to(DType.INT64, MemoryFormat.CONTIGUOUS).getDataAsLongArray());
    Tensor quantized = Tensor.quantized(Tensor.fromBlobUnsigned(new byte[] {3, 4}, shape), 0.5, 3);
    assertEquals(DType.QUINT8, quantized.dtype());
    assertEquals(0.5, quantized.scale(), 0);
    assertEquals(3, quantized.zeroPoint());
    assertThrows(TorchletException.InvalidArgument.class, floats::scale);
    assertThrows(IllegalStateException.class, floats::getDataAsIntArray);
    assertEquals(0, Tensor.fromBlob(new float[0], new long[] {0, 3}).numel());
  }

  @Test
  public void channelsLastIsAnOrderInMemory() {
    float[] nhwc = {1, 10, 2, 20, 3, 30};
    Tensor tensor = Tensor.fromBlob(nhwc, new long[] {1, 2, 1, 3}, MemoryFormat.CHANNELS_LAST);
    Tensor nchw = tensor.to(DType.FLOAT32, MemoryFormat.CONTIGUOUS);
    assertArrayEquals(new float[] {1, 2, 3, 10, 20, 30}, nchw.getDataAsFloatArray(), 0);
    Tensor out = values().forward(IValue.from(tensor)).toDictStringKey().get("out").toTensor();
    assertEquals(MemoryFormat.CHANNELS_LAST, out.memoryFormat());
    assertArrayEquals(new float[] {2, 20, 4, 40, 6, 60}, out.getDataAsFloatArray(), 0);
  }

  @Test
  public void wrongDataAreRefused() {
    assertThrows(IllegalArgumentException.class, () -> Tensor.fromBlob(new float[3], new long[] {4}));
    assertThrows(IllegalArgumentException.class, () -> Tensor.fromBlob(FloatBuffer.allocate(3), new long[] {3}));
    assertThrows(IllegalArgumentException.class, () -> Tensor.fromBlob(new float[3], new long[] {-3}));
    assertThrows(IllegalArgumentException.class, () -> Tensor.fromBlob(new float[3], new long[] {3}, MemoryFormat.CHANNELS_LAST));
    assertThrows(IllegalArgumentException.class, () -> Tensor.fromBlob(ByteBuffer.allocateDirect(8).asFloatBuffer(), new long[] {2}));
    assertThrows(IllegalArgumentException.class, () -> Tensor.numel(new long[] {Long.MAX_VALUE, 3}));
  }

  // ---- models ----

  /** The answers of the C++ library for the same input, by each way in. */
  @Test
  public void loadsFromPathBytesBufferAndDescriptor() throws IOException {
    byte[] model = Files.readAllBytes(Path.of(DIGITS));
    ByteBuffer direct = ByteBuffer.allocateDirect(model.length + 2);
    direct.position(1);
    direct.put(model);
    direct.flip().position(1);
    Tensor input = Tensor.fromBlob(new float[3 * 32 * 32], new long[] {1, 3, 32, 32});
    float[] expected = Module.load(DIGITS).forward(IValue.from(input)).toTensor().getDataAsFloatArray();
    assertEquals(10, expected.length);
    List<Module> modules = new ArrayList<>();
    modules.add(LiteModuleLoader.load(DIGITS));
    modules.add(Module.load(model, new Options()));
    modules.add(Module.load(direct, new Options().devices("cpu")));
    modules.add(Module.load(DIGITS).copy());
    for (Module module : modules) {
      assertArrayEquals(expected, module.forward(IValue.from(input)).toTensor().getDataAsFloatArray(), 0);
    }
  }

  @Test
  public void tellsWhatItIs() {
    Module module = values();
    assertTrue(module.methods().contains("record"));
    assertEquals("total(List[Tensor] x, float scale=1.0) -> Tensor", module.schema("total"));
    assertTrue(module.typeName().endsWith("Values"));
    assertTrue(module.info().contains("\"TorchScript\""));
    assertArrayEquals(new float[] {1, 2, 3}, module.attribute("weight").toTensor().getDataAsFloatArray(), 0);
    Module bundled = Module.load(REPOSITORY.resolve("tests/fixtures/bundled.pt").toString());
    assertTrue(bundled.bundledInputs().get(0)[0].isTensor());
    assertNotNull(Torchlet.version());
    assertTrue(Torchlet.devices().contains("\"cpu\""));
    int threads = Torchlet.numThreads();
    PyTorchAndroid.setNumThreads(1);
    assertEquals(1, Torchlet.numThreads());
    Torchlet.setNumThreads(threads);
  }

  @Test
  public void readsExtraFiles() {
    Map<String, String> extra = new HashMap<>();
    extra.put("no such file", "stays");
    extra.put("note.txt", "");
    LiteModuleLoader.load(REPOSITORY.resolve("tests/fixtures/lite/holder.ff.ptl").toString(), extra, Device.CPU);
    assertEquals("stays", extra.get("no such file"));
    assertEquals("a note", extra.get("note.txt"));
  }

  @Test
  public void aProfilerHearsItsThread() throws Exception {
    Module module = Module.load(DIGITS);
    try (Profiler profiler = new Profiler()) {
      module.forward(IValue.from(Tensor.fromBlob(new float[3 * 64 * 64], new long[] {1, 3, 64, 64})));
      assertTrue(profiler.table().contains("conv"));
      assertTrue(profiler.trace().contains("traceEvents"));
      ExecutorService other = Executors.newSingleThreadExecutor();
      Future<?> closing = other.submit(profiler::close);
      assertThrows(java.util.concurrent.ExecutionException.class, closing::get);
      other.shutdown();
    }
  }

  // ---- errors ----

  @Test
  public void errorsKeepMessagePlacesAndPythonClass() {
    TorchletException.ModelFailed e =
        assertThrows(TorchletException.ModelFailed.class, () -> values().runMethod("fails", IValue.from(4)));
    assertEquals(TorchletException.Status.RUNTIME, e.status());
    assertTrue(e.text(), e.text().contains("too large: 4"));
    assertTrue(e.getMessage().startsWith(e.text()));
    assertTrue(e.places().get(0), e.places().get(0).contains(".py:"));
    assertEquals("builtins.ValueError", e.pythonClass());

    assertThrows(TorchletException.NotFound.class, () -> values().runMethod("nothing"));
    assertThrows(TorchletException.InvalidArgument.class, () -> values().forward());
    assertThrows(TorchletException.InvalidArgument.class, () -> values().forward(IValue.from(1)));
    assertThrows(TorchletException.Io.class, () -> Module.load("no/such/file.pt"));
    assertThrows(TorchletException.Unsupported.class, () -> Module.load(REPOSITORY.resolve("README.md").toString()));
    assertThrows(TorchletException.Unsupported.class, () -> Module.load(VALUES, Device.VULKAN));
    assertThrows(TorchletException.InvalidArgument.class, () -> Module.load(VALUES, new Options().devices("tpu")));
    assertThrows(
        TorchletException.TimeLimit.class,
        () -> Module.load(VALUES, new Options().timeLimit(0.05)).runMethod("spin", IValue.from(1L << 60)));
    assertThrows(TorchletException.NotFound.class, () -> values().bundledInputs());
  }

  @Test
  public void nullsAreRefused() {
    Module module = values();
    assertThrows(IllegalArgumentException.class, () -> Module.load((String) null));
    assertThrows(IllegalArgumentException.class, () -> Module.load((byte[]) null, new Options()));
    assertThrows(IllegalArgumentException.class, () -> Module.load(VALUES, (Options) null));
    assertThrows(IllegalArgumentException.class, () -> Module.load(VALUES, (Device) null));
    assertThrows(IllegalArgumentException.class, () -> module.forward((IValue[]) null));
    assertThrows(IllegalArgumentException.class, () -> module.forward((IValue) null));
    assertThrows(IllegalArgumentException.class, () -> module.runMethod(null));
    assertThrows(IllegalArgumentException.class, () -> module.runMethod("forward", (Map<String, IValue>) null));
    assertThrows(IllegalArgumentException.class, () -> module.attribute(null));
    assertThrows(IllegalArgumentException.class, () -> module.schema(null));
    assertThrows(IllegalArgumentException.class, () -> module.extraFile(null));
    assertThrows(IllegalArgumentException.class, () -> module.bundledInputs(null));
    assertThrows(IllegalArgumentException.class, () -> IValue.from((Tensor) null));
    assertThrows(IllegalArgumentException.class, () -> IValue.from((String) null));
    assertThrows(IllegalArgumentException.class, () -> module.forward(IValue.listFrom((Tensor) null)));
    assertThrows(IllegalArgumentException.class, () -> Tensor.fromBlob((float[]) null, new long[] {1}));
    assertThrows(IllegalArgumentException.class, () -> Tensor.fromBlob(new float[1], null));
    assertThrows(IllegalArgumentException.class, () -> Tensor.fromBlob(new float[1], new long[] {1}, null));
  }

  @Test
  public void aClosedModuleIsRefusedAndItsResultsStay() {
    Module module = values();
    Tensor out = module.forward(IValue.from(three())).toDictStringKey().get("out").toTensor();
    Tensor weight = module.attribute("weight").toTensor();
    module.close();
    module.destroy();
    assertThrows(IllegalStateException.class, () -> module.forward(IValue.from(three())));
    assertThrows(IllegalStateException.class, module::methods);
    assertArrayEquals(new float[] {2, 4, 6}, out.getDataAsFloatArray(), 0);
    assertArrayEquals(new float[] {1, 2, 3}, weight.getDataAsFloatArray(), 0);
  }

  @Test
  public void anotherThreadCancels() throws Exception {
    Module module = values();
    ExecutorService other = Executors.newSingleThreadExecutor();
    Future<?> running =
        other.submit(
            () -> assertThrows(TorchletException.Cancelled.class, () -> module.runMethod("spin", IValue.from(1L << 60))));
    while (!running.isDone()) {
      module.cancel(true);
      Thread.sleep(1);
    }
    running.get();
    other.shutdown();
    module.cancel(false);
    assertEquals(3, module.runMethod("spin", IValue.from(3)).toLong());
  }

  @Test
  public void damagedModelsAreExceptions() throws IOException {
    byte[] model = Files.readAllBytes(Path.of(VALUES));
    for (int size = 0; size < model.length; size += 101) {
      byte[] part = java.util.Arrays.copyOf(model, size);
      assertThrows(TorchletException.class, () -> Module.load(part, new Options()));
    }
    for (int at = 0; at < model.length; at += 29) {
      byte[] damaged = model.clone();
      damaged[at] ^= 0x41;
      try {
        Module.load(damaged, new Options()).close();
      } catch (TorchletException e) {
        assertFalse(e.getMessage().isEmpty());
      }
    }
  }

  /** Memory that is mapped to be read is copied, since the model writes to its input. */
  @Test
  public void modelsDoNotWriteToBuffersThatAreRead() throws IOException {
    Path file = Files.createTempFile("floats", ".bin");
    Files.write(file, new byte[12]);
    try (FileChannel channel = FileChannel.open(file)) {
      ByteBuffer mapped = channel.map(FileChannel.MapMode.READ_ONLY, 0, 12).order(ByteOrder.nativeOrder());
      Module module = Module.load(REPOSITORY.resolve("tests/fixtures/api.pt").toString());
      Tensor input = Tensor.fromBlob(mapped.asFloatBuffer(), new long[] {3});
      assertArrayEquals(new float[3], values().forward(IValue.from(input)).toDictStringKey().get("out").toTensor().getDataAsFloatArray(), 0);
      float[] filled = module.runMethod("fill_", IValue.from(input)).toTensor().getDataAsFloatArray();
      assertTrue(filled[0] != 0);
      assertArrayEquals(new float[3], input.getDataAsFloatArray(), 0);
      Tensor own = Tensor.fromBlob(new float[3], new long[] {3});
      assertArrayEquals(filled, module.runMethod("fill_", IValue.from(own)).toTensor().getDataAsFloatArray(), 0);
      assertArrayEquals(filled, own.getDataAsFloatArray(), 0);
      assertArrayEquals(new byte[12], Files.readAllBytes(file));
    } finally {
      Files.delete(file);
    }
  }

  @Test
  public void valuesThatHoldThemselvesAreRefused() {
    Map<String, IValue> map = new HashMap<>();
    IValue dict = IValue.dictStringKeyFrom(map);
    map.put("itself", dict);
    assertThrows(IllegalArgumentException.class, () -> values().forward(dict));
    IValue[] tuple = new IValue[1];
    tuple[0] = IValue.tupleFrom(tuple);
    assertThrows(IllegalArgumentException.class, () -> values().forward(tuple[0]));
  }

  /** A buffer that begins in the middle of an element. */
  @Test
  public void unalignedBuffersAreRefusedOrCopied() {
    ByteBuffer bytes = ByteBuffer.allocateDirect(13).order(ByteOrder.nativeOrder());
    bytes.position(1);
    FloatBuffer floats = bytes.slice().order(ByteOrder.nativeOrder()).asFloatBuffer();
    try {
      values().forward(IValue.from(Tensor.fromBlob(floats, new long[] {3})));
    } catch (TorchletException.InvalidArgument | IllegalArgumentException e) {
      assertFalse(e.getMessage().isEmpty());
    }
  }

  /** Closing, running and collecting garbage all at once. */
  @Test
  public void closingWhileOthersRunIsSafe() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(3);
    for (int round = 0; round < 50; round++) {
      Module module = values();
      List<Future<?>> running = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        running.add(
            threads.submit(
                () -> {
                  try {
                    while (true) module.forward(IValue.from(three()));
                  } catch (IllegalStateException e) {
                    assertEquals("The module is closed", e.getMessage());
                  }
                }));
      }
      Thread.sleep(1);
      module.close();
      for (Future<?> one : running) one.get();
    }
    threads.shutdown();
  }

  // ---- memory ----

  private static long residentBytes() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("VmRSS:")) return Long.parseLong(line.replaceAll("\\D", "")) << 10;
    }
    throw new IOException("no VmRSS");
  }

  /**
   * Each forward takes and gives 300 KB: what stayed of 10,000 would be 3 GB. The bound leaves room for what is no leak: the
   * collector is asked to run at 64 MB of results, or twice what was in use, and malloc keeps the pages of the largest moment.
   */
  @Test
  public void manyForwardsOfFourThreadsLeaveNoMemoryBehind() throws Exception {
    Module module = values();
    float[] data = new float[75_000];
    Runnable forwards =
        () -> {
          for (int i = 0; i < 2500; i++) {
            Tensor input = Tensor.fromBlob(data, new long[] {data.length});
            Tensor out = module.forward(IValue.from(input)).toDictStringKey().get("out").toTensor();
            if (out.getDataAsFloatBuffer().get(7) != 0) throw new AssertionError();
          }
        };
    ExecutorService threads = Executors.newFixedThreadPool(4);
    long before = 0;
    for (int round = 0; round < 2; round++) { // the first one warms up
      before = residentBytes();
      List<Future<?>> running = new ArrayList<>();
      for (int i = 0; i < 4; i++) running.add(threads.submit(forwards));
      for (Future<?> one : running) one.get();
    }
    threads.shutdown();
    for (int i = 0; i < 20 && residentBytes() > before + (32 << 20); i++) {
      System.gc();
      Thread.sleep(50);
    }
    long left = residentBytes() - before;
    assertTrue(left / 1024 + " KB left", left < 256 << 20);
  }

  /** Modules that are not closed: as many again find room where the first ones were. */
  @Test
  public void manyModulesLeaveNoMemoryBehind() throws Exception {
    long before = 0;
    for (int round = 0; round < 3; round++) {
      for (int i = 0; i < 1000; i++) values().forward(IValue.from(three()));
      for (int i = 0; i < 5; i++) {
        System.gc();
        Thread.sleep(50);
      }
      if (round == 0) before = residentBytes();
    }
    long left = residentBytes() - before;
    assertTrue(left / 1024 + " KB left", left < 64 << 20);
  }
}
