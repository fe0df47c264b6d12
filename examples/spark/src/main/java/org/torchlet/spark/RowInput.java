package org.torchlet.spark;

import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StructField;
import org.pytorch.Tensor;
import org.torchlet.Picture;
import org.torchlet.Preprocess;

/** Makes the model's input, [1, ...], of a row's column: a picture or numbers. */
final class RowInput {
  private final int column;
  private final String name;
  private final boolean picture;
  private final long[] shape;
  private final Preprocess steps;
  // By slot: garbage outside of Java's heap would take many collections.
  private final List<FloatBuffer> buffers = new ArrayList<>();
  private final List<Tensor> pictures = new ArrayList<>();

  /**
   * @param shape of an array of numbers; null: [its length].
   * @param steps of a picture.
   */
  RowInput(int column, StructField field, long[] shape, Preprocess steps) {
    this.column = column;
    this.name = field.name();
    this.picture = isPicture(field);
    this.shape = shape;
    this.steps = steps;
  }

  static boolean isPicture(StructField field) {
    return field.dataType() instanceof BinaryType;
  }

  static void check(StructField field) {
    DataType type = field.dataType();
    boolean numbers = type instanceof ArrayType && ((ArrayType) type).elementType() instanceof NumericType;
    if (!numbers && !isPicture(field)) {
      throw new IllegalArgumentException(
          "the column " + field.name() + " must be binary, a picture, or an array of numbers, not "
              + type.simpleString());
    }
  }

  /** Valid until the next call for the same slot: a batch has a slot for each of its rows. */
  Tensor of(Row row, int slot) {
    if (row.isNullAt(column)) throw new IllegalArgumentException(name + " is null");
    return picture ? picture((byte[]) row.get(column), slot) : numbers(row.getList(column), slot);
  }

  private Tensor picture(byte[] file, int slot) {
    while (pictures.size() <= slot) pictures.add(null);
    try (Picture decoded = Picture.decode(file)) {
      pictures.set(slot, steps.apply(decoded, pictures.get(slot)));
    }
    return pictures.get(slot);
  }

  private Tensor numbers(List<Number> list, int slot) {
    int count = list.size();
    long[] sizes = shape != null ? shape : new long[] {count};
    if (Tensor.numel(sizes) != count) {
      throw new IllegalArgumentException(
          name + " has " + count + " numbers, which are not " + Arrays.toString(sizes));
    }
    FloatBuffer data = buffer(slot, count);
    for (Number number : list) {
      if (number == null) throw new IllegalArgumentException(name + " has a null among its numbers");
      data.put(number.floatValue());
    }
    long[] whole = new long[sizes.length + 1];
    whole[0] = 1;
    System.arraycopy(sizes, 0, whole, 1, sizes.length);
    return Tensor.fromBlob(data, whole);
  }

  private FloatBuffer buffer(int slot, int count) {
    while (buffers.size() <= slot) buffers.add(Tensor.allocateFloatBuffer(0));
    if (buffers.get(slot).capacity() < count) buffers.set(slot, Tensor.allocateFloatBuffer(count));
    FloatBuffer data = buffers.get(slot).duplicate();
    data.limit(count);
    return data.slice();
  }
}
