package org.torchlet.examples;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.awt.image.BufferedImage;
import java.io.File;
import java.io.IOException;
import java.util.List;
import javax.imageio.ImageIO;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;
import org.torchlet.TorchletException;

/** The program next to the classes that PyTorch finds (scripts/make_example_fixtures.py). */
public class ImageSegmentationTest {
  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  @Test
  public void drawsWhatPyTorchFindsInTheMeadow() throws IOException {
    check("meadow");
  }

  @Test
  public void drawsWhatPyTorchFindsInTheMountains() throws IOException {
    check("mountains");
  }

  @Test
  public void legendTellsSharesAndColours() {
    assertEquals(
        List.of(" 25.0 %  orange   plant", " 50.0 %  magenta  3"),
        ImageSegmentation.legend(new int[] {3, 0, 2, 3}, List.of("background", "animal", "plant")));
    assertEquals(List.of(), ImageSegmentation.legend(new int[] {0, 0}, List.of("background")));
  }

  @Test
  public void whatIsNoPictureIsRefused() {
    String[] arguments = {model(), new File(Answers.REPOSITORY, "models/README.md").getPath(), "overlay.png"};
    TorchletException e = assertThrows(TorchletException.FileFormat.class, () -> ImageSegmentation.main(arguments));
    assertTrue(e.getMessage(), e.getMessage().contains("README.md"));
  }

  /** With the labels that the model carries, and drawn from what its record of steps makes of the picture. */
  private void check(String name) throws IOException {
    File overlay = folder.newFile("overlay.png");
    ImageSegmentation.main(new String[] {model(), Answers.scene(name).getPath(), overlay.getPath()});
    BufferedImage drawn = ImageIO.read(overlay);
    int[] colours = drawn.getRGB(0, 0, drawn.getWidth(), drawn.getHeight(), null, 0, drawn.getWidth());
    assertTrue(Answers.agreement(name, colours) >= 0.999);
  }

  private static String model() {
    return new File(Answers.REPOSITORY, "models/scenes_deeplabv3.ptl").getPath();
  }
}
