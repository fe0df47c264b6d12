// The depthwise convolution on vectors. Included inside a namespace that says what they are: the
// element type T, a vector V of kLanes of them, load(), store(), mul_add() and so on. Fewer
// channels than kLeastChannels are no business of tiles; a Part says which lanes of a vector exist.

constexpr int64_t kBlock = kDwConvBlock<T>;
constexpr int kVectorsPerBlock = static_cast<int>(kBlock / kLanes);

// As load_first, with any count.
HWY_INLINE V load_part(const T* from, int64_t count) {
  return count <= 0 ? zero() : load_first(from, count);
}
// Channel k of the groups of a vector: a lane takes one of the kLanes values from `first` on, or
// else, counted from kLanes on, of those from `second`. Both count from the vector's own channels.
struct GroupLanes {
  alignas(kLanes * sizeof(int32_t)) int32_t lane[kLanes];
  int64_t first, second;
};
// Those of some blocks: [entries, vectors, channels of a group]. What blocks hold of their groups
// repeats after `period` of them. The last two may be short of channels behind them, or overlap, so
// that they have entries of their own.
struct GroupBlocks {
  const GroupLanes* lanes;
  int64_t group, begin, end, period, entries;
  GroupBlocks(int64_t channels, int64_t first_block, int64_t last_block)
      : lanes(nullptr),
        group(channels),
        begin(first_block),
        end(last_block),
        period(group / std::gcd(group, kBlock)),
        entries(std::min(period + 2, end - begin)) {}
  int64_t block(int64_t entry) const {
    return entry < period ? begin + entry : end - (entries - entry);
  }
  const GroupLanes* at(int64_t block, int64_t vector) const {
    int64_t entry = block - begin;
    if (entry >= period) entry = end - block <= 2 ? entries - (end - block) : entry % period;
    return lanes + (entry * kVectorsPerBlock + vector) * group;
  }
};
// What the pixels of one output row have in common. Pointers are those of channel 0.
struct Row {
  const T* const* input_rows;  // of the first tap row that lies on the picture
  int64_t row_step;            // dilation_h
  int64_t taps;                // tap rows on the picture
  int width;                   // tap columns
  int64_t group;
  const GroupBlocks* groups;  // if there are any
  const T* weight;            // of the first of them, block 0
  int64_t weight_stride;      // from block to block
  int64_t input_begin;        // of pixel 0 in each row of the input
  int64_t input_stride;
  int64_t channels;
  const float* bias;
  T* output;
  int64_t output_stride;
  bool hardswish;  // instead of the bounds
  Bounds bounds;
};

// Where a tile of output pixels begins: output column `x`, its first tap on input column `column`.
// `left` and `right` of the outermost tap columns lie on padding, less than the window is wide.
struct TilePlace {
  int64_t x, column;
  int left, right;
};

// Adds kWidth taps of a row to kTile output pixels. Of the columns that they read, [left, inside)
// lie on the picture; others are the outermost ones, unless the taps are part of a wider window.
template <int kWidth, int kStride, int kTile, bool kIsPart = false, class Pixel>
HWY_INLINE void add_taps(const T* HWY_RESTRICT in, int64_t stride, const Pixel& load_pixel,
                         const T* HWY_RESTRICT weight, int left, int inside, V* HWY_RESTRICT sum) {
  constexpr int kColumns = (kTile - 1) * kStride + kWidth;
  V w[kWidth];
  HWY_UNROLL(5)
  for (int j = 0; j < kWidth; ++j) w[j] = load(weight + j * kBlock);
  HWY_UNROLL(33)
  for (int k = 0; k < kColumns; ++k, in += stride) {
    if ((kIsPart || k < kWidth - 1) && k < left) continue;
    if ((kIsPart || k > kColumns - kWidth) && k >= inside) continue;
    const V pixel = keep_in_register(load_pixel(in));
    HWY_UNROLL(16)
    for (int t = 0; t < kTile; ++t) {
      const int j = k - t * kStride;
      if (j >= 0 && j < kWidth) sum[t] = mul_add(pixel, w[j], sum[t]);
    }
  }
}

// The same for a wide window: as many times four taps as leave a multiple of three.
template <int kStride, int kTile, class Pixel>
HWY_INLINE void add_wide_taps(int width, const T* HWY_RESTRICT in, int64_t stride,
                              const Pixel& pixel, const T* HWY_RESTRICT weight, int left,
                              int inside, V* HWY_RESTRICT sum) {
  for (; width % 3 != 0; width -= 4, in += 4 * stride, weight += 4 * kBlock) {
    add_taps<4, kStride, kTile, true>(in, stride, pixel, weight, left, inside, sum);
    left -= 4;
    inside -= 4;
  }
  for (; width > 0; width -= 3, in += 3 * stride, weight += 3 * kBlock) {
    add_taps<3, kStride, kTile, true>(in, stride, pixel, weight, left, inside, sum);
    left -= 3;
    inside -= 3;
  }
}

// What a vector of output channels, the first of them `c`, takes of a pixel of the input: channel k
// of its group, which begins at `channel`.
struct OwnChannel {
  static constexpr bool kIsGrouped = false, kIsInParts = false;
  OwnChannel(const Row&, int64_t c, const GroupLanes*, int64_t, Part part)
      : channel(c), lanes(part) {}
  HWY_INLINE V operator()(const T* in) const { return load(in, lanes); }
  int64_t channel;
  Part lanes;
};
#if TORCHLET_DWCONV_RARE
// The rarer end of a tile of many taps, which may be the same code for all of them.
HWY_NOINLINE void store_hardswish(const V* HWY_RESTRICT sum, int count, T* HWY_RESTRICT out,
                                  int64_t stride, Part lanes) {
  for (int t = 0; t < count; ++t) store(apply_hardswish(sum[t]), out + t * stride, lanes);
}

struct WholeGroups {
  static constexpr bool kIsGrouped = true, kIsInParts = false;
  WholeGroups(const Row&, int64_t c, const GroupLanes* groups, int64_t k, Part)
      : channel(c), lanes(groups[k].lane) {}
  HWY_INLINE V operator()(const T* in) const { return lanes(load(in)); }
  int64_t channel;
  Lookup lanes;
};
struct PartsOfGroups {
  static constexpr bool kIsGrouped = true, kIsInParts = true;
  PartsOfGroups(const Row&, int64_t c, const GroupLanes* groups, int64_t k, Part)
      : channel(c + groups[k].first),
        second(groups[k].second - groups[k].first),
        lanes(groups[k].lane) {}
  HWY_INLINE V operator()(const T* in) const { return lanes(load(in), load(in + second)); }
  int64_t channel, second;
  Lookup2 lanes;
};

// The channels of the groups that channels [c, c + kLanes) of the output belong to. Channel k of
// them all lies in two vectors: groups are of few channels more than a vector has, or two at most.
void find_lanes(const DwConvShape& shape, int64_t c, GroupLanes* to) {
  const int64_t group = shape.group;
  int32_t start[kLanes];  // of a lane's group
  int64_t next = c / group * group;
  for (int64_t i = 0; i < kLanes; ++i) {
    if (next + group <= c + i) next += group;
    start[i] = static_cast<int32_t>(next - c);
  }
  for (int64_t k = 0; k < group; ++k, ++to) {
    const int64_t begin = c + start[0] + k, end = c + start[kLanes - 1] + k + 1;
    // Those that lie beside the vector are as much aligned as it is.
    if (begin >= c) {
      to->first = 0;
    } else {
      const bool is_beside = begin >= c - kLanes && end <= c + kLanes && c >= kLanes;
      to->first = is_beside ? -kLanes : begin - c;
    }
    if (end <= c + kLanes) {
      to->second = 0;
    } else {
      const bool is_beside =
          begin >= c && end <= c + 2 * kLanes && c + 2 * kLanes <= shape.channels;
      to->second = is_beside ? kLanes : end - kLanes - c;
    }
    const int32_t first = static_cast<int32_t>(k - to->first);
    const int32_t second = static_cast<int32_t>(k - to->second + kLanes);
    constexpr int32_t kCount = static_cast<int32_t>(kLanes);
    for (int64_t i = 0; i < kLanes; ++i) {
      to->lane[i] = start[i] + (start[i] + first < kCount ? first : second);
    }
  }
}
#endif

// kTile output pixels side by side, whole blocks [begin, end) of channels. A kWidth of 0 stands for
// any that dwconv_is_wide().
template <class Pixel, int kWidth, int kStride, int kTile>
HWY_NOINLINE void convolve_tile(const Row& row, const TilePlace& place, int64_t begin,
                                int64_t end) {
  const int width = kWidth ? kWidth : row.width;
  const int64_t stride = row.input_stride, out_stride = row.output_stride;
  const int64_t taps = row.taps, row_step = row.row_step, channels = row.channels;
  const int64_t weight_stride = row.weight_stride;
  const int left = place.left, inside = (kTile - 1) * kStride + width - place.right;
  const bool hardswish = row.hardswish;
  const T* const* const input_rows = row.input_rows;
  const float* const bias = row.bias;
  const T* const weights = row.weight;
  T* const output = row.output + place.x * out_stride;
  const int64_t column = row.input_begin + place.column * stride;
  const V low = set(row.bounds.low), high = set(row.bounds.high);
  for (int64_t v = begin * kVectorsPerBlock; v < end * kVectorsPerBlock; ++v) {
    const int64_t block = v / kVectorsPerBlock, part = v % kVectorsPerBlock * kLanes;
    const int64_t c = dwconv_block_channel<T>(channels, block) + part;
    const Part lanes = part_of(std::min(kBlock, channels) - part);
    V sum[kTile];
    const V start = bias ? load_bias(bias + c, lanes) : zero();
    HWY_UNROLL(16)
    for (int t = 0; t < kTile; ++t) sum[t] = start;
    const T* HWY_RESTRICT weight = weights + block * weight_stride + part;
    const GroupLanes* groups = nullptr;
    if constexpr (Pixel::kIsGrouped) {
      groups = row.groups->at(block, v % kVectorsPerBlock);
    }
    for (int64_t i = 0; i < taps; ++i) {
      const T* HWY_RESTRICT in = input_rows[i * row_step] + column;
      for (int64_t k = 0; k < (Pixel::kIsGrouped ? row.group : 1); ++k) {
        const Pixel pixel(row, c, groups, k, lanes);
        if constexpr (kWidth == 0) {
          add_wide_taps<kStride, kTile>(width, in + pixel.channel, stride, pixel, weight, left,
                                        inside, sum);
        } else {
          add_taps<kWidth, kStride, kTile>(in + pixel.channel, stride, pixel, weight, left, inside,
                                           sum);
        }
        weight += width * kBlock;
      }
    }
    T* HWY_RESTRICT out = output + c;
#if TORCHLET_DWCONV_RARE
    if ((Pixel::kIsGrouped || kWidth == 0) && hardswish) {
      V done[kTile];
      HWY_UNROLL(16)
      for (int t = 0; t < kTile; ++t) done[t] = sum[t];
      store_hardswish(done, kTile, out, out_stride, lanes);
      continue;
    }
#endif
    if (hardswish) {
      HWY_UNROLL(16)
      for (int t = 0; t < kTile; ++t) sum[t] = apply_hardswish(sum[t]);
    } else {
      HWY_UNROLL(16)
      for (int t = 0; t < kTile; ++t) sum[t] = clamp(sum[t], low, high);
    }
    HWY_UNROLL(16)
    for (int t = 0; t < kTile; ++t, out += out_stride) store(sum[t], out, lanes);
  }
}

// One output pixel under any window; tap columns [j_begin, j_end) lie on the picture, the first of
// them `column_step` columns after `column`.
struct PixelTaps {
  int64_t width, column, column_step, j_begin, j_end;
};

// Several side by side, `stride` columns of the input from each other, whose taps all do.
constexpr int kInnerPixels = 8;
HWY_NOINLINE void convolve_inner_pixels(const Row& row, const PixelTaps& taps, int64_t stride,
                                        int64_t x, int64_t begin, int64_t end) {
  const V low = set(row.bounds.low), high = set(row.bounds.high);
  const int64_t step = taps.column_step * row.input_stride, pixel = stride * row.input_stride;
  const int64_t first = row.input_begin + taps.column * row.input_stride;
  for (int64_t v = begin * kVectorsPerBlock; v < end * kVectorsPerBlock; ++v) {
    const int64_t block = v / kVectorsPerBlock, part = v % kVectorsPerBlock * kLanes;
    const int64_t c = dwconv_block_channel<T>(row.channels, block) + part;
    const Part lanes = part_of(std::min(kBlock, row.channels) - part);
    V sum[kInnerPixels];
    const V start = row.bias ? load_bias(row.bias + c, lanes) : zero();
    HWY_UNROLL(8)
    for (int t = 0; t < kInnerPixels; ++t) sum[t] = start;
    const T* weight = row.weight + block * row.weight_stride + part;
    for (int64_t i = 0; i < row.taps; ++i) {
      const T* in = row.input_rows[i * row.row_step] + first + c;
      for (int64_t j = 0; j < taps.width; ++j, in += step, weight += kBlock) {
        const V w = load(weight);
        HWY_UNROLL(8)
        for (int t = 0; t < kInnerPixels; ++t) {
          sum[t] = mul_add(load(in + t * pixel, lanes), w, sum[t]);
        }
      }
    }
    T* out = row.output + x * row.output_stride + c;
    for (int t = 0; t < kInnerPixels; ++t, out += row.output_stride) {
      store(row.hardswish ? apply_hardswish(sum[t]) : clamp(sum[t], low, high), out, lanes);
    }
  }
}

// Blocks [begin, end) of channels; a block may be the only one and not whole.
HWY_NOINLINE void convolve_pixel(const Row& row, const PixelTaps& taps, int64_t x, int64_t begin,
                                 int64_t end) {
  const V low = set(row.bounds.low), high = set(row.bounds.high);
  const int64_t step = taps.column_step * row.input_stride;
  const int64_t first =
      row.input_begin + (taps.column + taps.j_begin * taps.column_step) * row.input_stride;
  for (int64_t block = begin; block < end; ++block) {
    const int64_t c = dwconv_block_channel<T>(row.channels, block);
    const int64_t count = std::min(kBlock, row.channels);
    V sum[kVectorsPerBlock];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectorsPerBlock; ++v) {
      const int64_t at = v * kLanes;
      sum[v] = row.bias ? load_bias_first(row.bias + c + at, count - at) : zero();
    }
    for (int64_t i = 0; i < row.taps; ++i) {
      const T* in = row.input_rows[i * row.row_step] + first + c;
      const T* weight =
          row.weight + block * row.weight_stride + (i * taps.width + taps.j_begin) * kBlock;
      for (int64_t j = taps.j_begin; j < taps.j_end; ++j) {
        HWY_UNROLL(4)
        for (int v = 0; v < kVectorsPerBlock; ++v) {
          const int64_t at = v * kLanes;
          sum[v] = mul_add(load_part(in + at, count - at), load(weight + at), sum[v]);
        }
        in += step;
        weight += kBlock;
      }
    }
    T* out = row.output + x * row.output_stride + c;
    HWY_UNROLL(4)
    for (int v = 0; v < kVectorsPerBlock; ++v) {
      const int64_t at = v * kLanes;
      const V value = row.hardswish ? apply_hardswish(sum[v]) : clamp(sum[v], low, high);
      if (count > at) store_first(value, out + at, count - at);
    }
  }
}

using ConvolveTile = void (*)(const Row&, const TilePlace&, int64_t, int64_t);
struct Tile {
  ConvolveTile convolve;
  int64_t size;  // output pixels
};

struct Tiles {
  Tile first, last;  // of DwConvTiles; null if there are none
};
template <class Pixel, int kWidth, int kStride, int... kSizes>
Tiles tiles_of_sizes(int64_t out_w) {
  static constexpr Tile kTiles[] = {{convolve_tile<Pixel, kWidth, kStride, kSizes>, kSizes}...};
  static constexpr int kAll[] = {kSizes...};
  const DwConvTiles best = dwconv_tiles(kAll, sizeof...(kSizes), out_w);
  if (best.first < 0) return {};
  return {kTiles[best.first], kTiles[best.last]};
}
template <int kWidth, int kStride>
Tiles choose_tiles(int64_t out_w) {
  return tiles_of_sizes<OwnChannel, kWidth, kStride, kWideTile, 7, 4, 1>(out_w);
}
// Of windows and groups that are rarer there are fewer. Each sum waits for the one before it, so
// that 16 at a time are faster where there are registers for them; 14 are what 28 and 56 pixels
// leave.
template <int kWidth, int kStride, class Pixel>
Tiles choose_rare_tiles(int64_t out_w) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (kStride == 1 && Pixel::kIsInParts) {
    return tiles_of_sizes<Pixel, kWidth, kStride, 14, kWideTile, 4>(out_w);
  } else if constexpr (kStride == 1) {
    return tiles_of_sizes<Pixel, kWidth, kStride, 16, 14, kWideTile, 4>(out_w);
  } else {
    return tiles_of_sizes<Pixel, kWidth, kStride, kWideTile, 4>(out_w);
  }
#else
  if constexpr (Pixel::kIsInParts) {
    return tiles_of_sizes<Pixel, kWidth, kStride, 4>(out_w);
  } else {
    return tiles_of_sizes<Pixel, kWidth, kStride, kWideTile, 4>(out_w);
  }
#endif
}

template <class Pixel>
Tiles choose_group_tiles(const Window2dShape& s) {
  return s.stride_w == 1 ? choose_rare_tiles<3, 1, Pixel>(s.out_w)
                         : choose_rare_tiles<3, 2, Pixel>(s.out_w);
}

Tiles choose_tiles(const DwConvShape& shape, const Window2dShape& s) {
#if TORCHLET_DWCONV_RARE
  if constexpr (selection::kHasRareConvolutions) {
    if (shape.group > 1) {  // dwconv_is_looked_up() holds
      if (kLanes % shape.group == 0) return choose_group_tiles<WholeGroups>(s);
      return choose_group_tiles<PartsOfGroups>(s);
    }
  }
#endif
  // The tap columns of an outer window that lie on padding have to be fewer than all.
  const int64_t last = (s.out_w - 1) * s.stride_w - s.pad_w;
  const bool is_inside = s.pad_w < s.kernel_w && last < s.in_w;
  if (shape.channels < kLeastChannels || s.dilation_w != 1 || !is_inside) return {};
  if (s.kernel_w == 3 && s.stride_w == 1) return choose_tiles<3, 1>(s.out_w);
  if (s.kernel_w == 3 && s.stride_w == 2) return choose_tiles<3, 2>(s.out_w);
  if (s.kernel_w == 5 && s.stride_w == 1) return choose_tiles<5, 1>(s.out_w);
  if (s.kernel_w == 5 && s.stride_w == 2) return choose_tiles<5, 2>(s.out_w);
#if TORCHLET_DWCONV_RARE
  if constexpr (selection::kHasRareConvolutions) {
    if (dwconv_is_wide(s.kernel_w) && s.stride_w == 1) {
      return choose_rare_tiles<0, 1, OwnChannel>(s.out_w);
    }
  }
#endif
  return {};
}

// The first and the last tap, plus one, of `count` that lie inside [0, size) if the first one lies
// at `first`.
struct Range {
  int64_t begin, end;
};
HWY_INLINE Range taps_inside(int64_t first, int64_t step, int64_t count, int64_t size) {
  const int64_t begin = first >= 0 ? 0 : (-first + step - 1) / step;
  const int64_t end = size <= first ? 0 : std::min(count, (size - 1 - first) / step + 1);
  return {std::min(begin, end), end};
}

void convolve_row(const Window2dShape& s, const Tiles& tiles, const Row& row, int64_t begin,
                  int64_t end) {
  if (tiles.first.convolve) {
    for (int64_t next = 0; next < s.out_w; next += tiles.first.size) {
      const Tile& tile = next + tiles.first.size <= s.out_w ? tiles.first : tiles.last;
      const int64_t x = std::min(next, s.out_w - tile.size);
      const int64_t column = x * s.stride_w - s.pad_w;
      const int64_t column_end = column + (tile.size - 1) * s.stride_w + s.kernel_w;
      tile.convolve(row,
                    {x, column, static_cast<int>(std::max<int64_t>(0, -column)),
                     static_cast<int>(std::max<int64_t>(0, column_end - s.in_w))},
                    begin, end);
    }
    return;
  }
  // Pixels [inner, inner_end) have all their taps on the picture.
  const int64_t reach = (s.kernel_w - 1) * s.dilation_w - s.pad_w;
  const int64_t inner = ceil_div(s.pad_w, s.stride_w);
  const int64_t inner_end =
      reach < s.in_w ? std::min(s.out_w, (s.in_w - 1 - reach) / s.stride_w + 1) : 0;
  const bool has_inner = row.channels >= kLeastChannels && inner_end - inner >= kInnerPixels;
  for (int64_t x = 0; x < s.out_w;) {
    const bool is_inner = has_inner && x >= inner && x < inner_end;
    if (is_inner) x = std::min(x, inner_end - kInnerPixels);
    const int64_t column = x * s.stride_w - s.pad_w;
    if (is_inner) {
      convolve_inner_pixels(row, {s.kernel_w, column, s.dilation_w, 0, s.kernel_w}, s.stride_w, x,
                            begin, end);
      x += kInnerPixels;
      continue;
    }
    const Range taps = taps_inside(column, s.dilation_w, s.kernel_w, s.in_w);
    convolve_pixel(row, {s.kernel_w, column, s.dilation_w, taps.begin, taps.end}, x, begin, end);
    ++x;
  }
}

// The GroupBlocks are those of the task.
HWY_NOINLINE void convolve_rows(const DwConvTask<T>& task, const GroupBlocks* groups) {
  const DwConvShape& shape = *task.shape;
  const Window2dShape& s = shape.window;
  const Epilogue<T>& epilogue = *task.epilogue;
  const bool hardswish =
      epilogue.activation.kind == ActivationKind::kHardswish && !epilogue.residual;
  const bool in_registers = hardswish || (is_clamp(epilogue.activation) && !epilogue.residual);
  const int64_t begin = dwconv_block_channel<T>(shape.channels, task.block_begin);
  const int64_t end = std::min(shape.channels, task.block_end * kBlock);
  const int64_t phases = dwconv_phases(s);
  Tiles tiles = choose_tiles(shape, dwconv_phase(s, 0));
  for (int64_t y = task.row_begin; y < task.row_end; ++y) {
    const int64_t first = y * s.stride_h - s.pad_h;
    const Range taps = taps_inside(first, s.dilation_h, s.kernel_h, s.in_h);
    const int64_t pixel = (y - task.row_begin) * s.out_w;
    T* output = task.output + pixel * task.output_stride;
    Row row{task.input_rows + first + taps.begin * s.dilation_h,
            s.dilation_h,
            taps.end - taps.begin,
            static_cast<int>(s.kernel_w),
            shape.group,
            groups,
            task.weight + taps.begin * s.kernel_w * shape.group * kBlock,
            s.kernel_h * s.kernel_w * shape.group * kBlock,
            0,
            task.input_stride * phases,
            shape.channels,
            epilogue.bias,
            output,
            task.output_stride * phases,
            hardswish,
            bounds_of(in_registers ? epilogue.activation : Activation{})};
    for (int64_t phase = 0; phase < phases; ++phase) {
      const Window2dShape window = dwconv_phase(s, phase);
      if (phases > 1) tiles = choose_tiles(shape, window);
      convolve_row(window, tiles, row, task.block_begin, task.block_end);
      row.input_begin += task.input_stride;
      row.output += task.output_stride;
    }
    if (!in_registers) {
      const T* residual = epilogue.residual
                              ? epilogue.residual + pixel * epilogue.residual_stride + begin
                              : nullptr;
      finish_rows(epilogue, residual, output + begin, task.output_stride, s.out_w, end - begin);
    }
  }
}

void convolve(const DwConvTask<T>& task) {
#if TORCHLET_DWCONV_RARE
  const DwConvShape& shape = *task.shape;
  if (selection::kHasRareConvolutions && shape.group > 1) {
    GroupBlocks groups(shape.group, task.block_begin, task.block_end);
    const int64_t vectors = groups.entries * kVectorsPerBlock;
    const Scratch<GroupLanes> lanes(vectors * shape.group);
    for (int64_t i = 0; i < vectors; ++i) {
      const int64_t block = groups.block(i / kVectorsPerBlock);
      const int64_t c = dwconv_block_channel<T>(shape.channels, block);
      find_lanes(shape, c + i % kVectorsPerBlock * kLanes, &lanes[i * shape.group]);
    }
    groups.lanes = lanes.data();
    return convolve_rows(task, &groups);
  }
#endif
  convolve_rows(task, nullptr);
}
