package org.pytorch;

import android.content.res.AssetManager;

/** {@link PyTorchAndroid} by the name that the Lite Interpreter's apps know; files of all kinds are read alike. */
public final class LitePyTorchAndroid {
  private LitePyTorchAndroid() {}

  /** See {@link PyTorchAndroid#loadModuleFromAsset(AssetManager, String)}. */
  public static Module loadModuleFromAsset(AssetManager assetManager, String assetName) {
    return PyTorchAndroid.loadModuleFromAsset(assetManager, assetName);
  }

  /** See {@link PyTorchAndroid#loadModuleFromAsset(AssetManager, String, Device)}. */
  public static Module loadModuleFromAsset(
      AssetManager assetManager, String assetName, Device device) {
    return PyTorchAndroid.loadModuleFromAsset(assetManager, assetName, device);
  }

  /** See {@link PyTorchAndroid#setNumThreads}. */
  public static void setNumThreads(int numThreads) {
    PyTorchAndroid.setNumThreads(numThreads);
  }
}
