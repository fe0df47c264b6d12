package org.torchlet.spark;

import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Queue;
import java.util.Set;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.LongAccumulator;
import org.pytorch.Tensor;
import org.torchlet.Preprocess;

/**
 * Runs a model on the rows of a table.
 *
 * <pre>{@code
 * spark.sparkContext().addFile("m.ptl");
 * TorchletScorer scorer = new TorchletScorer("m.ptl", pictures.schema(), "content").keep("path");
 * Dataset<Row> scores = pictures.mapPartitions(scorer, scorer.encoder());
 * }</pre>
 *
 * <p>Each row gives one row, in the same order: the columns that are kept, then {@code class}, {@code
 * label}, {@code probability} and, if more than one is wanted, {@code top}; or {@link #raw()} the
 * model's numbers; last {@code error}. A row that cannot be scored has a message in there and null in
 * the others; what concerns all rows, such as a model that cannot be loaded, fails the task.
 *
 * <p>All tasks of an executor share one model (docs/spark.md).
 */
public final class TorchletScorer implements MapPartitionsFunction<Row, Row> {
  private static final long serialVersionUID = 1;

  private final String model;
  private final StructType input;
  private final int column;
  private int[] kept;
  private int batch = 1;
  private int top = 1;
  private int threads;
  private boolean raw;
  private long[] shape;
  private String preprocess;
  private List<String> labels;
  private LongAccumulator loads;

  /**
   * @param model what {@code SparkContext.addFile} or {@code --files} brought to the executors, of
   *     which the last part of the path counts, or "local:/path" of a file that each of them has.
   * @param input the schema of the rows.
   * @param column of the model's input: binary (a PNG or JPEG file) or an array of numbers.
   */
  public TorchletScorer(String model, StructType input, String column) {
    this.model = model;
    this.input = input;
    this.column = input.fieldIndex(column);
    RowInput.check(input.apply(column));
    kept = new int[input.size() - 1];
    for (int i = 0, field = 0; field < input.size(); ++field) {
      if (field != this.column) kept[i++] = field;
    }
  }

  // ---- what is wanted; each gives the scorer itself ----

  /** The columns of the input to keep; otherwise all but the model's input. */
  public TorchletScorer keep(String... columns) {
    kept = Arrays.stream(columns).mapToInt(input::fieldIndex).toArray();
    return this;
  }

  /**
   * Rows that go through the model at once, at most; otherwise 1, which is fastest for pictures and
   * gives a row the same bits whatever lies beside it. More is for small models of numbers, whose
   * inputs must have the rows as their first dimension.
   */
  public TorchletScorer batch(int rows) {
    batch = positive(rows, "a batch's number of rows");
    return this;
  }

  /** How many of the most probable classes are told. */
  public TorchletScorer top(int classes) {
    top = positive(classes, "the number of classes");
    return this;
  }

  /** The model's output as it is, as an array of floats, instead of classes. */
  public TorchletScorer raw() {
    raw = true;
    return this;
  }

  /** Threads that one task may use; otherwise spark.task.cpus. */
  public TorchletScorer threads(int count) {
    threads = positive(count, "the number of threads");
    return this;
  }

  /** The shape of an array of numbers, without the batch; otherwise [its length]. */
  public TorchletScorer shape(long... sizes) {
    shape = sizes.clone();
    return this;
  }

  /**
   * The steps from a picture to the model's input as JSON (docs/pictures.md); otherwise those that the
   * model carries, or else those of torchvision's ImageNet models.
   */
  public TorchletScorer preprocess(String json) {
    Preprocess.of(json); // so that a mistake is known here
    preprocess = json;
    return this;
  }

  /** The classes' names; otherwise those that the model carries, or none. */
  public TorchletScorer labels(Collection<String> names) {
    labels = new ArrayList<>(names);
    return this;
  }

  /** Counts how often the model was loaded: once in each executor that had rows. */
  public TorchletScorer countLoads(LongAccumulator counter) {
    loads = counter;
    return this;
  }

  private static int positive(int number, String what) {
    if (number < 1) throw new IllegalArgumentException(what + " must be positive, not " + number);
    return number;
  }

  // ---- what comes of it ----

  /** The rows that {@link #call} gives. */
  public StructType schema() {
    StructType schema = new StructType();
    for (int field : kept) schema = schema.add(input.apply(field));
    if (raw) {
      schema = schema.add("raw", DataTypes.createArrayType(DataTypes.FloatType, false));
    } else {
      StructType one = new StructType()
          .add("class", DataTypes.IntegerType)
          .add("label", DataTypes.StringType)
          .add("probability", DataTypes.FloatType);
      for (StructField field : one.fields()) schema = schema.add(field);
      if (top > 1) schema = schema.add("top", DataTypes.createArrayType(one, false));
    }
    schema = schema.add("error", DataTypes.StringType);
    Set<String> names = new HashSet<>();
    for (String name : schema.fieldNames()) {
      if (!names.add(name.toLowerCase(Locale.ROOT))) {
        throw new IllegalArgumentException(
            "the column " + name + " would be there twice: keep others of the input's");
      }
    }
    return schema;
  }

  public Encoder<Row> encoder() {
    return Encoders.row(schema());
  }

  @Override
  public Iterator<Row> call(Iterator<Row> rows) {
    return new Scores(rows);
  }

  private int threadsOfTask() {
    if (threads > 0) return threads;
    TaskContext task = TaskContext.get();
    return task == null ? 1 : Math.max(task.cpus(), 1);
  }

  /** The scored rows of a partition, of which no more than a batch is in memory. */
  private final class Scores implements Iterator<Row> {
    private final Iterator<Row> rows;
    private final Queue<Row> ready = new ArrayDeque<>();
    // The model is loaded for the first row: partitions are often empty.
    private ExecutorModel executorModel;
    private RowInput inputs;
    private Batch stacked;
    private List<String> names;

    Scores(Iterator<Row> rows) {
      this.rows = rows;
    }

    @Override
    public boolean hasNext() {
      return !ready.isEmpty() || rows.hasNext();
    }

    @Override
    public Row next() {
      if (ready.isEmpty()) {
        if (!rows.hasNext()) throw new NoSuchElementException();
        if (executorModel == null) open();
        score();
      }
      return ready.remove();
    }

    private void open() {
      Path file = ExecutorModel.find(model);
      executorModel = ExecutorModel.of(file, threadsOfTask(), loads);
      StructField field = input.apply(column);
      Preprocess steps = RowInput.isPicture(field) ? executorModel.preprocess(preprocess) : null;
      inputs = new RowInput(column, field, shape, steps);
      names = labels != null ? labels : executorModel.labels();
      stacked = new Batch();
    }

    private void score() {
      List<Row> taken = new ArrayList<>(batch);
      while (taken.size() < batch && rows.hasNext()) taken.add(rows.next());

      Row[] results = new Row[taken.size()];
      Tensor[] tensors = new Tensor[taken.size()];
      Map<String, List<Integer>> alike = new LinkedHashMap<>();
      for (int i = 0; i < results.length; ++i) {
        try {
          tensors[i] = inputs.of(taken.get(i), i);
          alike.computeIfAbsent(Batch.kind(tensors[i]), kind -> new ArrayList<>()).add(i);
        } catch (RuntimeException e) {
          results[i] = failed(taken.get(i), e);
        }
      }
      for (List<Integer> group : alike.values()) run(group, taken, tensors, results);
      ready.addAll(Arrays.asList(results));
    }

    /** Together if the model takes them so, else one by one, so that each has its own error. */
    private void run(List<Integer> group, List<Row> taken, Tensor[] tensors, Row[] results) {
      boolean together = group.size() > 1 && executorModel.takesBatches();
      if (together && runTogether(group, taken, tensors, results)) return;
      int failures = 0;
      for (int i : group) {
        try {
          results[i] = scored(taken.get(i), Output.of(executorModel.forward(tensors[i]), 1), 0);
        } catch (RuntimeException e) {
          results[i] = failed(taken.get(i), e);
          ++failures;
        }
      }
      if (together && failures == 0) executorModel.takesNoBatches();
    }

    private boolean runTogether(List<Integer> group, List<Row> taken, Tensor[] tensors, Row[] results) {
      try {
        Output output = Output.of(executorModel.forward(stacked.of(group, tensors)), group.size());
        for (int row = 0; row < group.size(); ++row) {
          int i = group.get(row);
          results[i] = scored(taken.get(i), output, row);
        }
        return true;
      } catch (RuntimeException e) {
        return false;
      }
    }

    private Row scored(Row row, Output output, int index) {
      Object[] values = keptOf(row);
      int at = kept.length;
      if (raw) {
        values[at] = output.numbers(index);
      } else {
        List<Output.ClassScore> classes = output.top(index, top);
        Row[] rows = new Row[classes.size()];
        for (int i = 0; i < rows.length; ++i) {
          Output.ClassScore one = classes.get(i);
          String name = one.index < names.size() ? names.get(one.index) : null;
          rows[i] = RowFactory.create(one.index, name, one.probability);
        }
        for (int i = 0; i < 3; ++i) values[at + i] = rows[0].get(i);
        if (top > 1) values[at + 3] = rows;
      }
      return RowFactory.create(values);
    }

    private Row failed(Row row, RuntimeException e) {
      Object[] values = keptOf(row);
      values[values.length - 1] = e.getMessage() == null ? e.toString() : e.getMessage();
      return RowFactory.create(values);
    }

    private Object[] keptOf(Row row) {
      Object[] values = new Object[kept.length + (raw ? 2 : top > 1 ? 5 : 4)];
      for (int i = 0; i < kept.length; ++i) values[i] = row.get(kept[i]);
      return values;
    }
  }
}
