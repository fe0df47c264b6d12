package org.torchlet.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.pytorch.DType;
import org.pytorch.MemoryFormat;
import org.pytorch.Tensor;

/** What a model returned for some rows. */
final class Output {
  static final class ClassScore {
    final int index;
    final float probability;

    ClassScore(int index, float probability) {
      this.index = index;
      this.probability = probability;
    }
  }

  private final float[] all;
  private final int size; // of a row
  private final long[] shape;

  private Output(float[] all, int rows, long[] shape) {
    this.all = all;
    this.size = all.length / rows;
    this.shape = shape;
  }

  /** Copies, as the tensor may lie in its input's memory. */
  static Output of(Tensor tensor, int rows) {
    long[] shape = tensor.shape();
    if (rows > 1 && (shape.length == 0 || shape[0] != rows)) {
      throw new IllegalArgumentException(
          "the model returned " + Arrays.toString(shape) + " for " + rows + " rows");
    }
    return new Output(tensor.to(DType.FLOAT32, MemoryFormat.CONTIGUOUS).getDataAsFloatArray(), rows, shape);
  }

  float[] numbers(int row) {
    return Arrays.copyOfRange(all, row * size, (row + 1) * size);
  }

  /** The largest scores, largest first, and their softmax, as torchlet::top_classes. */
  List<ClassScore> top(int row, int count) {
    if (size == 0 || shape.length == 0 || shape[shape.length - 1] != size) {
      throw new IllegalArgumentException(
          "the scores of a classifier must be [classes] or [1, classes], not " + Arrays.toString(shape)
              + "; raw numbers can be had of any tensor");
    }
    int begin = row * size;
    double largest = Double.NEGATIVE_INFINITY;
    for (int i = 0; i < size; ++i) largest = Math.max(largest, all[begin + i]);
    double sum = 0;
    for (int i = 0; i < size; ++i) sum += Math.exp(all[begin + i] - largest);

    List<ClassScore> top = new ArrayList<>();
    boolean[] taken = new boolean[size];
    while (top.size() < Math.min(count, size)) {
      int best = -1;
      for (int i = 0; i < size; ++i) {
        if (!taken[i] && (best < 0 || all[begin + i] > all[begin + best])) best = i;
      }
      taken[best] = true;
      top.add(new ClassScore(best, (float) (Math.exp(all[begin + best] - largest) / sum)));
    }
    return top;
  }
}
