package org.torchlet;

import android.graphics.Bitmap;
import android.graphics.ImageFormat;
import android.media.Image;
import java.nio.ByteBuffer;
import java.util.Locale;

/**
 * A picture in the program's own memory: a bitmap, a camera's YUV, bytes. {@link
 * Preprocess#apply(Pixels)} makes an input of it in one pass, {@link Picture#of} a picture. It is
 * read then, and not before, except that colours of a bitmap are copied at once.
 *
 * <p>All of a buffer counts, wherever its position is; one that is not direct is copied for each use.
 */
public final class Pixels {
  /** How a pixel lies in memory, first byte first. */
  public enum Format {
    /** 1 byte. */
    GREY(1),
    /** 3 bytes. */
    RGB(3),
    /** 4 bytes, of which the last is dropped. */
    RGBA(4),
    /** The same in the order of Android's and AWT's int colours on little-endian processors. */
    BGRA(4);

    final int bytes;

    Format(int bytes) {
      this.bytes = bytes;
    }
  }

  /** How luma and chroma stand for colours (ITU-R BT.601, BT.709). Limited luma is 16 to 235. */
  public enum Matrix {
    /** Android's cameras, and JPEG. */
    BT601,
    BT601_LIMITED,
    BT709,
    BT709_LIMITED
  }

  /** Where the bytes are: in one buffer for each plane, or in one of the arrays. */
  static final class Memory {
    ByteBuffer[] buffers;
    byte[] bytes;
    int[] colours;
    /** As the constructor of PixelSource in bindings/java/native/pictures.cc reads them. */
    final long[] numbers = new long[12];
  }

  private interface Source {
    Memory memory();
  }

  private static final int KIND = 0, FORMAT = 1, WIDTH = 2, HEIGHT = 3, ROTATION = 4, ROW_STRIDE = 5;
  private static final int PIXEL_STRIDE = 6, UV_ROW_STRIDE = 7, UV_PIXEL_STRIDE = 8, OFFSETS = 9;
  private static final int YUV = 1;

  private final Source source;
  private final boolean yuv;
  private final Matrix matrix;
  private final int rotation;

  private Pixels(Source source, boolean yuv, Matrix matrix, int rotation) {
    this.source = source;
    this.yuv = yuv;
    this.matrix = matrix;
    this.rotation = rotation;
  }

  private static Pixels plain(final Memory memory) {
    return new Pixels(() -> memory, false, Matrix.BT601, 0);
  }

  // ---- colours ----

  /** Colours as {@code Bitmap.getPixels} and {@code BufferedImage.getRGB} give them; alpha is dropped. */
  public static Pixels argb(int[] colours, int width, int height) {
    check(colours != null, "The colours must not be null");
    Memory memory = memory(width, height);
    check(
        (long) width * height <= colours.length,
        "There are %d colours, too few for %d x %d pixels", colours.length, width, height);
    memory.colours = colours;
    memory.numbers[FORMAT] = Format.BGRA.ordinal();
    memory.numbers[ROW_STRIDE] = 4L * width;
    return plain(memory);
  }

  /** All of a bitmap; alpha is dropped. */
  public static Pixels of(Bitmap bitmap) {
    check(bitmap != null, "The bitmap must not be null");
    int width = bitmap.getWidth(), height = bitmap.getHeight();
    int[] colours = new int[width * height];
    bitmap.getPixels(colours, 0, width, 0, 0, width, height);
    return argb(colours, width, height);
  }

  /** {@code height} rows from the top that lie {@code rowStride} bytes apart. */
  public static Pixels of(Format format, ByteBuffer data, int width, int height, int rowStride) {
    Memory memory = rows(format, width, height, rowStride, data == null ? -1 : data.capacity());
    memory.buffers = new ByteBuffer[] {data};
    return plain(memory);
  }

  /** The same in an array. */
  public static Pixels of(Format format, byte[] data, int width, int height, int rowStride) {
    Memory memory = rows(format, width, height, rowStride, data == null ? -1 : data.length);
    memory.bytes = data;
    return plain(memory);
  }

  private static Memory rows(Format format, int width, int height, int rowStride, int size) {
    check(format != null, "The format must not be null");
    Memory memory = memory(width, height);
    checkPlane("data", size, 0, rowStride, format.bytes, width, height, format.bytes);
    memory.numbers[FORMAT] = format.ordinal();
    memory.numbers[ROW_STRIDE] = rowStride;
    return memory;
  }

  // ---- cameras: YUV 4:2:0 of 8 bits, whose u and v have half of both sizes, rounded up ----

  /**
   * A camera's picture, which has to be open when it is used.
   *
   * @param image of format {@link ImageFormat#YUV_420_888}. One of {@link ImageFormat#JPEG} is a
   *     file: {@code Picture.decode(image.getPlanes()[0].getBuffer())}.
   */
  public static Pixels of(Image image) {
    check(image != null, "The image must not be null");
    int format = image.getFormat();
    check(
        format == ImageFormat.YUV_420_888,
        "The image must be of format ImageFormat.YUV_420_888 (35), not %d", format);
    return new Pixels(() -> planes(image), true, Matrix.BT601, 0);
  }

  private static Memory planes(Image image) {
    Image.Plane[] planes = image.getPlanes();
    Image.Plane y = planes[0], u = planes[1], v = planes[2];
    return planes(
        y.getBuffer(), y.getRowStride(), y.getPixelStride(), u.getBuffer(), v.getBuffer(), u.getRowStride(),
        u.getPixelStride(), image.getWidth(), image.getHeight());
  }

  /** Planes in buffers, strides being bytes from row to row and from pixel to pixel. */
  public static Pixels yuv420(
      ByteBuffer y,
      int yRowStride,
      int yPixelStride,
      ByteBuffer u,
      ByteBuffer v,
      int uvRowStride,
      int uvPixelStride,
      int width,
      int height) {
    Memory memory = planes(y, yRowStride, yPixelStride, u, v, uvRowStride, uvPixelStride, width, height);
    return new Pixels(() -> memory, true, Matrix.BT601, 0);
  }

  private static Memory planes(
      ByteBuffer y,
      int yRowStride,
      int yPixelStride,
      ByteBuffer u,
      ByteBuffer v,
      int uvRowStride,
      int uvPixelStride,
      int width,
      int height) {
    ByteBuffer[] planes = {y, u, v};
    int[] sizes = new int[3];
    for (int i = 0; i < 3; i++) sizes[i] = planes[i] == null ? -1 : planes[i].capacity();
    Memory memory =
        yuv(sizes, new int[3], yRowStride, yPixelStride, uvRowStride, uvPixelStride, width, height);
    memory.buffers = planes;
    return memory;
  }

  /** Without gaps: y, then v and u in turns, as Android's first camera gives it. */
  public static Pixels nv21(byte[] data, int width, int height) {
    return together(data, width, height, 2, 1, 0);
  }

  /** Without gaps: y, then u and v in turns. */
  public static Pixels nv12(byte[] data, int width, int height) {
    return together(data, width, height, 2, 0, 1);
  }

  /** Without gaps: y, then u, then v. */
  public static Pixels i420(byte[] data, int width, int height) {
    return together(data, width, height, 1, 0, half(width) * half(height));
  }

  /** Where u and v begin is told from the end of y. */
  private static Pixels together(byte[] data, int width, int height, int pixelStride, int u, int v) {
    int size = data == null ? -1 : data.length;
    checkSize(width, height);
    long ySize = (long) width * height;
    check(
        data == null || ySize + 2L * half(width) * half(height) <= size,
        "There are %d bytes, too few for %d x %d pixels in YUV 4:2:0", size, width, height);
    int[] offsets = {0, (int) ySize + u, (int) ySize + v};
    Memory memory =
        yuv(new int[] {size, size, size}, offsets, width, 1, half(width) * pixelStride, pixelStride, width, height);
    memory.bytes = data;
    return new Pixels(() -> memory, true, Matrix.BT601, 0);
  }

  private static Memory yuv(
      int[] sizes,
      int[] offsets,
      int yRowStride,
      int yPixelStride,
      int uvRowStride,
      int uvPixelStride,
      int width,
      int height) {
    Memory memory = memory(width, height);
    int uvWidth = half(width), uvHeight = half(height);
    checkPlane("plane y", sizes[0], offsets[0], yRowStride, yPixelStride, width, height, 1);
    checkPlane("plane u", sizes[1], offsets[1], uvRowStride, uvPixelStride, uvWidth, uvHeight, 1);
    checkPlane("plane v", sizes[2], offsets[2], uvRowStride, uvPixelStride, uvWidth, uvHeight, 1);
    memory.numbers[KIND] = YUV;
    memory.numbers[ROW_STRIDE] = yRowStride;
    memory.numbers[PIXEL_STRIDE] = yPixelStride;
    memory.numbers[UV_ROW_STRIDE] = uvRowStride;
    memory.numbers[UV_PIXEL_STRIDE] = uvPixelStride;
    for (int i = 0; i < 3; i++) memory.numbers[OFFSETS + i] = offsets[i];
    return memory;
  }

  /** Rounded up. */
  private static int half(int size) {
    return size - size / 2;
  }

  // ---- how they are seen ----

  /** The same pixels, turned clockwise by 0, 90, 180 or 270 degrees more: to be upright. */
  public Pixels rotated(int degrees) {
    check(
        degrees == 0 || degrees == 90 || degrees == 180 || degrees == 270,
        "The rotation must be 0, 90, 180 or 270 degrees, not %d", degrees);
    return new Pixels(source, yuv, matrix, (rotation + degrees) % 360);
  }

  /** The same YUV with other colours than {@link Matrix#BT601}'s. */
  public Pixels colours(Matrix matrix) {
    check(matrix != null, "The matrix must not be null");
    check(yuv, "Only YUV has a matrix of colours");
    return new Pixels(source, true, matrix, rotation);
  }

  /** What crosses to native code, which reads it unchecked. */
  Memory memory() {
    Memory from = source.memory();
    Memory memory = new Memory();
    System.arraycopy(from.numbers, 0, memory.numbers, 0, memory.numbers.length);
    memory.numbers[ROTATION] = rotation;
    if (yuv) memory.numbers[FORMAT] = matrix.ordinal();
    memory.bytes = from.bytes;
    memory.colours = from.colours;
    if (from.buffers != null) {
      memory.buffers = new ByteBuffer[from.buffers.length];
      for (int i = 0; i < memory.buffers.length; i++) memory.buffers[i] = direct(from.buffers[i]);
    }
    return memory;
  }

  private static ByteBuffer direct(ByteBuffer buffer) {
    ByteBuffer whole = buffer.duplicate();
    whole.clear();
    if (buffer.isDirect()) return whole;
    ByteBuffer copy = ByteBuffer.allocateDirect(whole.capacity());
    copy.put(whole);
    return copy;
  }

  // ---- checks ----

  private static Memory memory(int width, int height) {
    checkSize(width, height);
    Memory memory = new Memory();
    memory.numbers[WIDTH] = width;
    memory.numbers[HEIGHT] = height;
    return memory;
  }

  private static void checkSize(int width, int height) {
    check(width > 0 && height > 0, "A picture of %d x %d pixels has none", width, height);
  }

  /** {@code size} is -1 for null. */
  private static void checkPlane(
      String name, int size, int offset, int rowStride, int pixelStride, int width, int height, int bytes) {
    check(size >= 0, "The %s must not be null", name);
    long end = offset + (height - 1L) * rowStride + (width - 1L) * pixelStride + bytes;
    check(
        rowStride > 0 && pixelStride > 0 && end <= size,
        "The %s has %d bytes, too few for %d x %d pixels with strides of %d and %d bytes",
        name, size, width, height, rowStride, pixelStride);
  }

  static void check(boolean truth, String message, Object... arguments) {
    if (!truth) throw new IllegalArgumentException(String.format(Locale.ROOT, message, arguments));
  }
}
