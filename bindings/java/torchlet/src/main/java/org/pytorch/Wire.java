package org.pytorch;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.torchlet.internal.Native;
import org.torchlet.internal.NativeHandle;
import org.torchlet.internal.Utf8;

/**
 * Values on their way to native code and back: numbers in an array of longs, everything else in an
 * array of objects, so that a call crosses the border once. In the order in which they are met, a
 * value is
 *
 * <pre>
 * word  kind (IValue.Kind's number in bindings/java/native/wire.h), and then
 * NULL                none
 * TENSOR              native tensor or 0, dtype, format, dims, sizes...   object: the buffer
 * BOOL, LONG, DOUBLE  its bits
 * COMPLEX             bits of both parts
 * STRING                                                                  object: UTF-8
 * TUPLE, LIST         count, items...
 * DICT                count, keys and values in turns...
 * OTHER               native value                                        object: its handle
 * </pre>
 *
 * A list comes back with the kind of items that its type declares behind its count, and a dict with
 * that of its keys.
 */
final class Wire {
  private static final int NULL = 0, TENSOR = 1, LONG = 2, DOUBLE = 3, COMPLEX = 4, BOOL = 5;
  private static final int STRING = 6, LIST = 7, TUPLE = 8, DICT = 9, OTHER = 11;
  private static final int MAX_DEPTH = 100;

  private long[] words = new long[32];
  private int wordCount;
  private int depth;
  private final List<Object> objects = new ArrayList<>();

  // ---- writing ----

  long[] words() {
    return Arrays.copyOf(words, wordCount);
  }

  Object[] objects() {
    return objects.toArray();
  }

  private void word(long word) {
    if (wordCount == words.length) words = Arrays.copyOf(words, 2 * wordCount);
    words[wordCount++] = word;
  }

  /** The number of inputs, these, the number of keywords, and for each its name and value. */
  void addArguments(IValue[] inputs, Map<String, IValue> keywords) {
    Tensor.check(inputs != null, "The inputs must not be null");
    word(inputs.length);
    for (int i = 0; i < inputs.length; i++) {
      Tensor.check(inputs[i] != null, "Input %d must not be null; None is IValue.optionalNull()", i);
      add(inputs[i]);
    }
    word(keywords.size());
    for (Map.Entry<String, IValue> entry : keywords.entrySet()) {
      Tensor.check(entry.getKey() != null, "The name of an argument must not be null");
      objects.add(Utf8.bytes(entry.getKey()));
      add(entry.getValue());
    }
  }

  private void add(IValue value) {
    Tensor.check(value != null, "A value must not be null; None is IValue.optionalNull()");
    Tensor.check(depth < MAX_DEPTH, "Values may be nested %d deep, not more", MAX_DEPTH);
    depth++;
    addKind(value);
    depth--;
  }

  private void addKind(IValue value) {
    switch (value.kind) {
      case NULL:
        word(NULL);
        break;
      case TENSOR:
        add(value.toTensor());
        break;
      case BOOL:
        word(BOOL);
        word(value.toBool() ? 1 : 0);
        break;
      case LONG:
        word(LONG);
        word(value.toLong());
        break;
      case DOUBLE:
        addDouble(value.toDouble());
        break;
      case COMPLEX:
        word(COMPLEX);
        for (double part : value.toComplex()) word(Double.doubleToRawLongBits(part));
        break;
      case STRING:
        word(STRING);
        objects.add(Utf8.bytes(value.toStr()));
        break;
      case BOOL_LIST:
        addCount(LIST, value.toBoolList().length);
        for (boolean item : value.toBoolList()) {
          word(BOOL);
          word(item ? 1 : 0);
        }
        break;
      case LONG_LIST:
        addCount(LIST, value.toLongList().length);
        for (long item : value.toLongList()) {
          word(LONG);
          word(item);
        }
        break;
      case DOUBLE_LIST:
        addCount(LIST, value.toDoubleList().length);
        for (double item : value.toDoubleList()) addDouble(item);
        break;
      case TENSOR_LIST:
        addCount(LIST, value.toTensorList().length);
        for (Tensor item : value.toTensorList()) {
          Tensor.check(item != null, "The tensors of a list must not be null");
          add(item);
        }
        break;
      case TUPLE:
        addCount(TUPLE, value.toTuple().length);
        for (IValue item : value.toTuple()) add(item);
        break;
      case LIST:
        addCount(LIST, value.toList().length);
        for (IValue item : value.toList()) add(item);
        break;
      case DICT_STRING_KEY:
      case DICT_LONG_KEY:
      case DICT:
        // A copy: the count has to stay true.
        List<Map.Entry<?, ?>> entries = new ArrayList<>(((Map<?, ?>) value.data).entrySet());
        addCount(DICT, entries.size());
        for (Map.Entry<?, ?> entry : entries) {
          addKey(entry.getKey());
          add((IValue) entry.getValue());
        }
        break;
      default:
        word(OTHER);
        word(((Other) value.data).pointer);
        objects.add(value.data);
    }
  }

  private void addKey(Object key) {
    Tensor.check(key != null, "The keys of a dict must not be null");
    if (key instanceof String) {
      add(IValue.from((String) key));
    } else if (key instanceof Long) {
      add(IValue.from((long) (Long) key));
    } else {
      add((IValue) key);
    }
  }

  private void addDouble(double number) {
    word(DOUBLE);
    word(Double.doubleToRawLongBits(number));
  }

  private void addCount(int kind, int count) {
    word(kind);
    word(count);
  }

  private void add(Tensor tensor) {
    word(TENSOR);
    word(tensor.handle);
    word(tensor.dtype().code);
    word(tensor.memoryFormat.code);
    word(tensor.shape.length);
    for (long size : tensor.shape) word(size);
    Buffer buffer = tensor.buffer();
    // A model may write to its inputs, which what is mapped to be read does not survive.
    objects.add(tensor.handle == 0 && buffer.isReadOnly() ? tensor.copyOfBuffer() : buffer);
  }

  // ---- reading ----

  /** A native value that only models understand. */
  private static final class Other {
    final long pointer;

    Other(long pointer) {
      this.pointer = pointer;
      NativeHandle.of(this, Native.VALUE, pointer, "The value");
    }

    @Override
    public String toString() {
      return "a TorchScript object";
    }
  }

  private static final class Reader {
    private final long[] words;
    private final Object[] objects;
    private int word;
    private int object;

    Reader(Object[] value) {
      words = (long[]) value[0];
      objects = (Object[]) value[1];
    }

    IValue next() {
      int kind = (int) words[word++];
      switch (kind) {
        case NULL:
          return IValue.optionalNull();
        case TENSOR:
          return IValue.from(tensor());
        case LONG:
          return IValue.from(words[word++]);
        case DOUBLE:
          return IValue.from(number());
        case COMPLEX:
          return IValue.from(number(), number());
        case BOOL:
          return IValue.from(words[word++] != 0);
        case STRING:
          return IValue.from(Utf8.string((byte[]) objects[object++]));
        case LIST:
          return list();
        case TUPLE:
          return IValue.tupleFrom(items((int) words[word++]));
        case DICT:
          return dict();
        default:
          return IValue.other(new Other(words[word++]));
      }
    }

    private double number() {
      return Double.longBitsToDouble(words[word++]);
    }

    private IValue[] items(int count) {
      IValue[] items = new IValue[count];
      for (int i = 0; i < count; i++) items[i] = next();
      return items;
    }

    private IValue list() {
      int count = (int) words[word++];
      int itemKind = (int) words[word++];
      IValue[] items = items(count);
      switch (itemKind) {
        case BOOL:
          boolean[] truths = new boolean[count];
          for (int i = 0; i < count; i++) truths[i] = items[i].toBool();
          return IValue.listFrom(truths);
        case LONG:
          long[] integers = new long[count];
          for (int i = 0; i < count; i++) integers[i] = items[i].toLong();
          return IValue.listFrom(integers);
        case DOUBLE:
          double[] numbers = new double[count];
          for (int i = 0; i < count; i++) numbers[i] = items[i].toDouble();
          return IValue.listFrom(numbers);
        case TENSOR:
          Tensor[] tensors = new Tensor[count];
          for (int i = 0; i < count; i++) tensors[i] = items[i].toTensor();
          return IValue.listFrom(tensors);
        default:
          return IValue.listOf(items);
      }
    }

    private IValue dict() {
      int count = (int) words[word++];
      int keyKind = (int) words[word++];
      if (keyKind == STRING) {
        Map<String, IValue> map = new LinkedHashMap<>();
        for (int i = 0; i < count; i++) map.put(next().toStr(), next());
        return IValue.dictStringKeyFrom(map);
      }
      if (keyKind == LONG) {
        Map<Long, IValue> map = new LinkedHashMap<>();
        for (int i = 0; i < count; i++) map.put(next().toLong(), next());
        return IValue.dictLongKeyFrom(map);
      }
      Map<IValue, IValue> map = new LinkedHashMap<>();
      for (int i = 0; i < count; i++) map.put(next(), next());
      return IValue.dictFrom(map);
    }

    private Tensor tensor() {
      long pointer = words[word++];
      DType dtype = DType.ofCode((int) words[word++]);
      MemoryFormat format = MemoryFormat.ofCode((int) words[word++]);
      int dims = (int) words[word++];
      long[] shape = Arrays.copyOfRange(words, word, word + dims);
      word += dims;
      ByteBuffer data = (ByteBuffer) objects[object++];
      Tensor tensor = Tensor.over(data.order(ByteOrder.nativeOrder()), dtype, shape, format);
      tensor.handle = pointer;
      // Every buffer that shows these bytes keeps this one reachable.
      NativeHandle.of(data, Native.TENSOR, pointer, "The tensor", data.capacity());
      return tensor;
    }
  }

  /** What native code returned. */
  static IValue read(Object[] value) {
    return new Reader(value).next();
  }

  // ---- functions of one tensor ----

  private static Wire of(Tensor tensor) {
    Wire wire = new Wire();
    wire.add(tensor);
    return wire;
  }

  static Tensor quantized(Tensor integers, double scale, long zeroPoint) {
    Wire wire = of(integers);
    return read(Native.quantized(wire.words(), wire.objects(), scale, zeroPoint)).toTensor();
  }

  static Tensor converted(Tensor tensor, DType dtype, MemoryFormat format) {
    Wire wire = of(tensor);
    return read(Native.converted(wire.words(), wire.objects(), dtype.code, format.code)).toTensor();
  }

  /** Scale and zero point. */
  static double[] quantizer(Tensor tensor) {
    Wire wire = of(tensor);
    return Native.quantizer(wire.words(), wire.objects());
  }
}
