package org.torchlet.examples;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import org.pytorch.IValue;
import org.pytorch.LiteModuleLoader;
import org.pytorch.Module;
import org.pytorch.Tensor;
import org.torchlet.Picture;
import org.torchlet.Preprocess;

/** Tells what a picture shows: MODEL PICTURE [LABELS.txt] */
public final class ImageClassification {
  private ImageClassification() {}

  public static void main(String[] arguments) throws IOException {
    if (arguments.length < 2) {
      System.err.println("usage: ImageClassification MODEL PICTURE [LABELS.txt]");
      System.exit(2);
    }
    List<String> labels = arguments.length > 2 ? Files.readAllLines(Path.of(arguments[2])) : null;
    for (String line : classify(arguments[0], arguments[1], labels)) System.out.println(line);
  }

  /** The three best classes, best first, with their probabilities. The model's own labels if {@code given} is null. */
  static List<String> classify(String model, String file, List<String> given) {
    float[] scores;
    List<String> labels;
    try (Module module = LiteModuleLoader.load(model);
        Picture picture = Picture.read(file)) {
      Preprocess steps = module.preprocess() == null ? Preprocess.imagenet() : module.preprocess();
      Tensor input = steps.apply(picture); // [1, 3, height, width]
      scores = module.forward(IValue.from(input)).toTensor().getDataAsFloatArray();
      labels = given == null ? module.labels() : given;
    }

    double max = IntStream.range(0, scores.length).mapToDouble(i -> scores[i]).max().orElse(0);
    double sum = IntStream.range(0, scores.length).mapToDouble(i -> Math.exp(scores[i] - max)).sum();
    return IntStream.range(0, scores.length)
        .boxed()
        .sorted(Comparator.comparingDouble(i -> -scores[i]))
        .limit(3)
        .map(i -> String.format(Locale.ROOT, "%5.1f %%  %s", 100 * Math.exp(scores[i] - max) / sum,
            i < labels.size() ? labels.get(i) : i))
        .toList();
  }
}
