package org.torchlet;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotSame;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.zip.CRC32;
import org.junit.Test;
import org.pytorch.DType;
import org.pytorch.IValue;
import org.pytorch.MemoryFormat;
import org.pytorch.Module;
import org.pytorch.Tensor;

/** Pictures and preprocessing on a plain JVM, next to PIL's and torchvision's answers. */
public class PictureTest {
  private static final Path REPOSITORY = Path.of(System.getProperty("repository"));
  private static final Path FIXTURES = REPOSITORY.resolve("tests/fixtures/image");
  private static final String NORMALIZE =
      "\"mean\": [0.485, 0.456, 0.406], \"std\": [0.229, 0.224, 0.225]}";

  /** The numbers of an .npy file, which begin behind its header. */
  private static ByteBuffer numbers(String name) throws IOException {
    ByteBuffer file = ByteBuffer.wrap(Files.readAllBytes(FIXTURES.resolve(name))).order(ByteOrder.LITTLE_ENDIAN);
    file.position(10 + file.getShort(8));
    return file.slice().order(ByteOrder.LITTLE_ENDIAN);
  }

  private static byte[] bytes(String name) throws IOException {
    ByteBuffer numbers = numbers(name);
    byte[] bytes = new byte[numbers.remaining()];
    numbers.get(bytes);
    return bytes;
  }

  private static Picture read(String name) {
    return Picture.read(FIXTURES.resolve(name).toString());
  }

  /** A picture of that many pixels, no two of them alike. */
  private static byte[] pixels(int count) {
    byte[] pixels = new byte[3 * count];
    for (int i = 0; i < pixels.length; i++) pixels[i] = (byte) (7 * i);
    return pixels;
  }

  private static Picture picture(int width, int height) {
    return Picture.of(Pixels.of(Pixels.Format.RGB, pixels(width * height), width, height, 3 * width));
  }

  // ---- files ----

  @Test
  public void filesHaveTheBitsOfPil() throws IOException {
    for (String name : new String[] {"rgb.png", "rgba.png", "palette.png", "rgb.jpg", "grey.jpg"}) {
      byte[] file = Files.readAllBytes(FIXTURES.resolve(name));
      ByteBuffer direct = ByteBuffer.allocateDirect(file.length + 9);
      direct.position(5);
      direct.put(file).flip().position(5);
      ByteBuffer heap = ByteBuffer.wrap(file);
      for (Picture picture :
          new Picture[] {read(name), Picture.decode(file), Picture.decode(direct), Picture.decode(heap)}) {
        assertEquals(53, picture.width());
        assertEquals(37, picture.height());
        assertArrayEquals(name, bytes(name + ".npy"), picture.rgb());
      }
      assertEquals(5, direct.position());
    }
  }

  /** Of fifty kinds of files, with EXIF, alpha, 16 bits, CMYK: torchvision's numbers, to the bit. */
  @Test
  public void inputsHaveTheBitsOfTorchvision() throws IOException {
    Preprocess steps = Preprocess.of("{\"resize\": 28, \"crop\": 24, " + NORMALIZE);
    List<String> lines = Files.readAllLines(FIXTURES.resolve("kinds.txt"));
    assertEquals(50, lines.size());
    for (String line : lines) {
      String[] words = line.split(" "); // name, height and width when upright, CRC-32 of torchvision's floats
      try (Picture picture = read("kinds/" + words[0])) {
        assertEquals(words[0], Integer.parseInt(words[1]), picture.height());
        assertEquals(words[0], Integer.parseInt(words[2]), picture.width());
        Tensor input = steps.apply(picture);
        assertArrayEquals(new long[] {1, 3, 24, 24}, input.shape());
        ByteBuffer data = ByteBuffer.allocate(4 * 3 * 24 * 24).order(ByteOrder.LITTLE_ENDIAN);
        data.asFloatBuffer().put(input.getDataAsFloatArray());
        CRC32 sum = new CRC32();
        sum.update(data.array());
        assertEquals(words[0], Long.parseLong(words[3]), sum.getValue());
      }
    }
  }

  @Test
  public void filesThatAreNoneAreRefused() throws IOException {
    byte[] png = Files.readAllBytes(FIXTURES.resolve("rgb.png"));
    TorchletException.FileFormat e =
        assertThrows(TorchletException.FileFormat.class, () -> Picture.decode("no picture".getBytes(StandardCharsets.UTF_8)));
    assertEquals("the picture is neither PNG nor JPEG; convert it to one of them", e.getMessage());
    e = assertThrows(TorchletException.FileFormat.class, () -> Picture.decode(Arrays.copyOf(png, 1000)));
    assertTrue(e.getMessage(), e.getMessage().startsWith("the PNG is damaged: "));
    assertThrows(TorchletException.FileFormat.class, () -> Picture.decode(new byte[0]));
    assertThrows(TorchletException.FileFormat.class, () -> Picture.decode(ByteBuffer.allocateDirect(0)));
    TorchletException.Io missing = assertThrows(TorchletException.Io.class, () -> Picture.read("no/such/file.png"));
    assertTrue(missing.getMessage(), missing.getMessage().contains("no/such/file.png"));
    assertThrows(IllegalArgumentException.class, () -> Picture.read("rgb.png\0"));
  }

  /** A header that claims 2^31 - 1 pixels each way, with the right checksum. */
  @Test
  public void absurdSizesAreRefused() throws IOException {
    byte[] png = Files.readAllBytes(FIXTURES.resolve("rgb.png"));
    for (int[] size : new int[][] {{Integer.MAX_VALUE, Integer.MAX_VALUE}, {1 << 14, 1 << 14}, {0, 1}, {-1, -1}}) {
      ByteBuffer header = ByteBuffer.wrap(png);
      header.putInt(16, size[0]).putInt(20, size[1]);
      CRC32 sum = new CRC32();
      sum.update(png, 12, 17);
      header.putInt(29, (int) sum.getValue());
      assertThrows(TorchletException.FileFormat.class, () -> Picture.decode(png));
    }
  }

  /** Bytes of files changed and cut, by the thousand: an exception of ours, or a picture. */
  @Test
  public void damagedFilesDoNotHarm() throws IOException {
    Random random = new Random(11);
    int refused = 0;
    for (String name : new String[] {"rgb.png", "palette.png", "rgb.jpg", "grey.jpg", "kinds/exif6.jpg", "kinds/cmyk0.jpg"}) {
      byte[] file = Files.readAllBytes(FIXTURES.resolve(name));
      for (int i = 0; i < 300; i++) {
        byte[] damaged = Arrays.copyOf(file, i % 3 == 0 ? random.nextInt(file.length) : file.length);
        for (int change = 0; change < i % 5 && damaged.length > 4; change++) {
          damaged[4 + random.nextInt(i % 2 == 0 ? Math.min(damaged.length - 4, 60) : damaged.length - 4)] = (byte) random.nextInt();
        }
        try (Picture picture = Picture.decode(damaged)) {
          assertEquals(3 * picture.width() * picture.height(), picture.rgb().length);
        } catch (TorchletException.FileFormat e) {
          refused++;
        }
      }
    }
    assertTrue(refused + " refused", refused > 600 && refused < 1800);
    byte[] noise = new byte[200];
    for (int i = 0; i < 300; i++) {
      random.nextBytes(noise);
      if (i % 2 == 0) System.arraycopy(new byte[] {(byte) 0xff, (byte) 0xd8, (byte) 0xff}, 0, noise, 0, 3);
      assertThrows(TorchletException.FileFormat.class, () -> Picture.decode(noise));
    }
  }

  // ---- changes ----

  @Test
  public void changesHaveTheBitsOfPil() throws IOException {
    Picture picture = read("rgb.png");
    for (int[] size : new int[][] {{20, 30}, {37, 11}, {90, 120}, {50, 20}}) {
      Picture resized = picture.resize(size[1], size[0]);
      assertArrayEquals(bytes("resized_" + size[0] + "x" + size[1] + ".npy"), resized.rgb());
    }
    byte[] rgb = picture.rgb();
    byte[] turned = picture.rotate(90).rgb();
    for (int y = 0; y < 37; y++) {
      for (int x = 0; x < 53; x++) {
        for (int c = 0; c < 3; c++) assertEquals(rgb[3 * (53 * y + x) + c], turned[3 * (37 * x + 36 - y) + c]);
      }
    }
    byte[] corner = picture.crop(-1, 36, 2, 2).rgb(); // black but for one pixel
    assertArrayEquals(new byte[] {0, 0, 0, rgb[3 * 53 * 36], rgb[3 * 53 * 36 + 1], rgb[3 * 53 * 36 + 2], 0, 0, 0, 0, 0, 0}, corner);
  }

  @Test
  public void sizesThatCannotBeAreRefused() {
    Picture picture = picture(4, 3);
    int most = Integer.MAX_VALUE;
    for (int[] size : new int[][] {{0, 1}, {1, 0}, {-5, 5}, {most, most}, {1 << 14, 1 << 14}, {Integer.MIN_VALUE, 1}}) {
      assertThrows(TorchletException.InvalidArgument.class, () -> picture.resize(size[0], size[1]));
      assertThrows(TorchletException.InvalidArgument.class, () -> picture.resize(size[0], size[1], false));
      assertThrows(TorchletException.InvalidArgument.class, () -> picture.crop(0, 0, size[0], size[1]));
    }
    for (int place : new int[] {Integer.MIN_VALUE, most, -7, 7}) {
      assertArrayEquals(new byte[12], picture.crop(place, place, 2, 2).rgb());
    }
    for (int degrees : new int[] {45, -90, 360, most, Integer.MIN_VALUE}) {
      assertThrows(TorchletException.InvalidArgument.class, () -> picture.rotate(degrees));
    }
  }

  @Test
  public void aClosedPictureIsRefused() {
    Picture picture = picture(4, 3);
    picture.close();
    picture.close();
    assertEquals(4, picture.width());
    assertEquals("The picture is closed", assertThrows(IllegalStateException.class, picture::rgb).getMessage());
    assertThrows(IllegalStateException.class, () -> picture.resize(2, 2));
    assertThrows(IllegalStateException.class, () -> Preprocess.imagenet().apply(picture));
  }

  // ---- pixels ----

  @Test
  public void pixelsOfEveryFormat() {
    byte[] rgb = {10, 20, 30, 40, 50, 60};
    byte[] rgba = {10, 20, 30, 0, 40, 50, 60, -1}, bgra = {30, 20, 10, 0, 60, 50, 40, -1};
    int[] colours = {0x000a141e, 0xff28323c};
    Pixels[] same = {
      Pixels.of(Pixels.Format.RGB, rgb, 2, 1, 6),
      Pixels.of(Pixels.Format.RGBA, rgba, 2, 1, 8),
      Pixels.of(Pixels.Format.BGRA, bgra, 2, 1, 8),
      Pixels.of(Pixels.Format.BGRA, ByteBuffer.wrap(bgra), 2, 1, 8),
      Pixels.of(Pixels.Format.RGB, ByteBuffer.allocateDirect(6).put(rgb), 2, 1, 6),
      Pixels.argb(colours, 2, 1)
    };
    for (Pixels pixels : same) {
      assertArrayEquals(rgb, Picture.of(pixels).rgb());
      Picture high = Picture.of(pixels.rotated(90).rotated(90).rotated(90)); // counter-clockwise
      assertEquals(1, high.width());
      assertArrayEquals(new byte[] {40, 50, 60, 10, 20, 30}, high.rgb());
    }
    byte[] grey = {1, 2, 99, 3, 4}; // rows of 2 pixels, 3 bytes apart
    Pixels rows = Pixels.of(Pixels.Format.GREY, grey, 2, 2, 3);
    assertArrayEquals(new byte[] {1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4}, Picture.of(rows).rgb());
    grey[0] = 8; // they are seen where they lie
    assertEquals(8, Picture.of(rows).rgb()[0]);
  }

  @Test
  public void pixelsBeyondTheirMemoryAreRefused() {
    byte[] bytes = new byte[24];
    ByteBuffer buffer = ByteBuffer.allocateDirect(24);
    Pixels.of(Pixels.Format.RGB, bytes, 2, 3, 9); // just fits
    int most = Integer.MAX_VALUE;
    int[][] wrong = {{2, 3, 10}, {2, 3, 0}, {2, 3, -6}, {3, 3, 9}, {0, 3, 6}, {2, 0, 6}, {-2, 3, 6}, {most, most, most}, {1, most, 1}, {most, 1, 1}};
    for (int[] w : wrong) {
      assertThrows(IllegalArgumentException.class, () -> Pixels.of(Pixels.Format.RGB, bytes, w[0], w[1], w[2]));
      assertThrows(IllegalArgumentException.class, () -> Pixels.of(Pixels.Format.RGB, buffer, w[0], w[1], w[2]));
    }
    int[][] sizes = {{3, 3}, {0, 1}, {-1, -8}, {most, most}, {1 << 16, 1 << 16}, {most, 1}};
    for (int[] size : sizes) {
      assertThrows(IllegalArgumentException.class, () -> Pixels.argb(new int[8], size[0], size[1]));
      assertThrows(IllegalArgumentException.class, () -> Pixels.nv21(new byte[8], size[0], size[1]));
      assertThrows(IllegalArgumentException.class, () -> Pixels.nv12(new byte[8], size[0], size[1]));
      assertThrows(IllegalArgumentException.class, () -> Pixels.i420(new byte[8], size[0], size[1]));
    }
    Pixels rgb = Pixels.of(Pixels.Format.RGB, bytes, 2, 3, 6);
    for (int degrees : new int[] {45, -90, 360}) {
      assertThrows(IllegalArgumentException.class, () -> rgb.rotated(degrees));
    }
    assertThrows(IllegalArgumentException.class, () -> rgb.colours(Pixels.Matrix.BT709));
    IllegalArgumentException e =
        assertThrows(IllegalArgumentException.class, () -> Pixels.argb(new int[3], 2, 2));
    assertEquals("There are 3 colours, too few for 2 x 2 pixels", e.getMessage());
  }

  // ---- YUV ----

  private static final int WIDTH = 53, HEIGHT = 39, UV_WIDTH = 27, UV_HEIGHT = 20;

  private static Pixels camera(byte[] i420, int pixelStride, int gap, boolean direct) {
    int size = WIDTH * HEIGHT, uvSize = UV_WIDTH * UV_HEIGHT;
    ByteBuffer[] planes = new ByteBuffer[3];
    for (int p = 0; p < 3; p++) {
      int width = p == 0 ? WIDTH : UV_WIDTH, height = p == 0 ? HEIGHT : UV_HEIGHT;
      int step = p == 0 ? 1 : pixelStride, stride = width * step + gap;
      int bytes = (height - 1) * stride + (width - 1) * step + 1;
      planes[p] = direct ? ByteBuffer.allocateDirect(bytes) : ByteBuffer.allocate(bytes);
      int from = p == 0 ? 0 : size + (p - 1) * uvSize;
      for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) planes[p].put(y * stride + x * step, i420[from + y * width + x]);
      }
    }
    return Pixels.yuv420(
        planes[0], WIDTH + gap, 1, planes[1], planes[2], UV_WIDTH * pixelStride + gap, pixelStride, WIDTH, HEIGHT);
  }

  /** Each order in memory within a step of NumPy's answer, as the same bytes. */
  @Test
  public void yuvOfEveryOrderAndMatrix() throws IOException {
    byte[] i420 = bytes("yuv.npy");
    int size = WIDTH * HEIGHT, uvSize = UV_WIDTH * UV_HEIGHT;
    assertEquals(size + 2 * uvSize, i420.length);
    byte[] nv12 = i420.clone(), nv21 = i420.clone();
    for (int i = 0; i < uvSize; i++) {
      nv12[size + 2 * i] = nv21[size + 2 * i + 1] = i420[size + i];
      nv12[size + 2 * i + 1] = nv21[size + 2 * i] = i420[size + uvSize + i];
    }
    List<Pixels> same = new ArrayList<>();
    same.add(Pixels.i420(i420, WIDTH, HEIGHT));
    same.add(Pixels.nv12(nv12, WIDTH, HEIGHT));
    same.add(Pixels.nv21(nv21, WIDTH, HEIGHT));
    for (int step : new int[] {1, 2, 3}) {
      for (int gap : new int[] {0, 5}) {
        same.add(camera(i420, step, gap, true));
        same.add(camera(i420, step, gap, false));
      }
    }
    byte[] expected = bytes("yuv_rgb.npy");
    for (Pixels.Matrix matrix : Pixels.Matrix.values()) {
      byte[] first = Picture.of(same.get(0).colours(matrix)).rgb();
      assertEquals(3 * size, first.length);
      for (int i = 0; i < first.length; i++) {
        assertEquals(expected[matrix.ordinal() * first.length + i] & 255, first[i] & 255, 1);
      }
      for (Pixels pixels : same) assertArrayEquals(first, Picture.of(pixels.colours(matrix)).rgb());
    }
  }

  /** One pass gives what a picture between gives, turned by any angle. */
  @Test
  public void onePassHasTheSameBits() throws IOException {
    byte[] i420 = bytes("yuv.npy");
    Pixels[] sources = {camera(i420, 2, 3, true), Pixels.of(Pixels.Format.RGB, pixels(WIDTH * HEIGHT), WIDTH, HEIGHT, 3 * WIDTH)};
    Preprocess[] records = {
      Preprocess.of("{\"resize\": 32, \"crop\": [24, 28], " + NORMALIZE),
      Preprocess.of("{\"resize\": [20, 31], \"antialias\": false, \"channels\": \"BGR\", \"memory_format\": \"channels_last\"}"),
      Preprocess.of("{\"channels\": \"GREY\", \"mean\": 0.5, \"crop\": 60}")
    };
    for (Pixels pixels : sources) {
      for (int degrees = 0; degrees < 360; degrees += 90) {
        for (Preprocess steps : records) {
          Tensor one = steps.apply(pixels.rotated(degrees)), two = steps.apply(Picture.of(pixels).rotate(degrees));
          assertArrayEquals(two.shape(), one.shape());
          assertEquals(two.memoryFormat(), one.memoryFormat());
          assertArrayEquals(two.getDataAsFloatArray(), one.getDataAsFloatArray(), 0);
        }
      }
    }
  }

  @Test
  public void planesBeyondTheirBuffersAreRefused() {
    ByteBuffer y = ByteBuffer.allocateDirect(16), uv = ByteBuffer.allocateDirect(4);
    Picture.of(Pixels.yuv420(y, 4, 1, uv, uv, 2, 1, 4, 4));
    int most = Integer.MAX_VALUE;
    int[][] wrong = { // strides of y and uv, size
      {5, 1, 2, 1, 4, 4}, {4, 2, 2, 1, 4, 4}, {4, 1, 3, 1, 4, 4}, {4, 1, 2, 2, 4, 4}, {4, 0, 2, 1, 4, 4}, {4, 1, 2, 0, 4, 4},
      {-4, 1, 2, 1, 4, 4}, {4, 1, -2, 1, 4, 4}, {most, most, 2, 1, 4, 4}, {4, 1, most, most, 4, 4}, {4, 1, 2, 1, 4, 5},
      {4, 1, 2, 1, 0, 4}, {4, 1, 2, 1, 4, -4}, {4, 1, 2, 1, most, most}, {1, 1, 1, 1, most, 1}
    };
    for (int[] w : wrong) {
      assertThrows(IllegalArgumentException.class, () -> Pixels.yuv420(y, w[0], w[1], uv, uv, w[2], w[3], w[4], w[5]));
    }
    IllegalArgumentException e =
        assertThrows(IllegalArgumentException.class, () -> Pixels.yuv420(y, 4, 1, uv, ByteBuffer.allocate(3), 2, 1, 4, 4));
    assertEquals("The plane v has 3 bytes, too few for 2 x 2 pixels with strides of 2 and 1 bytes", e.getMessage());
  }

  // ---- preprocessing ----

  @Test
  public void inputsAreOfTheRecordsType() {
    Picture picture = picture(5, 4);
    Tensor bytes = Preprocess.of("{\"dtype\": \"uint8\", \"memory_format\": \"channels_last\"}").apply(picture);
    assertEquals(DType.UINT8, bytes.dtype());
    assertEquals(MemoryFormat.CHANNELS_LAST, bytes.memoryFormat());
    assertArrayEquals(new long[] {1, 3, 4, 5}, bytes.shape());
    assertArrayEquals(picture.rgb(), bytes.getDataAsUnsignedByteArray());
    Tensor bgr = Preprocess.of("{\"channels\": \"BGR\", \"mean\": [0.5, 0.25, 0], \"std\": 0.5}").apply(picture);
    assertEquals(MemoryFormat.CONTIGUOUS, bgr.memoryFormat());
    float[] got = bgr.getDataAsFloatArray();
    for (int i = 0; i < 20; i++) {
      for (int c = 0; c < 3; c++) {
        float value = (picture.rgb()[3 * i + 2 - c] & 255) / 255f;
        assertEquals((value - new float[] {0.5f, 0.25f, 0}[c]) / 0.5f, got[20 * c + i], 0);
      }
    }
    assertArrayEquals(new long[] {1, 3, 224, 224}, Preprocess.imagenet().apply(picture).shape());
    assertArrayEquals(new long[] {1, 1, 4, 5}, Preprocess.of("{\"channels\": \"GREY\"}").apply(picture).shape());
  }

  @Test
  public void theMemoryOfATensorIsUsedAgain() {
    Picture picture = picture(6, 4);
    Pixels other = Pixels.of(Pixels.Format.GREY, new byte[24], 6, 4, 6);
    for (String json : new String[] {"{}", "{\"dtype\": \"uint8\"}", "{\"channels\": \"GREY\", \"memory_format\": \"channels_last\"}", "{\"memory_format\": \"channels_last\"}"}) {
      Preprocess steps = Preprocess.of(json);
      Tensor expected = steps.apply(picture), input = steps.apply(other);
      assertSame(input, steps.apply(picture, input));
      boolean bytes = input.dtype() == DType.UINT8;
      if (bytes) assertArrayEquals(expected.getDataAsUnsignedByteArray(), input.getDataAsUnsignedByteArray());
      if (!bytes) assertArrayEquals(expected.getDataAsFloatArray(), input.getDataAsFloatArray(), 0);
      assertSame(input, steps.apply(other, input));
      Tensor[] unfit = {
        null,
        Preprocess.of("{\"crop\": 2}").apply(picture),
        Tensor.fromBlob(new float[72], new long[] {72}),
        Tensor.fromBlob(new int[72], new long[] {1, 3, 4, 6}),
        Tensor.fromBlob(Tensor.allocateFloatBuffer(72).asReadOnlyBuffer(), new long[] {1, 3, 4, 6}),
        Tensor.fromBlob(new float[0], new long[] {0, 3, 4, 6})
      };
      for (Tensor tensor : unfit) {
        Tensor result = steps.apply(picture, tensor);
        assertTrue(result != tensor && result.memoryFormat() == expected.memoryFormat());
        assertArrayEquals(expected.shape(), result.shape());
      }
    }
    Tensor last = Tensor.fromBlob(new float[72], new long[] {1, 3, 4, 6}, MemoryFormat.CHANNELS_LAST);
    assertNotSame(last, Preprocess.of("{}").apply(picture, last));
  }

  /** Results of one pass and more do not end with what they were made of. */
  @Test
  public void inputsOutliveTheirPictures() {
    Picture picture = picture(50, 40);
    Tensor input = Preprocess.of("{}").apply(picture);
    float[] before = input.getDataAsFloatArray();
    picture.close();
    picture = null;
    for (int i = 0; i < 200; i++) { // 96 MB
      try (Picture other = picture(200, 200)) {
        Preprocess.of("{}").apply(other);
      }
    }
    System.gc();
    assertArrayEquals(before, input.getDataAsFloatArray(), 0);
  }

  @Test
  public void recordsThatAreNoneAreRefused() {
    String[] wrong = {
      "", "[]", "null", "{", "{\"size\": 3}", "{\"crop\": 0}", "{\"crop\": -1}", "{\"resize\": [1, 2, 3]}", "{\"resize\": \"x\"}",
      "{\"resize\": 1e30}", "{\"mean\": [1, 2]}", "{\"std\": 0}", "{\"mean\": 1e60}", "{\"dtype\": \"int8\"}", "{\"channels\": \"CMYK\"}",
      "{\"dtype\": \"uint8\", \"mean\": 1}", "{\"antialias\": 1}", "{\"memory_format\": 2}", "{\"interpolation\": \"lanczos\"}", "\uD800"
    };
    for (String json : wrong) {
      assertThrows(json, TorchletException.InvalidArgument.class, () -> Preprocess.of(json));
    }
    TorchletException e = assertThrows(TorchletException.class, () -> Preprocess.of("{\"size\": 3}"));
    assertTrue(e.getMessage(), e.getMessage().contains("size"));
    assertThrows(IllegalArgumentException.class, () -> Preprocess.of("{}\0"));
    StringBuilder deep = new StringBuilder();
    for (int i = 0; i < 100_000; i++) deep.append("[");
    assertThrows(TorchletException.InvalidArgument.class, () -> Preprocess.of(deep.toString()));
    Picture picture = picture(4, 4);
    for (String json : new String[] {"{\"resize\": 65536}", "{\"crop\": 65536}", "{\"resize\": [20000, 20000], \"crop\": 2}"}) {
      assertThrows(json, TorchletException.InvalidArgument.class, () -> Preprocess.of(json).apply(picture));
    }
  }

  @Test
  public void recordsAreEqualByTheirSteps() {
    Preprocess one = Preprocess.of("{\"crop\": 224, \"resize\": 256, " + NORMALIZE);
    assertEquals(Preprocess.imagenet(), one);
    assertEquals(one.hashCode(), Preprocess.of(one.json()).hashCode());
    assertTrue(!one.equals(Preprocess.of("{}")));
    assertEquals(Preprocess.of("{}").json(), Preprocess.of(" {\"resize\": null}\n").toString());
  }

  // ---- what models carry ----

  @Test
  public void modelsCarryTheirStepsAndLabels() throws IOException {
    Module plain = Module.load(REPOSITORY.resolve("models/digits_mobilenet_v2.pt").toString());
    assertNull(plain.preprocess());
    assertEquals(List.of(), plain.labels());
    Module bundled = Module.load(REPOSITORY.resolve("tests/fixtures/pictures.ptl").toString());
    assertEquals(Preprocess.of("{\"resize\": 5, \"crop\": [4, 3], \"channels\": \"GREY\"}"), bundled.preprocess());
    assertEquals(List.of("null", "", "zwölf"), bundled.labels());
    Tensor input = bundled.preprocess().apply(picture(10, 10));
    assertArrayEquals(new long[] {1, 1, 4, 3}, bundled.forward(IValue.from(input)).toTensor().shape());
    Module damaged = Module.load(REPOSITORY.resolve("tests/fixtures/no_record.pt").toString());
    TorchletException.FileFormat e = assertThrows(TorchletException.FileFormat.class, damaged::preprocess);
    assertTrue(e.getMessage(), e.getMessage().contains("sharpen"));
    plain.close();
    assertThrows(IllegalStateException.class, plain::preprocess);
    assertThrows(IllegalStateException.class, plain::labels);
  }
}
