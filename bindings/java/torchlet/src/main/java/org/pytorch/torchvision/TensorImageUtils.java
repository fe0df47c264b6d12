package org.pytorch.torchvision;

import android.graphics.Bitmap;
import android.graphics.ImageFormat;
import android.media.Image;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.util.Locale;
import org.pytorch.MemoryFormat;
import org.pytorch.Tensor;

/**
 * Pictures of Android as tensors: (value / 255 - mean) / std for red, green and blue, as
 * torch.float32 of shape [1, 3, height, width]; or the values as they are, as torch.uint8.
 */
public final class TensorImageUtils {
  /** The mean of torchvision's ImageNet models: red, green, blue. */
  public static float[] TORCHVISION_NORM_MEAN_RGB = new float[] {0.485f, 0.456f, 0.406f};

  /** Their standard deviation. */
  public static float[] TORCHVISION_NORM_STD_RGB = new float[] {0.229f, 0.224f, 0.225f};

  private TensorImageUtils() {}

  // ---- bitmaps ----

  /** A tensor of the whole bitmap. */
  public static Tensor bitmapToFloat32Tensor(Bitmap bitmap, float[] normMeanRGB, float[] normStdRGB) {
    return bitmapToFloat32Tensor(bitmap, normMeanRGB, normStdRGB, MemoryFormat.CONTIGUOUS);
  }

  /** A tensor of the whole bitmap in that order in memory. */
  public static Tensor bitmapToFloat32Tensor(
      Bitmap bitmap, float[] normMeanRGB, float[] normStdRGB, MemoryFormat memoryFormat) {
    check(bitmap != null, "The bitmap must not be null");
    return bitmapToFloat32Tensor(
        bitmap, 0, 0, bitmap.getWidth(), bitmap.getHeight(), normMeanRGB, normStdRGB, memoryFormat);
  }

  /** A tensor of the rectangle of the bitmap that begins at (x, y). */
  public static Tensor bitmapToFloat32Tensor(
      Bitmap bitmap, int x, int y, int width, int height, float[] normMeanRGB, float[] normStdRGB) {
    return bitmapToFloat32Tensor(
        bitmap, x, y, width, height, normMeanRGB, normStdRGB, MemoryFormat.CONTIGUOUS);
  }

  /** A tensor of the rectangle of the bitmap that begins at (x, y), in that order in memory. */
  public static Tensor bitmapToFloat32Tensor(
      Bitmap bitmap,
      int x,
      int y,
      int width,
      int height,
      float[] normMeanRGB,
      float[] normStdRGB,
      MemoryFormat memoryFormat) {
    checkSize(width, height);
    FloatBuffer buffer = Tensor.allocateFloatBuffer(3 * width * height);
    bitmapToFloatBuffer(bitmap, x, y, width, height, normMeanRGB, normStdRGB, buffer, 0, memoryFormat);
    return Tensor.fromBlob(buffer, new long[] {1, 3, height, width}, memoryFormat);
  }

  /** Writes the rectangle into a buffer, from element {@code outBufferOffset} on. */
  public static void bitmapToFloatBuffer(
      Bitmap bitmap,
      int x,
      int y,
      int width,
      int height,
      float[] normMeanRGB,
      float[] normStdRGB,
      FloatBuffer outBuffer,
      int outBufferOffset) {
    bitmapToFloatBuffer(
        bitmap, x, y, width, height, normMeanRGB, normStdRGB, outBuffer, outBufferOffset, MemoryFormat.CONTIGUOUS);
  }

  /** Writes the rectangle into a buffer, from element {@code outBufferOffset} on, in that order. */
  public static void bitmapToFloatBuffer(
      Bitmap bitmap,
      int x,
      int y,
      int width,
      int height,
      float[] normMeanRGB,
      float[] normStdRGB,
      FloatBuffer outBuffer,
      int outBufferOffset,
      MemoryFormat memoryFormat) {
    Floats to = new Floats(outBuffer, outBufferOffset, width, height, normMeanRGB, normStdRGB, memoryFormat);
    check(bitmap != null, "The bitmap must not be null");
    check(
        x >= 0 && y >= 0 && width <= bitmap.getWidth() - x && height <= bitmap.getHeight() - y,
        "%d x %d pixels from (%d, %d) on are not within a bitmap of %d x %d",
        width,
        height,
        x,
        y,
        bitmap.getWidth(),
        bitmap.getHeight());
    int[] row = new int[width];
    for (int i = 0; i < height; i++) {
      bitmap.getPixels(row, 0, width, x, y + i, width, 1);
      for (int j = 0; j < width; j++) {
        to.put(i * width + j, row[j] >> 16 & 255, row[j] >> 8 & 255, row[j] & 255);
      }
    }
  }

  /** A torch.uint8 tensor [1, 3, height, width] of the values of the whole bitmap. */
  public static Tensor bitmapToUint8Tensor(Bitmap bitmap, MemoryFormat memoryFormat) {
    check(bitmap != null, "The bitmap must not be null");
    int width = bitmap.getWidth(), height = bitmap.getHeight();
    checkSize(width, height);
    check(memoryFormat != null, "The memory format must not be null");
    boolean last = memoryFormat == MemoryFormat.CHANNELS_LAST;
    int plane = width * height;
    ByteBuffer buffer = Tensor.allocateByteBuffer(3 * plane);
    int[] row = new int[width];
    for (int i = 0; i < height; i++) {
      bitmap.getPixels(row, 0, width, 0, i, width, 1);
      for (int j = 0; j < width; j++) {
        int pixel = i * width + j;
        for (int c = 0; c < 3; c++) {
          buffer.put(last ? 3 * pixel + c : c * plane + pixel, (byte) (row[j] >> (16 - 8 * c)));
        }
      }
    }
    return Tensor.fromBlobUnsigned(buffer, new long[] {1, 3, height, width}, memoryFormat);
  }

  // ---- pictures of cameras ----

  /**
   * A tensor of the middle of a camera's picture, turned and scaled: of the picture as it is after
   * the turn, the largest rectangle with the tensor's proportions is taken, and of it for each
   * element the pixel at its upper left corner.
   *
   * @param image of format {@link ImageFormat#YUV_420_888}, luma from 16 to 235 (ITU-R BT.601).
   * @param rotateCWDegrees 0, 90, 180 or 270, clockwise.
   */
  public static Tensor imageYUV420CenterCropToFloat32Tensor(
      Image image,
      int rotateCWDegrees,
      int tensorWidth,
      int tensorHeight,
      float[] normMeanRGB,
      float[] normStdRGB) {
    return imageYUV420CenterCropToFloat32Tensor(
        image, rotateCWDegrees, tensorWidth, tensorHeight, normMeanRGB, normStdRGB, MemoryFormat.CONTIGUOUS);
  }

  /** The same in that order in memory. */
  public static Tensor imageYUV420CenterCropToFloat32Tensor(
      Image image,
      int rotateCWDegrees,
      int tensorWidth,
      int tensorHeight,
      float[] normMeanRGB,
      float[] normStdRGB,
      MemoryFormat memoryFormat) {
    checkSize(tensorWidth, tensorHeight);
    FloatBuffer buffer = Tensor.allocateFloatBuffer(3 * tensorWidth * tensorHeight);
    imageYUV420CenterCropToFloatBuffer(
        image, rotateCWDegrees, tensorWidth, tensorHeight, normMeanRGB, normStdRGB, buffer, 0, memoryFormat);
    return Tensor.fromBlob(buffer, new long[] {1, 3, tensorHeight, tensorWidth}, memoryFormat);
  }

  /** The same into a buffer, from element {@code outBufferOffset} on. */
  public static void imageYUV420CenterCropToFloatBuffer(
      Image image,
      int rotateCWDegrees,
      int tensorWidth,
      int tensorHeight,
      float[] normMeanRGB,
      float[] normStdRGB,
      FloatBuffer outBuffer,
      int outBufferOffset) {
    imageYUV420CenterCropToFloatBuffer(
        image,
        rotateCWDegrees,
        tensorWidth,
        tensorHeight,
        normMeanRGB,
        normStdRGB,
        outBuffer,
        outBufferOffset,
        MemoryFormat.CONTIGUOUS);
  }

  /** The same into a buffer, from element {@code outBufferOffset} on, in that order. */
  public static void imageYUV420CenterCropToFloatBuffer(
      Image image,
      int rotateCWDegrees,
      int tensorWidth,
      int tensorHeight,
      float[] normMeanRGB,
      float[] normStdRGB,
      FloatBuffer outBuffer,
      int outBufferOffset,
      MemoryFormat memoryFormat) {
    check(image != null, "The image must not be null");
    check(
        image.getFormat() == ImageFormat.YUV_420_888,
        "The image must be of format ImageFormat.YUV_420_888 (35), not %d",
        image.getFormat());
    Image.Plane[] planes = image.getPlanes();
    imageYUV420CenterCropToFloatBuffer(
        planes[0].getBuffer(),
        planes[0].getRowStride(),
        planes[0].getPixelStride(),
        planes[1].getBuffer(),
        planes[2].getBuffer(),
        planes[1].getRowStride(),
        planes[1].getPixelStride(),
        image.getWidth(),
        image.getHeight(),
        rotateCWDegrees,
        tensorWidth,
        tensorHeight,
        normMeanRGB,
        normStdRGB,
        outBuffer,
        outBufferOffset,
        memoryFormat);
  }

  /** The same for planes in buffers, strides being bytes. */
  public static void imageYUV420CenterCropToFloatBuffer(
      ByteBuffer yBuffer,
      int yRowStride,
      int yPixelStride,
      ByteBuffer uBuffer,
      ByteBuffer vBuffer,
      int uvRowStride,
      int uvPixelStride,
      int imageWidth,
      int imageHeight,
      int rotateCWDegrees,
      int tensorWidth,
      int tensorHeight,
      float[] normMeanRGB,
      float[] normStdRGB,
      FloatBuffer outBuffer,
      int outBufferOffset,
      MemoryFormat memoryFormat) {
    checkSize(imageWidth, imageHeight);
    check(
        rotateCWDegrees == 0 || rotateCWDegrees == 90 || rotateCWDegrees == 180 || rotateCWDegrees == 270,
        "The rotation must be 0, 90, 180 or 270 degrees, not %d",
        rotateCWDegrees);
    checkPlane("y", yBuffer, yRowStride, yPixelStride, imageWidth, imageHeight);
    checkPlane("u", uBuffer, uvRowStride, uvPixelStride, (imageWidth + 1) / 2, (imageHeight + 1) / 2);
    checkPlane("v", vBuffer, uvRowStride, uvPixelStride, (imageWidth + 1) / 2, (imageHeight + 1) / 2);
    Floats to =
        new Floats(outBuffer, outBufferOffset, tensorWidth, tensorHeight, normMeanRGB, normStdRGB, memoryFormat);

    boolean lies = rotateCWDegrees == 90 || rotateCWDegrees == 270;
    int width = lies ? imageHeight : imageWidth, height = lies ? imageWidth : imageHeight;
    int cropWidth = width, cropHeight = height;
    if ((long) tensorWidth * height <= (long) tensorHeight * width) {
      cropWidth = Math.max(1, (int) ((long) tensorWidth * height / tensorHeight));
    } else {
      cropHeight = Math.max(1, (int) ((long) tensorHeight * width / tensorWidth));
    }
    int left = (width - cropWidth) / 2, top = (height - cropHeight) / 2;
    for (int i = 0; i < tensorHeight; i++) {
      int turnedY = top + (int) ((long) i * cropHeight / tensorHeight);
      for (int j = 0; j < tensorWidth; j++) {
        int turnedX = left + (int) ((long) j * cropWidth / tensorWidth);
        int x, y;
        switch (rotateCWDegrees) {
          case 90:
            x = turnedY;
            y = imageHeight - 1 - turnedX;
            break;
          case 180:
            x = imageWidth - 1 - turnedX;
            y = imageHeight - 1 - turnedY;
            break;
          case 270:
            x = imageWidth - 1 - turnedY;
            y = turnedX;
            break;
          default:
            x = turnedX;
            y = turnedY;
        }
        int uvAt = y / 2 * uvRowStride + x / 2 * uvPixelStride;
        int luma = Math.max(0, (yBuffer.get(y * yRowStride + x * yPixelStride) & 255) - 16);
        int u = (uBuffer.get(uvAt) & 255) - 128, v = (vBuffer.get(uvAt) & 255) - 128;
        // ITU-R BT.601 with 10 bits behind the point: 1.164, 1.596, 0.391, 0.813, 2.018.
        int grey = 1192 * luma;
        to.put(
            i * tensorWidth + j,
            clamp(grey + 1634 * v >> 10),
            clamp(grey - 833 * v - 400 * u >> 10),
            clamp(grey + 2066 * u >> 10));
      }
    }
  }

  private static int clamp(int value) {
    return Math.max(0, Math.min(255, value));
  }

  // ---- what both write ----

  /** Where normalised pixels go. */
  private static final class Floats {
    private final FloatBuffer buffer;
    private final int offset;
    private final int pixelStep;
    private final int channelStep;
    private final float[] mean;
    private final float[] std;

    Floats(
        FloatBuffer buffer, int offset, int width, int height, float[] mean, float[] std, MemoryFormat format) {
      checkSize(width, height);
      check(mean != null && mean.length == 3, "The mean must have three numbers, red first");
      check(std != null && std.length == 3, "The standard deviation must have three numbers, red first");
      check(
          format == MemoryFormat.CONTIGUOUS || format == MemoryFormat.CHANNELS_LAST,
          "A picture is CONTIGUOUS or CHANNELS_LAST, not %s",
          format);
      check(buffer != null, "The buffer must not be null");
      long size = 3L * width * height;
      check(
          offset >= 0 && size <= buffer.capacity() - (long) offset,
          "The buffer has %d elements, too few for %d from %d on",
          buffer.capacity(),
          size,
          offset);
      this.buffer = buffer;
      this.offset = offset;
      this.mean = mean;
      this.std = std;
      boolean last = format == MemoryFormat.CHANNELS_LAST;
      pixelStep = last ? 3 : 1;
      channelStep = last ? 1 : width * height;
    }

    void put(int pixel, int red, int green, int blue) {
      int at = offset + pixel * pixelStep;
      buffer.put(at, (red / 255.0f - mean[0]) / std[0]);
      buffer.put(at + channelStep, (green / 255.0f - mean[1]) / std[1]);
      buffer.put(at + 2 * channelStep, (blue / 255.0f - mean[2]) / std[2]);
    }
  }

  private static void checkSize(int width, int height) {
    check(
        width > 0 && height > 0 && 3L * width * height <= Integer.MAX_VALUE,
        "A picture of %d x %d pixels cannot become a tensor",
        width,
        height);
  }

  private static void checkPlane(
      String name, ByteBuffer plane, int rowStride, int pixelStride, int width, int height) {
    check(plane != null, "The plane %s must not be null", name);
    long last = (height - 1L) * rowStride + (width - 1L) * pixelStride;
    check(
        rowStride > 0 && pixelStride > 0 && last < plane.limit(),
        "The plane %s has %d bytes, too few for %d x %d pixels with strides of %d and %d bytes",
        name,
        plane.limit(),
        width,
        height,
        rowStride,
        pixelStride);
  }

  private static void check(boolean truth, String message, Object... arguments) {
    if (!truth) throw new IllegalArgumentException(String.format(Locale.ROOT, message, arguments));
  }
}
