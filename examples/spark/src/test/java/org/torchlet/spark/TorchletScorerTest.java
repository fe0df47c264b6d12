package org.torchlet.spark;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.LongAccumulator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.torchlet.TorchletException;

/** The scorer without a Spark session. */
class TorchletScorerTest {
  private static final StructType PICTURES = new StructType().add("path", "string").add("image", "binary");
  private static final StructType NUMBERS = new StructType()
      .add("id", "long").add("x", DataTypes.createArrayType(DataTypes.FloatType));

  private static TorchletScorer pictures() {
    return new TorchletScorer(Samples.MODEL.toString(), PICTURES, "image");
  }

  private static TorchletScorer numbers(String fixture) {
    String model = Samples.ROOT.resolve("tests/fixtures/" + fixture).toString();
    return new TorchletScorer(model, NUMBERS, "x").raw();
  }

  private static List<Row> rows(Map<String, byte[]> pictures) {
    List<Row> rows = new ArrayList<>();
    pictures.forEach((name, bytes) -> rows.add(RowFactory.create(name, bytes)));
    return rows;
  }

  private static List<Row> scored(TorchletScorer scorer, List<Row> rows) {
    List<Row> result = new ArrayList<>();
    scorer.call(rows.iterator()).forEachRemaining(result::add);
    return result;
  }

  private static Row numbers(long id, float... numbers) {
    List<Float> list = new ArrayList<>();
    for (float number : numbers) list.add(number);
    return row(id, list);
  }

  private static Row row(long id, List<Float> list) {
    return RowFactory.create(id, scala.jdk.javaapi.CollectionConverters.asScala(list).toSeq());
  }

  @Test
  void tellsClassesLabelsAndProbabilities() throws IOException {
    TorchletScorer scorer = pictures().labels(Files.readAllLines(Samples.LABELS)).top(3);
    assertEquals(
        List.of("path", "class", "label", "probability", "top", "error"),
        Arrays.asList(scorer.schema().fieldNames()));
    Row row = scored(scorer, List.of(RowFactory.create("seven", Samples.digit(7)))).get(0);
    assertEquals("seven", row.get(0));
    assertEquals(7, row.get(1));
    assertEquals("seven", row.get(2));
    assertTrue(row.getFloat(3) > 0.99f && row.getFloat(3) <= 1, () -> "probability " + row.getFloat(3));
    Row[] top = (Row[]) row.get(4);
    assertEquals(3, top.length);
    assertEquals(7, top[0].get(0));
    assertEquals("two", top[1].get(1));
    assertTrue(top[0].getFloat(2) >= top[1].getFloat(2) && top[1].getFloat(2) >= top[2].getFloat(2));
    assertNull(row.get(5));
  }

  @Test
  void leavesUnknownLabelsOut() throws IOException {
    Row row = scored(pictures().labels(List.of("zero")), List.of(RowFactory.create("", Samples.digit(7)))).get(0);
    assertEquals(7, row.get(1));
    assertNull(row.get(2));
  }

  @Test
  void givesTheSameAnswersInEveryBatch() throws IOException {
    List<Row> rows = rows(Samples.pictures());
    List<Row> alone = scored(pictures().raw(), rows);
    for (int batch : new int[] {2, 5, 16, 1000}) {
      List<Row> together = scored(pictures().raw().batch(batch), rows);
      assertEquals(rows.size(), together.size());
      for (int i = 0; i < rows.size(); ++i) {
        String name = rows.get(i).getString(0);
        assertEquals(name, together.get(i).get(0));
        assertArrayEquals((float[]) alone.get(i).get(1), (float[]) together.get(i).get(1), 2e-5f, name);
      }
    }
  }

  @Test
  void keepsRowsThatFailBesideOthers() throws IOException {
    List<Row> good = rows(Samples.pictures());
    List<Row> bad = rows(Samples.damaged());
    List<Row> mixed = new ArrayList<>();
    for (int i = 0; i < good.size(); ++i) {
      mixed.add(good.get(i));
      mixed.add(bad.get(i % bad.size()));
    }
    List<Row> expected = scored(pictures(), good);
    List<Row> results = scored(pictures(), mixed);
    assertEquals(mixed.size(), results.size());
    for (int i = 0; i < results.size(); ++i) {
      Row result = results.get(i);
      if (i % 2 == 0) {
        assertEquals(expected.get(i / 2), result);
      } else {
        assertEquals(mixed.get(i).get(0), result.get(0));
        for (int column = 1; column < 4; ++column) assertNull(result.get(column));
        assertFalse(result.getString(4).isBlank());
      }
    }
    assertEquals("image is null", scored(pictures(), List.of(RowFactory.create("", null))).get(0).get(4));
  }

  @Test
  void survivesDamagedFiles() throws IOException {
    Random random = new Random(1);
    List<Row> rows = new ArrayList<>();
    Map<String, byte[]> pictures = Samples.pictures();
    for (String name : List.of("digit_7.png", "digit_7.jpg", "digit_7_grey.png")) {
      for (int i = 0; i < 200; ++i) {
        byte[] bytes = pictures.get(name).clone();
        for (int change = 0; change <= i % 3; ++change) {
          bytes[random.nextInt(i < 100 ? 64 : bytes.length)] = (byte) random.nextInt();
        }
        rows.add(RowFactory.create(name, bytes));
      }
    }
    for (Row row : scored(pictures(), rows)) assertTrue((row.get(1) == null) != (row.get(4) == null));
  }

  @Test
  void preparesPicturesAsToldTo() throws IOException {
    List<Row> seven = List.of(RowFactory.create("", Samples.digit(7)));
    String steps = "{\"resize\": 256, \"crop\": %s, "
        + "\"mean\": [0.485, 0.456, 0.406], \"std\": [0.229, 0.224, 0.225]}";
    float[] expected = (float[]) scored(pictures().raw(), seven).get(0).get(1);
    String[] same = {String.format(steps, "224"), String.format(steps, "[224, 224]")};
    for (String record : same) {
      assertArrayEquals(expected, (float[]) scored(pictures().raw().preprocess(record), seven).get(0).get(1));
    }
    String[] others = {String.format(steps, "200"), "{\"resize\": [224, 200]}"};
    for (String record : others) {
      float[] numbers = (float[]) scored(pictures().raw().preprocess(record), seven).get(0).get(1);
      assertFalse(Arrays.equals(expected, numbers));
    }
    for (String wrong : new String[] {"", "[]", "{\"size\": 3}", "{\"crop\": 0}", "{\"mean\": [1, 2]}",
        "{\"dtype\": \"int8\"}", "{\"resize\": [1, 2, 3]}"}) {
      assertThrows(TorchletException.InvalidArgument.class, () -> pictures().preprocess(wrong), wrong);
    }
  }

  /** A model that doubles what its record makes of a picture: the middle 4 x 3 of 5 x 5, grey. */
  @Test
  void preparesPicturesAsTheModelSays() throws IOException {
    BufferedImage picture = new BufferedImage(5, 5, BufferedImage.TYPE_BYTE_GRAY);
    for (int i = 0; i < 25; ++i) picture.getRaster().setSample(i % 5, i / 5, 0, 10 * i);
    String model = Samples.ROOT.resolve("tests/fixtures/pictures.ptl").toString();
    List<Row> rows = List.of(RowFactory.create("", Samples.file(picture, "png")));
    float[] numbers = (float[]) scored(new TorchletScorer(model, PICTURES, "image").raw(), rows).get(0).get(1);
    float[] expected = new float[12];
    for (int i = 0; i < 12; ++i) expected[i] = 2 * (10 * (5 * (i / 3) + i % 3 + 1) / 255f);
    assertArrayEquals(expected, numbers);
    byte[] bytes = Samples.file(picture, "png");
    for (int batch : new int[] {1, 3}) {
      TorchletScorer scorer = new TorchletScorer(model, PICTURES, "image").raw().batch(batch)
          .preprocess("{\"dtype\": \"uint8\", \"memory_format\": \"channels_last\", \"crop\": 1}");
      Row one = RowFactory.create("", bytes);
      for (Row row : scored(scorer, List.of(one, one, one, one))) {
        assertArrayEquals(new float[] {240, 240, 240}, (float[]) row.get(1)); // 2 * 120
      }
    }
  }

  @Test
  void takesArraysOfNumbers() {
    List<Row> results = scored(
        numbers("linear.pt").shape(LINEAR_INPUTS),
        List.of(
            numbers(1, new float[LINEAR_INPUTS]),
            numbers(2, 1, 2),
            row(3, new ArrayList<>(Collections.nCopies(LINEAR_INPUTS, null))),
            RowFactory.create(4L, null),
            numbers(5, new float[LINEAR_INPUTS])));
    assertNotNull(results.get(0).get(1));
    assertNull(results.get(0).get(2));
    assertEquals("x has 2 numbers, which are not [" + LINEAR_INPUTS + "]", results.get(1).get(2));
    assertEquals("x has a null among its numbers", results.get(2).get(2));
    assertEquals("x is null", results.get(3).get(2));
    assertArrayEquals((float[]) results.get(0).get(1), (float[]) results.get(4).get(1));
    for (int i = 0; i < 5; ++i) assertEquals(i + 1L, results.get(i).get(0));
  }

  @Test
  void saysWhatTheModelSaysOfAWrongShape() {
    Row row = scored(numbers("linear.pt"), List.of(numbers(1, 1, 2))).get(0);
    assertNull(row.get(1));
    assertTrue(row.getString(2).contains("shape"), row.getString(2));
  }

  /** A batch of this model fails for one row, and without it gives one row for many. */
  @ParameterizedTest
  @ValueSource(ints = {1, 3, 100})
  void runsRowsAloneWhereABatchFails(int batch) {
    List<Row> rows = new ArrayList<>();
    for (int i = 0; i < 10; ++i) rows.add(numbers(i, i, 1, 2, 3, i == 4 ? -1 : 4));
    List<Row> results = scored(numbers("one_row.pt").batch(batch), rows);
    assertEquals(10, results.size());
    for (int i = 0; i < 10; ++i) {
      Row row = results.get(i);
      assertEquals((long) i, row.get(0));
      if (i == 4) {
        assertNull(row.get(1));
        assertTrue(row.getString(2).contains("a negative number"), row.getString(2));
      } else {
        assertArrayEquals(new float[] {2 * i, 2, 4, 6, 8}, (float[]) row.get(1));
        assertNull(row.get(2));
      }
    }
  }

  @Test
  void loadsOnceForManyTasks() throws Exception {
    java.nio.file.Path copy = Files.createTempFile("model", ".pt");
    Files.write(copy, Files.readAllBytes(Samples.MODEL));
    LongAccumulator loads = new LongAccumulator();
    TorchletScorer scorer = new TorchletScorer(copy.toString(), PICTURES, "image").countLoads(loads);
    List<Row> rows = rows(Samples.pictures());
    List<Row> expected = scored(pictures(), rows);
    ExecutorService tasks = Executors.newFixedThreadPool(4);
    List<Callable<List<Row>>> calls = Collections.nCopies(16, () -> scored(scorer, rows));
    for (Future<List<Row>> result : tasks.invokeAll(calls)) assertEquals(expected, result.get());
    tasks.shutdown();
    assertEquals(1, loads.value());
    Files.delete(copy);
  }

  @Test
  void loadsNothingForAnEmptyPartition() {
    TorchletScorer scorer = new TorchletScorer("/nowhere/model.pt", PICTURES, "image");
    assertFalse(scorer.call(Collections.emptyIterator()).hasNext());
  }

  @Test
  void failsWithoutAModel() {
    Iterator<Row> rows = new TorchletScorer("local:/nowhere/model.pt", PICTURES, "image")
        .call(List.of(RowFactory.create("", new byte[0])).iterator());
    Exception e = assertThrows(IllegalArgumentException.class, rows::next);
    assertTrue(e.getMessage().startsWith("the executor has no model /nowhere/model.pt"), e.getMessage());
  }

  @Test
  void failsWithoutStepsThatCanBeRead() throws IOException {
    String model = Samples.ROOT.resolve("tests/fixtures/no_record.pt").toString();
    List<Row> rows = List.of(RowFactory.create("", Samples.digit(7)));
    assertThrows(
        TorchletException.FileFormat.class, () -> scored(new TorchletScorer(model, PICTURES, "image"), rows));
    String record = "{\"crop\": 1}";
    assertNull(scored(new TorchletScorer(model, PICTURES, "image").raw().preprocess(record), rows).get(0).get(2));
    assertNull(scored(new TorchletScorer(model, NUMBERS, "x").raw(), List.of(numbers(1, 2))).get(0).get(2));
  }

  @Test
  void refusesWhatCannotBe() {
    assertThrows(IllegalArgumentException.class, () -> new TorchletScorer("m", PICTURES, "path"));
    assertThrows(IllegalArgumentException.class, () -> new TorchletScorer("m", PICTURES, "picture"));
    assertThrows(IllegalArgumentException.class, () -> pictures().batch(0));
    assertThrows(IllegalArgumentException.class, () -> pictures().keep("size"));
    StructType clash = PICTURES.add("Error", "string");
    assertThrows(IllegalArgumentException.class, () -> new TorchletScorer("m", clash, "image").schema());
  }

  @Test
  void travelsToExecutors() throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream stream = new ObjectOutputStream(bytes)) {
      stream.writeObject(pictures().raw().keep("path"));
    }
    try (ObjectInputStream stream = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
      List<Row> rows = rows(Samples.pictures()).subList(0, 3);
      List<Row> results = scored((TorchletScorer) stream.readObject(), rows);
      assertEquals(rows.get(2).get(0), results.get(2).get(0));
      assertNotNull(results.get(2).get(1));
    }
  }

  private static final int LINEAR_INPUTS = 5;
}
