package org.torchlet;

import java.io.Closeable;
import java.nio.ByteBuffer;
import org.torchlet.internal.Native;
import org.torchlet.internal.NativeHandle;
import org.torchlet.internal.Utf8;

/**
 * A picture in native memory, 8-bit RGB, with the numbers of PIL and torchvision (docs/pictures.md).
 * It does not change; any number of threads may use one. What is not closed is freed some time after
 * the garbage collector found it.
 */
public final class Picture implements Closeable {
  private final NativeHandle handle;
  private final int width;
  private final int height;

  /** {@code made} is {pointer, width, height}. */
  private Picture(long[] made) {
    width = (int) made[1];
    height = (int) made[2];
    handle = NativeHandle.of(this, Native.PICTURE, made[0], "The picture", 3L * width * height);
  }

  // ---- making ----

  /**
   * A PNG or JPEG file as PIL's {@code ImageOps.exif_transpose()} and {@code convert("RGB")} read it:
   * turned upright by its EXIF orientation, grey becomes RGB, alpha is dropped.
   *
   * @throws TorchletException.FileFormat if it is damaged or neither.
   * @throws TorchletException.Unsupported on Android, whose {@code BitmapFactory} decodes pictures:
   *     {@link Pixels#of(android.graphics.Bitmap)} takes what it gives.
   */
  public static Picture decode(byte[] file) {
    Pixels.check(file != null, "The bytes of the picture must not be null");
    return new Picture(Native.decodeArray(file));
  }

  /** The same for the bytes between a buffer's position and its limit. */
  public static Picture decode(ByteBuffer file) {
    Pixels.check(file != null, "The bytes of the picture must not be null");
    if (file.isDirect()) return new Picture(Native.decodeBuffer(file.slice(), file.remaining()));
    byte[] bytes = new byte[file.remaining()];
    file.duplicate().get(bytes);
    return decode(bytes);
  }

  /** The same for a file of the file system. */
  public static Picture read(String path) {
    Pixels.check(path != null, "The path of the picture must not be null");
    Pixels.check(path.indexOf('\0') < 0, "The path of the picture has a null character");
    return new Picture(Native.readPicture(Utf8.bytes(path)));
  }

  /** A copy of pixels, upright. */
  public static Picture of(Pixels pixels) {
    Pixels.check(pixels != null, "The pixels must not be null");
    Pixels.Memory memory = pixels.memory();
    return new Picture(
        Native.pictureOf(memory.buffers, memory.bytes, memory.colours, memory.numbers));
  }

  // ---- what it is ----

  /** In pixels. */
  public int width() {
    return width;
  }

  /** In pixels. */
  public int height() {
    return height;
  }

  /** A copy of the pixels, three bytes each, row by row from the top. */
  public byte[] rgb() {
    long pointer = handle.enter();
    try {
      return Native.pictureRgb(pointer);
    } finally {
      handle.leave();
    }
  }

  // ---- changed copies ----

  /** Of that size, bilinear with antialias: the bits of PIL's {@code resize()}. */
  public Picture resize(int width, int height) {
    return resize(width, height, true);
  }

  /** The same; without antialias it has the bits of torchvision's {@code Resize} for uint8 tensors. */
  public Picture resize(int width, int height, boolean antialias) {
    long pointer = handle.enter();
    try {
      return new Picture(Native.resized(pointer, width, height, antialias));
    } finally {
      handle.leave();
    }
  }

  /** The rectangle that begins at (left, top); black where it leaves the picture. */
  public Picture crop(int left, int top, int width, int height) {
    long pointer = handle.enter();
    try {
      return new Picture(Native.cropped(pointer, left, top, width, height));
    } finally {
      handle.leave();
    }
  }

  /** Turned clockwise by 0, 90, 180 or 270 degrees. */
  public Picture rotate(int degrees) {
    long pointer = handle.enter();
    try {
      return new Picture(Native.rotated(pointer, degrees));
    } finally {
      handle.leave();
    }
  }

  /** Frees the picture now; later calls throw {@link IllegalStateException}. */
  @Override
  public void close() {
    handle.close();
  }

  NativeHandle handle() {
    return handle;
  }

  @Override
  public String toString() {
    return "Picture(" + width + " x " + height + ")";
  }
}
