package org.torchlet.examples;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import org.junit.Test;
import org.torchlet.TorchletException;

/** The program next to what PyTorch answers to the same pictures (scripts/make_example_fixtures.py). */
public class ImageClassificationTest {
  private static final File REPOSITORY = new File(System.getProperty("repository"));
  private static final String MODEL = new File(REPOSITORY, "models/digits_mobilenet_v2.pt").getPath();

  @Test
  public void answersAsPyTorch() throws IOException {
    List<String> labels = Files.readAllLines(new File(REPOSITORY, "models/digits_labels.txt").toPath());
    for (String line : Files.readAllLines(new File(REPOSITORY, "tests/fixtures/examples/digits_224.txt").toPath())) {
      String[] expected = line.split(": |, "); // the picture, and three classes
      List<String> answer = ImageClassification.classify(MODEL, sample(expected[0]), labels);
      assertEquals(3, answer.size());
      assertEquals(expected[1].replaceAll(" +", " "), answer.get(0).trim().replaceAll(" +", " "));
    }
  }

  @Test
  public void classesWithoutLabelsAreNumbers() throws IOException {
    List<String> answer = ImageClassification.classify(MODEL, sample("digit_7.png"), null);
    assertTrue(answer.get(0), answer.get(0).endsWith("%  7"));
  }

  @Test
  public void whatIsNoPictureOrNoModelIsRefused() {
    String readme = new File(REPOSITORY, "models/README.md").getPath(), picture = sample("digit_7.png");
    TorchletException e =
        assertThrows(TorchletException.FileFormat.class, () -> ImageClassification.classify(MODEL, readme, null));
    assertTrue(e.getMessage(), e.getMessage().contains("README.md"));
    assertThrows(TorchletException.class, () -> ImageClassification.classify(readme, picture, null));
  }

  private static String sample(String name) {
    return new File(REPOSITORY, "models/samples/" + name).getPath();
  }
}
