package org.torchlet

import org.junit.Assert.assertArrayEquals
import org.junit.Assert.assertEquals
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Test
import org.pytorch.IValue
import org.pytorch.Module

class ExtensionsTest {
  private val model = Module.load(System.getProperty("repository") + "/tests/fixtures/values.pt")

  @Test
  fun callsReadLikeFunctions() {
    val (answer, table) = profiled { model(floatArrayOf(1f, 2f).toTensor(2)) }
    assertArrayEquals(floatArrayOf(2f, 4f), answer["out"].toTensor().floats(), 0f)
    assertTrue(table.isNotEmpty())
    assertThrows(NoSuchElementException::class.java) { answer["none"] }
    val pair = model.runMethod("swap", IValue.tupleFrom(IValue.from(1), IValue.from("x")))
    assertEquals("x", pair[0].toStr())
  }

  @Test
  fun stepsReadLikeFunctions() {
    val pixels = Pixels.argb(intArrayOf(0x336699), 1, 1)
    val steps = model.preprocess() ?: Preprocess.of("{}")
    for (input in listOf(steps(pixels), steps(Picture.of(pixels)))) {
      assertArrayEquals(floatArrayOf(0.2f, 0.4f, 0.6f), input.floats(), 0f)
    }
  }
}
