package org.pytorch;

/** The order in which the elements of a tensor lie in memory; shapes are always written NCHW. */
public enum MemoryFormat {
  /** As the shape is written. */
  CONTIGUOUS(0),
  /** Of four dimensions, NHWC: the channels of a pixel side by side. */
  CHANNELS_LAST(2),
  /** Of five dimensions, NDHWC. */
  CHANNELS_LAST_3D(3);

  /** As PyTorch numbers them (c10/core/MemoryFormat.h). */
  final int code;

  MemoryFormat(int code) {
    this.code = code;
  }

  /** PyTorch's number for it, which is what programs in TorchScript take for a memory format. */
  public int number() {
    return code;
  }

  static MemoryFormat ofCode(int code) {
    return code == 2 ? CHANNELS_LAST : code == 3 ? CHANNELS_LAST_3D : CONTIGUOUS;
  }
}
