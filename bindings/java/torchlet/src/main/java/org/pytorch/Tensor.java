package org.pytorch;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.util.Arrays;
import java.util.Locale;

/**
 * Numbers of one type in a shape. Tensors are made by {@code Tensor.fromBlob(data, shape)} and come
 * back from models.
 *
 * <p>A direct buffer is used where it lies: what is written to it later changes the tensor, so one
 * buffer can serve many calls, and a model that changes its input in place changes the buffer. It
 * must be as large as the shape and have the native byte order; {@code allocateFloatBuffer()} and
 * its like make such buffers. Arrays are copied. Data are in the order of {@link #memoryFormat()}.
 *
 * <p>A tensor that a model returned lies in native memory, which {@code getDataAs...Buffer()} shows
 * without a copy; it is freed when neither the tensor nor such a buffer is reachable any more.
 *
 * <p>Any number of threads may read a tensor.
 */
public abstract class Tensor {
  final long[] shape;
  final MemoryFormat memoryFormat;
  /** The native tensor whose memory this one shows; 0: the memory is Java's. */
  long handle;

  private Tensor(long[] shape, MemoryFormat memoryFormat) {
    this.shape = shape.clone();
    this.memoryFormat = memoryFormat;
  }

  // ---- buffers ----

  /** A direct buffer of that many bytes, for {@link #fromBlob} and {@link #fromBlobUnsigned}. */
  public static ByteBuffer allocateByteBuffer(int numElements) {
    return allocate(numElements, 1);
  }

  /** A direct buffer of that many ints, for {@link #fromBlob(IntBuffer, long[])}. */
  public static IntBuffer allocateIntBuffer(int numElements) {
    return allocate(numElements, 4).asIntBuffer();
  }

  /** A direct buffer of that many floats, for {@link #fromBlob(FloatBuffer, long[])}. */
  public static FloatBuffer allocateFloatBuffer(int numElements) {
    return allocate(numElements, 4).asFloatBuffer();
  }

  /** A direct buffer of that many longs, for {@link #fromBlob(LongBuffer, long[])}. */
  public static LongBuffer allocateLongBuffer(int numElements) {
    return allocate(numElements, 8).asLongBuffer();
  }

  /** A direct buffer of that many doubles, for {@link #fromBlob(DoubleBuffer, long[])}. */
  public static DoubleBuffer allocateDoubleBuffer(int numElements) {
    return allocate(numElements, 8).asDoubleBuffer();
  }

  private static ByteBuffer allocate(int numElements, int elementSize) {
    long size = (long) numElements * elementSize;
    check(
        numElements >= 0 && size <= Integer.MAX_VALUE,
        "A buffer of %d elements of %d bytes cannot be made",
        numElements,
        elementSize);
    return ByteBuffer.allocateDirect((int) size).order(ByteOrder.nativeOrder());
  }

  // ---- from arrays, which are copied ----

  /** A torch.uint8 tensor. */
  public static Tensor fromBlobUnsigned(byte[] data, long[] shape) {
    return fromBlobUnsigned(data, shape, MemoryFormat.CONTIGUOUS);
  }

  /** A torch.uint8 tensor, whose data are in that order. */
  public static Tensor fromBlobUnsigned(byte[] data, long[] shape, MemoryFormat memoryFormat) {
    checkArray(data, data == null ? 0 : data.length, shape, memoryFormat);
    ByteBuffer buffer = allocateByteBuffer(data.length);
    buffer.duplicate().put(data);
    return new Tensor_uint8(buffer, shape, memoryFormat);
  }

  /** A torch.int8 tensor. */
  public static Tensor fromBlob(byte[] data, long[] shape) {
    return fromBlob(data, shape, MemoryFormat.CONTIGUOUS);
  }

  /** A torch.int8 tensor, whose data are in that order. */
  public static Tensor fromBlob(byte[] data, long[] shape, MemoryFormat memoryFormat) {
    checkArray(data, data == null ? 0 : data.length, shape, memoryFormat);
    ByteBuffer buffer = allocateByteBuffer(data.length);
    buffer.duplicate().put(data);
    return new Tensor_int8(buffer, shape, memoryFormat);
  }

  /** A torch.int32 tensor. */
  public static Tensor fromBlob(int[] data, long[] shape) {
    return fromBlob(data, shape, MemoryFormat.CONTIGUOUS);
  }

  /** A torch.int32 tensor, whose data are in that order. */
  public static Tensor fromBlob(int[] data, long[] shape, MemoryFormat memoryFormat) {
    checkArray(data, data == null ? 0 : data.length, shape, memoryFormat);
    IntBuffer buffer = allocateIntBuffer(data.length);
    buffer.duplicate().put(data);
    return new Tensor_int32(buffer, shape, memoryFormat);
  }

  /** A torch.float32 tensor. */
  public static Tensor fromBlob(float[] data, long[] shape) {
    return fromBlob(data, shape, MemoryFormat.CONTIGUOUS);
  }

  /** A torch.float32 tensor, whose data are in that order. */
  public static Tensor fromBlob(float[] data, long[] shape, MemoryFormat memoryFormat) {
    checkArray(data, data == null ? 0 : data.length, shape, memoryFormat);
    FloatBuffer buffer = allocateFloatBuffer(data.length);
    buffer.duplicate().put(data);
    return new Tensor_float32(buffer, shape, memoryFormat);
  }

  /** A torch.int64 tensor. */
  public static Tensor fromBlob(long[] data, long[] shape) {
    return fromBlob(data, shape, MemoryFormat.CONTIGUOUS);
  }

  /** A torch.int64 tensor, whose data are in that order. */
  public static Tensor fromBlob(long[] data, long[] shape, MemoryFormat memoryFormat) {
    checkArray(data, data == null ? 0 : data.length, shape, memoryFormat);
    LongBuffer buffer = allocateLongBuffer(data.length);
    buffer.duplicate().put(data);
    return new Tensor_int64(buffer, shape, memoryFormat);
  }

  /** A torch.float64 tensor. */
  public static Tensor fromBlob(double[] data, long[] shape) {
    return fromBlob(data, shape, MemoryFormat.CONTIGUOUS);
  }

  /** A torch.float64 tensor, in the order of arguments of PyTorch Mobile's first versions. */
  public static Tensor fromBlob(long[] shape, double[] data) {
    return fromBlob(data, shape, MemoryFormat.CONTIGUOUS);
  }

  /** A torch.float64 tensor, whose data are in that order. */
  public static Tensor fromBlob(double[] data, long[] shape, MemoryFormat memoryFormat) {
    checkArray(data, data == null ? 0 : data.length, shape, memoryFormat);
    DoubleBuffer buffer = allocateDoubleBuffer(data.length);
    buffer.duplicate().put(data);
    return new Tensor_float64(buffer, shape, memoryFormat);
  }

  // ---- over direct buffers, which are used where they lie ----

  /** A torch.uint8 tensor over the buffer. */
  public static Tensor fromBlobUnsigned(ByteBuffer data, long[] shape) {
    return fromBlobUnsigned(data, shape, MemoryFormat.CONTIGUOUS);
  }

  /** A torch.uint8 tensor over the buffer, whose data are in that order. */
  public static Tensor fromBlobUnsigned(ByteBuffer data, long[] shape, MemoryFormat memoryFormat) {
    checkBuffer(data, data == null ? null : data.order(), shape, memoryFormat);
    return new Tensor_uint8(data, shape, memoryFormat);
  }

  /** A torch.int8 tensor over the buffer. */
  public static Tensor fromBlob(ByteBuffer data, long[] shape) {
    return fromBlob(data, shape, MemoryFormat.CONTIGUOUS);
  }

  /** A torch.int8 tensor over the buffer, whose data are in that order. */
  public static Tensor fromBlob(ByteBuffer data, long[] shape, MemoryFormat memoryFormat) {
    checkBuffer(data, data == null ? null : data.order(), shape, memoryFormat);
    return new Tensor_int8(data, shape, memoryFormat);
  }

  /** A torch.int32 tensor over the buffer. */
  public static Tensor fromBlob(IntBuffer data, long[] shape) {
    return fromBlob(data, shape, MemoryFormat.CONTIGUOUS);
  }

  /** A torch.int32 tensor over the buffer, whose data are in that order. */
  public static Tensor fromBlob(IntBuffer data, long[] shape, MemoryFormat memoryFormat) {
    checkBuffer(data, data == null ? null : data.order(), shape, memoryFormat);
    return new Tensor_int32(data, shape, memoryFormat);
  }

  /** A torch.float32 tensor over the buffer. */
  public static Tensor fromBlob(FloatBuffer data, long[] shape) {
    return fromBlob(data, shape, MemoryFormat.CONTIGUOUS);
  }

  /** A torch.float32 tensor over the buffer, whose data are in that order. */
  public static Tensor fromBlob(FloatBuffer data, long[] shape, MemoryFormat memoryFormat) {
    checkBuffer(data, data == null ? null : data.order(), shape, memoryFormat);
    return new Tensor_float32(data, shape, memoryFormat);
  }

  /** A torch.int64 tensor over the buffer. */
  public static Tensor fromBlob(LongBuffer data, long[] shape) {
    return fromBlob(data, shape, MemoryFormat.CONTIGUOUS);
  }

  /** A torch.int64 tensor over the buffer, whose data are in that order. */
  public static Tensor fromBlob(LongBuffer data, long[] shape, MemoryFormat memoryFormat) {
    checkBuffer(data, data == null ? null : data.order(), shape, memoryFormat);
    return new Tensor_int64(data, shape, memoryFormat);
  }

  /** A torch.float64 tensor over the buffer. */
  public static Tensor fromBlob(DoubleBuffer data, long[] shape) {
    return fromBlob(data, shape, MemoryFormat.CONTIGUOUS);
  }

  /** A torch.float64 tensor over the buffer, whose data are in that order. */
  public static Tensor fromBlob(DoubleBuffer data, long[] shape, MemoryFormat memoryFormat) {
    checkBuffer(data, data == null ? null : data.order(), shape, memoryFormat);
    return new Tensor_float64(data, shape, memoryFormat);
  }

  /**
   * A tensor of any type over the bytes of a direct buffer, such as torch.bool or torch.float16.
   *
   * @throws IllegalArgumentException for quantized types, which {@link #quantized} makes.
   */
  public static Tensor fromBlob(
      ByteBuffer data, DType dtype, long[] shape, MemoryFormat memoryFormat) {
    check(dtype != null, "The dtype must not be null");
    check(
        dtype != DType.QINT8 && dtype != DType.QUINT8 && dtype != DType.QINT32,
        "A quantized tensor is made by Tensor.quantized(), not by fromBlob()");
    checkBuffer(data, data == null ? null : data.order(), shape, memoryFormat, dtype.elementSize);
    return over(whole(data), dtype, shape, memoryFormat);
  }

  /**
   * A quantized tensor that stands for (integer - zeroPoint) * scale: torch.quint8, torch.qint8 or
   * torch.qint32 of torch.uint8, torch.int8 or torch.int32 integers, whose memory it shares.
   */
  public static Tensor quantized(Tensor integers, double scale, long zeroPoint) {
    check(integers != null, "The tensor must not be null");
    return Wire.quantized(integers, scale, zeroPoint);
  }

  // ---- what it is ----

  /** The number of elements. */
  public long numel() {
    return numel(shape);
  }

  /** The number of elements of a tensor of that shape. */
  public static long numel(long[] shape) {
    check(shape != null, "The shape must not be null");
    long product = 1;
    boolean overflow = false;
    for (long size : shape) {
      check(size >= 0, "The sizes of a shape must not be negative: %s", Arrays.toString(shape));
      overflow |= size != 0 && product > Long.MAX_VALUE / size;
      product *= size;
    }
    check(product == 0 || !overflow, "The shape %s is too large", Arrays.toString(shape));
    return product;
  }

  /** A copy of the shape. */
  public long[] shape() {
    return shape.clone();
  }

  /** The order in which the data lie. */
  public MemoryFormat memoryFormat() {
    return memoryFormat;
  }

  /** The type of the elements. */
  public abstract DType dtype();

  /**
   * The scale of a quantized tensor.
   *
   * @throws org.torchlet.TorchletException.InvalidArgument if it has none, or one per channel.
   */
  public double scale() {
    return Wire.quantizer(this)[0];
  }

  /** The zero point of a quantized tensor; see {@link #scale()}. */
  public long zeroPoint() {
    return (long) Wire.quantizer(this)[1];
  }

  /**
   * The same elements as that type and in that order in memory.
   *
   * @throws org.torchlet.TorchletException if there is no such conversion.
   */
  public Tensor to(DType dtype, MemoryFormat memoryFormat) {
    check(dtype != null && memoryFormat != null, "Neither dtype nor format may be null");
    return dtype == dtype() && memoryFormat == this.memoryFormat
        ? this
        : Wire.converted(this, dtype, memoryFormat);
  }

  // ---- data, in the order of memoryFormat() ----

  /**
   * A copy of the data of a torch.int8 or torch.qint8 tensor.
   *
   * @throws IllegalStateException for a tensor of another type; so do the others.
   */
  public byte[] getDataAsByteArray() {
    throw wrongType("a byte array");
  }

  /** A copy of the data of a torch.uint8, torch.bool or torch.quint8 tensor. */
  public byte[] getDataAsUnsignedByteArray() {
    throw wrongType("an unsigned byte array");
  }

  /** A copy of the data of a torch.int32 or torch.qint32 tensor. */
  public int[] getDataAsIntArray() {
    throw wrongType("an int array");
  }

  /** A copy of the data of a torch.float32, torch.float16 or torch.bfloat16 tensor. */
  public float[] getDataAsFloatArray() {
    throw wrongType("a float array");
  }

  /** A copy of the data of a torch.int64 tensor. */
  public long[] getDataAsLongArray() {
    throw wrongType("a long array");
  }

  /** A copy of the data of a torch.float64 tensor. */
  public double[] getDataAsDoubleArray() {
    throw wrongType("a double array");
  }

  /** The memory of a torch.int32 tensor, without a copy; so do the others. */
  public IntBuffer getDataAsIntBuffer() {
    throw wrongType("an int buffer");
  }

  /** The memory of a torch.float32 tensor. */
  public FloatBuffer getDataAsFloatBuffer() {
    throw wrongType("a float buffer");
  }

  /** The memory of a torch.int64 tensor. */
  public LongBuffer getDataAsLongBuffer() {
    throw wrongType("a long buffer");
  }

  /** The memory of a torch.float64 tensor. */
  public DoubleBuffer getDataAsDoubleBuffer() {
    throw wrongType("a double buffer");
  }

  /** The memory of a tensor of one-byte elements, or any that a model returned. */
  public ByteBuffer bytes() {
    throw wrongType("bytes");
  }

  /** The direct buffer that holds the data, at any position. */
  abstract Buffer buffer();

  /** A direct buffer of its own with the same data. */
  Buffer copyOfBuffer() {
    switch (dtype()) {
      case INT32:
        return fromBlob(getDataAsIntArray(), shape).buffer();
      case FLOAT32:
        return fromBlob(getDataAsFloatArray(), shape).buffer();
      case INT64:
        return fromBlob(getDataAsLongArray(), shape).buffer();
      case FLOAT64:
        return fromBlob(getDataAsDoubleArray(), shape).buffer();
      default:
        ByteBuffer copy = allocateByteBuffer(bytes().capacity());
        copy.duplicate().put(bytes());
        return copy;
    }
  }

  @Override
  public String toString() {
    return "Tensor(" + Arrays.toString(shape) + ", dtype=torch." + dtype().pythonName + ")";
  }

  private IllegalStateException wrongType(String what) {
    return new IllegalStateException(
        "A tensor of torch." + dtype().pythonName + " cannot give its data as " + what);
  }

  /** A tensor of any type over the bytes of a direct buffer of the native order. */
  static Tensor over(ByteBuffer data, DType dtype, long[] shape, MemoryFormat memoryFormat) {
    switch (dtype) {
      case UINT8:
        return new Tensor_uint8(data, shape, memoryFormat);
      case INT8:
        return new Tensor_int8(data, shape, memoryFormat);
      case INT32:
        return new Tensor_int32(data.asIntBuffer(), shape, memoryFormat);
      case FLOAT32:
        return new Tensor_float32(data.asFloatBuffer(), shape, memoryFormat);
      case INT64:
        return new Tensor_int64(data.asLongBuffer(), shape, memoryFormat);
      case FLOAT64:
        return new Tensor_float64(data.asDoubleBuffer(), shape, memoryFormat);
      default:
        return new Tensor_other(data, dtype, shape, memoryFormat);
    }
  }

  static class Tensor_uint8 extends Tensor {
    private final ByteBuffer data;

    private Tensor_uint8(ByteBuffer data, long[] shape, MemoryFormat memoryFormat) {
      super(shape, memoryFormat);
      this.data = data;
    }

    @Override
    public DType dtype() {
      return DType.UINT8;
    }

    @Override
    Buffer buffer() {
      return data;
    }

    @Override
    public ByteBuffer bytes() {
      return whole(data);
    }

    @Override
    public byte[] getDataAsUnsignedByteArray() {
      return array(data);
    }
  }

  static class Tensor_int8 extends Tensor {
    private final ByteBuffer data;

    private Tensor_int8(ByteBuffer data, long[] shape, MemoryFormat memoryFormat) {
      super(shape, memoryFormat);
      this.data = data;
    }

    @Override
    public DType dtype() {
      return DType.INT8;
    }

    @Override
    Buffer buffer() {
      return data;
    }

    @Override
    public ByteBuffer bytes() {
      return whole(data);
    }

    @Override
    public byte[] getDataAsByteArray() {
      return array(data);
    }
  }

  static class Tensor_int32 extends Tensor {
    private final IntBuffer data;

    private Tensor_int32(IntBuffer data, long[] shape, MemoryFormat memoryFormat) {
      super(shape, memoryFormat);
      this.data = data;
    }

    @Override
    public DType dtype() {
      return DType.INT32;
    }

    @Override
    Buffer buffer() {
      return data;
    }

    @Override
    public IntBuffer getDataAsIntBuffer() {
      IntBuffer all = data.duplicate();
      all.clear();
      return all;
    }

    @Override
    public int[] getDataAsIntArray() {
      int[] array = new int[data.capacity()];
      getDataAsIntBuffer().get(array);
      return array;
    }
  }

  static class Tensor_float32 extends Tensor {
    private final FloatBuffer data;

    private Tensor_float32(FloatBuffer data, long[] shape, MemoryFormat memoryFormat) {
      super(shape, memoryFormat);
      this.data = data;
    }

    @Override
    public DType dtype() {
      return DType.FLOAT32;
    }

    @Override
    Buffer buffer() {
      return data;
    }

    @Override
    public FloatBuffer getDataAsFloatBuffer() {
      FloatBuffer all = data.duplicate();
      all.clear();
      return all;
    }

    @Override
    public float[] getDataAsFloatArray() {
      float[] array = new float[data.capacity()];
      getDataAsFloatBuffer().get(array);
      return array;
    }
  }

  static class Tensor_int64 extends Tensor {
    private final LongBuffer data;

    private Tensor_int64(LongBuffer data, long[] shape, MemoryFormat memoryFormat) {
      super(shape, memoryFormat);
      this.data = data;
    }

    @Override
    public DType dtype() {
      return DType.INT64;
    }

    @Override
    Buffer buffer() {
      return data;
    }

    @Override
    public LongBuffer getDataAsLongBuffer() {
      LongBuffer all = data.duplicate();
      all.clear();
      return all;
    }

    @Override
    public long[] getDataAsLongArray() {
      long[] array = new long[data.capacity()];
      getDataAsLongBuffer().get(array);
      return array;
    }
  }

  static class Tensor_float64 extends Tensor {
    private final DoubleBuffer data;

    private Tensor_float64(DoubleBuffer data, long[] shape, MemoryFormat memoryFormat) {
      super(shape, memoryFormat);
      this.data = data;
    }

    @Override
    public DType dtype() {
      return DType.FLOAT64;
    }

    @Override
    Buffer buffer() {
      return data;
    }

    @Override
    public DoubleBuffer getDataAsDoubleBuffer() {
      DoubleBuffer all = data.duplicate();
      all.clear();
      return all;
    }

    @Override
    public double[] getDataAsDoubleArray() {
      double[] array = new double[data.capacity()];
      getDataAsDoubleBuffer().get(array);
      return array;
    }
  }

  /** Of the types that PyTorch Mobile does not have. */
  static class Tensor_other extends Tensor {
    private final ByteBuffer data;
    private final DType dtype;

    private Tensor_other(ByteBuffer data, DType dtype, long[] shape, MemoryFormat memoryFormat) {
      super(shape, memoryFormat);
      this.data = data;
      this.dtype = dtype;
    }

    @Override
    public DType dtype() {
      return dtype;
    }

    @Override
    Buffer buffer() {
      return data;
    }

    @Override
    public ByteBuffer bytes() {
      return whole(data);
    }

    @Override
    public byte[] getDataAsByteArray() {
      return dtype == DType.QINT8 ? array(data) : super.getDataAsByteArray();
    }

    @Override
    public byte[] getDataAsUnsignedByteArray() {
      boolean bytes = dtype == DType.BOOL || dtype == DType.QUINT8;
      return bytes ? array(data) : super.getDataAsUnsignedByteArray();
    }

    @Override
    public int[] getDataAsIntArray() {
      if (dtype != DType.QINT32) return super.getDataAsIntArray();
      int[] array = new int[data.capacity() / 4];
      bytes().asIntBuffer().get(array);
      return array;
    }

    @Override
    public float[] getDataAsFloatArray() {
      if (dtype != DType.FLOAT16 && dtype != DType.BFLOAT16) return super.getDataAsFloatArray();
      return to(DType.FLOAT32, memoryFormat).getDataAsFloatArray();
    }
  }

  private static ByteBuffer whole(ByteBuffer data) {
    ByteBuffer all = data.duplicate().order(ByteOrder.nativeOrder());
    all.clear();
    return all;
  }

  private static byte[] array(ByteBuffer data) {
    byte[] array = new byte[data.capacity()];
    whole(data).get(array);
    return array;
  }

  // ---- checks ----

  static void check(boolean truth, String message, Object... arguments) {
    if (!truth) {
      throw new IllegalArgumentException(String.format(Locale.ROOT, message, arguments));
    }
  }

  private static void checkArray(Object data, int length, long[] shape, MemoryFormat format) {
    check(data != null, "The array of data must not be null");
    checkShape(length, shape, format);
  }

  private static void checkBuffer(
      Buffer data, ByteOrder order, long[] shape, MemoryFormat format) {
    checkBuffer(data, order, shape, format, 1);
  }

  private static void checkBuffer(
      Buffer data, ByteOrder order, long[] shape, MemoryFormat format, int unitsAnElement) {
    check(data != null, "The buffer of data must not be null");
    check(data.isDirect(), "The buffer must be direct (Tensor.allocateFloatBuffer and its like)");
    check(
        order == ByteOrder.nativeOrder(), "The buffer must have the native byte order: order(ByteOrder.nativeOrder())");
    check(
        data.capacity() % unitsAnElement == 0,
        "%d bytes are no whole number of elements of %d bytes",
        data.capacity(),
        unitsAnElement);
    checkShape(data.capacity() / unitsAnElement, shape, format);
  }

  private static void checkShape(int capacity, long[] shape, MemoryFormat format) {
    check(format != null, "The memory format must not be null");
    long numel = numel(shape);
    check(
        numel == capacity,
        "The data have %d elements, the shape %s has %d",
        capacity,
        Arrays.toString(shape),
        numel);
    int dims = format == MemoryFormat.CHANNELS_LAST ? 4 : 5;
    check(
        format == MemoryFormat.CONTIGUOUS || shape.length == dims,
        "%s needs a shape of %d sizes, not %s",
        format,
        dims,
        Arrays.toString(shape));
  }
}
