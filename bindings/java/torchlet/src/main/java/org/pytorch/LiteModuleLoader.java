package org.pytorch;

import android.content.res.AssetManager;
import java.util.Map;

/**
 * Loads models for mobile devices. {@link Module#load(String)} and this one read every kind of file
 * alike; both names are kept for the programs that use them.
 */
public class LiteModuleLoader {
  private LiteModuleLoader() {}

  /** Loads a model to run on the processor. */
  public static Module load(String modelPath) {
    return Module.load(modelPath);
  }

  /** See {@link Module#load(String, Map, Device)}. */
  public static Module load(String modelPath, Map<String, String> extraFiles, Device device) {
    return Module.load(modelPath, extraFiles, device);
  }

  /** Loads a model that is an asset of the app. */
  public static Module loadModuleFromAsset(AssetManager assetManager, String assetName) {
    return Assets.load(assetManager, assetName, Device.CPU);
  }

  /** Loads a model that is an asset of the app to run on that device. */
  public static Module loadModuleFromAsset(
      AssetManager assetManager, String assetName, Device device) {
    return Assets.load(assetManager, assetName, device);
  }
}
