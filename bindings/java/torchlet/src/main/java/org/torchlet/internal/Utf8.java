package org.torchlet.internal;

import java.nio.charset.StandardCharsets;

/** Texts cross to native code as bytes of UTF-8: JNI's own strings are of another encoding. */
public final class Utf8 {
  private Utf8() {}

  /** With a null character at the end, as C wants it. */
  public static byte[] bytes(String text) {
    return (text + '\0').getBytes(StandardCharsets.UTF_8);
  }

  /** Of bytes without one. */
  public static String string(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
