package org.pytorch;

import java.io.Closeable;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.torchlet.Options;
import org.torchlet.Preprocess;
import org.torchlet.TorchletException;
import org.torchlet.internal.Native;
import org.torchlet.internal.NativeHandle;
import org.torchlet.internal.Utf8;

/**
 * A model: the root module of a file that torch.jit.save or _save_for_lite_interpreter wrote, in
 * any of their formats.
 *
 * <p>Any number of threads may run methods of one module at once, as long as these do not change
 * the module's own state (forward of a model in eval mode does not). {@link #copy()} makes a module
 * with a state of its own.
 *
 * <p>What fails throws a {@link TorchletException}, and wrong use of a class an {@link
 * IllegalArgumentException} or {@link IllegalStateException}.
 */
public class Module implements Closeable {
  private final NativeHandle handle;

  Module(long pointer) {
    handle = NativeHandle.of(this, Native.MODULE, pointer, "The module");
  }

  // ---- loading ----

  /** Loads a model to run on the processor. The file must not be changed while the model lives. */
  public static Module load(String modelPath) {
    return load(modelPath, new Options());
  }

  /** Loads a model to run on that device. */
  public static Module load(String modelPath, Device device) {
    return load(modelPath, null, device);
  }

  /**
   * Loads a model, and of the extra files that it carries those whose names are keys of the map.
   *
   * @param extraFiles gets their contents as values; may be null.
   */
  public static Module load(String modelPath, Map<String, String> extraFiles, Device device) {
    Module module = load(modelPath, optionsFor(device));
    if (extraFiles != null) {
      for (Map.Entry<String, String> entry : extraFiles.entrySet()) {
        String text = module.extraFile(entry.getKey());
        if (text != null) entry.setValue(text);
      }
    }
    return module;
  }

  /** Loads a model with options. */
  public static Module load(String modelPath, Options options) {
    Tensor.check(modelPath != null, "The path of the model must not be null");
    Tensor.check(modelPath.indexOf('\0') < 0, "The path of the model has a null character");
    return new Module(
        Native.loadPath(
            Utf8.bytes(modelPath), devices(options), precision(options), numbers(options)));
  }

  /** Loads a model from its bytes, which are copied. */
  public static Module load(byte[] model, Options options) {
    Tensor.check(model != null, "The bytes of the model must not be null");
    return new Module(
        Native.loadArray(model, devices(options), precision(options), numbers(options)));
  }

  /** Loads a model from the bytes between a buffer's position and its limit, which are copied. */
  public static Module load(ByteBuffer model, Options options) {
    Tensor.check(model != null, "The bytes of the model must not be null");
    if (!model.isDirect()) {
      byte[] bytes = new byte[model.remaining()];
      model.duplicate().get(bytes);
      return load(bytes, options);
    }
    return new Module(
        Native.loadBuffer(
            model.slice(), model.remaining(), devices(options), precision(options), numbers(options)));
  }

  /**
   * Loads a model that lies in an open file, such as an uncompressed asset of an Android app. It is
   * mapped, and the descriptor may be closed after the call.
   *
   * @param descriptor as ParcelFileDescriptor.getFd() gives it.
   * @param offset the first byte, which may be any.
   * @param length in bytes; -1: to the end of the file.
   */
  public static Module load(int descriptor, long offset, long length, Options options) {
    return new Module(
        Native.loadDescriptor(
            descriptor, offset, length, devices(options), precision(options), numbers(options)));
  }

  static Options optionsFor(Device device) {
    Tensor.check(device != null, "The device must not be null");
    if (device == Device.VULKAN) {
      throw TorchletException.of(
          TorchletException.Status.UNSUPPORTED,
          "Torchlet does not run models on Vulkan; load the model for Device.CPU");
    }
    return new Options().devices(device.names);
  }

  private static byte[] devices(Options options) {
    Tensor.check(options != null, "The options must not be null");
    return options.devices() == null ? null : Utf8.bytes(options.devices());
  }

  private static byte[] precision(Options options) {
    return options.precision() == null ? null : Utf8.bytes(options.precision());
  }

  private static double[] numbers(Options options) {
    return new double[] {
      options.allowUnsupported() ? 1 : 0, options.memoryLimit(), options.timeLimit()
    };
  }

  // ---- running ----

  /**
   * Runs forward().
   *
   * @param inputs its arguments, which are checked against its signature and converted as Python's
   *     would be.
   */
  public IValue forward(IValue... inputs) {
    return run(null, inputs, Collections.<String, IValue>emptyMap());
  }

  /** Runs a method. */
  public IValue runMethod(String methodName, IValue... inputs) {
    return runMethod(methodName, Collections.<String, IValue>emptyMap(), inputs);
  }

  /** Runs a method with arguments by name, too. */
  public IValue runMethod(String methodName, Map<String, IValue> keywords, IValue... inputs) {
    Tensor.check(methodName != null, "The name of the method must not be null");
    Tensor.check(keywords != null, "The keyword arguments must not be null");
    return run(methodName, inputs, keywords);
  }

  private IValue run(String method, IValue[] inputs, Map<String, IValue> keywords) {
    Wire arguments = new Wire();
    arguments.addArguments(inputs, keywords);
    byte[] name = method == null ? null : Utf8.bytes(method);
    long pointer = handle.enter();
    try {
      return Wire.read(Native.run(pointer, name, arguments.words(), arguments.objects()));
    } finally {
      handle.leave();
    }
  }

  /**
   * Ends calls that are running, in other threads, and all later ones with {@link
   * TorchletException.Cancelled} within milliseconds, until it is called with false.
   */
  public void cancel(boolean cancel) {
    long pointer = handle.enter();
    try {
      Native.cancel(pointer, cancel);
    } finally {
      handle.leave();
    }
  }

  /** A module of the same program with its own tensors and state. */
  public Module copy() {
    long pointer = handle.enter();
    try {
      return new Module(Native.copy(pointer));
    } finally {
      handle.leave();
    }
  }

  // ---- what it is ----

  /** The name of its class: "__torch__.torchvision.models.mobilenetv2.MobileNetV2". */
  public String typeName() {
    return text(Native.TYPE_NAME, "");
  }

  /** The names of its methods. */
  public List<String> methods() {
    long pointer = handle.enter();
    try {
      List<String> names = new ArrayList<>();
      for (byte[] name : Native.methods(pointer)) names.add(Utf8.string(name));
      return names;
    } finally {
      handle.leave();
    }
  }

  /** "forward(Tensor x, int size=3) -> Tensor" */
  public String schema(String methodName) {
    return text(Native.SCHEMA, methodName);
  }

  /** Container, version, class, size, operators with counts, methods: a JSON object. */
  public String info() {
    return text(Native.INFO, "");
  }

  /** What runs where and why: a JSON array of objects. */
  public String placement() {
    return text(Native.PLACEMENT, "");
  }

  /** A parameter, buffer or other attribute; "features.0.weight" is a path. */
  public IValue attribute(String path) {
    Tensor.check(path != null, "The path of the attribute must not be null");
    long pointer = handle.enter();
    try {
      return Wire.read(Native.attribute(pointer, Utf8.bytes(path)));
    } finally {
      handle.leave();
    }
  }

  /**
   * The arguments of each call of forward() that is bundled with the model (docs/bundle.md).
   *
   * @throws TorchletException.NotFound if there are none.
   */
  public List<IValue[]> bundledInputs() {
    return bundledInputs("forward");
  }

  /** The arguments of each call of a method that is bundled with the model. */
  public List<IValue[]> bundledInputs(String methodName) {
    Tensor.check(methodName != null, "The name of the method must not be null");
    long pointer = handle.enter();
    try {
      List<IValue[]> calls = new ArrayList<>();
      IValue list = Wire.read(Native.bundledInputs(pointer, Utf8.bytes(methodName)));
      for (IValue call : list.toList()) calls.add(call.toTuple());
      return calls;
    } finally {
      handle.leave();
    }
  }

  /** A file that the model carries besides itself (torch.jit.save's _extra_files); null if none. */
  public String extraFile(String name) {
    Tensor.check(name != null, "The name of the extra file must not be null");
    long pointer = handle.enter();
    try {
      byte[] bytes = Native.extraFile(pointer, Utf8.bytes(name));
      return bytes == null ? null : Utf8.string(bytes);
    } finally {
      handle.leave();
    }
  }

  /**
   * The steps from a picture to the model's input, which it carries; null if it carries none.
   *
   * @throws TorchletException.FileFormat if they are damaged.
   */
  public Preprocess preprocess() {
    return Preprocess.of(this);
  }

  /** The names of the classes, which the model carries, one a line; none if it carries none. */
  public List<String> labels() {
    String labels = extraFile("labels.txt");
    List<String> names = new ArrayList<>();
    if (labels == null) return names;
    for (int from = 0, end; from < labels.length(); from = end + 1) {
      end = labels.indexOf('\n', from);
      if (end < 0) end = labels.length();
      boolean windows = end > from && labels.charAt(end - 1) == '\r';
      names.add(labels.substring(from, windows ? end - 1 : end));
    }
    return names;
  }

  private String text(int what, String argument) {
    Tensor.check(argument != null, "The name of the method must not be null");
    long pointer = handle.enter();
    try {
      return Utf8.string(Native.moduleText(pointer, what, Utf8.bytes(argument)));
    } finally {
      handle.leave();
    }
  }

  // ---- the end ----

  /** The same as {@link #close()}, by PyTorch Mobile's name. */
  public void destroy() {
    close();
  }

  /**
   * Frees the model now and not when the garbage collector finds it. Calls that are running end
   * first; later ones throw {@link IllegalStateException}. What the model returned stays valid.
   */
  @Override
  public void close() {
    handle.close();
  }

  /** The native module, for Torchlet's own classes. */
  public NativeHandle handle() {
    return handle;
  }
}
