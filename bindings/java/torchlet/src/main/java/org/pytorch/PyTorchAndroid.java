package org.pytorch;

import android.content.res.AssetManager;
import org.torchlet.Torchlet;

/** PyTorch Mobile's functions for Android apps. */
public final class PyTorchAndroid {
  private PyTorchAndroid() {}

  /**
   * Loads a model that is an asset of the app. It is mapped where it lies in the APK, unless it is
   * compressed; {@code aaptOptions { noCompress "pt", "ptl" }} keeps it from being so.
   */
  public static Module loadModuleFromAsset(AssetManager assetManager, String assetName) {
    return Assets.load(assetManager, assetName, Device.CPU);
  }

  /** Loads a model that is an asset of the app to run on that device. */
  public static Module loadModuleFromAsset(
      AssetManager assetManager, String assetName, Device device) {
    return Assets.load(assetManager, assetName, device);
  }

  /**
   * The number of threads that one operator may use, for all models.
   *
   * @throws IllegalArgumentException if it is not positive.
   */
  public static void setNumThreads(int numThreads) {
    Tensor.check(numThreads >= 1, "The number of threads must be positive, not %d", numThreads);
    Torchlet.setNumThreads(numThreads);
  }
}
