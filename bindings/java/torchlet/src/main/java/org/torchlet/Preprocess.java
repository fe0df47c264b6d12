package org.torchlet;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.pytorch.DType;
import org.pytorch.MemoryFormat;
import org.pytorch.Module;
import org.pytorch.Tensor;
import org.torchlet.internal.Native;
import org.torchlet.internal.NativeHandle;
import org.torchlet.internal.Utf8;

/**
 * The steps from a picture to a model's input, as torchvision takes them: resize, crop, to a tensor,
 * normalise. A record in JSON (docs/pictures.md), which a model can carry: {@link
 * Module#preprocess()}.
 *
 * <pre>{@code
 * Tensor input = model.preprocess().apply(Picture.decode(file));           // a file
 * Tensor input = model.preprocess().apply(Pixels.of(image).rotated(90));   // a camera's picture
 * }</pre>
 *
 * <p>Any number of threads may use one.
 */
public final class Preprocess {
  private final NativeHandle handle;
  private final String json;

  private Preprocess(long pointer) {
    json = Utf8.string(Native.preprocessJson(pointer));
    handle = NativeHandle.of(this, Native.PREPROCESS, pointer, "The preprocessing");
  }

  // ---- making ----

  /**
   * The steps of a record.
   *
   * @throws TorchletException.InvalidArgument if it is none; the message names the key.
   */
  public static Preprocess of(String json) {
    Pixels.check(json != null, "The record must not be null");
    Pixels.check(json.indexOf('\0') < 0, "The record has a null character");
    return new Preprocess(Native.newPreprocess(Utf8.bytes(json)));
  }

  /** Those of torchvision's ImageNet models: 224 of 256 pixels, normalised. */
  public static Preprocess imagenet() {
    return of(
        "{\"resize\": 256, \"crop\": 224, \"mean\": [0.485, 0.456, 0.406], \"std\": [0.229, 0.224, 0.225]}");
  }

  /** See {@link Module#preprocess()}. */
  public static Preprocess of(Module module) {
    Pixels.check(module != null, "The module must not be null");
    long pointer = module.handle().enter();
    try {
      long steps = Native.preprocessOf(pointer);
      return steps == 0 ? null : new Preprocess(steps);
    } finally {
      module.handle().leave();
    }
  }

  // ---- taking ----

  /** [1, channels, height, width], of the record's dtype and memory format. */
  public Tensor apply(Picture picture) {
    return apply(picture, null);
  }

  /** The same, in one pass without a picture between: what cameras and bitmaps want. */
  public Tensor apply(Pixels pixels) {
    return apply(pixels, null);
  }

  /**
   * The same in the memory of {@code reused}, a tensor that nobody else uses, which is then returned;
   * a new tensor if that is null or of another shape or type. A loop that writes {@code input =
   * steps.apply(picture, input)} leaves nothing to the garbage collector.
   */
  public Tensor apply(Picture picture, Tensor reused) {
    Pixels.check(picture != null, "The picture must not be null");
    Reused to = new Reused(reused);
    long image = picture.handle().enter();
    try {
      long steps = handle.enter();
      try {
        return to.tensor(Native.preprocess(steps, image, to.buffer, to.kind));
      } finally {
        handle.leave();
      }
    } finally {
      picture.handle().leave();
    }
  }

  /** See {@link #apply(Picture, Tensor)}. */
  public Tensor apply(Pixels pixels, Tensor reused) {
    Pixels.check(pixels != null, "The pixels must not be null");
    Pixels.Memory memory = pixels.memory();
    Reused to = new Reused(reused);
    long steps = handle.enter();
    try {
      return to.tensor(
          Native.preprocessPixels(
              steps, memory.buffers, memory.bytes, memory.colours, memory.numbers, to.buffer, to.kind));
    } finally {
      handle.leave();
    }
  }

  /** What crosses to native code of a tensor to write to, if there is one. */
  private static final class Reused {
    final Tensor tensor;
    Buffer buffer;
    long[] kind;

    Reused(Tensor tensor) {
      this.tensor = tensor;
      if (tensor == null) return;
      if (tensor.dtype() == DType.FLOAT32) buffer = tensor.getDataAsFloatBuffer();
      if (tensor.dtype() == DType.UINT8) buffer = tensor.bytes();
      if (buffer == null || buffer.isReadOnly()) {
        buffer = null;
        return;
      }
      long[] shape = tensor.shape();
      kind = new long[2 + shape.length];
      kind[0] = tensor.dtype().number();
      kind[1] = tensor.memoryFormat().number();
      System.arraycopy(shape, 0, kind, 2, shape.length);
    }

    Tensor tensor(Object[] value) {
      return value == null ? tensor : Preprocess.tensor(value);
    }
  }

  /** Of a tensor as org.pytorch.Wire describes it. */
  private static Tensor tensor(Object[] value) {
    long[] words = (long[]) value[0];
    ByteBuffer data = (ByteBuffer) ((Object[]) value[1])[0];
    // Every buffer that shows these bytes keeps this one reachable.
    NativeHandle.of(data, Native.TENSOR, words[1], "The tensor", data.capacity());
    DType dtype = words[2] == DType.UINT8.number() ? DType.UINT8 : DType.FLOAT32;
    boolean last = words[3] == MemoryFormat.CHANNELS_LAST.number();
    MemoryFormat format = last ? MemoryFormat.CHANNELS_LAST : MemoryFormat.CONTIGUOUS;
    long[] shape = Arrays.copyOfRange(words, 5, words.length);
    return Tensor.fromBlob(data.order(ByteOrder.nativeOrder()), dtype, shape, format);
  }

  // ---- what they are ----

  /** The record, on one line. */
  public String json() {
    return json;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Preprocess && ((Preprocess) other).json.equals(json);
  }

  @Override
  public int hashCode() {
    return json.hashCode();
  }

  @Override
  public String toString() {
    return json;
  }
}
