// Families of random steps. Each function adds one step or a few that belong together, or none
// where nothing fits.
#pragma once

#include "builder.h"

namespace torchlet::random_graphs {

// Of float32 tensors of any shape: functions of elements, arithmetic with broadcasts, joins,
// reductions.
void add_elementwise(Builder& b);
void add_join(Builder& b);
void add_reduction(Builder& b);
// Of tensors of any dtype.
void add_view(Builder& b);
void add_write(Builder& b);
void add_integers(Builder& b);
// Matrices and sequences.
void add_rows(Builder& b);
// [n, c, h, w]
void add_image(Builder& b);
void add_quantized(Builder& b);
void add_recurrent(Builder& b);
// Branches and loops of what `make` adds.
void add_control(Builder& b, const std::function<void()>& make);

}  // namespace torchlet::random_graphs
