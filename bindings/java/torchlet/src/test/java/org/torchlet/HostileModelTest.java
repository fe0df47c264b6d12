package org.torchlet;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.junit.Test;
import org.pytorch.IValue;
import org.pytorch.Module;
import org.pytorch.Tensor;

/**
 * Models of each kind of file with bytes changed and cut, the same ones in each run. They load and run,
 * or give an exception of ours; never a crash, and never more memory and time than they may have.
 */
public class HostileModelTest {
  private static final Path REPOSITORY = Path.of(System.getProperty("repository"));
  private static final int ROUNDS = 100;

  private int refused;
  private int failed;
  private int ran;

  private static byte[] read(String file) throws IOException {
    return Files.readAllBytes(REPOSITORY.resolve(file));
  }

  /** Cut, with some bytes changed, some of them by a bit, or with a part filled with one value. */
  private static byte[] damaged(byte[] bytes, Random random) {
    byte[] result = bytes.clone();
    if (result.length == 0) return result;
    switch (random.nextInt(5)) {
      case 0:
        return Arrays.copyOf(result, random.nextInt(result.length));
      case 1:
        int from = random.nextInt(result.length);
        Arrays.fill(result, from, Math.min(result.length, from + 1 + random.nextInt(64)), (byte) random.nextInt());
        return result;
      case 2:
        for (int i = random.nextInt(4); i >= 0; i--) result[random.nextInt(result.length)] ^= 1 << random.nextInt(8);
        return result;
      default:
        for (int i = random.nextInt(8); i >= 0; i--) result[random.nextInt(result.length)] = (byte) random.nextInt();
        return result;
    }
  }

  /** The archive with one of its records damaged and all checksums right, so that more than they looks at it. */
  private static byte[] damagedRecord(Map<String, byte[]> records, Random random) throws IOException {
    int victim = random.nextInt(records.size());
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ZipOutputStream archive = new ZipOutputStream(bytes)) {
      archive.setMethod(ZipOutputStream.STORED);
      for (Map.Entry<String, byte[]> record : records.entrySet()) {
        byte[] data = victim-- == 0 ? damaged(record.getValue(), random) : record.getValue();
        CRC32 sum = new CRC32();
        sum.update(data);
        ZipEntry entry = new ZipEntry(record.getKey());
        entry.setSize(data.length);
        entry.setCrc(sum.getValue());
        archive.putNextEntry(entry);
        archive.write(data);
      }
    }
    return bytes.toByteArray();
  }

  private static Map<String, byte[]> records(String file) throws IOException {
    Map<String, byte[]> records = new LinkedHashMap<>();
    try (ZipFile archive = new ZipFile(REPOSITORY.resolve(file).toFile())) {
      for (ZipEntry entry : Collections.list(archive.entries())) {
        records.put(entry.getName(), archive.getInputStream(entry).readAllBytes());
      }
    }
    return records;
  }

  /** Whatever it throws besides what Torchlet throws fails the test. */
  private void use(byte[] model, IValue[] inputs) {
    Options options = new Options().memoryLimit(1 << 28).timeLimit(5);
    Module module;
    try {
      module = Module.load(model, options);
    } catch (TorchletException e) {
      assertTrue(!e.getMessage().isEmpty());
      refused++;
      return;
    }
    try {
      module.info();
      module.methods();
      module.labels();
      module.preprocess();
      module.forward(inputs);
      ran++;
    } catch (TorchletException | IllegalArgumentException e) { // the latter for results that Java cannot take
      assertTrue(e instanceof TorchletException || e.getMessage().contains("Java"));
      failed++;
    } finally {
      module.close();
    }
  }

  private void damage(String file, IValue... inputs) throws IOException {
    Random random = new Random(file.hashCode());
    byte[] whole = read(file);
    use(whole, inputs);
    assertEquals(file + " runs as it is", 1, ran);
    for (int i = 0; i < ROUNDS; i++) use(damaged(whole, random), inputs);
    if (whole[0] == 'P') {
      Map<String, byte[]> records = records(file);
      for (int i = 0; i < ROUNDS; i++) use(damagedRecord(records, random), inputs);
    }
    String outcome = file + ": " + refused + " refused, " + failed + " failed, " + ran + " ran";
    assertTrue(outcome, refused > ROUNDS / 4 && ran + failed > 1);
  }

  private static IValue zeros(long... shape) {
    return IValue.from(Tensor.fromBlob(new float[(int) Tensor.numel(shape)], shape));
  }

  @Test
  public void damagedSourceDoesNoHarm() throws IOException {
    damage("tests/fixtures/containers.pt", zeros(2));
  }

  @Test
  public void damagedSampleModelsDoNoHarm() throws IOException {
    damage("models/digits_mobilenet_v2.pt", zeros(1, 3, 32, 32));
  }

  @Test
  public void damagedQuantizedModelsDoNoHarm() throws IOException {
    damage("tests/fixtures/quantized_conv_per_channel.pt", zeros(1, 3, 9, 7));
  }

  @Test
  public void damagedBytecodeDoesNoHarm() throws IOException {
    damage("tests/fixtures/lite/quantized.ptl", zeros(1, 2, 5, 5));
  }

  @Test
  public void damagedFlatbuffersDoNoHarm() throws IOException {
    damage("tests/fixtures/lite/quantized.ff.ptl", zeros(1, 2, 5, 5));
  }

  @Test
  public void damagedExtraFilesDoNoHarm() throws IOException {
    damage("tests/fixtures/pictures.ptl", zeros(2, 2));
  }

  /** Every way in, cut at each of its first bytes. */
  @Test
  public void cutFilesDoNoHarm() throws IOException {
    byte[] whole = read("tests/fixtures/lite/stateful.ff.ptl");
    Path file = Files.createTempFile("cut", ".ptl");
    for (int size = 0; size < 120; size++) {
      byte[] cut = Arrays.copyOf(whole, size);
      ByteBuffer direct = ByteBuffer.allocateDirect(size);
      direct.put(cut).flip();
      Files.write(file, cut);
      use(cut, new IValue[0]);
      assertThrows(TorchletException.class, () -> Module.load(direct, new Options()));
      assertThrows(TorchletException.class, () -> Module.load(file.toString()));
    }
    Files.delete(file);
    assertEquals(120, refused);
  }
}
