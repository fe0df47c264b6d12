// Linear layers, products, attention, normalization; convolutions and what images go through;
// recurrent layers.
#include <algorithm>
#include <cmath>

#include "families.h"

namespace torchlet::random_graphs {
namespace {

// A linear layer over the last dimension.
std::optional<ValueId> add_linear(Builder& b, ValueId x, int64_t out, bool has_bias) {
  const int64_t in = b.sizes(x).back();
  const ValueId w = b.layer_weight({out, in}, in);
  const auto terms = static_cast<double>(in);
  if (!has_bias) return b.call("torch.linear($0, $1, None)", {x, w}, Arithmetic::kRounds, terms);
  return b.call("torch.linear($0, $1, $2)", {x, w, b.weight({out})}, Arithmetic::kRounds, terms);
}

std::optional<ValueId> add_layer_norm(Builder& b, ValueId x) {
  const IntArray sizes = b.sizes(x);
  if (sizes.back() < 4) return std::nullopt;
  const IntArray last = {sizes.back()};
  return b.call("torch.layer_norm($0, " + text_of(last) + ", $1, $2)",
                {x, b.weight(last), b.weight(last)}, Arithmetic::kRounds,
                static_cast<double>(sizes.back()));
}

// x + Linear(act(Linear(norm(x)))), as transformers have it.
void add_mlp(Builder& b, ValueId x) {
  const int64_t in = b.sizes(x).back();
  const auto normed = add_layer_norm(b, x);
  if (!normed) return;
  const auto wide = add_linear(b, *normed, 2 * in, true);
  if (!wide) return;
  const auto active = b.random.chance(0.5)
                          ? b.call("torch.gelu($0)", {*wide}, Arithmetic::kRoundsOperand)
                          : b.call("torch.silu($0)", {*wide});
  if (!active) return;
  if (const auto y = add_linear(b, *active, in, b.random.chance(0.7))) {
    b.call(b.random.pick({"torch.add($0, $1)", "torch.add($1, $0)"}), {x, *y});
  }
}

// Masks and the like of [n, heads, t, t], with the heads joined between.
ValueId change_scores(Builder& b, ValueId scores) {
  const IntArray sizes = b.sizes(scores);
  const int64_t n = sizes[0], heads = sizes[1], t = sizes[2];
  while (b.random.chance(0.4)) {
    std::optional<ValueId> changed;
    switch (b.random.below(5)) {
      case 0:
        changed = b.call(b.random.pick({"torch.add($0, $1)", "torch.add($1, $0)"}),
                         {scores, b.weight(b.random.pick({IntArray{t, t}, IntArray{n, 1, 1, t}}))});
        break;
      case 1:
        changed = b.call("torch.mul($0, $1)", {scores, b.weight({heads, 1, 1})});
        break;
      case 2:
        changed = b.call(b.random.pick({"torch.masked_fill($0, torch.gt($1, 0.), -3.)",
                                        "torch.where(torch.gt($1, 0.), $0, torch.tensor(-3.))"}),
                         {scores, b.weight({n, 1, t, t})});
        break;
      case 3:
        changed = b.call("torch.max($0, torch.tensor(-0.5))", {scores});
        break;
      default: {
        const auto joined = b.exact("torch.view($0, " + text_of({n * heads, t, t}) + ")", {scores});
        if (joined) changed = b.exact("torch.view($0, " + text_of(sizes) + ")", {*joined});
      }
    }
    if (changed) scores = *changed;
  }
  return scores;
}

// softmax(q k^T) v of [n, t, c] with a few heads; one linear layer for all three or three.
void add_attention(Builder& b, ValueId x) {
  const IntArray sizes = b.sizes(x);
  const int64_t n = sizes[0], t = sizes[1], c = sizes[2];
  if (c % 2 != 0 || n * t == 0) return;
  const int64_t heads = b.random.pick<int64_t>({1, 2}), width = c / heads;
  const auto terms = static_cast<double>(width);
  std::vector<ValueId> parts;
  if (b.random.chance(0.5)) {
    const auto all = add_linear(b, x, 3 * c, true);
    if (!all) return;
    const auto split = b.exact("torch.permute(torch.reshape($0, " +
                                   text_of({n, t, 3, heads, width}) + "), [2, 0, 3, 1, 4])",
                               {*all});
    if (!split) return;
    parts = b.call_many(3, "torch.unbind($0)", {*split});
  } else {
    for (int i = 0; i < 3; ++i) {
      const auto part = add_linear(b, x, c, b.random.chance(0.5));
      if (!part) return;
      const auto turned = b.exact(
          "torch.transpose(torch.view($0, " + text_of({n, t, heads, width}) + "), 1, 2)", {*part});
      if (turned) parts.push_back(*turned);
    }
  }
  if (parts.size() != 3) return;
  const auto products = b.call("torch.matmul($0, torch.transpose($1, -2, -1))",
                               {parts[0], parts[1]}, Arithmetic::kRounds, terms);
  if (!products) return;
  const auto scaled =
      b.call(b.random.pick({"torch.div($0, 2.5)", "torch.mul($0, 0.5)"}), {*products});
  if (!scaled) return;
  const ValueId scores = change_scores(b, *scaled);
  const auto weights =
      b.call("torch.softmax($0, -1)", {scores}, Arithmetic::kRounds, static_cast<double>(t));
  if (!weights) return;
  const auto mixed = b.call("torch.matmul($0, $1)", {*weights, parts[2]}, Arithmetic::kRounds,
                            static_cast<double>(t));
  if (!mixed) return;
  const auto joined =
      b.exact("torch.reshape(torch.transpose($0, 1, 2), " + text_of({n, t, c}) + ")", {*mixed});
  if (joined && b.random.chance(0.6)) add_linear(b, *joined, c, true);
}

// A block of a transformer, of which one token is read or a few are.
void add_tokens(Builder& b, ValueId x) {
  const IntArray sizes = b.sizes(x);
  if (sizes[1] < 2) return;
  b.random.chance(0.5) ? add_attention(b, x) : add_mlp(b, x);
  const auto whole = b.any([&](ValueId id) { return b.is_float(id) && b.sizes(id) == sizes; });
  if (!whole) return;
  const int64_t at = b.random.below(sizes[1]);
  const auto token = b.random.chance(0.6)
                         ? b.exact("torch.select($0, 1, " + std::to_string(at) + ")", {*whole})
                         : b.exact("torch.slice($0, 1, " + std::to_string(at) + ", " +
                                       std::to_string(at + 2) + ")",
                                   {*whole});
  if (token && b.random.chance(0.5)) add_linear(b, *token, 3, true);
}

void add_product(Builder& b, ValueId x) {
  const IntArray sizes = b.sizes(x);
  if (sizes.size() < 2) return;
  const int64_t inner = sizes.back();
  const auto terms = static_cast<double>(inner);
  const auto fits = [&](ValueId id) {
    const IntArray other = b.sizes(id);
    return b.is_float(id) && other.size() >= 2 && other[other.size() - 2] == inner;
  };
  const auto y = b.any(fits);
  if (y && b.random.chance(0.6)) {
    const char* call =
        b.sizes(*y).size() == 3 && sizes.size() == 3 ? "torch.bmm($0, $1)" : "torch.matmul($0, $1)";
    b.call(call, {x, *y}, Arithmetic::kRounds, terms);
  } else if (b.random.chance(0.4)) {
    b.call("torch.matmul($0, torch.transpose($0, -2, -1))", {x}, Arithmetic::kRounds, terms);
  } else {
    const int64_t out = b.random.pick<int64_t>({1, 3, 8});
    const ValueId w = b.layer_weight({inner, out}, inner);
    if (sizes.size() == 2 && b.random.chance(0.5)) {
      b.call("torch.addmm($2, $0, $1)", {x, w, b.weight({out})}, Arithmetic::kRounds, terms);
    } else {
      b.call("torch.matmul($0, $1)", {x, w}, Arithmetic::kRounds, terms);
    }
  }
}

}  // namespace

void add_rows(Builder& b) {
  const auto x = b.any([&](ValueId id) {
    return b.is_float(id) && b.tensor(id).dim() >= 1 && b.tensor(id).size(-1) > 0;
  });
  if (!x) return;
  const IntArray sizes = b.sizes(*x);
  const int64_t choice = b.random.below(11);
  if (choice < 4) {
    const int64_t out = b.random.pick<int64_t>({1, 3, 4, 7, 8, 16, sizes.back(), sizes.back()});
    const auto y = add_linear(b, *x, out, b.random.chance(0.6));
    if (!y || !b.random.chance(0.5)) return;
    // A residual: what is broadcast differs from case to case.
    const auto z =
        b.any([&](ValueId id) { return b.is_float(id) && id != *y && b.sizes(id) == b.sizes(*y); });
    if (z) b.call(b.random.pick({"torch.add($0, $1)", "torch.add($1, $0)"}), {*y, *z});
  } else if (choice == 4) {
    add_layer_norm(b, *x);
  } else if (choice == 5) {
    add_mlp(b, *x);
  } else if (choice == 6 && sizes.size() == 3) {
    add_attention(b, *x);
  } else if (choice == 10 && sizes.size() == 3) {
    add_tokens(b, *x);
  } else if (choice == 7) {
    b.call(b.random.pick({"torch.softmax($0, -1)", "torch.log_softmax($0, -1)"}), {*x},
           Arithmetic::kRounds, static_cast<double>(sizes.back()));
  } else if (choice == 8 && sizes.size() == 3 && sizes[1] > 0) {
    const int64_t out = b.random.pick<int64_t>({3, 8});
    const ValueId w = b.layer_weight({out, sizes[1], 3}, sizes[1] * 3);
    b.call("torch.conv1d($0, $1, $2, [1], [1], [1], 1)", {*x, w, b.weight({out})},
           Arithmetic::kRounds, static_cast<double>(sizes[1] * 3));
  } else {
    add_product(b, *x);
  }
}

// ---- images ----

namespace {

struct Window {
  IntArray kernel, stride = {1, 1}, padding, dilation = {1, 1};
};

Window random_window(Builder& b, const IntArray& sizes) {
  Window w;
  for (size_t d = 0; d < 2; ++d) {
    const int64_t k = b.random.pick<int64_t>({1, 1, 2, 3, 3, 3, 5});
    w.kernel.push_back(k);
    w.padding.push_back(k > sizes[2 + d] ? k : b.random.between(0, k / 2));
    w.stride[d] = b.random.pick<int64_t>({1, 1, 1, 2});
    w.dilation[d] = b.random.pick<int64_t>({1, 1, 1, 1, 2});
  }
  if (b.random.chance(0.5)) w.kernel[1] = w.kernel[0];
  return w;
}

// "[stride], [padding], [dilation], groups)"
std::string window_text(const Window& w, int64_t groups) {
  return text_of(w.stride) + ", " + text_of(w.padding) + ", " + text_of(w.dilation) + ", " +
         std::to_string(groups) + ")";
}

std::optional<ValueId> add_conv(Builder& b, ValueId x, const ValueId w, const Window& window,
                                int64_t groups) {
  const IntArray sizes = b.sizes(w);
  const auto terms = static_cast<double>(sizes[1] * sizes[2] * sizes[3]);
  if (b.random.chance(0.4)) {
    return b.call("torch.conv2d($0, $1, None, " + window_text(window, groups), {x, w},
                  Arithmetic::kRounds, terms);
  }
  return b.call("torch.conv2d($0, $1, $2, " + window_text(window, groups),
                {x, w, b.weight({sizes[0]})}, Arithmetic::kRounds, terms);
}

std::optional<ValueId> add_pointwise(Builder& b, ValueId x, int64_t out) {
  const int64_t in = b.sizes(x)[1];
  return add_conv(b, x, b.layer_weight({out, in, 1, 1}, in), {{1, 1}, {1, 1}, {0, 0}, {1, 1}}, 1);
}

// Pixels around an image, which a convolution that reads it may take for its own padding.
ValueId padded(Builder& b, ValueId x) {
  return b
      .exact(b.random.pick({"torch.constant_pad_nd($0, [0, 1, 0, 1], 0)",
                            "torch.constant_pad_nd($0, [2, 0, 1, 3], 0)",
                            "torch.constant_pad_nd($0, [1, 1, 0, 2], -1.5)",
                            "torch.constant_pad_nd($0, [0, 3], 0)"}),
             {x})
      .value_or(x);
}

void add_convolution(Builder& b, ValueId x) {
  if (b.random.chance(0.2)) x = padded(b, x);
  const IntArray sizes = b.sizes(x);
  const int64_t c = sizes[1];
  Window window = random_window(b, sizes);
  // A weight that another convolution has, perhaps with other groups.
  if (b.random.chance(0.3)) {
    std::vector<std::pair<ValueId, int64_t>> known;
    for (const ValueId id : b.weights()) {
      const IntArray of = b.sizes(id);
      if (of.size() != 4 || of[1] == 0 || c % of[1] != 0 || of[0] % (c / of[1]) != 0) continue;
      if (of[2] > 7 || of[3] > 7) continue;
      known.emplace_back(id, c / of[1]);
    }
    if (!known.empty()) {
      const auto [w, groups] = b.random.pick(known);
      for (size_t d = 0; d < 2; ++d) {
        window.padding[d] = std::max(window.padding[d], b.sizes(w)[2 + d] / 2);
      }
      add_conv(b, x, w, window, groups);
      return;
    }
  }
  std::vector<int64_t> groups = {1, 1, 1};
  for (const int64_t g : {2, 3, 4}) {
    if (c % g == 0) groups.push_back(g);
  }
  const int64_t g = b.random.pick(groups);
  const int64_t out = g * b.random.pick<int64_t>({1, 2, 3, 4, 8});
  const int64_t in = c / g;
  add_conv(b, x,
           b.layer_weight({out, in, window.kernel[0], window.kernel[1]},
                          in * window.kernel[0] * window.kernel[1]),
           window, g);
}

// One weight in two convolutions of other groups, whose packed forms may be as large.
void add_shared_convolutions(Builder& b, ValueId x) {
  const int64_t c = b.random.pick<int64_t>({8, 16}), out = b.random.pick<int64_t>({32, 64});
  const int64_t k = b.random.pick<int64_t>({1, 1, 3}), groups = b.random.pick<int64_t>({2, 2, 4});
  const Window window{{k, k}, {1, 1}, {k / 2, k / 2}, {1, 1}};
  const ValueId w = b.layer_weight({out, c, k, k}, c * k * k);
  const auto few = add_pointwise(b, x, c), many = add_pointwise(b, x, c * groups);
  if (!few || !many) return;
  add_conv(b, *few, w, window, 1);
  add_conv(b, *many, w, window, groups);
}

void add_batch_norm(Builder& b, ValueId x) {
  const IntArray c = {b.sizes(x)[1]};
  const auto variance = b.exact("torch.add(torch.abs($0), 0.5)", {b.weight(c)});
  if (!variance) return;
  b.call("torch.batch_norm($0, $1, $2, $3, $4, False, 0.1, 1e-5, True)",
         {x, b.weight(c), b.weight(c), b.weight(c), *variance});
}

// Layers of one image that are added up, as RepVGG's are in training; perhaps the image changes
// before the last one reads it.
void add_parallel_layers(Builder& b, ValueId x) {
  const int64_t c = b.sizes(x)[1];
  const int64_t k = b.random.pick<int64_t>({1, 3, 3, 5}),
                stride = b.random.pick<int64_t>({1, 1, 2});
  const int64_t groups = b.random.pick<int64_t>({1, 1, c});
  const auto layer = [&](int64_t window) {
    return add_conv(b, x,
                    b.layer_weight({c, c / groups, window, window}, c / groups * window * window),
                    {{window, window}, {stride, stride}, {window / 2, window / 2}, {1, 1}}, groups);
  };
  auto sum = layer(k);
  if (b.random.chance(0.1)) b.call_in_place("torch.relu_($0)", {x});
  for (int more = b.random.chance(0.5) ? 2 : 1; sum && more > 0; --more) {
    std::optional<ValueId> other = x;
    if (b.random.chance(0.5)) {
      other = layer(b.random.pick<int64_t>({1, 1, 3}));
    } else if (b.random.chance(0.5)) {
      add_batch_norm(b, x);
      other = b.visible().back();
    }
    if (!other || !(b.sizes(*other) == b.sizes(*sum))) return;
    sum = b.call(b.random.pick({"torch.add($0, $1)", "torch.add($1, $0)", "torch.sub($0, $1)"}),
                 {*sum, *other});
  }
}

void add_depthwise(Builder& b, ValueId x) {
  const IntArray sizes = b.sizes(x);
  const Window window = random_window(b, sizes);
  const int64_t multiple = b.random.pick<int64_t>({1, 1, 2});
  add_conv(b, x,
           b.layer_weight({sizes[1] * multiple, 1, window.kernel[0], window.kernel[1]},
                          window.kernel[0] * window.kernel[1]),
           window, sizes[1]);
}

void add_transposed(Builder& b, ValueId x) {
  const int64_t c = b.sizes(x)[1];
  const int64_t groups = c % 2 == 0 ? b.random.pick<int64_t>({1, 1, 2}) : 1;
  const int64_t out = b.random.pick<int64_t>({1, 2, 4});
  const IntArray kernel = {b.random.between(1, 3), b.random.between(1, 3)};
  const IntArray stride = {b.random.between(1, 2), b.random.between(1, 2)};
  const int64_t terms = c / groups * kernel[0] * kernel[1];
  b.call("torch.conv_transpose2d($0, $1, $2, " + text_of(stride) + ", " +
             text_of({b.random.below(2), b.random.below(2)}) + ", [0, 0], " +
             std::to_string(groups) + ", [1, 1])",
         {x, b.layer_weight({c, out, kernel[0], kernel[1]}, terms), b.weight({out * groups})},
         Arithmetic::kRounds, static_cast<double>(terms));
}

void add_squeeze_excite(Builder& b, ValueId x) {
  const IntArray sizes = b.sizes(x);
  const auto pooled = b.call(
      b.random.pick({"torch.adaptive_avg_pool2d($0, [1, 1])", "torch.mean($0, [2, 3], True)"}), {x},
      Arithmetic::kRounds, static_cast<double>(sizes[2] * sizes[3]));
  if (!pooled) return;
  const auto narrow = add_pointwise(b, *pooled, std::max<int64_t>(1, sizes[1] / 4));
  if (!narrow) return;
  const auto active = b.exact("torch.relu($0)", {*narrow});
  if (!active) return;
  const auto wide = add_pointwise(b, *active, sizes[1]);
  if (!wide) return;
  const auto gate = b.call(b.random.pick({"torch.sigmoid($0)", "torch.hardsigmoid($0)"}), {*wide});
  if (gate) b.call(b.random.pick({"torch.mul($0, $1)", "torch.mul($1, $0)"}), {x, *gate});
}

// Wide, depthwise, narrow, with a residual.
void add_inverted_residual(Builder& b, ValueId x) {
  const int64_t c = b.sizes(x)[1];
  const auto wide = add_pointwise(b, x, 2 * c);
  if (!wide) return;
  const auto active = b.exact("torch.hardtanh($0, 0., 6.)", {*wide});
  if (!active) return;
  const auto deep = add_conv(b, *active, b.layer_weight({2 * c, 1, 3, 3}, 9),
                             {{3, 3}, {1, 1}, {1, 1}, {1, 1}}, 2 * c);
  if (!deep) return;
  const auto narrow = add_pointwise(b, *deep, c);
  if (narrow) b.call(b.random.pick({"torch.add($0, $1)", "torch.add($1, $0)"}), {x, *narrow});
}

void add_pooling(Builder& b, ValueId x) {
  const IntArray sizes = b.sizes(x);
  switch (b.random.below(7)) {
    case 0:
      b.exact("torch.max_pool2d($0, [2, 2], [2, 2], [0, 0], [1, 1], False)", {x});
      return;
    case 6: {
      const auto pooled = b.call_many(2, "torch.max_pool2d_with_indices($0, [2, 2], [2, 2])", {x});
      if (pooled.size() != 2) return;
      b.exact("torch.max_unpool2d($0, $1, " + text_of({sizes[2], sizes[3]}) + ")", pooled);
      return;
    }
    case 1:
      b.exact("torch.max_pool2d($0, [3, 3], [2, 2], [1, 1], [1, 1], " +
                  std::string(b.random.pick({"True", "False"})) + ")",
              {x});
      return;
    case 2:
      b.call("torch.avg_pool2d($0, [3, 3], [2, 1], [1, 1], " +
                 std::string(b.random.pick({"True", "False"})) + ", " +
                 std::string(b.random.pick({"True", "False"})) + ")",
             {x}, Arithmetic::kRounds, 9);
      return;
    case 3:
      b.call("torch.avg_pool2d($0, [2, 2], [1, 1], [0, 0], False, False)", {x}, Arithmetic::kRounds,
             4);
      return;
    default:
      b.call("torch.adaptive_avg_pool2d($0, " +
                 text_of({b.random.between(1, 3), b.random.between(1, 3)}) + ")",
             {x}, Arithmetic::kRounds, static_cast<double>(sizes[2] * sizes[3]));
  }
}

void add_resize(Builder& b, ValueId x) {
  const IntArray sizes = b.sizes(x);
  if (sizes[2] * sizes[3] > 200) return;
  const IntArray to = {b.random.chance(0.6) ? 2 * sizes[2] : b.random.between(1, 9),
                       b.random.chance(0.6) ? 2 * sizes[3] : b.random.between(1, 9)};
  switch (b.random.below(3)) {
    case 0:
      b.exact("torch.upsample_nearest2d($0, " + text_of(to) + ")", {x});
      return;
    case 1:
      b.call("torch.upsample_bilinear2d($0, " + text_of(to) + ", " +
                 b.random.pick({"True)", "False)"}),
             {x}, Arithmetic::kRounds, 4);
      return;
    default:
      if (sizes[1] % 4 == 0) b.exact("torch.pixel_shuffle($0, 2)", {x});
  }
}

void add_padding(Builder& b, ValueId x) {
  const IntArray pads = {b.random.below(3), b.random.below(3), b.random.below(3),
                         b.random.below(3)};
  const char* mode =
      b.random.pick({"\"constant\", 0.", "\"constant\", 0.5", "\"reflect\"", "\"replicate\""});
  b.exact("torch.pad($0, " + text_of(pads) + ", " + mode + ")", {x});
}

void add_channel_shuffle(Builder& b, ValueId x) {
  const IntArray sizes = b.sizes(x);
  if (sizes[1] % 2 != 0) return;
  b.exact("torch.reshape(torch.transpose(torch.view($0, " +
              text_of({sizes[0], 2, sizes[1] / 2, sizes[2], sizes[3]}) + "), 1, 2), " +
              text_of(sizes) + ")",
          {x});
}

}  // namespace

void add_image(Builder& b) {
  const auto x = b.any([&](ValueId id) {
    return b.is_float(id) && b.tensor(id).dim() == 4 && b.tensor(id).numel() > 0 &&
           b.tensor(id).size(1) <= 64;
  });
  if (!x) return;
  if (b.random.chance(0.02)) return add_shared_convolutions(b, *x);
  const int64_t choice = b.random.below(21);
  if (choice < 5) {
    add_convolution(b, *x);
  } else if (choice == 20) {
    add_parallel_layers(b, *x);
  } else if (choice < 7) {
    add_depthwise(b, *x);
  } else if (choice == 7) {
    add_pointwise(b, *x, b.random.pick<int64_t>({1, 5, 8, 16}));
  } else if (choice == 8) {
    add_transposed(b, *x);
  } else if (choice == 9) {
    add_batch_norm(b, *x);
  } else if (choice == 10) {
    add_squeeze_excite(b, *x);
  } else if (choice == 11) {
    add_inverted_residual(b, *x);
  } else if (choice < 14) {
    add_pooling(b, *x);
  } else if (choice < 16) {
    add_resize(b, *x);
  } else if (choice == 16) {
    add_padding(b, *x);
  } else if (choice == 17) {
    add_channel_shuffle(b, *x);
  } else if (choice == 18) {
    // As ConvNeXt has it.
    if (const auto last = b.exact("torch.permute($0, [0, 2, 3, 1])", {*x})) {
      if (const auto normed = add_layer_norm(b, *last)) {
        b.exact("torch.permute($0, [0, 3, 1, 2])", {*normed});
      }
    }
  } else {
    const auto y = b.any([&](ValueId id) { return b.is_float(id) && b.sizes(id) == b.sizes(*x); });
    b.call(b.random.pick({"torch.add($0, $1)", "torch.relu(torch.add($0, $1))"}), {*x, *y});
  }
}

// ---- recurrent layers ----

void add_recurrent(Builder& b) {
  const auto x = b.any([&](ValueId id) {
    return b.is_float(id) && b.tensor(id).dim() == 3 && b.tensor(id).numel() > 0 &&
           b.tensor(id).numel() < 2000;
  });
  if (!x) return;
  const IntArray sizes = b.sizes(*x);
  const bool batch_first = b.random.chance(0.5), both = b.random.chance(0.3);
  const bool is_lstm = b.random.chance(0.5);
  const int64_t hidden = b.random.pick<int64_t>({1, 3, 8}), gates = (is_lstm ? 4 : 3) * hidden;
  const IntArray state = {both ? 2 : 1, sizes[batch_first ? 0 : 1], hidden};
  std::vector<ValueId> reads = {*x, b.weight(state)};
  if (is_lstm) reads.push_back(b.weight(state));
  std::string weights;
  for (int direction = 0; direction <= both; ++direction) {
    for (const IntArray& of :
         {IntArray{gates, sizes[2]}, IntArray{gates, hidden}, IntArray{gates}, IntArray{gates}}) {
      weights += (weights.empty() ? "$" : ", $") + std::to_string(reads.size());
      reads.push_back(of.size() == 2 ? b.layer_weight(of, of[1]) : b.weight(of));
    }
  }
  const std::string options = std::string(", True, 1, 0., False, ") + (both ? "True" : "False") +
                              (batch_first ? ", True)" : ", False)");
  const auto terms = static_cast<double>(sizes[2] + hidden);
  if (is_lstm) {
    b.call_many(3, "torch.lstm($0, [$1, $2], [" + weights + "]" + options, reads,
                Arithmetic::kRounds, terms);
  } else {
    b.call_many(2, "torch.gru($0, $1, [" + weights + "]" + options, reads, Arithmetic::kRounds,
                terms);
  }
}

}  // namespace torchlet::random_graphs
