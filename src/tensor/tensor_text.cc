#include "tensor/tensor_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/counted_vector.h"
#include "tensor/tensor_impl.h"

namespace torchlet {

const char* scalar_type_name(DType dtype) {
  constexpr const char* kNames[kNumDTypes] = {
      "Byte",  "Char",   "Short",       "Int",          "Long",          "Half",
      "Float", "Double", "ComplexHalf", "ComplexFloat", "ComplexDouble", "Bool",
      "QInt8", "QUInt8", "QInt32",      "BFloat16",     "QUInt4x2"};
  return kNames[static_cast<int>(dtype)];
}

namespace {

constexpr int64_t kLineSize = 80;

// What a std::ostream remembers about numbers. PyTorch sets the notation anew for every matrix that
// it prints but leaves the precision to whole numbers as it is, so later numbers depend on it.
struct Notation {
  char conversion = 'g';
  int precision = 6;
};

// The elements in row-major order.
CountedVector<double> elements_of(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  const Tensor plain = tensor.contiguous();  // an expanded tensor may be too large to be written
  const auto count = static_cast<size_t>(impl.numel);
  CountedVector<double> elements(count);
  if (count == 0) return elements;
  convert_elements(plain.raw_data(), impl.dtype, 1, elements.data(), DType::kFloat64, 1,
                   impl.numel);
  if (!impl.quantizer) return elements;
  const Quantizer& quantizer = *impl.quantizer;
  const auto real = [](double q, double scale, double zero_point) {
    return static_cast<double>((static_cast<float>(q) - static_cast<float>(zero_point)) *
                               static_cast<float>(scale));
  };
  if (quantizer.per_tensor()) {
    for (double& q : elements) {
      q = real(q, quantizer.scale, static_cast<double>(quantizer.zero_point));
    }
    return elements;
  }
  const CountedVector<double> scales = elements_of(quantizer.scales);
  const CountedVector<double> zero_points = elements_of(quantizer.zero_points);
  const auto axis = static_cast<size_t>(quantizer.axis);
  TORCHLET_CHECK(axis < impl.sizes.size() && std::ssize(scales) == impl.sizes[axis] &&
                     scales.size() == zero_points.size(),
                 "a tensor quantized per channel has %zu scales and %zu zero points for %s",
                 scales.size(), zero_points.size(), tensor.describe().c_str());
  size_t inner = 1;
  for (const int64_t size : IntSpan(impl.sizes).subspan(axis + 1))
    inner *= static_cast<size_t>(size);
  for (size_t i = 0; i < count; ++i) {
    const size_t channel = i / inner % scales.size();
    elements[i] = real(elements[i], scales[channel], zero_points[channel]);
  }
  return elements;
}

class Printer {
 public:
  void print(const Tensor& tensor);
  std::string text;

 private:
  // How one vector or matrix is printed: numbers divided by `scale`, `width` characters each.
  struct Layout {
    double scale = 1;
    int64_t width = 0;
  };

  Layout choose_layout(std::span<const double> values);
  void number(double value, int64_t width = 0) {
    char buffer[400];
    const char format[] = {'%', '*', '.', '*', notation_.conversion, '\0'};
    std::snprintf(buffer, sizeof buffer, format, static_cast<int>(width), notation_.precision,
                  value);
    text += buffer;
  }
  void scale_line(double scale) {
    const Notation saved = notation_;
    notation_.conversion = 'g';
    number(scale);
    notation_ = saved;
    text += " *\n";
  }
  void print_matrix(std::span<const double> values, int64_t columns, int64_t indent);
  void print_matrices(std::span<const double> values, IntSpan sizes);
  void print_sparse(const Tensor& tensor);
  void print_elements(const Tensor& tensor);
  void print_quantizer(const Quantizer& quantizer);

  Notation notation_;
};

// Digits before the point; 1 for 0.
double digits_of(double magnitude) {
  return magnitude == 0 ? 1 : std::floor(std::log10(magnitude)) + 1;
}

Printer::Layout Printer::choose_layout(std::span<const double> values) {
  bool whole = true, any = false;
  double least = 1, most = 1;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    const double magnitude = std::fabs(value);
    whole = whole && value == std::ceil(value);
    least = any ? std::min(least, magnitude) : magnitude;
    most = any ? std::max(most, value) : magnitude;  // PyTorch compares the value itself
    any = true;
  }
  if (any) {
    least = digits_of(least);
    most = digits_of(most);
  }
  if (whole && most <= 9) {
    notation_.conversion = 'g';
    return {1, static_cast<int64_t>(most) + 1};
  }
  notation_.precision = 4;
  if (whole || most - least > 4) {
    notation_.conversion = 'e';
    return {1, !whole && (std::fabs(most) > 99 || std::fabs(least) > 99) ? 12 : 11};
  }
  notation_.conversion = 'f';
  if (most > 5 || most < 0) return {std::pow(10, most - 1), 7};
  return {1, most == 0 ? 7 : static_cast<int64_t>(most) + 6};
}

void Printer::print_matrix(std::span<const double> values, int64_t columns, int64_t indent) {
  const Layout layout = choose_layout(values);
  const std::string margin(static_cast<size_t>(indent), ' ');
  const int64_t per_line = (kLineSize - indent) / (layout.width + 1);
  const int64_t rows = std::ssize(values) / columns;
  text += margin;
  for (int64_t first = 0; first < columns; first += per_line) {
    const int64_t last = std::min(first + per_line, columns) - 1;
    if (per_line < columns) {
      if (first != 0) text += '\n';
      text += "Columns " + std::to_string(first + 1) + " to " + std::to_string(last + 1) + margin;
    }
    if (layout.scale != 1) {
      scale_line(layout.scale);
      text += margin;
    }
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = first; column <= last; ++column) {
        number(values[static_cast<size_t>(row * columns + column)] / layout.scale, layout.width);
        text += column == last ? '\n' : ' ';
      }
      if (row != rows - 1) text += margin + (layout.scale != 1 ? " " : "");
    }
  }
}

// All matrices of the last two dimensions; the first of the other indices runs fastest.
void Printer::print_matrices(std::span<const double> values, IntSpan sizes) {
  const IntSpan outer = sizes.first(sizes.size() - 2);
  const int64_t columns = sizes.back();
  const auto area = static_cast<size_t>(sizes[sizes.size() - 2] * columns);
  IntArray counter(outer.size(), 0);
  for (size_t printed = 0; printed < values.size(); printed += area) {
    if (printed != 0) text += '\n';
    text += '(';
    size_t matrix = 0;
    for (size_t i = 0; i < outer.size(); ++i) {
      matrix = matrix * static_cast<size_t>(outer[i]) + static_cast<size_t>(counter[i]);
      text += std::to_string(counter[i] + 1) + ",";
    }
    text += ".,.) = \n";
    print_matrix(values.subspan(matrix * area, area), columns, 1);
    for (size_t i = 0; i < outer.size() && ++counter[i] == outer[i]; ++i) counter[i] = 0;
  }
}

void Printer::print_sparse(const Tensor& tensor) {
  const SparseParts& parts = *tensor.impl()->sparse;
  text += std::string("[ SparseCPU") + scalar_type_name(tensor.dtype()) + "Type{}\nindices:\n";
  print(parts.indices);
  text += "\nvalues:\n";
  print(parts.values);
  text += "\nsize:\n" + shape_text(tensor.sizes()) + "\n]";
}

void Printer::print_elements(const Tensor& tensor) {
  const CountedVector<double> values = elements_of(tensor);
  if (tensor.dim() == 0) {
    notation_.conversion = 'g';
    number(values[0]);
    text += '\n';
  } else if (values.empty()) {
    return;
  } else if (tensor.dim() == 1) {
    const Layout layout = choose_layout(values);
    if (layout.scale != 1) scale_line(layout.scale);
    for (const double value : values) {
      number(value / layout.scale, layout.width);
      text += '\n';
    }
  } else if (tensor.dim() == 2) {
    print_matrix(values, tensor.sizes()[1], 0);
  } else {
    print_matrices(values, tensor.sizes());
  }
}

void Printer::print_quantizer(const Quantizer& quantizer) {
  constexpr const char* kSchemes[] = {"per_tensor_affine", "per_channel_affine",
                                      "per_tensor_symmetric", "per_channel_symmetric",
                                      "per_channel_affine_float_qparams"};
  text += std::string(", qscheme: ") + kSchemes[static_cast<int>(quantizer.qscheme)];
  if (quantizer.per_tensor()) {
    text += ", scale: ";
    number(quantizer.scale);
    text += ", zero_point: " + std::to_string(quantizer.zero_point);
    return;
  }
  text += ", scales: ";
  print(quantizer.scales);
  text += ", zero_points: ";
  print(quantizer.zero_points);
  text += ", axis: " + std::to_string(quantizer.axis);
}

void Printer::print(const Tensor& tensor) {
  const Notation saved = notation_;
  if (tensor.impl()->sparse) {
    print_sparse(tensor);
  } else {
    print_elements(tensor);
    text += std::string("[ ") + (tensor.is_quantized() ? "Quantized" : "") + "CPU" +
            scalar_type_name(tensor.dtype()) + "Type{";
    for (size_t i = 0; i < tensor.sizes().size(); ++i) {
      text += (i ? "," : "") + std::to_string(tensor.sizes()[i]);
    }
    text += '}';
    if (const auto& quantizer = tensor.impl()->quantizer) print_quantizer(*quantizer);
    text += " ]";
  }
  notation_ = saved;
}

}  // namespace

std::string tensor_text(const Tensor& tensor) {
  Printer printer;
  printer.print(tensor);
  return std::move(printer.text);
}

}  // namespace torchlet
