package org.torchlet.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.FloatBuffer;
import java.util.Iterator;
import java.util.Set;

/** The steps from a picture, a PNG or JPEG file, to a model's input. */
final class Pictures {
  private static final String IMAGENET =
      "{\"resize\": 256, \"crop\": 224, \"mean\": [0.485, 0.456, 0.406], \"std\": [0.229, 0.224, 0.225]}";
  private static final Set<String> KEYS = Set.of(
      "resize", "crop", "mean", "std", "channels", "antialias", "dtype", "memory_format");

  private final int[] resize;
  private final int[] crop;
  private final boolean bgr;
  private final float[][] values = new float[3][256]; // of a channel's 256 samples

  /** The steps as JSON; null: those of torchvision's ImageNet models. */
  Pictures(String json) {
    JsonNode record = parsed(json != null ? json : IMAGENET);
    for (Iterator<String> keys = record.fieldNames(); keys.hasNext(); ) {
      String key = keys.next();
      if (!KEYS.contains(key)) throw wrong(key, "is no key of it");
    }
    resize = sizes(record, "resize");
    crop = sizes(record, "crop");
    only(record, "antialias", "true");
    only(record, "dtype", "float32");
    only(record, "memory_format", "contiguous");
    bgr = record.path("channels").asText("RGB").equals("BGR");
    if (!bgr) only(record, "channels", "RGB");
    for (int channel = 0; channel < 3; ++channel) {
      float mean = number(record, "mean", channel, 0), std = number(record, "std", channel, 1);
      for (int sample = 0; sample < 256; ++sample) {
        values[channel][sample] = (sample / 255f - mean) / std;
      }
    }
  }

  private static JsonNode parsed(String json) {
    try {
      JsonNode record = new ObjectMapper().readTree(json);
      if (record.isObject()) return record;
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("the preprocess record is no JSON: " + e.getOriginalMessage());
    }
    throw new IllegalArgumentException("the preprocess record is no JSON object");
  }

  private static IllegalArgumentException wrong(String key, String what) {
    return new IllegalArgumentException("the preprocess record: " + key + " " + what);
  }

  private static void only(JsonNode record, String key, String value) {
    JsonNode node = record.path(key);
    if (!node.isMissingNode() && !node.isNull() && !node.asText().equals(value)) {
      throw wrong(key, "can only be " + value + " on Spark, not " + node);
    }
  }

  /** {shorter side} or {height, width}. */
  private static int[] sizes(JsonNode record, String key) {
    JsonNode node = record.path(key);
    if (node.isMissingNode() || node.isNull()) return null;
    int[] sizes = new int[node.isArray() ? node.size() : 1];
    for (int i = 0; i < sizes.length; ++i) sizes[i] = (node.isArray() ? node.get(i) : node).asInt();
    for (int size : sizes) {
      if (size < 1 || sizes.length > 2) throw wrong(key, "must be a size or [height, width], not " + node);
    }
    return sizes;
  }

  private static float number(JsonNode record, String key, int channel, float otherwise) {
    JsonNode node = record.path(key);
    if (node.isMissingNode() || node.isNull()) return otherwise;
    JsonNode number = node.isArray() && node.size() == 3 ? node.get(channel) : node;
    if (!number.isNumber()) throw wrong(key, "must be a number or three, not " + node);
    return (float) number.asDouble();
  }

  Picture prepared(byte[] file) {
    Picture picture = Picture.decode(file);
    if (resize != null) {
      picture = resize.length == 1 ? picture.resizeShorterSide(resize[0]) : picture.resize(resize[0], resize[1]);
    }
    if (crop != null) picture = picture.centerCrop(crop[0], crop[crop.length - 1]);
    return picture;
  }

  /** [3, height, width] */
  void write(Picture picture, FloatBuffer input) {
    float[] plane = new float[picture.width * picture.height];
    for (int channel = 0; channel < 3; ++channel) {
      int from = bgr ? 2 - channel : channel;
      for (int i = 0; i < plane.length; ++i) plane[i] = values[channel][picture.rgb[i * 3 + from] & 0xff];
      input.put(plane);
    }
  }
}
