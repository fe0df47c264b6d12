package android.webkit;

/** A class of API level 23 that Robolectric asks for when it tidies up, at any level. */
public abstract class WebMessagePort {}
