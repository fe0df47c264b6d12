package org.torchlet.spark;

import java.awt.image.BufferedImage;
import java.awt.image.IndexColorModel;
import java.awt.image.Raster;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.Arrays;
import javax.imageio.ImageIO;
import javax.imageio.ImageReader;
import javax.imageio.stream.ImageInputStream;
import javax.imageio.stream.MemoryCacheImageInputStream;

/** 8-bit RGB, rows from the top, with the numbers that torchlet/image.h gives. */
final class Picture {
  // 400 MB of heap while it is decoded.
  private static final long MOST_PIXELS = 1 << 26;
  private static final int FRACTION_BITS = 22;

  final int width;
  final int height;
  final byte[] rgb;

  private Picture(int width, int height) {
    this.width = width;
    this.height = height;
    rgb = new byte[Math.multiplyExact(Math.multiplyExact(width, height), 3)];
  }

  /** Decodes PNG or JPEG as PIL's convert("RGB") does: grey becomes RGB, alpha is dropped. */
  static Picture decode(byte[] file) {
    ImageReader reader = ImageIO.getImageReadersByFormatName(format(file)).next();
    try (ImageInputStream stream = new MemoryCacheImageInputStream(new ByteArrayInputStream(file))) {
      reader.setInput(stream, true, true);
      String[] warning = new String[1];
      reader.addIIOReadWarningListener((source, text) -> warning[0] = text);
      long pixels = (long) reader.getWidth(0) * reader.getHeight(0);
      if (pixels > MOST_PIXELS) {
        throw new IllegalArgumentException(
            "the picture has " + pixels + " pixels, more than " + MOST_PIXELS + "; make it smaller");
      }
      BufferedImage image = reader.read(0);
      if (warning[0] != null) throw damaged(warning[0], null);
      return of(image);
    } catch (IOException | IndexOutOfBoundsException | NegativeArraySizeException e) {
      throw damaged(e.getMessage(), e);
    } finally {
      reader.dispose();
    }
  }

  private static String format(byte[] file) {
    if (file.length > 3 && (file[0] & 0xff) == 0x89 && file[1] == 'P' && file[2] == 'N') return "png";
    if (file.length > 3 && (file[0] & 0xff) == 0xff && (file[1] & 0xff) == 0xd8) return "jpeg";
    throw new IllegalArgumentException("the picture is neither PNG nor JPEG; convert it to one of them");
  }

  private static IllegalArgumentException damaged(String what, Exception cause) {
    return new IllegalArgumentException("the picture is damaged: " + what, cause);
  }

  /** Reads the samples themselves: getRGB() would convert grey by its gamma. */
  private static Picture of(BufferedImage image) {
    Picture result = new Picture(image.getWidth(), image.getHeight());
    boolean palette = image.getColorModel() instanceof IndexColorModel;
    Raster raster = image.getRaster();
    int bands = raster.getNumBands(), green = bands >= 3 ? 1 : 0, blue = bands >= 3 ? 2 : 0;
    int shift = palette ? 0 : Math.max(raster.getSampleModel().getSampleSize(0) - 8, 0);
    int[] row = new int[result.width * Math.max(bands, 1)];
    int at = 0;
    for (int y = 0; y < result.height; ++y) {
      if (palette) {
        image.getRGB(0, y, result.width, 1, row, 0, result.width);
      } else {
        raster.getPixels(0, y, result.width, 1, row);
      }
      for (int x = 0; x < result.width; ++x) {
        int pixel = x * bands;
        result.rgb[at++] = (byte) (palette ? row[x] >> 16 : row[pixel] >> shift);
        result.rgb[at++] = (byte) (palette ? row[x] >> 8 : row[pixel + green] >> shift);
        result.rgb[at++] = (byte) (palette ? row[x] : row[pixel + blue] >> shift);
      }
    }
    return result;
  }

  /** torchvision's Resize(side): the longer side keeps the ratio. */
  Picture resizeShorterSide(int side) {
    int other = (int) ((double) ((long) side * Math.max(width, height)) / Math.min(width, height));
    return height <= width ? resize(side, other) : resize(other, side);
  }

  /** Bilinear with antialias: the bits of PIL's resize(), whose sums have 22 fractional bits. */
  Picture resize(int newHeight, int newWidth) {
    Picture wide = newWidth == width ? this : resizeWidth(newWidth);
    return newHeight == height ? wide : wide.resizeHeight(newHeight);
  }

  private Picture resizeWidth(int newWidth) {
    Picture result = new Picture(newWidth, height);
    Window[] windows = windows(width, newWidth);
    int at = 0;
    for (int y = 0; y < height; ++y) {
      for (Window window : windows) {
        int r = 1 << FRACTION_BITS - 1, g = r, b = r, from = (y * width + window.first) * 3;
        for (int weight : window.weights) {
          r += weight * (rgb[from++] & 0xff);
          g += weight * (rgb[from++] & 0xff);
          b += weight * (rgb[from++] & 0xff);
        }
        result.rgb[at++] = rounded(r);
        result.rgb[at++] = rounded(g);
        result.rgb[at++] = rounded(b);
      }
    }
    return result;
  }

  private Picture resizeHeight(int newHeight) {
    Picture result = new Picture(width, newHeight);
    int stride = width * 3, at = 0;
    int[] sums = new int[stride];
    for (Window window : windows(height, newHeight)) {
      Arrays.fill(sums, 1 << FRACTION_BITS - 1);
      int from = window.first * stride;
      for (int weight : window.weights) {
        for (int x = 0; x < stride; ++x) sums[x] += weight * (rgb[from++] & 0xff);
      }
      for (int sum : sums) result.rgb[at++] = rounded(sum);
    }
    return result;
  }

  private static byte rounded(int sum) {
    return (byte) Math.max(0, Math.min(255, sum >> FRACTION_BITS));
  }

  private static final class Window {
    int first;
    int[] weights;
  }

  /** The inputs of each output: a triangle as wide as an input or, when shrinking, an output pixel. */
  private static Window[] windows(int in, int out) {
    double scale = (double) in / out, support = Math.max(scale, 1);
    Window[] windows = new Window[out];
    for (int i = 0; i < out; ++i) {
      double center = (i + 0.5) * scale, sum = 0;
      Window window = windows[i] = new Window();
      window.first = Math.max(0, (int) (center - support + 0.5));
      int last = Math.min(in, (int) (center + support + 0.5));
      double[] weights = new double[last - window.first];
      for (int x = 0; x < weights.length; ++x) {
        double distance = Math.abs((window.first + x - center + 0.5) * (1 / support));
        weights[x] = distance < 1 ? 1 - distance : 0;
        sum += weights[x];
      }
      window.weights = new int[weights.length];
      for (int x = 0; x < weights.length; ++x) {
        double normal = sum != 0 ? weights[x] / sum : weights[x];
        window.weights[x] = (int) (0.5 + normal * (1 << FRACTION_BITS));
      }
    }
    return windows;
  }

  /** torchvision's CenterCrop: black where there is no picture. */
  Picture centerCrop(int newHeight, int newWidth) {
    int top = offset(height, newHeight), left = offset(width, newWidth);
    Picture result = new Picture(newWidth, newHeight);
    for (int y = Math.max(0, -top); y < newHeight && y + top < height; ++y) {
      int x = Math.max(0, -left), count = Math.min(newWidth, width - left) - x;
      System.arraycopy(rgb, ((y + top) * width + x + left) * 3, result.rgb, (y * newWidth + x) * 3, count * 3);
    }
    return result;
  }

  /** Python's round; what is missing is split towards the top and left. */
  private static int offset(int have, int want) {
    return have >= want ? (int) Math.rint((have - want) / 2.0) : -((want - have) / 2);
  }
}
