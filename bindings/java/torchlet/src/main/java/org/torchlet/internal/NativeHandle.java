package org.torchlet.internal;

import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A native object that is freed when it is closed or, at the latest, some time after its Java object
 * became unreachable. Never in the middle of a call: who uses the pointer enters first, and leaves.
 *
 * <p>The garbage collector does not see native memory. So that a program which makes many large
 * tensors does not wait for a collection that never comes, one is asked for when what waits for it
 * has doubled.
 */
public final class NativeHandle {
  private static final long LEAST_PRESSURE = 64 << 20;
  private static final long OVERHEAD = 512; // bytes of an empty tensor, on both sides
  private static final ReferenceQueue<Object> UNREACHABLE = new ReferenceQueue<>();
  private static final Set<Owner> OWNERS = ConcurrentHashMap.newKeySet();
  private static final AtomicLong BYTES = new AtomicLong();
  private static volatile long allowed = LEAST_PRESSURE;

  static {
    Thread cleaner = new Thread(NativeHandle::freeUnreachable, "torchlet-cleaner");
    cleaner.setDaemon(true);
    cleaner.start();
  }

  /** Waits for its Java object to become unreachable. */
  private static final class Owner extends PhantomReference<Object> {
    final NativeHandle handle;

    Owner(Object object, NativeHandle handle) {
      super(object, UNREACHABLE);
      this.handle = handle;
    }
  }

  private final int kind;
  private final long pointer;
  private final String what;
  private final long bytes;
  private Owner owner;
  private int users;
  private boolean closed;

  private NativeHandle(int kind, long pointer, String what, long bytes) {
    this.kind = kind;
    this.pointer = pointer;
    this.what = what;
    this.bytes = bytes;
  }

  /** The handle of an object; {@code what} begins the message for who uses it when it is closed. */
  public static NativeHandle of(Object object, int kind, long pointer, String what) {
    return of(object, kind, pointer, what, 0);
  }

  /** The same for an object that holds that many bytes of native memory. */
  public static NativeHandle of(Object object, int kind, long pointer, String what, long bytes) {
    NativeHandle handle = new NativeHandle(kind, pointer, what, bytes + OVERHEAD);
    handle.owner = new Owner(object, handle);
    OWNERS.add(handle.owner);
    if (BYTES.addAndGet(handle.bytes) > allowed) collect();
    return handle;
  }

  private static synchronized void collect() {
    if (BYTES.get() <= allowed) return; // another thread has done it
    System.gc();
    for (int i = 0; i < 20 && BYTES.get() > allowed / 2; i++) {
      try {
        Thread.sleep(1); // for the cleaner
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        break;
      }
    }
    allowed = Math.max(LEAST_PRESSURE, 2 * BYTES.get());
  }

  private static void freeUnreachable() {
    while (true) {
      try {
        ((Owner) UNREACHABLE.remove()).handle.close();
      } catch (InterruptedException e) {
        // Nobody has a reason to interrupt this thread, and it goes on.
      }
    }
  }

  /** The pointer, which stays valid until {@link #leave}. */
  public synchronized long enter() {
    if (closed) throw new IllegalStateException(what + " is closed");
    users++;
    return pointer;
  }

  /** After each {@link #enter}. */
  public synchronized void leave() {
    users--;
    freeIfDone();
  }

  /** Frees the object when nobody uses it any more. */
  public synchronized void close() {
    if (closed) return;
    closed = true;
    freeIfDone();
  }

  private void freeIfDone() {
    if (!closed || users > 0) return;
    OWNERS.remove(owner);
    BYTES.addAndGet(-bytes);
    Native.free(kind, pointer);
  }
}
