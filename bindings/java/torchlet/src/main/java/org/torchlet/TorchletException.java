package org.torchlet;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.torchlet.internal.Utf8;

/**
 * What Torchlet refuses or what fails in a model. The message says what happened and where, a line
 * for each place; each {@link Status} has a class of its own.
 */
public class TorchletException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** The kinds of errors, as torchlet/c_api.h numbers them. */
  public enum Status {
    OK,
    INVALID_ARGUMENT,
    FILE_FORMAT,
    IO,
    NOT_FOUND,
    UNSUPPORTED,
    RUNTIME,
    OUT_OF_MEMORY,
    MEMORY_LIMIT,
    TIME_LIMIT,
    CANCELLED,
    INTERNAL
  }

  /** The caller passed something that cannot be right. */
  public static class InvalidArgument extends TorchletException {
    private static final long serialVersionUID = 1;
  }

  /** A file is damaged, hostile or incomplete. */
  public static class FileFormat extends TorchletException {
    private static final long serialVersionUID = 1;
  }

  /** The operating system refused a file. */
  public static class Io extends TorchletException {
    private static final long serialVersionUID = 1;
  }

  /** There is no such method, attribute, file, bundled input. */
  public static class NotFound extends TorchletException {
    private static final long serialVersionUID = 1;
  }

  /** Valid, but Torchlet does not do it. */
  public static class Unsupported extends TorchletException {
    private static final long serialVersionUID = 1;
  }

  /** The model itself failed while running; {@link #pythonClass()} is what it raised. */
  public static class ModelFailed extends TorchletException {
    private static final long serialVersionUID = 1;
  }

  /** More memory than there is. */
  public static class OutOfMemory extends TorchletException {
    private static final long serialVersionUID = 1;
  }

  /** More memory than {@link Options#memoryLimit(long)}. */
  public static class MemoryLimit extends TorchletException {
    private static final long serialVersionUID = 1;
  }

  /** More time than {@link Options#timeLimit(double)}. */
  public static class TimeLimit extends TorchletException {
    private static final long serialVersionUID = 1;
  }

  /** Ended by {@link org.pytorch.Module#cancel}. */
  public static class Cancelled extends TorchletException {
    private static final long serialVersionUID = 1;
  }

  /** A bug in Torchlet. */
  public static class Internal extends TorchletException {
    private static final long serialVersionUID = 1;
  }

  private Status status = Status.INTERNAL;
  private String whole = "";
  private String text = "";
  private List<String> places = Collections.emptyList();
  private String pythonClass = "";

  private TorchletException() {}

  /** An exception of that status. */
  public static TorchletException of(Status status, String message) {
    return make(status, message, message, Collections.<String>emptyList(), "");
  }

  /** Called by native code. */
  static TorchletException of(int code, byte[] whole, byte[] text, byte[][] places, byte[] pythonClass) {
    List<String> all = new ArrayList<>();
    for (byte[] place : places) all.add(Utf8.string(place));
    Status[] statuses = Status.values();
    Status status = code > 0 && code < statuses.length ? statuses[code] : Status.INTERNAL;
    return make(status, Utf8.string(whole), Utf8.string(text), all, Utf8.string(pythonClass));
  }

  private static TorchletException make(
      Status status, String whole, String text, List<String> places, String pythonClass) {
    TorchletException exception = ofClass(status);
    exception.status = status;
    exception.whole = whole;
    exception.text = text;
    exception.places = Collections.unmodifiableList(places);
    exception.pythonClass = pythonClass;
    return exception;
  }

  private static TorchletException ofClass(Status status) {
    switch (status) {
      case INVALID_ARGUMENT:
        return new InvalidArgument();
      case FILE_FORMAT:
        return new FileFormat();
      case IO:
        return new Io();
      case NOT_FOUND:
        return new NotFound();
      case UNSUPPORTED:
        return new Unsupported();
      case RUNTIME:
        return new ModelFailed();
      case OUT_OF_MEMORY:
        return new OutOfMemory();
      case MEMORY_LIMIT:
        return new MemoryLimit();
      case TIME_LIMIT:
        return new TimeLimit();
      case CANCELLED:
        return new Cancelled();
      default:
        return new Internal();
    }
  }

  /** The kind of error. */
  public Status status() {
    return status;
  }

  /** What happened and where, a line each. */
  @Override
  public String getMessage() {
    return whole;
  }

  /** What happened, without the places. */
  public String text() {
    return text;
  }

  /** Where it happened, innermost first: "model.py:57, in features.3.conv". */
  public List<String> places() {
    return places;
  }

  /** The class of the exception that the model raised, "builtins.ValueError"; else empty. */
  public String pythonClass() {
    return pythonClass;
  }
}
