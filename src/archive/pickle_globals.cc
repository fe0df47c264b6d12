#include "archive/pickle_globals.h"

#include <unordered_map>

#include "archive/pickle.h"
#include "archive/pickle_args.h"
#include "archive/pickle_tensor.h"
#include "archive/stored_value.h"
#include "tensor/tensor_text.h"

namespace torchlet::archive {
namespace {

using Kind = PickleGlobal::Kind;

const std::unordered_map<std::string_view, PickleFunction>& functions() {
  static const std::unordered_map<std::string_view, PickleFunction> map = {
      {"torch._utils._rebuild_tensor", PickleFunction::kRebuildTensor},
      {"torch._utils._rebuild_tensor_v2", PickleFunction::kRebuildTensor},
      {"torch._utils._rebuild_qtensor", PickleFunction::kRebuildQTensor},
      {"torch._utils._rebuild_sparse_tensor", PickleFunction::kRebuildSparseTensor},
      {"torch._utils._rebuild_parameter", PickleFunction::kRebuildParameter},
      {"torch._tensor._rebuild_from_type_v2", PickleFunction::kRebuildFromType},
      {"torch.jit._pickle.build_intlist", PickleFunction::kBuildIntList},
      {"torch.jit._pickle.build_doublelist", PickleFunction::kBuildFloatList},
      {"torch.jit._pickle.build_boollist", PickleFunction::kBuildBoolList},
      {"torch.jit._pickle.build_tensorlist", PickleFunction::kBuildTensorList},
      {"torch.jit._pickle.restore_type_tag", PickleFunction::kRestoreTypeTag},
      {"collections.OrderedDict", PickleFunction::kOrderedDict},
      {"torch.Size", PickleFunction::kSize},
      {"torch.device", PickleFunction::kDevice},
      {"builtins.complex", PickleFunction::kComplex},
      {"__builtin__.complex", PickleFunction::kComplex},
  };
  return map;
}

const std::unordered_map<std::string, DType>& storage_types() {
  static const auto* const map = [] {
    auto* all = new std::unordered_map<std::string, DType>;
    for (int i = 0; i < kNumDTypes; ++i) {
      const auto dtype = static_cast<DType>(i);
      all->emplace(std::string("torch.") + scalar_type_name(dtype) + "Storage", dtype);
    }
    return all;
  }();
  return *map;
}

const std::unordered_map<std::string_view, QScheme>& qschemes() {
  static const std::unordered_map<std::string_view, QScheme> map = {
      {"torch.per_tensor_affine", QScheme::kPerTensorAffine},
      {"torch.per_channel_affine", QScheme::kPerChannelAffine},
      {"torch.per_tensor_symmetric", QScheme::kPerTensorSymmetric},
      {"torch.per_channel_symmetric", QScheme::kPerChannelSymmetric},
      {"torch.per_channel_affine_float_qparams", QScheme::kPerChannelAffineFloatQParams},
  };
  return map;
}

// Classes that are only handed to _rebuild_from_type_v2, whose result is the plain tensor here.
bool is_tensor_class(std::string_view name) {
  return name == "torch.Tensor" || name == "torch.nn.parameter.Parameter" ||
         name == "torch.nn.parameter.Buffer";
}

// build_intlist([1, 2]): the list that the pickle has filled, now typed.
Value build_typed_list(const PickleGlobal& function, const Value& tuple, const TypePtr& element) {
  const PickleArgs args(function.name, tuple, 1, 1);
  if (!args[0].is_list()) args.refuse("a list", args[0].kind_name());
  List& list = args[0].list_ref();
  for (const Value& item : list.items) {
    if (!is_instance(item, *element)) args.refuse(element->str(), item.kind_name());
  }
  list.element_type = element;
  return args[0];
}

// restore_type_tag(container, "List[Tensor]"). Only the container itself is meant: those inside it
// carry tags of their own.
Value restore_type_tag(const PickleArgs& args, ObjectFactory& factory) {
  const TypePtr type = factory.parse_type(args.string(1, "the text of a type"));
  const Value& value = args[0];
  if (value.is_list() && type->is(TypeKind::kList)) {
    value.list_ref().element_type = type->element(0);
  } else if (value.is_dict() && type->is(TypeKind::kDict)) {
    value.dict_ref().key_type = type->element(0);
    value.dict_ref().value_type = type->element(1);
  } else {
    args.refuse(type->str(), value.kind_name());
  }
  return value;
}

Value build_device(const PickleArgs& args) {
  std::string name = args.string(0, "the name of a device");
  if (args.size() == 2) name += ":" + std::to_string(args.integer(1, "the index of a device"));
  return stored_device(std::move(name));
}

Value rebuild_from_type(const PickleArgs& args, ObjectFactory& factory) {
  const auto* function = pickle_internal<PickleGlobal>(args[0]);
  if (!function) args.refuse("a function that rebuilds a tensor", args[0].kind_name());
  return call_pickle_function(*function, args[2], factory);
}

}  // namespace

Ref<PickleGlobal> known_global(const std::string& name) {
  if (const auto found = functions().find(name); found != functions().end()) {
    auto global = make_ref<PickleGlobal>(Kind::kFunction, name);
    global->function = found->second;
    return global;
  }
  if (const auto found = storage_types().find(std::string(name)); found != storage_types().end()) {
    auto global = make_ref<PickleGlobal>(Kind::kStorageType, name);
    global->dtype = found->second;
    return global;
  }
  if (const auto found = qschemes().find(name); found != qschemes().end()) {
    auto global = make_ref<PickleGlobal>(Kind::kQScheme, name);
    global->qscheme = found->second;
    return global;
  }
  if (is_tensor_class(name)) return make_ref<PickleGlobal>(Kind::kIgnoredClass, name);
  return nullptr;
}

Value call_pickle_function(const PickleGlobal& function, const Value& args,
                           ObjectFactory& factory) {
  if (function.kind != Kind::kFunction) {
    fail(ErrorCode::kFileFormat, "'" + function.name + "' is called but is no function");
  }
  const auto arguments = [&](size_t min_count, size_t max_count) {
    return PickleArgs(function.name, args, min_count, max_count);
  };
  switch (function.function) {
    case PickleFunction::kRebuildTensor:
      return rebuild_tensor(arguments(4, 7));
    case PickleFunction::kRebuildQTensor:
      return rebuild_qtensor(arguments(7, 7));
    case PickleFunction::kRebuildSparseTensor:
      return rebuild_sparse_tensor(arguments(2, 7));
    case PickleFunction::kRebuildParameter:
      return arguments(3, 3).tensor(0, "a tensor");
    case PickleFunction::kRebuildFromType:
      return rebuild_from_type(arguments(4, 4), factory);
    case PickleFunction::kBuildIntList:
      return build_typed_list(function, args, types::integer());
    case PickleFunction::kBuildFloatList:
      return build_typed_list(function, args, types::floating());
    case PickleFunction::kBuildBoolList:
      return build_typed_list(function, args, types::boolean());
    case PickleFunction::kBuildTensorList:
      return build_typed_list(function, args, types::tensor());
    case PickleFunction::kRestoreTypeTag:
      return restore_type_tag(arguments(2, 2), factory);
    case PickleFunction::kOrderedDict:
      arguments(0, 0);
      return Value(make_ref<Dict>(types::any(), types::any()));
    case PickleFunction::kSize:
      arguments(1, 1).integers(0, "a tuple of sizes");
      return args.tuple_ref().items[0];
    case PickleFunction::kDevice:
      return build_device(arguments(1, 2));
    case PickleFunction::kComplex: {
      const PickleArgs parts = arguments(2, 2);
      return std::complex<double>(parts.number(0, "a number"), parts.number(1, "a number"));
    }
  }
  TORCHLET_ASSERT(false);
}

}  // namespace torchlet::archive
