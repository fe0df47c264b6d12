/** What makes Torchlet's classes pleasant in Kotlin. */
@file:JvmName("Extensions")

package org.torchlet

import java.nio.FloatBuffer
import org.pytorch.IValue
import org.pytorch.Module
import org.pytorch.Tensor

/** Runs forward() on tensors: `model(image)`. */
operator fun Module.invoke(vararg inputs: Tensor): IValue =
    forward(*Array(inputs.size) { IValue.from(inputs[it]) })

/** Runs forward() on values. */
operator fun Module.invoke(vararg inputs: IValue): IValue = forward(*inputs)

/** The value under a key of a Dict with strings as keys: `model(image)["out"]`. */
operator fun IValue.get(key: String): IValue =
    toDictStringKey()[key] ?: throw NoSuchElementException("no key \"$key\" among ${toDictStringKey().keys}")

/** An item of a tuple or list. */
operator fun IValue.get(index: Int): IValue = if (isTuple) toTuple()[index] else toList()[index]

/** The model's input: `steps(Picture.decode(file))`. */
operator fun Preprocess.invoke(picture: Picture): Tensor = apply(picture)

/** The model's input: `steps(Pixels.of(bitmap))`. */
operator fun Preprocess.invoke(pixels: Pixels): Tensor = apply(pixels)

/** A torch.float32 tensor over a direct buffer, which is not copied. */
fun FloatBuffer.toTensor(vararg shape: Long): Tensor = Tensor.fromBlob(this, shape)

/** A torch.float32 tensor of a copy. */
fun FloatArray.toTensor(vararg shape: Long): Tensor = Tensor.fromBlob(this, shape)

/** The data of a torch.float32 tensor. */
fun Tensor.floats(): FloatArray = dataAsFloatArray

/** Runs a block with a profiler that hears this thread, and gives what it gives and the table. */
inline fun <T> profiled(block: () -> T): Pair<T, String> =
    Profiler().use {
      val result = block()
      Pair(result, it.table())
    }
