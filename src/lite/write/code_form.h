// What the versions of bytecode differ in (caffe2/serialize/versions.h), as far as it is written.
#pragma once

namespace torchlet::lite {

inline constexpr int kMinWrittenVersion = 4, kMaxWrittenVersion = 8;

struct CodeForm {
  explicit CodeForm(int version)
      : counts_arguments(version >= 6),
        counts_out_arguments(version >= 7),
        has_promoted(version >= 8),
        shares_tensors(version >= 5) {}

  // The table of operators tells how many arguments the code gives: those that have their default
  // at the end of every call are left out.
  bool counts_arguments;
  // ... also in front of out= arguments, which come last.
  bool counts_out_arguments;
  // Operators such as aten::dim are instructions.
  bool has_promoted;
  // The tensors of bytecode.pkl lie among those of constants.pkl, and not in a folder of their own.
  bool shares_tensors;
};

}  // namespace torchlet::lite
