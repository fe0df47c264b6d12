package org.torchlet.examples;

import java.awt.image.BufferedImage;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import javax.imageio.ImageIO;
import org.pytorch.IValue;
import org.pytorch.LiteModuleLoader;
import org.pytorch.Module;
import org.pytorch.Tensor;
import org.torchlet.Picture;
import org.torchlet.Preprocess;

/** Finds the things in a picture and colours them: MODEL PICTURE OVERLAY.png [LABELS.txt] */
public final class ImageSegmentation {
  /** Of class 1, 2, ...; class 0 is the background and stays as it is. */
  private static final int[] COLOURS = {0x005aff, 0xff8c00, 0xff00c8, 0xffe600, 0x00dcff, 0xe60000, 0x00a03c, 0x7800dc};

  private static final String[] COLOUR_NAMES = {"blue", "orange", "magenta", "yellow", "cyan", "red", "green", "violet"};

  private ImageSegmentation() {}

  public static void main(String[] arguments) throws IOException {
    if (arguments.length < 3) {
      System.err.println("usage: ImageSegmentation MODEL PICTURE OVERLAY.png [LABELS.txt]");
      System.exit(2);
    }
    try (Module module = LiteModuleLoader.load(arguments[0]);
        Picture picture = Picture.read(arguments[1])) {
      Tensor input = steps(module).apply(picture);
      Tensor out = module.forward(IValue.from(input)).toDictStringKey().get("out").toTensor(); // [1, classes, height, width]
      int[] classes = classMap(out.getDataAsFloatArray(), (int) out.shape()[1]);

      int width = (int) out.shape()[3], height = (int) out.shape()[2];
      try (Picture resized = picture.resize(width, height)) {
        ImageIO.write(draw(classes, resized), "png", new File(arguments[2]));
      }
      List<String> labels = arguments.length > 3 ? Files.readAllLines(Path.of(arguments[3])) : module.labels();
      for (String line : legend(classes, labels)) System.out.println(line);
    }
  }

  /** What the model says of its inputs, else as for ImageNet without the crop: all of the picture. */
  static Preprocess steps(Module module) {
    Preprocess steps = module.preprocess();
    return steps != null ? steps : Preprocess.of("{\"resize\": 256, \"mean\": [0.485, 0.456, 0.406], \"std\": [0.229, 0.224, 0.225]}");
  }

  /** The class of each pixel: the first of the highest scores. */
  static int[] classMap(float[] scores, int classes) {
    int pixels = scores.length / classes;
    int[] map = new int[pixels];
    for (int i = 0; i < pixels; i++) {
      for (int c = 1; c < classes; c++) if (scores[c * pixels + i] > scores[map[i] * pixels + i]) map[i] = c;
    }
    return map;
  }

  /** Three parts of the class's colour to two of the picture. */
  static BufferedImage draw(int[] classes, Picture picture) {
    byte[] rgb = picture.rgb();
    int[] colours = new int[classes.length];
    for (int i = 0; i < colours.length; i++) {
      int colour = classes[i] == 0 ? 0 : COLOURS[(classes[i] - 1) % COLOURS.length];
      for (int channel = 0; channel < 3; channel++) {
        int value = rgb[3 * i + channel] & 255;
        if (classes[i] != 0) value = (2 * value + 3 * (colour >> (16 - 8 * channel) & 255)) / 5;
        colours[i] = colours[i] << 8 | value;
      }
    }
    BufferedImage drawn = new BufferedImage(picture.width(), picture.height(), BufferedImage.TYPE_INT_RGB);
    drawn.setRGB(0, 0, picture.width(), picture.height(), colours, 0, picture.width());
    return drawn;
  }

  /** The classes that were found, each with its colour and its part of the picture. */
  static List<String> legend(int[] classes, List<String> labels) {
    int[] counts = new int[1 + Arrays.stream(classes).max().orElse(0)];
    for (int c : classes) counts[c]++;
    List<String> lines = new ArrayList<>();
    for (int c = 1; c < counts.length; c++) {
      if (counts[c] == 0) continue;
      String label = c < labels.size() ? labels.get(c) : String.valueOf(c);
      String colour = COLOUR_NAMES[(c - 1) % COLOUR_NAMES.length];
      lines.add(String.format(Locale.ROOT, "%5.1f %%  %-8s %s", 100.0 * counts[c] / classes.length, colour, label));
    }
    return lines;
  }
}
