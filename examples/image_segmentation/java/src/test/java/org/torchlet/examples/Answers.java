package org.torchlet.examples;

import java.awt.image.BufferedImage;
import java.io.File;
import java.io.IOException;
import javax.imageio.ImageIO;

/** PyTorch's classes of the pixels of the sample scenes, and what is to be drawn for them. */
public final class Answers {
  public static final File REPOSITORY = new File(System.getProperty("repository"));
  private static final int[] COLOURS = {0, 0x005aff, 0xff8c00, 0xff00c8, 0xffe600, 0x00dcff};

  private Answers() {}

  public static File scene(String name) {
    return new File(REPOSITORY, "models/scenes/" + name + ".png");
  }

  /** The part of the pixels that have the colour they should have. */
  public static double agreement(String name, int[] drawn) throws IOException {
    int[] picture = pixels(scene(name));
    int[] classes = pixels(new File(REPOSITORY, "tests/fixtures/examples/" + name + "_classes.png"));
    if (drawn.length != picture.length || drawn.length != classes.length) return 0;
    int right = 0;
    for (int i = 0; i < drawn.length; i++) {
      int expected = picture[i], c = classes[i] & 255;
      if (c > 0) {
        expected = part(picture[i], COLOURS[c], 16) | part(picture[i], COLOURS[c], 8) | part(picture[i], COLOURS[c], 0);
      }
      if (((expected ^ drawn[i]) & 0xffffff) == 0) right++;
    }
    return (double) right / drawn.length;
  }

  private static int part(int pixel, int colour, int shift) {
    return (2 * (pixel >> shift & 255) + 3 * (colour >> shift & 255)) / 5 << shift;
  }

  private static int[] pixels(File file) throws IOException {
    BufferedImage image = ImageIO.read(file);
    int[] values = new int[image.getWidth() * image.getHeight()];
    if (image.getRaster().getNumBands() == 1) return image.getRaster().getSamples(0, 0, image.getWidth(), image.getHeight(), 0, values);
    return image.getRGB(0, 0, image.getWidth(), image.getHeight(), values, 0, image.getWidth());
  }
}
