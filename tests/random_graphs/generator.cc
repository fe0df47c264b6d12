#include "generator.h"

#include <algorithm>

#include "families.h"

namespace torchlet::random_graphs {
namespace {

// How often a program of this kind takes a step of each family.
struct Mix {
  int elementwise, join, reduction, view, write, integers, rows, image, quantized, recurrent,
      control;
};
constexpr Mix kImages = {6, 4, 1, 3, 1, 0, 2, 16, 0, 0, 1};
constexpr Mix kSequences = {6, 4, 2, 6, 1, 1, 14, 0, 0, 1, 1};
constexpr Mix kQuantized = {1, 1, 0, 4, 0, 0, 0, 0, 14, 0, 1};
constexpr Mix kAnything = {5, 3, 2, 6, 4, 3, 4, 6, 2, 1, 3};

IntArray image_sizes(Random& random) {
  IntArray sizes = {
      random.pick<int64_t>({1, 1, 1, 2, 3}), random.pick<int64_t>({1, 2, 3, 4, 4, 8, 8, 16, 17}),
      random.pick<int64_t>({1, 2, 4, 5, 7, 9}), random.pick<int64_t>({1, 3, 4, 5, 8})};
  if (random.chance(0.02)) sizes = {1, 16, 28, 28};
  return sizes;
}

IntArray sequence_sizes(Random& random) {
  const int64_t width = random.pick<int64_t>({1, 3, 4, 6, 8, 8, 16});
  const int64_t length = random.pick<int64_t>({1, 2, 3, 5, 9});
  switch (random.below(8)) {
    case 0:
      return {width};
    case 1:
      return {length, width};
    case 2:
      return {random.between(1, 3), 1, length, width};
    case 3:
      return {random.between(1, 2), random.between(1, 4), length, width};
    default:
      return {random.between(1, 3), length, width};
  }
}

// The same elements, lying otherwise in memory.
Tensor laid_out(Random& random, const Tensor& tensor) {
  if (tensor.dim() == 4 && random.chance(0.5))
    return tensor.contiguous(MemoryFormat::kChannelsLast);
  if (tensor.dim() == 0 || tensor.numel() == 0 || random.chance(0.8)) return tensor;
  // A part of a larger one.
  IntArray wide = tensor.sizes();
  wide[static_cast<size_t>(random.below(tensor.dim()))] += 1;
  const Tensor all = zeros(wide, tensor.dtype());
  const Tensor part = make_view(all, tensor.sizes(), all.strides(), 0);
  part.copy_(tensor);
  return part;
}

Tensor random_input(Random& random, Expressions& expressions, const IntArray& sizes, DType dtype) {
  const Tensor real = random_tensor(random, sizes, -1, 1);
  if (dtype == DType::kFloat32) return laid_out(random, real);
  const std::string text = dtype == DType::kQUInt8 ? "torch.quantize_per_tensor(a0, 0.008, 127, 13)"
                                                   : "torch.to(torch.mul(a0, 5), 4)";
  return expressions.call(text, {"Tensor"}, {"Tensor"}, {real}).to_tensor();
}

class Generator {
 public:
  Generator(Program& program, Expressions& expressions, uint64_t seed)
      : program_(program), expressions_(expressions), b_(program, expressions, seed) {}

  void run() {
    Random& random = b_.random;
    if (random.chance(0.2) && has_float16_arithmetic()) {
      program_.precision = Precision::kFloat16;
    } else if (random.chance(0.1) && has_bfloat16_products()) {
      program_.precision = Precision::kBFloat16;
    }
    program_.operator_threads = random.chance(0.1) ? random.pick({2, 3}) : 1;
    program_.callers = random.chance(0.05) ? random.pick({2, 3}) : 1;
    choose_kind();
    add_inputs();
    for (int64_t count = random.between(2, 9); count > 0; --count) add_step();
    program_.steps = b_.take_steps();
    choose_outputs();
    for (int64_t sets = random.pick({0, 0, 1, 2}); sets > 0; --sets) add_input_set();
  }

 private:
  void choose_kind() {
    const int64_t kind = b_.random.below(20);
    is_image_ = kind < 7 || (kind >= 14 && b_.random.chance(0.6));
    mix_ = kind < 7 ? kImages : kind < 13 ? kSequences : kind < 16 ? kQuantized : kAnything;
  }

  void add_inputs() {
    Random& random = b_.random;
    IntArray sizes = is_image_ ? image_sizes(random) : sequence_sizes(random);
    const DType dtype = mix_.quantized > 5 && random.chance(0.5) ? DType::kQUInt8 : DType::kFloat32;
    std::vector<Tensor> set = {random_input(random, expressions_, sizes, dtype)};
    if (random.chance(0.3)) {
      if (random.chance(0.3)) sizes = is_image_ ? image_sizes(random) : sequence_sizes(random);
      set.push_back(random_input(random, expressions_, sizes, dtype));
    }
    if (mix_.integers > 0 && random.chance(0.2)) {
      set.push_back(random_input(random, expressions_, {random.between(1, 4)}, DType::kInt64));
    }
    for (const Tensor& tensor : set) b_.add_input(tensor);
    program_.input_sets = {std::move(set)};
  }

  void add_step() {
    using Family = void (*)(Builder&);
    const std::pair<int, Family> families[] = {{mix_.elementwise, add_elementwise},
                                               {mix_.join, add_join},
                                               {mix_.reduction, add_reduction},
                                               {mix_.view, add_view},
                                               {mix_.write, add_write},
                                               {mix_.integers, add_integers},
                                               {mix_.rows, add_rows},
                                               {mix_.image, add_image},
                                               {mix_.quantized, add_quantized},
                                               {mix_.recurrent, add_recurrent}};
    int total = mix_.control;
    for (const auto& [weight, family] : families) total += weight;
    int64_t choice = b_.random.below(total);
    for (const auto& [weight, family] : families) {
      if (choice < weight) return family(b_);
      choice -= weight;
    }
    add_control(b_, [this] { add_step(); });
  }

  void choose_outputs() {
    const std::vector<ValueId> made = b_.visible_where([&](ValueId id) {
      return program_.variables[static_cast<size_t>(id)].kind == Variable::Kind::kComputed;
    });
    if (made.empty()) {
      program_.outputs = {0};
      return;
    }
    std::vector<ValueId>& outputs = program_.outputs;
    outputs = {made.back()};
    for (int64_t more = b_.random.below(3); more > 0; --more) {
      const ValueId id = b_.random.pick(made);
      if (std::ranges::find(outputs, id) == outputs.end()) outputs.push_back(id);
    }
  }

  // Of other sizes, or lying otherwise.
  void add_input_set() {
    Random& random = b_.random;
    const std::vector<Tensor>& first = program_.input_sets[0];
    const int64_t rank = first[0].dim();
    const int64_t d = random.chance(0.6) ? 0 : random.below(std::max<int64_t>(rank, 1));
    const int64_t size = random.chance(0.3) || rank == 0 ? -1 : random.between(1, 6);
    std::vector<Tensor> set;
    for (const Tensor& like : first) {
      IntArray sizes = like.sizes();
      if (size > 0 && d < like.dim() && like.size(d) == first[0].size(d)) {
        sizes[static_cast<size_t>(d)] = size;
      }
      set.push_back(random_input(random, expressions_, sizes, like.dtype()));
    }
    program_.input_sets.push_back(std::move(set));
  }

  Program& program_;
  Expressions& expressions_;
  Builder b_;
  Mix mix_ = kAnything;
  bool is_image_ = false;
};

}  // namespace

Program generate(uint64_t seed, Expressions& expressions) {
  Program program;
  Generator(program, expressions, seed).run();
  return program;
}

}  // namespace torchlet::random_graphs
