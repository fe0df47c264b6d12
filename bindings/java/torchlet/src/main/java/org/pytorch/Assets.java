package org.pytorch;

import android.content.res.AssetFileDescriptor;
import android.content.res.AssetManager;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import org.torchlet.Options;
import org.torchlet.TorchletException;

/** Models among the assets of an Android app. */
final class Assets {
  private Assets() {}

  static Module load(AssetManager assets, String name, Device device) {
    Tensor.check(assets != null, "The asset manager must not be null");
    Tensor.check(name != null, "The name of the asset must not be null");
    Options options = Module.optionsFor(device);
    try (AssetFileDescriptor file = open(assets, name)) {
      if (file != null) {
        int descriptor = file.getParcelFileDescriptor().getFd();
        return Module.load(descriptor, file.getStartOffset(), file.getLength(), options);
      }
    } catch (IOException e) {
      throw failed(name, e);
    }
    try (InputStream stream = assets.open(name)) {
      return Module.load(bytes(stream), options);
    } catch (IOException e) {
      throw failed(name, e);
    }
  }

  /** Nothing if the asset is compressed, which Android tells by the same exception as a missing one. */
  private static AssetFileDescriptor open(AssetManager assets, String name) {
    try {
      return assets.openFd(name);
    } catch (IOException e) {
      return null;
    }
  }

  private static byte[] bytes(InputStream stream) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(Math.max(stream.available(), 1 << 16));
    byte[] part = new byte[1 << 16];
    for (int size; (size = stream.read(part)) >= 0; ) bytes.write(part, 0, size);
    return bytes.toByteArray();
  }

  private static TorchletException failed(String name, IOException e) {
    String message = "cannot read the asset \"" + name + "\": " + e.getMessage();
    TorchletException failure = TorchletException.of(TorchletException.Status.IO, message);
    failure.initCause(e);
    return failure;
  }
}
