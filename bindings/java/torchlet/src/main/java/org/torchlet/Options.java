package org.torchlet;

/** How a model is loaded and run. Each setter returns the same object. */
public final class Options {
  private String devices;
  private String precision;
  private boolean allowUnsupported;
  private long memoryLimit;
  private double timeLimit;

  /** What runs the model, in order, with commas: "cpu", "nnapi,cpu", "reference", "auto". */
  public Options devices(String devices) {
    this.devices = devices;
    return this;
  }

  /** See {@link #devices(String)}; null: the default, "cpu". */
  public String devices() {
    return devices;
  }

  /**
   * "fp32"; "fp16": half the memory, less exact, computed in float16 where the processor does; or "bf16": still less
   * exact, with products of bfloat16 where the processor has them.
   */
  public Options precision(String precision) {
    this.precision = precision;
    return this;
  }

  /** See {@link #precision(String)}; null: the default, "fp32". */
  public String precision() {
    return precision;
  }

  /** Loads a model that uses operators which Torchlet does not have; running into one throws. */
  public Options allowUnsupported(boolean allow) {
    this.allowUnsupported = allow;
    return this;
  }

  /** See {@link #allowUnsupported(boolean)}. */
  public boolean allowUnsupported() {
    return allowUnsupported;
  }

  /**
   * Bytes that the model may hold at once besides its file and its inputs; 0: no limit.
   *
   * @throws IllegalArgumentException if it is negative.
   */
  public Options memoryLimit(long bytes) {
    if (bytes < 0) throw new IllegalArgumentException("A memory limit of " + bytes + " bytes");
    this.memoryLimit = bytes;
    return this;
  }

  /** See {@link #memoryLimit(long)}. */
  public long memoryLimit() {
    return memoryLimit;
  }

  /** Seconds for loading, and for each call of a method; 0: no limit. */
  public Options timeLimit(double seconds) {
    this.timeLimit = seconds;
    return this;
  }

  /** See {@link #timeLimit(double)}. */
  public double timeLimit() {
    return timeLimit;
  }
}
