package android.graphics;

/** A class of API level 26 that Robolectric's bitmaps name, at any level. */
public abstract class ColorSpace {
  /** The only one there is. */
  public enum Named {
    SRGB
  }

  /** Never asked for at level 21. */
  public static ColorSpace get(Named name) {
    throw new UnsupportedOperationException(name.toString());
  }
}
