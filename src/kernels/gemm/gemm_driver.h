#pragma once

// Inside of the matrix products: how a product is cut into cache blocks and shared between threads.
// The layers follow Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication"
// (2008), with one simplification: only panels of B are packed, and only when that pays, because
// the micro-kernel reads A through two strides.

#include <cstdint>

#include "base/function_ref.h"
#include "kernels/gemm/gemm.h"

namespace torchlet::kernels {

// Some columns of B, at most panel_shape().width of them: element (i, j) is data[i * stride + j].
// Columns beyond the last are readable up to a whole vector; their values do not matter.
template <typename T>
struct Panel {
  const T* data;
  int64_t stride;
};

// C[m, n] = A[m, k] B[k, n] and the epilogue, for a block that the caches hold. B comes as panels,
// all but the last of them full.
template <typename T>
struct BlockProduct {
  int64_t m, n, k;
  ConstMatrix<T> a;
  const Panel<T>* b;
  T* c;
  int64_t c_stride;
  GemmEpilogue<T> epilogue;
};

// A product with few rows, or with few columns: it reads A and B where they are. C may have any
// strides, so that one of few columns is the transposed product of few rows. As dot products
// (multiply_thin), A and B are contiguous along k.
template <typename T>
struct ThinProduct {
  int64_t k;
  ConstMatrix<T> a;
  ConstMatrix<T> b;
  T* c;
  int64_t c_row_stride, c_col_stride;
  GemmEpilogue<T> epilogue;
};

// Adds A[rows, k] B[k, n] to C, which is zero at first and whose rows are aligned to vectors and
// long enough for whole ones.
template <typename T>
struct RowSum {
  int64_t n, k;
  ConstMatrix<T> a;
  Panel<T> b;
  T* c;
  int64_t c_stride;
};

struct PanelShape {
  int rows;   // of the micro-kernel
  int width;  // columns of a panel
  int lanes;  // columns of a vector
};

PanelShape panel_shape(const float*);
PanelShape panel_shape(const double*);
PanelShape panel_shape(const uint64_t*);
void multiply_block(const BlockProduct<float>& product);
void multiply_block(const BlockProduct<double>& product);
void multiply_block(const BlockProduct<uint64_t>& product);

// Rows [0, rows) of columns [begin, end).
void multiply_thin(const ThinProduct<float>& product, int64_t rows, int64_t begin, int64_t end);
void multiply_thin(const ThinProduct<double>& product, int64_t rows, int64_t begin, int64_t end);
void multiply_thin(const ThinProduct<uint64_t>& product, int64_t rows, int64_t begin, int64_t end);

void add_rows(const RowSum<float>& sum, int64_t rows);  // one or two

// Where panels of B come from. Returns columns [n0, n0 + n) of rows [k0, k0 + k) of product
// `index`: either in place, or written to `scratch` with a stride of the full width.
template <typename T>
using PanelSource =
    FunctionRef<Panel<T>(int64_t index, int64_t k0, int64_t k, int64_t n0, int64_t n, T* scratch)>;

// `count` products of one shape. Product i reads A number i % a_count, with the row bias that
// belongs to it, and writes to c + i * c_batch_stride.
template <typename T>
struct GemmBatch {
  int64_t count = 1;
  int64_t m, n, k;
  ConstMatrix<T> a;
  int64_t a_count = 1;
  int64_t a_batch_stride = 0;
  T* c;
  int64_t c_stride;
  int64_t c_batch_stride = 0;
  GemmEpilogue<T> epilogue{};  // row_bias holds a_count * m values
};

template <typename T>
void run_gemm(const GemmBatch<T>& batch, PanelSource<T> panels);

// One product of plain matrices, by whichever of the ways suits it.
template <typename T>
void run_plain_gemm(int64_t m, int64_t n, int64_t k, ConstMatrix<T> a, ConstMatrix<T> b, T* c,
                    int64_t c_stride, const GemmEpilogue<T>& epilogue);

// The panel source of a plain matrix.
template <typename T>
class MatrixPanels {
 public:
  // `m`: rows of A, that is, how often each panel is read.
  MatrixPanels(ConstMatrix<T> b, int64_t m, int64_t batch_stride = 0);
  Panel<T> operator()(int64_t index, int64_t k0, int64_t k, int64_t n0, int64_t n,
                      T* scratch) const;

 private:
  ConstMatrix<T> b_;
  int64_t batch_stride_;
  int width_;
  bool in_place_;
};

extern template void run_plain_gemm(int64_t, int64_t, int64_t, ConstMatrix<float>,
                                    ConstMatrix<float>, float*, int64_t,
                                    const GemmEpilogue<float>&);
extern template void run_gemm<float>(const GemmBatch<float>&, PanelSource<float>);
extern template void run_plain_gemm(int64_t, int64_t, int64_t, ConstMatrix<double>,
                                    ConstMatrix<double>, double*, int64_t,
                                    const GemmEpilogue<double>&);
extern template void run_gemm<double>(const GemmBatch<double>&, PanelSource<double>);
extern template void run_plain_gemm(int64_t, int64_t, int64_t, ConstMatrix<uint64_t>,
                                    ConstMatrix<uint64_t>, uint64_t*, int64_t,
                                    const GemmEpilogue<uint64_t>&);
extern template void run_gemm<uint64_t>(const GemmBatch<uint64_t>&, PanelSource<uint64_t>);
extern template class MatrixPanels<float>;
extern template class MatrixPanels<double>;
extern template class MatrixPanels<uint64_t>;

}  // namespace torchlet::kernels
