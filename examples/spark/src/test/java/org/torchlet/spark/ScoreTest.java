package org.torchlet.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whole jobs, with real Parquet; what the command says of each picture is the measure. */
class ScoreTest {
  private static final String COMMAND =
      System.getProperty("torchlet.command", Samples.ROOT.resolve("build/release/torchlet").toString());
  private static final int COPIES = 8;

  @TempDir static Path folder;
  private static Map<String, byte[]> pictures;
  private static final Map<String, float[]> answers = new HashMap<>();
  private static long badRows;

  @BeforeAll
  static void makePictures() throws IOException {
    pictures = Samples.pictures();
    badRows = Samples.damaged().size() * COPIES;
    Path files = Files.createDirectories(folder.resolve("pictures/deeper"));
    for (Map.Entry<String, byte[]> picture : pictures.entrySet()) {
      Path file = files.resolve(picture.getKey());
      Files.write(file, picture.getValue());
      answers.put(picture.getKey(), Samples.byCommand(COMMAND, file));
    }
    Files.writeString(files.getParent().resolve("notes.txt"), "no picture");
    try (SparkSession spark = session("local[1]")) {
      Samples.table(spark, COPIES).write().parquet(table());
    }
  }

  private static String table() {
    return folder.resolve("pictures.parquet").toString();
  }

  private static SparkSession session(String master) {
    return SparkSession.builder().master(master).appName("test").config("spark.ui.enabled", false).getOrCreate();
  }

  private static List<Row> scored(String master, int status, String... more) throws IOException {
    String output = folder.resolve("scores.parquet").toString();
    List<String> arguments = new ArrayList<>(
        List.of("--model", Samples.MODEL.toString(), "--output", output, "--overwrite"));
    arguments.addAll(List.of(more));
    try (SparkSession spark = session(master)) {
      Score score = new Score(arguments.toArray(new String[0]));
      assertEquals(status, score.run(spark));
      assertEquals(1, score.loads);
      return spark.read().parquet(output).collectAsList();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"local[1]", "local[2]"})
  void givesTheBitsOfTheCommand(String master) throws IOException {
    List<Row> rows = scored(master, 0, "--input", table(), "--column", "image", "--raw");
    assertEquals(pictures.size() * COPIES + badRows, rows.size());
    assertEquals(rows.size(), rows.stream().map(row -> row.getLong(0)).distinct().count());
    long errors = 0;
    for (Row row : rows) {
      float[] answer = answers.get(row.getString(1));
      if (answer == null) {
        ++errors;
        assertNull(row.get(2));
        assertFalse(row.getString(3).isBlank());
      } else {
        assertNull(row.get(3), row.toString());
        List<Float> numbers = row.getList(2);
        for (int i = 0; i < answer.length; ++i) assertEquals(answer[i], numbers.get(i), row.getString(1));
      }
    }
    assertEquals(badRows, errors);
  }

  @Test
  void writesClassesOfATable() throws IOException {
    List<Row> rows = scored("local[2]", 0, "--input", table(), "--column", "image", "--keep", "name",
        "--labels", Samples.LABELS.toString(), "--top", "2", "--batch", "5", "--partitions", "3");
    List<String> labels = Files.readAllLines(Samples.LABELS);
    assertEquals(pictures.size() * COPIES + badRows, rows.size());
    for (Row row : rows) {
      float[] answer = answers.get(row.<String>getAs("name"));
      if (answer == null) {
        for (String column : List.of("class", "label", "probability", "top")) assertNull(row.getAs(column));
        assertNotNull(row.getAs("error"));
        continue;
      }
      int best = 0;
      double sum = 0;
      for (int i = 0; i < answer.length; ++i) {
        if (answer[i] > answer[best]) best = i;
      }
      for (float score : answer) sum += Math.exp((double) score - answer[best]);
      assertEquals(best, row.<Integer>getAs("class"));
      assertEquals(labels.get(best), row.getAs("label"));
      assertEquals((float) (1 / sum), row.<Float>getAs("probability"), 1e-6f);
      List<Row> top = row.getList(row.fieldIndex("top"));
      assertEquals(2, top.size());
      assertEquals(best, top.get(0).<Integer>getAs("class"));
      assertTrue(top.get(1).<Float>getAs("probability") <= top.get(0).<Float>getAs("probability"));
    }
  }

  @Test
  void readsFoldersWithinFolders() throws IOException {
    List<Row> rows = scored("local[2]", 0, "--input", folder.resolve("pictures").toString(), "--raw");
    assertEquals(pictures.size() + 1, rows.size());
    for (Row row : rows) {
      String path = row.getAs("path");
      float[] answer = answers.get(path.substring(path.lastIndexOf('/') + 1));
      assertEquals(path.endsWith("notes.txt"), answer == null);
      assertEquals(answer == null, row.getAs("error") != null);
      if (answer != null) assertEquals(answer[3], row.<Float>getList(1).get(3));
    }
  }

  @Test
  void takesTheFilesOfAPattern() throws IOException {
    List<Row> rows = scored("local[2]", 0,
        "--input", folder.resolve("pictures").toString(), "--glob", "*.jpg", "--keep", "path");
    assertEquals(6, rows.size());
    for (Row row : rows) assertNull(row.getAs("error"));
  }

  @Test
  void takesArraysOfNumbers() throws IOException {
    String numbers = folder.resolve("numbers.parquet").toString();
    String whole = "array_repeat(cast(id as float) / 8, 5)";
    try (SparkSession spark = session("local[1]")) {
      spark.range(0, 100, 1, 3)
          .selectExpr("id", "if(id = 17, array(1f), if(id = 18, null, " + whole + ")) as x")
          .write().parquet(numbers);
    }
    String linear = Samples.ROOT.resolve("tests/fixtures/linear.pt").toString();
    List<Row> rows = scored("local[2]", 0, "--model", linear, "--input", numbers, "--column", "x", "--raw");
    assertEquals(100, rows.size());
    Map<Long, Row> byId = rows.stream().collect(Collectors.toMap(row -> row.getLong(0), row -> row));
    for (Row row : rows) {
      long id = row.getLong(0);
      assertEquals(id == 17 || id == 18, row.getAs("error") != null, row.toString());
      assertEquals(id == 17 || id == 18, row.get(1) == null);
      if (row.get(1) == null) continue;
      List<Float> zero = byId.get(0L).getList(1), one = byId.get(8L).getList(1), here = row.getList(1);
      for (int i = 0; i < zero.size(); ++i) {
        float expected = zero.get(i) + (one.get(i) - zero.get(i)) * id / 8; // the layer is linear
        assertEquals(expected, here.get(i), 1e-4f);
      }
    }
  }

  @Test
  void failsIfNoRowCanBeScored() throws IOException {
    List<Row> rows = scored("local[1]", 1,
        "--input", folder.resolve("pictures").toString(), "--glob", "*.txt");
    assertEquals(1, rows.size());
  }

  @Test
  void failsWithoutAModelThatLoads() throws IOException {
    Path broken = Files.write(folder.resolve("broken.pt"), new byte[] {'P', 'K', 3, 4, 0});
    Exception e = assertThrows(Exception.class, () -> scored("local[1]", 0,
        "--model", broken.toString(), "--input", table(), "--column", "image"));
    StringBuilder chain = new StringBuilder();
    for (Throwable cause = e; cause != null; cause = cause.getCause()) chain.append(cause).append('\n');
    assertTrue(chain.toString().contains("broken.pt"), chain.toString());
  }

  @Test
  void saysWhatIsWrongWithItsOptions() {
    for (String[] wrong : new String[][] {
      {}, {"--model"}, {"--model", "m", "--input", "i"}, {"--models", "m"}
    }) {
      String message = assertThrows(IllegalArgumentException.class, () -> new Score(wrong)).getMessage();
      assertTrue(message.contains("usage: Score"), message);
    }
    String[] letters = {"--model", "m", "--input", table(), "--column", "image", "--output", "o", "--top", "x"};
    assertEquals("--top must be a number, not x",
        assertThrows(IllegalArgumentException.class, () -> {
          try (SparkSession spark = session("local[1]")) {
            new Score(letters).run(spark);
          }
        }).getMessage());
  }
}
