package org.torchlet;

import org.torchlet.internal.Native;
import org.torchlet.internal.Utf8;

/**
 * Hears what its own thread runs from when it is made until it is closed, which the same thread
 * does.
 *
 * <pre>{@code
 * try (Profiler profiler = new Profiler()) {
 *   module.forward(input);
 *   System.out.println(profiler.table());
 * }
 * }</pre>
 */
public final class Profiler implements AutoCloseable {
  private final Thread thread = Thread.currentThread();
  private final long pointer = Native.newProfiler();
  private boolean closed;

  /** One line an operator or step: kernel, place, shape, device, times. */
  public String table() {
    return text(Native.TABLE);
  }

  /** A timeline for ui.perfetto.dev and chrome://tracing. */
  public String trace() {
    return text(Native.TRACE);
  }

  private String text(int what) {
    checkThread();
    if (closed) throw new IllegalStateException("The profiler is closed");
    return Utf8.string(Native.profile(pointer, what));
  }

  @Override
  public void close() {
    checkThread();
    if (!closed) Native.free(Native.PROFILER, pointer);
    closed = true;
  }

  private void checkThread() {
    if (Thread.currentThread() != thread) {
      throw new IllegalStateException("A profiler is used by the thread that made it: " + thread.getName());
    }
  }
}
