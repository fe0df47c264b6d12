package org.torchlet.spark;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkEnv;
import org.apache.spark.SparkFiles;
import org.apache.spark.util.LongAccumulator;
import org.pytorch.IValue;
import org.pytorch.LiteModuleLoader;
import org.pytorch.Module;
import org.pytorch.PyTorchAndroid;
import org.pytorch.Tensor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.torchlet.Preprocess;

/**
 * The model of this JVM, which all tasks of an executor run at once. It is loaded by the first task
 * that needs it and stays until the executor ends.
 */
final class ExecutorModel {
  private static final Logger LOG = LoggerFactory.getLogger(ExecutorModel.class);
  private static final String LOCAL = "local:";
  private static final Map<Path, ExecutorModel> LOADED = new HashMap<>();
  private static int threadsNow;

  private final Module module;
  private volatile boolean takesBatches = true;

  private ExecutorModel(Module module) {
    this.module = module;
  }

  /** Where a model lies on this machine; see {@link TorchletScorer}. */
  static Path find(String model) {
    if (model.startsWith(LOCAL)) return existing(Path.of(model.substring(LOCAL.length())), model);
    String name = model.substring(model.lastIndexOf('/') + 1);
    if (SparkEnv.get() == null) return existing(Path.of(model), model);
    return existing(Path.of(SparkFiles.get(name)), model);
  }

  private static Path existing(Path file, String model) {
    if (Files.isRegularFile(file)) return file.toAbsolutePath().normalize();
    throw new IllegalArgumentException(
        "the executor has no model " + file + ": bring " + model
            + " there by SparkContext.addFile or --files, or put it on every machine and call it local:/path");
  }

  /** The model of that file. */
  static synchronized ExecutorModel of(Path file, int threads, LongAccumulator loads) {
    if (threads != threadsNow) PyTorchAndroid.setNumThreads(threads);
    threadsNow = threads;
    ExecutorModel model = LOADED.get(file);
    if (model == null) {
      model = new ExecutorModel(LiteModuleLoader.load(file.toString()));
      LOADED.put(file, model);
      if (loads != null) loads.add(1);
      LOG.info("loaded {}; {} thread(s) a task", file, threads);
    }
    return model;
  }

  /** What forward() returns, which must be a tensor. */
  Tensor forward(Tensor input) {
    return module.forward(IValue.from(input)).toTensor();
  }

  /** The steps from a picture to its input: those of the record, or its own, or else ImageNet's. */
  Preprocess preprocess(String json) {
    Preprocess steps = json != null ? Preprocess.of(json) : module.preprocess();
    return steps != null ? steps : Preprocess.imagenet();
  }

  /** The names of its classes, if it carries any. */
  List<String> labels() {
    return module.labels();
  }

  boolean takesBatches() {
    return takesBatches;
  }

  /** A batch failed of which each row alone did not. */
  void takesNoBatches() {
    if (takesBatches) LOG.info("the model takes one row at a time");
    takesBatches = false;
  }
}
