package org.torchlet.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.awt.Graphics2D;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.imageio.ImageIO;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/** The sample model, pictures for it, and what the command says of them. */
public final class Samples {
  static final Path ROOT = root(Path.of("").toAbsolutePath());
  static final Path MODEL = ROOT.resolve("models/digits_mobilenet_v2.pt");
  static final Path LABELS = ROOT.resolve("models/digits_labels.txt");
  private static final int[] DIGITS = {0, 2, 3, 4, 7, 9};

  private Samples() {}

  private static Path root(Path folder) {
    return Files.isRegularFile(folder.resolve("models/digits_labels.txt")) ? folder : root(folder.getParent());
  }

  static byte[] digit(int digit) throws IOException {
    return Files.readAllBytes(ROOT.resolve("models/samples/digit_" + digit + ".png"));
  }

  /** By name: the samples as they are, cut in odd ways, turned, grey, and as JPEG. */
  static Map<String, byte[]> pictures() throws IOException {
    Map<String, byte[]> pictures = new LinkedHashMap<>();
    for (int digit : DIGITS) {
      String name = "digit_" + digit;
      pictures.put(name + ".png", digit(digit));
      BufferedImage image = ImageIO.read(ROOT.resolve("models/samples/" + name + ".png").toFile());
      pictures.put(name + "_wide.png", file(image.getSubimage(0, 13, 128, 101), "png"));
      pictures.put(name + "_high.png", file(image.getSubimage(20, 0, 77, 128), "png"));
      pictures.put(name + "_half.png", file(drawn(image, 61, 67, BufferedImage.TYPE_INT_RGB), "png"));
      pictures.put(name + "_large.png", file(drawn(image, 301, 257, BufferedImage.TYPE_INT_RGB), "png"));
      pictures.put(name + "_grey.png", file(drawn(image, 128, 128, BufferedImage.TYPE_BYTE_GRAY), "png"));
      pictures.put(name + "_alpha.png", file(drawn(image, 128, 128, BufferedImage.TYPE_INT_ARGB), "png"));
      pictures.put(name + ".jpg", file(drawn(image, 150, 128, BufferedImage.TYPE_INT_RGB), "jpg"));
    }
    return pictures;
  }

  /** By name: what is no picture. null is none at all. */
  static Map<String, byte[]> damaged() throws IOException {
    byte[] whole = digit(7);
    Map<String, byte[]> damaged = new LinkedHashMap<>();
    damaged.put("truncated.png", Arrays.copyOf(whole, whole.length / 2));
    damaged.put("header.png", Arrays.copyOf(whole, 8));
    damaged.put("empty.png", new byte[0]);
    damaged.put("null.png", null);
    damaged.put("text.png", "this is no picture".getBytes(StandardCharsets.UTF_8));
    return damaged;
  }

  /** All of them, id, name and image, so many times, in 6 files. */
  static Dataset<Row> table(SparkSession spark, int copies) throws IOException {
    Map<String, byte[]> all = pictures();
    all.putAll(damaged());
    List<Row> rows = new ArrayList<>();
    all.forEach((name, bytes) -> rows.add(RowFactory.create(name, bytes)));
    StructType schema = new StructType().add("name", "string").add("image", "binary");
    return spark.range(copies).crossJoin(spark.createDataFrame(rows, schema))
        .selectExpr("monotonically_increasing_id() as id", "name", "image").repartition(6);
  }

  /**
   * "make TABLE COPIES"; "same TABLE TABLE", which fails if they have not the same rows; or "twice" and
   * arguments of Score: the second run finds classes compiled and the model loaded, as those of a long job do.
   */
  public static void main(String[] arguments) throws IOException {
    try (SparkSession spark = SparkSession.builder().appName("samples").getOrCreate()) {
      if (arguments[0].equals("make")) {
        table(spark, Integer.parseInt(arguments[2])).write().mode("overwrite").parquet(arguments[1]);
        return;
      }
      if (arguments[0].equals("twice")) {
        Score score = new Score(Arrays.copyOfRange(arguments, 1, arguments.length));
        for (int run = 0; run < 2; ++run) {
          if (score.run(spark) != 0) throw new IllegalStateException("nothing was scored");
        }
        return;
      }
      Dataset<Row> one = spark.read().parquet(arguments[1]), other = spark.read().parquet(arguments[2]);
      long missing = one.exceptAll(other).count(), more = other.exceptAll(one).count();
      if (missing + more != 0) throw new IllegalStateException(missing + " rows are missing, and " + more + " too many");
    }
  }

  /** The numbers that the command gives for a picture, one at a time. */
  static float[] byCommand(String command, Path picture) throws IOException {
    Process process = new ProcessBuilder(
        command, "run", MODEL.toString(), "--image", picture.toString(), "--json")
        .redirectError(ProcessBuilder.Redirect.INHERIT).start();
    JsonNode numbers;
    try (InputStream output = process.getInputStream()) {
      numbers = new ObjectMapper().readTree(output).at("/output/data");
    }
    float[] result = new float[numbers.size()];
    for (int i = 0; i < result.length; ++i) result[i] = (float) numbers.get(i).asDouble();
    return result;
  }

  private static BufferedImage drawn(BufferedImage image, int width, int height, int type) {
    BufferedImage result = new BufferedImage(width, height, type);
    Graphics2D graphics = result.createGraphics();
    graphics.drawImage(image, 0, 0, width, height, null);
    graphics.dispose();
    return result;
  }

  static byte[] file(BufferedImage image, String format) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    ImageIO.write(image, format, bytes);
    return bytes.toByteArray();
  }
}
