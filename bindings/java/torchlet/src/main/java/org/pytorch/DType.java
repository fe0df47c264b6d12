package org.pytorch;

/** The types of a tensor's elements. The first six are PyTorch Mobile's. */
public enum DType {
  /** torch.uint8: {@link Tensor#getDataAsUnsignedByteArray()}. */
  UINT8(0, 1, "uint8"),
  /** torch.int8: {@link Tensor#getDataAsByteArray()}. */
  INT8(1, 1, "int8"),
  /** torch.int32: {@link Tensor#getDataAsIntArray()}. */
  INT32(3, 4, "int32"),
  /** torch.float32: {@link Tensor#getDataAsFloatArray()}. */
  FLOAT32(6, 4, "float32"),
  /** torch.int64: {@link Tensor#getDataAsLongArray()}. */
  INT64(4, 8, "int64"),
  /** torch.float64: {@link Tensor#getDataAsDoubleArray()}. */
  FLOAT64(7, 8, "float64"),
  /** torch.bool, a byte each, 0 or 1: {@link Tensor#getDataAsUnsignedByteArray()}. */
  BOOL(11, 1, "bool"),
  /** torch.int16: {@link Tensor#bytes()}. */
  INT16(2, 2, "int16"),
  /** torch.float16: {@link Tensor#getDataAsFloatArray()} gives the exact values. */
  FLOAT16(5, 2, "float16"),
  /** torch.bfloat16: {@link Tensor#getDataAsFloatArray()} gives the exact values. */
  BFLOAT16(15, 2, "bfloat16"),
  /** torch.quint8: {@link Tensor#getDataAsUnsignedByteArray()} gives the integers. */
  QUINT8(13, 1, "quint8"),
  /** torch.qint8: {@link Tensor#getDataAsByteArray()} gives the integers. */
  QINT8(12, 1, "qint8"),
  /** torch.qint32: {@link Tensor#getDataAsIntArray()} gives the integers. */
  QINT32(14, 4, "qint32"),
  /** torch.complex32, two float16 each: {@link Tensor#bytes()}. */
  COMPLEX32(8, 4, "complex32"),
  /** torch.complex64, two float32 each: {@link Tensor#bytes()}. */
  COMPLEX64(9, 8, "complex64"),
  /** torch.complex128, two float64 each: {@link Tensor#bytes()}. */
  COMPLEX128(10, 16, "complex128");

  /** As PyTorch numbers them (c10/core/ScalarType.h). */
  final int code;
  /** In bytes. */
  final int elementSize;
  /** In Python, behind "torch.". */
  final String pythonName;

  private static final DType[] BY_CODE = new DType[16];

  static {
    for (DType dtype : values()) BY_CODE[dtype.code] = dtype;
  }

  DType(int code, int elementSize, String pythonName) {
    this.code = code;
    this.elementSize = elementSize;
    this.pythonName = pythonName;
  }

  /** PyTorch's number for it, which is what programs in TorchScript take for a dtype. */
  public int number() {
    return code;
  }

  /** The bytes of an element. */
  public int elementSize() {
    return elementSize;
  }

  static DType ofCode(int code) {
    return BY_CODE[code];
  }
}
