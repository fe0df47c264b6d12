package org.torchlet;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.pytorch.DType;
import org.pytorch.IValue;
import org.pytorch.MemoryFormat;
import org.pytorch.Module;
import org.pytorch.Tensor;

/**
 * What `torchlet run MODEL --calls REQUEST --save FOLDER` does (cli/calls.h), through Java:
 *
 * <pre>RunCalls run MODEL --calls REQUEST --save FOLDER</pre>
 *
 * <p>So whatever compares the command's answers compares Java's. Sparse tensors and quantized ones
 * with a scale for each channel have no form in Java: such a call is an error.
 */
public final class RunCalls {
  private final Path folder;
  private final Map<String, byte[]> files = new HashMap<>();
  private final ByteArrayOutputStream data = new ByteArrayOutputStream();

  private RunCalls(Path folder) {
    this.folder = folder;
  }

  public static void main(String[] arguments) throws IOException {
    String model = arguments[1];
    Path request = Path.of(arguments[3]).toAbsolutePath(), folder = Path.of(arguments[5]);
    Module module;
    try {
      module = Module.load(model, new Options().allowUnsupported(true));
    } catch (TorchletException e) {
      System.err.println(e.getMessage());
      System.exit(1);
      return;
    }
    RunCalls run = new RunCalls(request.getParent());
    Map<String, Object> read = Json.object(Json.parse(new String(Files.readAllBytes(request), StandardCharsets.UTF_8)));
    List<Object> calls = Json.list(read.get("calls"));
    boolean fresh = read.get("stateful") != Boolean.TRUE && calls.size() > 1;
    List<Object> results = new ArrayList<>();
    for (Object call : calls) {
      Map<String, Object> result = new LinkedHashMap<>();
      try {
        run.call(fresh ? module.copy() : module, Json.object(call), result);
      } catch (RuntimeException e) {
        result.clear();
        result.put("status", "error");
        result.put("message", String.valueOf(e.getMessage()));
      }
      results.add(result);
    }
    Files.createDirectories(folder);
    try (OutputStream npy = Files.newOutputStream(folder.resolve("data.npy"))) {
      run.data.writeTo(npy);
    }
    Map<String, Object> all = Map.of("results", results);
    Files.write(folder.resolve("results.json"), Json.text(all).getBytes(StandardCharsets.UTF_8));
  }

  private void call(Module module, Map<String, Object> call, Map<String, Object> result) throws IOException {
    List<IValue> inputs = new ArrayList<>();
    for (Object input : Json.list(call.getOrDefault("inputs", List.of()))) inputs.add(value(input));
    Map<String, IValue> keywords = new LinkedHashMap<>();
    for (Map.Entry<String, Object> keyword : Json.object(call.getOrDefault("kwargs", Map.of())).entrySet()) {
      keywords.put(keyword.getKey(), value(keyword.getValue()));
    }
    String method = (String) call.getOrDefault("method", "forward");
    IValue output = module.runMethod(method, keywords, inputs.toArray(new IValue[0]));
    result.put("status", "ok");
    result.put("output", node(output));
    List<Object> after = new ArrayList<>();
    for (IValue input : inputs) after.add(node(input));
    result.put("inputs_after", after);
  }

  // ---- reading ----

  private static double number(Object node) {
    if (node instanceof Number) return ((Number) node).doubleValue();
    switch ((String) node) {
      case "inf":
        return Double.POSITIVE_INFINITY;
      case "-inf":
        return Double.NEGATIVE_INFINITY;
      default:
        return Double.NaN;
    }
  }

  private IValue value(Object written) throws IOException {
    Map<String, Object> node = Json.object(written);
    Object held = node.get("v");
    switch ((String) node.get("t")) {
      case "none":
        return IValue.optionalNull();
      case "bool":
        return IValue.from((Boolean) held);
      case "int":
        return IValue.from((Long) held);
      case "float":
        return IValue.from(number(held));
      case "complex":
        return IValue.from(number(Json.list(held).get(0)), number(Json.list(held).get(1)));
      case "str":
        return IValue.from((String) held);
      case "dtype":
        return IValue.from(dtype(((String) held).substring("torch.".length())).number());
      case "tensor":
      case "qtensor":
        return IValue.from(tensor(node));
      case "list":
        return IValue.listFrom(values(Json.list(held)));
      case "tuple":
        return IValue.tupleFrom(values(Json.list(held)));
      case "dict":
        return dict(Json.list(node.get("items")));
      default:
        throw new IllegalArgumentException("Java has no values of kind " + node.get("t"));
    }
  }

  private IValue[] values(List<Object> nodes) throws IOException {
    IValue[] values = new IValue[nodes.size()];
    for (int i = 0; i < values.length; i++) values[i] = value(nodes.get(i));
    return values;
  }

  private IValue dict(List<Object> items) throws IOException {
    Map<String, IValue> named = new LinkedHashMap<>();
    Map<Long, IValue> numbered = new LinkedHashMap<>();
    Map<IValue, IValue> others = new LinkedHashMap<>();
    for (Object item : items) {
      IValue key = value(Json.list(item).get(0)), held = value(Json.list(item).get(1));
      if (key.isString()) {
        named.put(key.toStr(), held);
      } else if (key.isLong()) {
        numbered.put(key.toLong(), held);
      } else {
        others.put(key, held);
      }
    }
    if (!numbered.isEmpty()) return IValue.dictLongKeyFrom(numbered);
    return others.isEmpty() ? IValue.dictStringKeyFrom(named) : IValue.dictFrom(others);
  }

  private static DType dtype(String name) {
    for (DType dtype : DType.values()) {
      if (dtype.toString().equalsIgnoreCase(name)) return dtype;
    }
    throw new IllegalArgumentException("Java has no dtype " + name);
  }

  private static long[] sizes(Object node) {
    return Json.list(node).stream().mapToLong(size -> (Long) size).toArray();
  }

  private Tensor tensor(Map<String, Object> node) throws IOException {
    String name = (String) node.get("npy");
    if (!files.containsKey(name)) files.put(name, Files.readAllBytes(folder.resolve(name)));
    ByteBuffer file = ByteBuffer.wrap(files.get(name)).order(ByteOrder.LITTLE_ENDIAN);
    int at = ((Long) node.getOrDefault("offset", 0L)).intValue();
    file.position(at + 10 + file.getShort(at + 8)); // behind the header of version 1.0
    long[] shape = sizes(node.get("shape"));
    DType dtype = dtype((String) node.get("dtype"));
    DType stored = integers(dtype);
    int bytes = Math.toIntExact(Tensor.numel(shape) * stored.elementSize());
    ByteBuffer memory = Tensor.allocateByteBuffer(bytes);
    memory.put(file.limit(file.position() + bytes));
    Tensor tensor = Tensor.fromBlob(memory, stored, shape, MemoryFormat.CONTIGUOUS);
    if ("channels_last".equals(node.get("memory_format"))) {
      tensor = tensor.to(stored, shape.length == 4 ? MemoryFormat.CHANNELS_LAST : MemoryFormat.CHANNELS_LAST_3D);
    }
    if (stored == dtype) return tensor;
    if (!node.containsKey("scale")) throw new IllegalArgumentException("Java makes no tensors quantized per channel");
    return Tensor.quantized(tensor, number(node.get("scale")), (Long) node.get("zero_point"));
  }

  /** Of a quantized type. */
  private static DType integers(DType dtype) {
    return dtype == DType.QUINT8 ? DType.UINT8 : dtype == DType.QINT8 ? DType.INT8 : dtype == DType.QINT32 ? DType.INT32 : dtype;
  }

  // ---- writing ----

  private static Object written(double number) {
    if (Double.isNaN(number)) return "nan";
    return Double.isInfinite(number) ? (number > 0 ? "inf" : "-inf") : (Object) number;
  }

  private static Map<String, Object> of(String kind, Object held) {
    Map<String, Object> node = new LinkedHashMap<>();
    node.put("t", kind);
    node.put("v", held);
    return node;
  }

  private Object node(IValue value) throws IOException {
    if (value.isNull()) return Map.of("t", "none");
    if (value.isTensor()) return node(value.toTensor());
    if (value.isBool()) return of("bool", value.toBool());
    if (value.isLong()) return of("int", value.toLong());
    if (value.isDouble()) return of("float", written(value.toDouble()));
    if (value.isString()) return of("str", value.toStr());
    if (value.isComplex()) {
      return of("complex", List.of(written(value.toComplex()[0]), written(value.toComplex()[1])));
    }
    List<Object> items = new ArrayList<>();
    if (value.isBoolList()) {
      for (boolean item : value.toBoolList()) items.add(of("bool", item));
    } else if (value.isLongList()) {
      for (long item : value.toLongList()) items.add(of("int", item));
    } else if (value.isDoubleList()) {
      for (double item : value.toDoubleList()) items.add(of("float", written(item)));
    } else if (value.isTensorList()) {
      for (Tensor item : value.toTensorList()) items.add(node(item));
    } else if (value.isList() || value.isTuple()) {
      for (IValue item : value.isList() ? value.toList() : value.toTuple()) items.add(node(item));
    } else {
      return dictNode(value);
    }
    return of(value.isTuple() ? "tuple" : "list", items);
  }

  private Object dictNode(IValue value) throws IOException {
    List<Object> items = new ArrayList<>();
    if (value.isDictStringKey()) {
      for (Map.Entry<String, IValue> item : value.toDictStringKey().entrySet()) {
        items.add(List.of(of("str", item.getKey()), node(item.getValue())));
      }
    } else if (value.isDictLongKey()) {
      for (Map.Entry<Long, IValue> item : value.toDictLongKey().entrySet()) {
        items.add(List.of(of("int", item.getKey()), node(item.getValue())));
      }
    } else if (value.isDict()) {
      for (Map.Entry<IValue, IValue> item : value.toDict().entrySet()) {
        items.add(List.of(node(item.getKey()), node(item.getValue())));
      }
    } else {
      return of("object", value.toString());
    }
    Map<String, Object> node = new LinkedHashMap<>();
    node.put("t", "dict");
    node.put("items", items);
    return node;
  }

  private static final Map<DType, String> NUMPY = new HashMap<>();

  static {
    String[] types = {
      "uint8 |u1", "int8 |i1", "int16 <i2", "int32 <i4", "int64 <i8", "float16 <f2", "float32 <f4", "float64 <f8", "bool |b1",
      "bfloat16 <u2", "quint8 |u1", "qint8 |i1", "qint32 <i4", "complex64 <c8", "complex128 <c16"
    };
    for (String type : types) NUMPY.put(dtype(type.split(" ")[0]), type.split(" ")[1]);
  }

  private Object node(Tensor tensor) throws IOException {
    DType dtype = tensor.dtype();
    boolean quantized = integers(dtype) != dtype;
    Map<String, Object> node = of(quantized ? "qtensor" : "tensor", null);
    node.remove("v");
    node.put("dtype", dtype.toString().toLowerCase(java.util.Locale.ROOT));
    node.put("shape", longs(tensor.shape()));
    node.put("strides", longs(strides(tensor)));
    node.put("memory_format", tensor.memoryFormat() == MemoryFormat.CONTIGUOUS ? "contiguous" : "channels_last");
    node.put("npy", "data.npy");
    node.put("offset", (long) data.size());
    if (quantized) {
      node.put("qscheme", "per_tensor_affine");
      node.put("scale", tensor.scale());
      node.put("zero_point", tensor.zeroPoint());
    }
    String shape = Arrays.toString(tensor.shape()).replace("[", "").replace("]", tensor.shape().length == 1 ? "," : "");
    String header = "{'descr': '" + NUMPY.get(dtype) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
    header += " ".repeat(63 - (10 + header.length()) % 64) + "\n";
    data.write(new byte[] {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (byte) header.length(), (byte) (header.length() >> 8)});
    data.write(header.getBytes(StandardCharsets.US_ASCII));
    data.write(bytes(tensor.to(dtype, MemoryFormat.CONTIGUOUS)));
    return node;
  }

  private static byte[] bytes(Tensor tensor) {
    ByteBuffer bytes;
    switch (tensor.dtype()) {
      case INT32:
        bytes = bytes(4 * tensor.getDataAsIntArray().length);
        bytes.asIntBuffer().put(tensor.getDataAsIntBuffer());
        break;
      case FLOAT32:
        bytes = bytes(4 * tensor.getDataAsFloatArray().length);
        bytes.asFloatBuffer().put(tensor.getDataAsFloatBuffer());
        break;
      case INT64:
        bytes = bytes(8 * tensor.getDataAsLongArray().length);
        bytes.asLongBuffer().put(tensor.getDataAsLongBuffer());
        break;
      case FLOAT64:
        bytes = bytes(8 * tensor.getDataAsDoubleArray().length);
        bytes.asDoubleBuffer().put(tensor.getDataAsDoubleBuffer());
        break;
      default:
        bytes = bytes(tensor.bytes().capacity());
        bytes.duplicate().put(tensor.bytes());
    }
    return bytes.array();
  }

  private static ByteBuffer bytes(int size) {
    return ByteBuffer.allocate(size).order(ByteOrder.nativeOrder());
  }

  /** In elements. */
  private static long[] strides(Tensor tensor) {
    long[] shape = tensor.shape(), strides = new long[shape.length];
    boolean last = tensor.memoryFormat() != MemoryFormat.CONTIGUOUS;
    long stride = 1;
    if (last) {
      strides[1] = 1;
      stride = Math.max(1, shape[1]);
    }
    for (int i = shape.length - 1; i >= 0; i--) {
      if (last && i == 1) continue;
      strides[i] = stride;
      stride *= Math.max(1, shape[i]);
    }
    return strides;
  }

  private static List<Object> longs(long[] numbers) {
    List<Object> list = new ArrayList<>();
    for (long number : numbers) list.add(number);
    return list;
  }
}
