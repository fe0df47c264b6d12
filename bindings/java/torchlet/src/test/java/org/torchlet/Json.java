package org.torchlet;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON as maps, lists, strings, booleans, null and numbers: a Long where it is one, else a Double. */
final class Json {
  private final String text;
  private int at;

  private Json(String text) {
    this.text = text;
  }

  static Object parse(String text) {
    return new Json(text).value();
  }

  @SuppressWarnings("unchecked")
  static Map<String, Object> object(Object node) {
    return (Map<String, Object>) node;
  }

  @SuppressWarnings("unchecked")
  static List<Object> list(Object node) {
    return (List<Object>) node;
  }

  private char peek() {
    while (Character.isWhitespace(text.charAt(at))) at++;
    return text.charAt(at);
  }

  private boolean took(char wanted) {
    if (peek() != wanted) return false;
    at++;
    return true;
  }

  private Object value() {
    switch (peek()) {
      case '{':
        return members();
      case '[':
        return items();
      case '"':
        return string();
      default:
        return word();
    }
  }

  private Map<String, Object> members() {
    Map<String, Object> members = new LinkedHashMap<>();
    at++;
    while (!took('}')) {
      String name = string();
      took(':');
      members.put(name, value());
      took(',');
    }
    return members;
  }

  private List<Object> items() {
    List<Object> items = new ArrayList<>();
    at++;
    while (!took(']')) {
      items.add(value());
      took(',');
    }
    return items;
  }

  private String string() {
    StringBuilder string = new StringBuilder();
    peek();
    while (text.charAt(++at) != '"') {
      char c = text.charAt(at);
      if (c == '\\') {
        c = text.charAt(++at);
        int special = "bfnrt".indexOf(c);
        if (special >= 0) {
          c = "\b\f\n\r\t".charAt(special);
        } else if (c == 'u') {
          c = (char) Integer.parseInt(text.substring(at + 1, at + 5), 16);
          at += 4;
        }
      }
      string.append(c);
    }
    at++;
    return string.toString();
  }

  private Object word() {
    int start = at;
    while (at < text.length() && ",]} \n\r\t".indexOf(text.charAt(at)) < 0) at++;
    String word = text.substring(start, at);
    switch (word) {
      case "null":
        return null;
      case "true":
        return true;
      case "false":
        return false;
      default:
        return word.matches("-?\\d+") ? (Object) Long.valueOf(word) : Double.valueOf(word);
    }
  }

  // ---- writing ----

  static String text(Object node) {
    StringBuilder to = new StringBuilder();
    write(node, to);
    return to.toString();
  }

  private static void write(Object node, StringBuilder to) {
    if (node instanceof Map) {
      String before = "{";
      for (Map.Entry<String, Object> member : object(node).entrySet()) {
        to.append(before);
        write(member.getKey(), to);
        to.append(": ");
        write(member.getValue(), to);
        before = ", ";
      }
      to.append(before.equals("{") ? "{}" : "}");
    } else if (node instanceof List) {
      String before = "[";
      for (Object item : list(node)) {
        to.append(before);
        write(item, to);
        before = ", ";
      }
      to.append(before.equals("[") ? "[]" : "]");
    } else if (node instanceof String) {
      to.append('"');
      for (char c : ((String) node).toCharArray()) {
        if (c < 0x20 || c == '"' || c == '\\') {
          to.append(String.format("\\u%04x", (int) c));
        } else {
          to.append(c);
        }
      }
      to.append('"');
    } else {
      to.append(node);
    }
  }
}
