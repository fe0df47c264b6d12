package org.torchlet;

import org.torchlet.internal.Native;
import org.torchlet.internal.Utf8;

/** What concerns all models of the process. */
public final class Torchlet {
  private Torchlet() {}

  /** "0.1.0" */
  public static String version() {
    return Utf8.string(Native.text(Native.VERSION));
  }

  /** What runs models here: a JSON array of {"name", "about", "available"}. */
  public static String devices() {
    return Utf8.string(Native.text(Native.DEVICES));
  }

  /** The number of threads that one operator may use, 256 at most; 0: all processors. */
  public static void setNumThreads(int count) {
    Native.setNumThreads(count);
  }

  /** See {@link #setNumThreads}. */
  public static int numThreads() {
    return Native.numThreads();
  }
}
