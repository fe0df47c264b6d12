package org.pytorch;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import android.content.Context;
import android.graphics.Bitmap;
import android.graphics.BitmapFactory;
import android.graphics.ImageFormat;
import android.media.Image;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.util.List;
import java.util.Random;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.pytorch.torchvision.TensorImageUtils;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.RuntimeEnvironment;
import org.robolectric.annotation.Config;
import org.torchlet.Picture;
import org.torchlet.Pixels;
import org.torchlet.Preprocess;
import org.torchlet.TorchletException;

/** What the recipes for Android call, on Robolectric's Android of API level 21. */
@RunWith(RobolectricTestRunner.class)
@Config(sdk = 21)
public class AndroidTest {
  private final Context context = RuntimeEnvironment.getApplication();

  /** Copies an asset to a file and gives its path: the recipes' function. */
  private static String assetFilePath(Context context, String assetName) throws IOException {
    File file = new File(context.getFilesDir(), assetName);
    if (file.exists() && file.length() > 0) return file.getAbsolutePath();
    try (InputStream is = context.getAssets().open(assetName);
        OutputStream os = new FileOutputStream(file)) {
      byte[] buffer = new byte[4 * 1024];
      int read;
      while ((read = is.read(buffer)) != -1) os.write(buffer, 0, read);
      os.flush();
    }
    return file.getAbsolutePath();
  }

  /** Image classification: an asset, a bitmap, scores, the best of them. */
  @Test
  public void classifiesAsTheRecipeDoes() throws IOException {
    Module module = LiteModuleLoader.load(assetFilePath(context, "digits_mobilenet_v2.pt"));
    Module mapped = LiteModuleLoader.loadModuleFromAsset(context.getAssets(), "digits_mobilenet_v2.pt");
    List<String> lines = Files.readAllLines(ModuleTest.REPOSITORY.resolve("tests/fixtures/recipe_scores.txt"));
    assertEquals(6, lines.size());
    for (String line : lines) {
      String[] pytorch = line.split(" "); // the picture and PyTorch's scores
      int digit = pytorch[0].charAt("digit_".length()) - '0';
      Bitmap bitmap = BitmapFactory.decodeStream(context.getAssets().open("samples/digit_" + digit + ".png"));
      for (MemoryFormat format : new MemoryFormat[] {MemoryFormat.CONTIGUOUS, MemoryFormat.CHANNELS_LAST}) {
        final Tensor inputTensor =
            TensorImageUtils.bitmapToFloat32Tensor(
                bitmap,
                TensorImageUtils.TORCHVISION_NORM_MEAN_RGB,
                TensorImageUtils.TORCHVISION_NORM_STD_RGB,
                format);
        final Tensor outputTensor = module.forward(IValue.from(inputTensor)).toTensor();
        final float[] scores = outputTensor.getDataAsFloatArray();
        float maxScore = -Float.MAX_VALUE;
        int maxScoreIdx = -1;
        for (int i = 0; i < scores.length; i++) {
          if (scores[i] > maxScore) {
            maxScore = scores[i];
            maxScoreIdx = i;
          }
        }
        assertEquals(digit, maxScoreIdx);
        for (int i = 0; i < 10; i++) assertEquals(Double.parseDouble(pytorch[1 + i]), scores[i], 1e-4);
        assertArrayEquals(scores, mapped.forward(IValue.from(inputTensor)).toTensor().getDataAsFloatArray(), 0);
      }
    }
  }

  /** Image segmentation: the answer is a dictionary. */
  @Test
  public void readsADictionaryAsTheRecipeDoes() throws IOException {
    Module module = LitePyTorchAndroid.loadModuleFromAsset(context.getAssets(), "values.pt");
    Bitmap bitmap = Bitmap.createBitmap(new int[] {0xff102030, 0xff405060}, 2, 1, Bitmap.Config.ARGB_8888);
    Tensor input =
        TensorImageUtils.bitmapToFloat32Tensor(bitmap, new float[3], new float[] {1 / 255f, 1 / 255f, 1 / 255f});
    Tensor out = module.forward(IValue.from(input)).toDictStringKey().get("out").toTensor();
    assertArrayEquals(new long[] {1, 3, 1, 2}, out.shape());
    assertArrayEquals(new float[] {32, 128, 64, 160, 96, 192}, out.getDataAsFloatArray(), 1e-4f);
  }

  @Test
  public void aMissingAssetSaysSo() {
    TorchletException.Io e =
        assertThrows(
            TorchletException.Io.class, () -> PyTorchAndroid.loadModuleFromAsset(context.getAssets(), "none.ptl"));
    assertTrue(e.getMessage(), e.getMessage().contains("none.ptl"));
  }

  @Test
  public void bitmapsBecomeTensorsInBothOrders() {
    int[] colours = new int[6];
    for (int i = 0; i < 6; i++) colours[i] = 0xff000000 | 40 * i << 16 | (3 * i + 1) << 8 | (255 - i);
    Bitmap bitmap = Bitmap.createBitmap(colours, 3, 2, Bitmap.Config.ARGB_8888);
    float[] mean = {0.5f, 0.25f, 0.125f}, std = {2, 4, 0.5f};
    float[] nchw = TensorImageUtils.bitmapToFloat32Tensor(bitmap, mean, std).getDataAsFloatArray();
    float[] nhwc =
        TensorImageUtils.bitmapToFloat32Tensor(bitmap, mean, std, MemoryFormat.CHANNELS_LAST).getDataAsFloatArray();
    byte[] bytes = TensorImageUtils.bitmapToUint8Tensor(bitmap, MemoryFormat.CONTIGUOUS).getDataAsUnsignedByteArray();
    byte[] last = TensorImageUtils.bitmapToUint8Tensor(bitmap, MemoryFormat.CHANNELS_LAST).getDataAsUnsignedByteArray();
    for (int i = 0; i < 6; i++) {
      for (int c = 0; c < 3; c++) {
        int value = colours[i] >> (16 - 8 * c) & 255;
        assertEquals((value / 255.0f - mean[c]) / std[c], nchw[6 * c + i], 0);
        assertEquals(nchw[6 * c + i], nhwc[3 * i + c], 0);
        assertEquals((byte) value, bytes[6 * c + i]);
        assertEquals((byte) value, last[3 * i + c]);
      }
    }
    FloatBuffer buffer = Tensor.allocateFloatBuffer(1 + 3 * 2);
    TensorImageUtils.bitmapToFloatBuffer(bitmap, 1, 0, 2, 1, mean, std, buffer, 1);
    assertEquals(nchw[1], buffer.get(1), 0);
    assertEquals(nchw[6 + 2], buffer.get(4), 0);
    assertThrows(
        IllegalArgumentException.class,
        () -> TensorImageUtils.bitmapToFloatBuffer(bitmap, 0, 0, 3, 2, mean, std, buffer, 0));
    assertThrows(
        IllegalArgumentException.class, () -> TensorImageUtils.bitmapToFloat32Tensor(bitmap, null, std));
    assertThrows(
        IllegalArgumentException.class, () -> TensorImageUtils.bitmapToFloat32Tensor(null, mean, std));
  }

  /** ITU-R BT.601 in floating point, one pixel. */
  private static double[] rgb(int y, int u, int v) {
    double grey = Math.max(0, y - 16) * 255 / 219.0, b = (u - 128) * 255 / 224.0, r = (v - 128) * 255 / 224.0;
    double[] colour = {grey + 1.402 * r, grey - 0.344136 * b - 0.714136 * r, grey + 1.772 * b};
    for (int c = 0; c < 3; c++) colour[c] = Math.max(0, Math.min(255, colour[c]));
    return colour;
  }

  @Test
  public void yuvWithinAStepOfTheStandardForAnyStridesAndRotation() {
    Random random = new Random(7);
    float[] mean = new float[3], std = {1, 1, 1};
    for (int pixelStride : new int[] {1, 2}) {
      for (int[] size : new int[][] {{6, 4}, {5, 3}, {1, 1}, {7, 8}}) {
        int width = size[0], height = size[1];
        int rowStride = width + 3, uvRowStride = (width + 1) / 2 * pixelStride + 2;
        byte[] y = new byte[rowStride * height], u = new byte[uvRowStride * ((height + 1) / 2)], v = u.clone();
        random.nextBytes(y);
        random.nextBytes(u);
        random.nextBytes(v);
        for (int rotation = 0; rotation < 360; rotation += 90) {
          boolean lies = rotation % 180 == 90;
          int w = lies ? height : width, h = lies ? width : height;
          FloatBuffer out = Tensor.allocateFloatBuffer(3 * w * h);
          TensorImageUtils.imageYUV420CenterCropToFloatBuffer(
              ByteBuffer.wrap(y), rowStride, 1, ByteBuffer.wrap(u), ByteBuffer.wrap(v), uvRowStride, pixelStride,
              width, height, rotation, w, h, mean, std, out, 0, MemoryFormat.CONTIGUOUS);
          for (int row = 0; row < height; row++) {
            for (int column = 0; column < width; column++) {
              // Where the pixel goes when the picture is turned clockwise.
              int toX = column, toY = row;
              for (int turn = 0, hh = height, ww = width; turn < rotation; turn += 90) {
                int x = hh - 1 - toY;
                toY = toX;
                toX = x;
                int swap = hh;
                hh = ww;
                ww = swap;
              }
              int uv = row / 2 * uvRowStride + column / 2 * pixelStride;
              double[] expected = rgb(y[row * rowStride + column] & 255, u[uv] & 255, v[uv] & 255);
              for (int c = 0; c < 3; c++) {
                // PyTorch Mobile's factors have three digits, and it cuts: up to a step too dark, never too bright.
                double got = 255 * out.get(c * w * h + toY * w + toX);
                assertEquals(expected[c] - 0.5, got, 0.75);
              }
            }
          }
        }
      }
    }
  }

  /** A picture as Android's camera gives it, but for the camera. */
  static final class CameraImage extends Image {
    private final int format;
    private final Plane[] planes = new Plane[3];
    private boolean closed;

    CameraImage(int format, byte[] y, byte[] u, byte[] v) {
      this.format = format;
      byte[][] data = {y, u, v};
      for (int i = 0; i < 3; i++) {
        ByteBuffer buffer = ByteBuffer.allocateDirect(data[i].length);
        buffer.duplicate().put(data[i]);
        int stride = i == 0 ? 4 : 2;
        planes[i] =
            new Plane() {
              public Object $$robo$getData() { // Robolectric's, of each class of Android
                return null;
              }

              @Override
              public int getRowStride() {
                return stride;
              }

              @Override
              public int getPixelStride() {
                return 1;
              }

              @Override
              public ByteBuffer getBuffer() {
                return buffer;
              }
            };
      }
    }

    public Object $$robo$getData() { // Robolectric's, of each class of Android
      return null;
    }

    @Override
    public int getFormat() {
      return format;
    }

    @Override
    public int getWidth() {
      return 4;
    }

    @Override
    public int getHeight() {
      return 2;
    }

    @Override
    public long getTimestamp() {
      return 0;
    }

    @Override
    public Plane[] getPlanes() {
      if (closed) throw new IllegalStateException("Image is already released");
      return planes;
    }

    @Override
    public void close() {
      closed = true;
    }
  }

  /** Grey, 4 x 2: the middle of it, turned and twice as large. */
  @Test
  public void imagesOfCamerasBecomeTensors() {
    byte[] y = {16, 50, 84, 118, (byte) 152, (byte) 186, (byte) 220, (byte) 235}, grey = {-128, -128};
    Image image = new CameraImage(ImageFormat.YUV_420_888, y, grey, grey);
    float[] mean = new float[3], std = {1 / 255f, 1 / 255f, 1 / 255f};
    Tensor tensor = TensorImageUtils.imageYUV420CenterCropToFloat32Tensor(image, 90, 4, 4, mean, std);
    assertArrayEquals(new long[] {1, 3, 4, 4}, tensor.shape());
    float[] got = tensor.getDataAsFloatArray();
    int[] upright = {186, 50, 220, 84}; // of the middle square, by rows
    for (int c = 0; c < 3; c++) {
      for (int i = 0; i < 16; i++) {
        int luma = upright[i / 8 * 2 + i % 4 / 2];
        assertEquals(1192 * (luma - 16) >> 10, got[16 * c + i], 1e-4);
      }
    }
    float[] last =
        TensorImageUtils.imageYUV420CenterCropToFloat32Tensor(image, 90, 4, 4, mean, std, MemoryFormat.CHANNELS_LAST)
            .getDataAsFloatArray();
    assertEquals(got[5], last[15], 0);
    Image jpeg = new CameraImage(ImageFormat.JPEG, y, grey, grey);
    assertThrows(
        IllegalArgumentException.class,
        () -> TensorImageUtils.imageYUV420CenterCropToFloat32Tensor(jpeg, 0, 4, 4, mean, std));
    assertThrows(
        IllegalArgumentException.class,
        () -> TensorImageUtils.imageYUV420CenterCropToFloat32Tensor(image, 45, 4, 4, mean, std));
    assertThrows(
        IllegalArgumentException.class,
        () -> TensorImageUtils.imageYUV420CenterCropToFloat32Tensor(null, 0, 4, 4, mean, std));
  }

  /** The same pictures by Torchlet's own classes, whose YUV has luma from 0 to 255 unless told otherwise. */
  @Test
  public void bitmapsAndImagesGoThroughPreprocessing() {
    int[] colours = {0xff102030, 0x00405060, 0xff708090, 0xffa0b0c0, 0xffd0e0f0, 0xff000102};
    Bitmap bitmap = Bitmap.createBitmap(colours, 3, 2, Bitmap.Config.ARGB_8888);
    Preprocess steps = Preprocess.of("{\"mean\": [0.5, 0.25, 0.125], \"std\": [2, 4, 0.5]}");
    float[] expected =
        TensorImageUtils.bitmapToFloat32Tensor(bitmap, new float[] {0.5f, 0.25f, 0.125f}, new float[] {2, 4, 0.5f})
            .getDataAsFloatArray();
    assertArrayEquals(expected, steps.apply(Pixels.of(bitmap)).getDataAsFloatArray(), 0);
    assertArrayEquals(expected, steps.apply(Picture.of(Pixels.of(bitmap))).getDataAsFloatArray(), 0);

    byte[] y = {0, 36, 72, 108, (byte) 144, (byte) 180, (byte) 216, (byte) 255}, grey = {-128, -128};
    CameraImage image = new CameraImage(ImageFormat.YUV_420_888, y, grey, grey);
    byte[] turned = Preprocess.of("{\"dtype\": \"uint8\", \"channels\": \"GREY\"}").apply(Pixels.of(image).rotated(90)).getDataAsUnsignedByteArray();
    assertArrayEquals(new byte[] {y[4], y[0], y[5], y[1], y[6], y[2], y[7], y[3]}, turned);
    byte[] limited = Picture.of(Pixels.of(image).colours(Pixels.Matrix.BT709_LIMITED)).rgb();
    for (int i = 0; i < 8; i++) {
      long luma = Math.round(((y[i] & 255) - 16) * 255 / 219.0);
      assertEquals(Math.max(0, Math.min(255, luma)), limited[3 * i] & 255, 1);
    }
    Pixels late = Pixels.of(image);
    image.close();
    assertThrows(IllegalStateException.class, () -> Picture.of(late));
    assertThrows(
        IllegalArgumentException.class, () -> Pixels.of(new CameraImage(ImageFormat.JPEG, y, grey, grey)));
    assertThrows(IllegalArgumentException.class, () -> Pixels.of((Bitmap) null));
    assertThrows(IllegalArgumentException.class, () -> Pixels.of((Image) null));
  }

  @Test
  public void planesThatAreTooSmallAreRefused() {
    float[] mean = new float[3], std = {1, 1, 1};
    ByteBuffer small = ByteBuffer.allocate(3);
    assertThrows(
        IllegalArgumentException.class,
        () ->
            TensorImageUtils.imageYUV420CenterCropToFloatBuffer(
                small, 4, 1, small, small, 2, 1, 4, 4, 0, 2, 2, mean, std, Tensor.allocateFloatBuffer(12), 0,
                MemoryFormat.CONTIGUOUS));
  }
}
