package org.torchlet.spark;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import org.pytorch.DType;
import org.pytorch.Tensor;

/** Stacks inputs of one kind, [1, ...] each, to [rows, ...] in a buffer that is used again. */
final class Batch {
  private ByteBuffer memory = ByteBuffer.allocateDirect(0);

  /** Tensors of the same kind fit in one batch. */
  static String kind(Tensor tensor) {
    return tensor.dtype() + Arrays.toString(tensor.shape()) + tensor.memoryFormat();
  }

  /** The result is valid until the next call. */
  Tensor of(List<Integer> group, Tensor[] tensors) {
    Tensor first = tensors[group.get(0)];
    int size = Math.toIntExact(Math.multiplyExact(first.numel(), first.dtype() == DType.UINT8 ? 1L : 4L));
    int needed = Math.multiplyExact(size, group.size());
    if (memory.capacity() < needed) memory = ByteBuffer.allocateDirect(needed);
    ByteBuffer rows = memory.duplicate().order(ByteOrder.nativeOrder());
    for (int i : group) {
      if (first.dtype() == DType.UINT8) {
        rows.put(tensors[i].bytes());
      } else {
        rows.asFloatBuffer().put(tensors[i].getDataAsFloatBuffer());
        rows.position(rows.position() + size);
      }
    }
    rows.flip();
    long[] shape = first.shape();
    shape[0] = group.size();
    ByteBuffer data = rows.slice().order(ByteOrder.nativeOrder());
    return Tensor.fromBlob(data, first.dtype(), shape, first.memoryFormat());
  }
}
