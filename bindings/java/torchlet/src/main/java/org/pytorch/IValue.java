package org.pytorch;

import java.util.Arrays;
import java.util.Map;

/**
 * A value of TorchScript: what methods take and give. Made by {@code IValue.from(value)}, {@code
 * listFrom}, {@code tupleFrom} and {@code dict...KeyFrom}; read by {@code to...()}, which throw
 * {@link IllegalStateException} for a value of another kind. A {@code str} is read by {@link
 * #toStr()}.
 *
 * <p>Values keep what they are made of and give it back, without a copy.
 */
public class IValue {
  /** What a value is; the names appear in messages. */
  enum Kind {
    NULL("None"),
    TENSOR("Tensor"),
    BOOL("bool"),
    LONG("int"),
    DOUBLE("float"),
    COMPLEX("complex"),
    STRING("str"),
    TUPLE("Tuple"),
    BOOL_LIST("List[bool]"),
    LONG_LIST("List[int]"),
    DOUBLE_LIST("List[float]"),
    TENSOR_LIST("List[Tensor]"),
    LIST("List"),
    DICT_STRING_KEY("Dict[str, ...]"),
    DICT_LONG_KEY("Dict[int, ...]"),
    DICT("Dict"),
    OTHER("object");

    final String pythonName;

    Kind(String pythonName) {
      this.pythonName = pythonName;
    }
  }

  private static final IValue NULL = new IValue(Kind.NULL, null);

  final Kind kind;
  final Object data;

  private IValue(Kind kind, Object data) {
    this.kind = kind;
    this.data = data;
  }

  private static IValue of(Kind kind, Object data) {
    Tensor.check(data != null, "null is no %s; None is IValue.optionalNull()", kind.pythonName);
    return new IValue(kind, data);
  }

  // ---- making ----

  /** None. */
  public static IValue optionalNull() {
    return NULL;
  }

  /** A Tensor. */
  public static IValue from(Tensor tensor) {
    return of(Kind.TENSOR, tensor);
  }

  /** A bool. */
  public static IValue from(boolean value) {
    return new IValue(Kind.BOOL, value);
  }

  /** An int. */
  public static IValue from(long value) {
    return new IValue(Kind.LONG, value);
  }

  /** A float. */
  public static IValue from(double value) {
    return new IValue(Kind.DOUBLE, value);
  }

  /** A complex number. */
  public static IValue from(double real, double imaginary) {
    return new IValue(Kind.COMPLEX, new double[] {real, imaginary});
  }

  /** A str. */
  public static IValue from(String value) {
    return of(Kind.STRING, value);
  }

  /** A List[bool]. */
  public static IValue listFrom(boolean... list) {
    return of(Kind.BOOL_LIST, list);
  }

  /** A List[int]. */
  public static IValue listFrom(long... list) {
    return of(Kind.LONG_LIST, list);
  }

  /** A List[float]. */
  public static IValue listFrom(double... list) {
    return of(Kind.DOUBLE_LIST, list);
  }

  /** A List[Tensor]. */
  public static IValue listFrom(Tensor... list) {
    return of(Kind.TENSOR_LIST, list);
  }

  /**
   * A List of values of one kind.
   *
   * @throws IllegalArgumentException if they are of more than one.
   */
  public static IValue listFrom(IValue... array) {
    IValue list = of(Kind.LIST, array);
    for (IValue item : array) {
      Tensor.check(item != null, "The items of a list must not be null");
      Tensor.check(
          item.kind == array[0].kind,
          "The items of a list must be of one kind, not %s and %s",
          array[0].kind.pythonName,
          item.kind.pythonName);
    }
    return list;
  }

  /** A Tuple. */
  public static IValue tupleFrom(IValue... array) {
    return of(Kind.TUPLE, array);
  }

  /** A Dict[str, V], in the map's order. */
  public static IValue dictStringKeyFrom(Map<String, IValue> map) {
    return of(Kind.DICT_STRING_KEY, map);
  }

  /** A Dict[int, V], in the map's order. */
  public static IValue dictLongKeyFrom(Map<Long, IValue> map) {
    return of(Kind.DICT_LONG_KEY, map);
  }

  /** A Dict with keys of another kind, such as float or Tensor, in the map's order. */
  public static IValue dictFrom(Map<IValue, IValue> map) {
    return of(Kind.DICT, map);
  }

  /** A List as a model returned it, whose items may be of several kinds. */
  static IValue listOf(IValue[] items) {
    return new IValue(Kind.LIST, items);
  }

  /** What only models understand, such as an instance of a script class. */
  static IValue other(Object value) {
    return of(Kind.OTHER, value);
  }

  // ---- asking ----

  /** Whether it is None. */
  public boolean isNull() {
    return kind == Kind.NULL;
  }

  /** Whether it is a Tensor. */
  public boolean isTensor() {
    return kind == Kind.TENSOR;
  }

  /** Whether it is a bool. */
  public boolean isBool() {
    return kind == Kind.BOOL;
  }

  /** Whether it is an int. */
  public boolean isLong() {
    return kind == Kind.LONG;
  }

  /** Whether it is a float. */
  public boolean isDouble() {
    return kind == Kind.DOUBLE;
  }

  /** Whether it is a complex number. */
  public boolean isComplex() {
    return kind == Kind.COMPLEX;
  }

  /** Whether it is a str. */
  public boolean isString() {
    return kind == Kind.STRING;
  }

  /** Whether it is a Tuple. */
  public boolean isTuple() {
    return kind == Kind.TUPLE;
  }

  /** Whether it is a List[bool]. */
  public boolean isBoolList() {
    return kind == Kind.BOOL_LIST;
  }

  /** Whether it is a List[int]. */
  public boolean isLongList() {
    return kind == Kind.LONG_LIST;
  }

  /** Whether it is a List[float]. */
  public boolean isDoubleList() {
    return kind == Kind.DOUBLE_LIST;
  }

  /** Whether it is a List[Tensor]. */
  public boolean isTensorList() {
    return kind == Kind.TENSOR_LIST;
  }

  /** Whether it is a List of something else. */
  public boolean isList() {
    return kind == Kind.LIST;
  }

  /** Whether it is a Dict[str, V]. */
  public boolean isDictStringKey() {
    return kind == Kind.DICT_STRING_KEY;
  }

  /** Whether it is a Dict[int, V]. */
  public boolean isDictLongKey() {
    return kind == Kind.DICT_LONG_KEY;
  }

  /** Whether it is a Dict with keys of another kind. */
  public boolean isDict() {
    return kind == Kind.DICT;
  }

  /** Whether it is an object that only models understand; it can be given to one again. */
  public boolean isObject() {
    return kind == Kind.OTHER;
  }

  // ---- reading ----

  /** The Tensor. */
  public Tensor toTensor() {
    return (Tensor) get(Kind.TENSOR);
  }

  /** The bool. */
  public boolean toBool() {
    return (Boolean) get(Kind.BOOL);
  }

  /** The int. */
  public long toLong() {
    return (Long) get(Kind.LONG);
  }

  /** The float. */
  public double toDouble() {
    return (Double) get(Kind.DOUBLE);
  }

  /** Real and imaginary part. */
  public double[] toComplex() {
    return ((double[]) get(Kind.COMPLEX)).clone();
  }

  /** The str. */
  public String toStr() {
    return (String) get(Kind.STRING);
  }

  /** The List[bool]. */
  public boolean[] toBoolList() {
    return (boolean[]) get(Kind.BOOL_LIST);
  }

  /** The List[int]. */
  public long[] toLongList() {
    return (long[]) get(Kind.LONG_LIST);
  }

  /** The List[float]. */
  public double[] toDoubleList() {
    return (double[]) get(Kind.DOUBLE_LIST);
  }

  /** The List[Tensor]. */
  public Tensor[] toTensorList() {
    return (Tensor[]) get(Kind.TENSOR_LIST);
  }

  /** The List of something else. */
  public IValue[] toList() {
    return (IValue[]) get(Kind.LIST);
  }

  /** The Tuple. */
  public IValue[] toTuple() {
    return (IValue[]) get(Kind.TUPLE);
  }

  /** The Dict[str, V], in its order. */
  @SuppressWarnings("unchecked")
  public Map<String, IValue> toDictStringKey() {
    return (Map<String, IValue>) get(Kind.DICT_STRING_KEY);
  }

  /** The Dict[int, V], in its order. */
  @SuppressWarnings("unchecked")
  public Map<Long, IValue> toDictLongKey() {
    return (Map<Long, IValue>) get(Kind.DICT_LONG_KEY);
  }

  /** The Dict with keys of another kind, in its order. Tensors as keys are the same if identical. */
  @SuppressWarnings("unchecked")
  public Map<IValue, IValue> toDict() {
    return (Map<IValue, IValue>) get(Kind.DICT);
  }

  private Object get(Kind expected) {
    if (kind == expected) return data;
    throw new IllegalStateException(
        "The value is of kind " + kind.pythonName + ", not " + expected.pythonName);
  }

  /** Numbers, strings and None are equal by value, everything else if it is the same object. */
  @Override
  public boolean equals(Object object) {
    if (this == object) return true;
    if (!(object instanceof IValue) || ((IValue) object).kind != kind) return false;
    Object other = ((IValue) object).data;
    return kind == Kind.COMPLEX
        ? Arrays.equals((double[]) data, (double[]) other)
        : data == other || data != null && data.equals(other);
  }

  @Override
  public int hashCode() {
    return kind == Kind.COMPLEX ? Arrays.hashCode((double[]) data) : data == null ? 0 : data.hashCode();
  }

  /** For people; {@link #toStr()} reads a str. */
  @Override
  public String toString() {
    switch (kind) {
      case BOOL_LIST:
        return Arrays.toString((boolean[]) data);
      case LONG_LIST:
        return Arrays.toString((long[]) data);
      case DOUBLE_LIST:
      case COMPLEX:
        return Arrays.toString((double[]) data);
      case TENSOR_LIST:
      case TUPLE:
      case LIST:
        return Arrays.toString((Object[]) data);
      case NULL:
        return "None";
      default:
        return String.valueOf(data);
    }
  }
}
