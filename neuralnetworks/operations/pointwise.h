// Operations that treat all elements alike, whatever their place: those on images are done on them
// as they lie.
#pragma once

#include <initializer_list>
#include <string_view>

#include "neuralnetworks/translate/emitter.h"

namespace torchlet::nn {

// The tensors of a call that are broadcast with each other, and its result.
class Pointwise {
 public:
  Pointwise(Emitter& emit, const Call& call, std::initializer_list<std::string_view> inputs);

  Emitter& emit() const { return emit_; }
  const Call& call() const { return call_; }
  bool is_quantized() const;  // the result

  SsaValue* held(std::string_view name) const;
  SsaValue* real(std::string_view name) const;
  // As it is computed with: int32 and bool as they are, everything else in float32.
  SsaValue* number(std::string_view name) const;

  void give(SsaValue* held) const;
  void give_real(SsaValue* real) const { give(emit_.from_real(real, call_.output())); }
  // Of the type that number() gave: int32, or float32.
  void give_number(SsaValue* number) const;

 private:
  Emitter& emit_;
  const Call& call_;
  bool as_images_;
};

}  // namespace torchlet::nn
