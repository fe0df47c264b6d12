package org.pytorch;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import android.content.Context;
import android.content.res.AssetManager;
import android.graphics.Bitmap;
import android.media.Image;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.pytorch.torchvision.TensorImageUtils;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.RuntimeEnvironment;
import org.robolectric.annotation.Config;
import org.torchlet.Options;
import org.torchlet.Picture;
import org.torchlet.Pixels;
import org.torchlet.Preprocess;
import org.torchlet.Torchlet;
import org.torchlet.TorchletException;

/** Every public function, found by reflection, with arguments that cannot be. */
@RunWith(RobolectricTestRunner.class)
@Config(sdk = 21)
public class ArgumentsTest {
  private static final Class<?>[] CLASSES = {
    Module.class, LiteModuleLoader.class, PyTorchAndroid.class, LitePyTorchAndroid.class, IValue.class, Tensor.class,
    DType.class, MemoryFormat.class, Device.class, TensorImageUtils.class, Picture.class, Pixels.class, Preprocess.class,
    Options.class, Torchlet.class, TorchletException.class
  };

  private final Context context = RuntimeEnvironment.getApplication();
  private final Map<Class<?>, Object> arguments = new HashMap<>();

  /** An argument of each type, of which most are right for most functions. */
  private Map<Class<?>, Object> arguments() throws Exception {
    if (!arguments.isEmpty()) return arguments;
    byte[] bytes = Files.readAllBytes(java.nio.file.Path.of(ModuleTest.VALUES));
    Tensor tensor = Tensor.fromBlob(new float[] {1, 2, 3}, new long[] {3});
    IValue value = IValue.from(tensor);
    Map<Object, IValue> map = new LinkedHashMap<>();
    int[] colours = new int[64];
    Object[] all = {
      ModuleTest.VALUES, bytes, ByteBuffer.allocateDirect(64).put(bytes, 0, 64), new Options(), Device.CPU, DType.FLOAT32,
      MemoryFormat.CONTIGUOUS, tensor, value, new IValue[] {value}, new Tensor[] {tensor}, new float[] {0.5f, 0.5f, 0.5f},
      colours, new long[] {3}, new double[] {1, 2, 3}, new boolean[] {true}, Tensor.allocateFloatBuffer(192),
      Tensor.allocateIntBuffer(3), Tensor.allocateLongBuffer(3), Tensor.allocateDoubleBuffer(3),
      Pixels.argb(colours, 8, 8), Picture.of(Pixels.argb(colours, 8, 8)), Preprocess.of("{}"), Pixels.Format.GREY,
      Pixels.Matrix.BT709, TorchletException.Status.IO, Module.load(ModuleTest.VALUES)
    };
    for (Object one : all) arguments.put(one.getClass(), one);
    Class<?>[] kinds = {ByteBuffer.class, FloatBuffer.class, IntBuffer.class, LongBuffer.class, DoubleBuffer.class, Tensor.class};
    for (Class<?> kind : kinds) {
      for (Object one : all) if (kind.isInstance(one)) arguments.put(kind, one);
    }
    arguments.put(Map.class, map);
    arguments.put(Object.class, "another");
    arguments.put(AssetManager.class, context.getAssets());
    arguments.put(Bitmap.class, Bitmap.createBitmap(colours, 8, 8, Bitmap.Config.ARGB_8888));
    arguments.put(Image.class, new AndroidTest.CameraImage(
        android.graphics.ImageFormat.YUV_420_888, new byte[8], new byte[2], new byte[2]));
    arguments.put(boolean.class, false);
    arguments.put(int.class, 1);
    arguments.put(long.class, 1L);
    arguments.put(double.class, 1.0);
    return arguments;
  }

  private static Collection<Executable> functions() {
    Map<String, Executable> functions = new TreeMap<>();
    for (Class<?> type : CLASSES) {
      for (Constructor<?> constructor : type.getConstructors()) functions.put(constructor.toString(), constructor);
      for (Method method : type.getMethods()) {
        boolean inherited = method.getDeclaringClass() != type;
        if (!inherited && !method.isSynthetic() && !method.getName().startsWith("$$")) functions.put(method.toString(), method);
      }
    }
    return functions.values();
  }

  private Object[] argumentsOf(Executable function) throws Exception {
    Class<?>[] types = function.getParameterTypes();
    Object[] result = new Object[types.length];
    for (int i = 0; i < types.length; i++) {
      result[i] = arguments().get(types[i]);
      assertTrue("no argument for " + types[i] + " of " + function, result[i] != null);
    }
    return result;
  }

  /** What it throws; nothing if it returns. */
  private Throwable thrown(Executable function, Object... given) throws Exception {
    try {
      if (function instanceof Constructor) {
        ((Constructor<?>) function).newInstance(given);
      } else {
        boolean isStatic = Modifier.isStatic(function.getModifiers());
        ((Method) function).invoke(isStatic ? null : arguments().get(function.getDeclaringClass()), given);
      }
      return null;
    } catch (InvocationTargetException e) {
      return e.getCause();
    }
  }

  /** Of ours, or of what Java has for wrong arguments, and with a message. */
  private static boolean isTyped(Throwable thrown) {
    boolean typed = thrown instanceof TorchletException || thrown instanceof IllegalArgumentException || thrown instanceof IllegalStateException;
    return typed && thrown.getMessage() != null && !thrown.getMessage().isEmpty();
  }

  /** Where null means something: nothing wanted, the default, or a comparison. */
  private static boolean takesNull(Executable function, Class<?> type) {
    String name = function.getDeclaringClass().getSimpleName() + "." + function.getName();
    return name.endsWith(".equals")
        || name.endsWith(".valueOf") // of enums, by the compiler
        || name.endsWith(".load") && type == Map.class
        || name.equals("Preprocess.apply") && type == Tensor.class
        || name.equals("Options.devices")
        || name.equals("Options.precision")
        || name.equals("TorchletException.of");
  }

  @Test
  public void nullIsRefusedEverywhere() throws Exception {
    List<String> wrong = new ArrayList<>();
    int calls = 0;
    for (Executable function : functions()) {
      Class<?>[] types = function.getParameterTypes();
      Object[] none = argumentsOf(function);
      for (int i = 0; i < types.length; i++) {
        if (types[i].isPrimitive() || takesNull(function, types[i])) continue;
        none[i] = null;
        Object[] one = argumentsOf(function);
        one[i] = null;
        Throwable thrown = thrown(function, one);
        if (!isTyped(thrown)) wrong.add(function + ", argument " + i + ": " + thrown);
        calls++;
      }
      Throwable thrown = Arrays.asList(none).contains(null) ? thrown(function, none) : new IllegalArgumentException("none");
      if (!isTyped(thrown)) wrong.add(function + ", all arguments: " + thrown);
    }
    assertEquals(String.join("\n", wrong), 0, wrong.size());
    assertTrue(calls + " calls", calls > 100);
  }

  @Test
  public void nullWithinAnArrayIsRefused() throws Exception {
    Module module = Module.load(ModuleTest.VALUES);
    List<IValue> values = new ArrayList<>();
    for (Executable function : functions()) {
      Class<?>[] types = function.getParameterTypes();
      if (types.length == 0 || !types[types.length - 1].isArray()) continue;
      Class<?> item = types[types.length - 1].getComponentType();
      if (item.isPrimitive()) continue;
      Object[] given = argumentsOf(function);
      given[given.length - 1] = Array.newInstance(item, 2);
      try {
        Object made = ((Method) function).invoke(module, given);
        if (made instanceof IValue) values.add((IValue) made); // refused where it is given to a model
      } catch (InvocationTargetException e) {
        assertTrue(function + ": " + e.getCause(), isTyped(e.getCause()));
      }
    }
    Map<String, IValue> strings = new HashMap<>();
    Map<Long, IValue> numbers = new HashMap<>();
    Map<IValue, IValue> any = new HashMap<>();
    strings.put(null, IValue.from(1));
    numbers.put(null, IValue.from(1));
    any.put(IValue.from(1), null);
    values.addAll(List.of(IValue.dictStringKeyFrom(strings), IValue.dictLongKeyFrom(numbers), IValue.dictFrom(any)));
    assertTrue(values.size() >= 4);
    for (IValue value : values) {
      org.junit.Assert.assertThrows(IllegalArgumentException.class, () -> module.forward(value));
    }
  }

  /** Sizes, offsets, strides, angles: what is no exception of ours has to be a result. */
  @Test
  public void absurdNumbersDoNoHarm() throws Exception {
    List<String> wrong = new ArrayList<>();
    int refused = 0;
    for (Executable function : functions()) {
      Class<?>[] types = function.getParameterTypes();
      // Buffers of 2 GB are what was asked for; and the test itself should keep its threads.
      if (function.getName().startsWith("allocate") || function.getName().equals("setNumThreads")) continue;
      for (int i = 0; i < types.length; i++) {
        for (long number : new long[] {Long.MIN_VALUE, Integer.MIN_VALUE, -1, 0, 3, Integer.MAX_VALUE, Long.MAX_VALUE}) {
          Object[] given = argumentsOf(function);
          if (types[i] == long.class) {
            given[i] = number;
          } else if (types[i] == int.class && number == (int) number) {
            given[i] = (int) number;
          } else if (types[i] == double.class) {
            given[i] = number == 3 ? Double.NaN : (double) number;
          } else if (types[i] == long[].class) {
            given[i] = new long[] {number, number, number, number};
          } else {
            continue;
          }
          Throwable thrown = thrown(function, given);
          if (thrown != null) refused++;
          if (thrown != null && !isTyped(thrown)) wrong.add(function + ", argument " + i + " = " + number + ": " + thrown);
        }
      }
    }
    assertEquals(String.join("\n", wrong), 0, wrong.size());
    assertTrue(refused + " refused", refused > 100);
  }
}
