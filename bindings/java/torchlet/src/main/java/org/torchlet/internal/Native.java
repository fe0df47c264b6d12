package org.torchlet.internal;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.util.Locale;

/**
 * The functions of libtorchlet_jni.so. Texts are UTF-8 with a null character at the end; what they
 * return has none. Values are {words, objects}: see Wire. What fails throws a TorchletException.
 */
public final class Native {
  private Native() {}

  /** Kinds of objects for {@link #free}. */
  public static final int MODULE = 0, TENSOR = 1, VALUE = 2, PROFILER = 3, PICTURE = 4, PREPROCESS = 5;

  /** Texts of {@link #moduleText}. */
  public static final int TYPE_NAME = 0, SCHEMA = 1, INFO = 2, PLACEMENT = 3;

  /** Texts of {@link #text}. */
  public static final int VERSION = 0, DEVICES = 1;

  /** Texts of {@link #profile}. */
  public static final int TABLE = 0, TRACE = 1;

  public static native long loadPath(byte[] path, byte[] devices, byte[] precision, double[] numbers);

  public static native long loadArray(byte[] model, byte[] devices, byte[] precision, double[] numbers);

  public static native long loadBuffer(
      ByteBuffer model, long size, byte[] devices, byte[] precision, double[] numbers);

  public static native long loadDescriptor(
      int descriptor, long offset, long length, byte[] devices, byte[] precision, double[] numbers);

  public static native Object[] run(long module, byte[] method, long[] words, Object[] objects);

  public static native void cancel(long module, boolean cancel);

  public static native long copy(long module);

  public static native byte[][] methods(long module);

  public static native byte[] moduleText(long module, int what, byte[] argument);

  public static native Object[] attribute(long module, byte[] path);

  public static native Object[] bundledInputs(long module, byte[] method);

  public static native byte[] extraFile(long module, byte[] name);

  public static native Object[] quantized(long[] words, Object[] objects, double scale, long zeroPoint);

  public static native Object[] converted(long[] words, Object[] objects, int dtype, int format);

  public static native double[] quantizer(long[] words, Object[] objects);

  public static native void free(int kind, long pointer);

  public static native byte[] text(int what);

  public static native void setNumThreads(int count);

  public static native int numThreads();

  public static native long newProfiler();

  public static native byte[] profile(long profiler, int what);

  // Pictures are {pointer, width, height}; Pixels tells what their memory is.

  public static native long[] decodeArray(byte[] file);

  public static native long[] decodeBuffer(ByteBuffer file, long size);

  public static native long[] readPicture(byte[] path);

  public static native long[] pictureOf(ByteBuffer[] buffers, byte[] bytes, int[] colours, long[] numbers);

  public static native long[] resized(long picture, long width, long height, boolean antialias);

  public static native long[] cropped(long picture, long left, long top, long width, long height);

  public static native long[] rotated(long picture, int degrees);

  public static native byte[] pictureRgb(long picture);

  public static native long newPreprocess(byte[] json);

  public static native long preprocessOf(long module);

  public static native byte[] preprocessJson(long preprocess);

  /** Null if it went to {@code reused}, the memory of a tensor of {dtype, memory format, sizes...}. */
  public static native Object[] preprocess(long preprocess, long picture, Buffer reused, long[] kind);

  public static native Object[] preprocessPixels(
      long preprocess,
      ByteBuffer[] buffers,
      byte[] bytes,
      int[] colours,
      long[] numbers,
      Buffer reused,
      long[] kind);

  static {
    load();
  }

  /** From the app on Android; else from java.library.path or out of the jar. */
  private static void load() {
    UnsatisfiedLinkError missing;
    try {
      System.loadLibrary("torchlet_jni");
      return;
    } catch (UnsatisfiedLinkError e) {
      missing = e;
    }
    String system = System.getProperty("os.name", "").toLowerCase(Locale.ROOT);
    String machine = System.getProperty("os.arch", "").toLowerCase(Locale.ROOT);
    if (machine.equals("amd64")) machine = "x86_64";
    if (machine.equals("arm64")) machine = "aarch64";
    String name = "/org/torchlet/native/" + system + "-" + machine + "/libtorchlet_jni.so";
    try (InputStream library = Native.class.getResourceAsStream(name)) {
      if (library == null) {
        UnsatisfiedLinkError error =
            new UnsatisfiedLinkError(
                "Torchlet has no native library for " + system + " on " + machine
                    + ": neither on java.library.path nor in its jar, as " + name);
        error.initCause(missing);
        throw error;
      }
      File file = File.createTempFile("libtorchlet_jni", ".so");
      try {
        Files.copy(library, file.toPath(), StandardCopyOption.REPLACE_EXISTING);
        System.load(file.getPath());
      } finally {
        if (!file.delete()) file.deleteOnExit(); // a loaded library needs its file no more
      }
    } catch (IOException e) {
      UnsatisfiedLinkError error =
          new UnsatisfiedLinkError("cannot copy " + name + " out of Torchlet's jar: " + e.getMessage());
      error.initCause(e);
      throw error;
    }
  }
}
