package org.torchlet.spark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.util.LongAccumulator;
import org.torchlet.TorchletException;

/** Scores a folder of pictures, or a column of a Parquet table, into a Parquet table. */
public final class Score {
  private static final String USAGE = String.join("\n",
      "usage: Score --model FILE --input FOLDER|TABLE --output TABLE [options]",
      "  --model FILE           .pt, .ptl or .ff; Spark brings it to every executor, unless it is local:/path",
      "  --input PATH           a folder of pictures, with its subfolders, or with --column a Parquet table",
      "  --column NAME          of the table: binary (PNG or JPEG) or an array of numbers",
      "  --output PATH          Parquet; --overwrite replaces what is there",
      "  --glob PATTERN         of the folder's files only these: '*.{png,jpg}'",
      "  --keep A,B             columns of the table to keep; otherwise all but the input",
      "  --shape 3,224,224      of an array of numbers; otherwise [its length]",
      "  --preprocess FILE      steps from a picture to the input as JSON; otherwise the model's own",
      "  --labels FILE          one class a line; otherwise the model's own",
      "  --top N                most probable classes (1)",
      "  --raw                  the model's numbers instead of classes",
      "  --batch N              rows that go through the model at once (1)",
      "  --threads-per-task N   (spark.task.cpus)",
      "  --partitions N         deals the rows out anew to so many tasks");
  private static final Set<String> FLAGS = Set.of("--raw", "--overwrite");
  private static final Set<String> OPTIONS = Set.of(
      "--model", "--input", "--column", "--output", "--glob", "--keep", "--shape", "--preprocess",
      "--labels", "--top", "--batch", "--threads-per-task", "--partitions");

  private final Map<String, String> options = new HashMap<>();
  /** Of the last run: how many executors loaded the model. */
  long loads;

  public static void main(String[] arguments) {
    int status;
    try {
      status = new Score(arguments).run();
    } catch (IllegalArgumentException | TorchletException | IOException e) {
      System.err.println("Score: " + e.getMessage());
      status = 2;
    }
    if (status != 0) System.exit(status);
  }

  Score(String... arguments) {
    for (int i = 0; i < arguments.length; ++i) {
      String name = arguments[i];
      if (FLAGS.contains(name)) {
        options.put(name, "");
      } else if (!OPTIONS.contains(name)) {
        throw new IllegalArgumentException("there is no option " + name + "\n" + USAGE);
      } else if (i + 1 == arguments.length) {
        throw new IllegalArgumentException(name + " needs a value\n" + USAGE);
      } else {
        options.put(name, arguments[++i]);
      }
    }
    for (String needed : List.of("--model", "--input", "--output")) {
      if (!options.containsKey(needed)) throw new IllegalArgumentException(needed + " is missing\n" + USAGE);
    }
  }

  /** The exit status: 1 if there were rows and none could be scored. */
  int run() throws IOException {
    SparkSession spark = SparkSession.builder().appName("torchlet " + options.get("--model")).getOrCreate();
    try {
      return run(spark);
    } finally {
      spark.stop();
    }
  }

  int run(SparkSession spark) throws IOException {
    LongAccumulator loaded = spark.sparkContext().longAccumulator("models loaded");
    Dataset<Row> input = input(spark);
    if (options.containsKey("--partitions")) input = input.repartition(number("--partitions"));
    String model = options.get("--model");
    TorchletScorer scorer = scorer(input, model).countLoads(loaded);
    if (!model.startsWith("local:")) spark.sparkContext().addFile(model);

    long begin = System.nanoTime();
    input.mapPartitions(scorer, scorer.encoder()).write()
        .mode(options.containsKey("--overwrite") ? SaveMode.Overwrite : SaveMode.ErrorIfExists)
        .parquet(options.get("--output"));
    loads = loaded.value();
    double seconds = (System.nanoTime() - begin) * 1e-9;

    Dataset<Row> output = spark.read().schema(scorer.schema()).parquet(options.get("--output"));
    long rows = output.count();
    Dataset<Row> failed = output.filter("error is not null");
    long errors = failed.count();
    System.out.println(String.format(Locale.ROOT,
        "%d rows in %.2f s, %.1f rows per second; %d with an error; model loaded %d time(s)",
        rows, seconds, rows / seconds, errors, loads));
    if (rows == 0 || errors < rows) return 0;
    System.err.println("Score: no row could be scored: " + failed.first().getAs("error"));
    return 1;
  }

  private Dataset<Row> input(SparkSession spark) {
    String path = options.get("--input");
    if (options.containsKey("--column")) return spark.read().parquet(path);
    var files = spark.read().format("binaryFile").option("recursiveFileLookup", true);
    if (options.containsKey("--glob")) files = files.option("pathGlobFilter", options.get("--glob"));
    return files.load(path).select("path", "content");
  }

  private TorchletScorer scorer(Dataset<Row> input, String model) throws IOException {
    TorchletScorer scorer =
        new TorchletScorer(model, input.schema(), options.getOrDefault("--column", "content"));
    if (options.containsKey("--keep")) scorer.keep(options.get("--keep").split(","));
    if (options.containsKey("--shape")) {
      scorer.shape(Arrays.stream(options.get("--shape").split(",")).mapToLong(Long::parseLong).toArray());
    }
    if (options.containsKey("--preprocess")) {
      scorer.preprocess(Files.readString(Path.of(options.get("--preprocess"))));
    }
    if (options.containsKey("--labels")) {
      scorer.labels(new ArrayList<>(Files.readAllLines(Path.of(options.get("--labels")))));
    }
    if (options.containsKey("--raw")) scorer.raw();
    if (options.containsKey("--top")) scorer.top(number("--top"));
    if (options.containsKey("--batch")) scorer.batch(number("--batch"));
    if (options.containsKey("--threads-per-task")) scorer.threads(number("--threads-per-task"));
    return scorer;
  }

  private int number(String option) {
    try {
      return Integer.parseInt(options.get(option));
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(option + " must be a number, not " + options.get(option));
    }
  }
}
