#include <torchlet/torchlet.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "api/load_bytecode.h"
#include "api/loaded_model.h"
#include "api/object_factory.h"
#include "archive/reader.h"
#include "base/error.h"
#include "base/pages.h"
#include "base/selection.h"
#include "device/kept_placements.h"
#include "device/weight_cache.h"
#include "kernels/half/bfloat16.h"
#include "kernels/half/float16.h"
#include "kernels/simd/isa.h"
#include "lite/bytecode.h"
#include "lite/debug_info.h"
#include "lite/flatbuffer.h"
#include "script/debug_ranges.h"
#include "tensor/containers.h"
#include "tensor/storage.h"

namespace torchlet {
namespace {

using archive::ArchiveReader;
using archive::Container;
using archive::Record;

// The archive, which sources and debug records are read from when they are needed: perhaps by
// several threads.
struct SharedReader {
  std::mutex mutex;
  ArchiveReader reader;
};
using SharedReaderPtr = std::shared_ptr<SharedReader>;

// "code/__torch__/torch/nn.py" of "__torch__.torch.nn"
std::string code_record(const std::string& package) {
  std::string path = "code/";
  for (const char c : package) path += c == '.' ? '/' : c;
  return path + ".py";
}

// Real source deflates to a tenth.
std::string read_code(ArchiveReader& reader, const std::string& record) {
  constexpr uint64_t kFloor = 1 << 20, kPerStoredByte = 64;
  const Record& found = *std::ranges::find(reader.records(), record, &Record::name);
  if (found.size > kFloor + kPerStoredByte * found.stored_size) {
    fail(ErrorCode::kFileFormat, "the record '%s' inflates from %llu to %llu bytes of source",
         record.c_str(), static_cast<unsigned long long>(found.stored_size),
         static_cast<unsigned long long>(found.size));
  }
  return reader.read_text(record);
}

std::shared_ptr<const Source> read_source(const SharedReaderPtr& shared,
                                          const std::string& package) {
  const std::string record = code_record(package);
  const std::lock_guard lock(shared->mutex);
  if (!shared->reader.has_record(record)) return nullptr;
  auto source = std::make_shared<Source>();
  source->name = record;
  source->text = read_code(shared->reader, record);
  const std::string ranges = record + ".debug_pkl";
  if (shared->reader.has_record(ranges)) {
    source->origin = std::make_shared<script::DebugRanges>([shared, ranges] {
      const std::lock_guard inner(shared->mutex);
      archive::ObjectFactory plain;
      return shared->reader.read_pickle(ranges, "", plain);
    });
  }
  return source;
}

void refuse_unsupported(const std::vector<UnsupportedOperator>& missing) {
  std::string names;
  for (size_t i = 0; i < missing.size() && i < 20; ++i)
    names += (i ? ", " : "") + missing[i].name.substr(0, 100);
  if (missing.size() > 20) names += ", ...";
  Error error(
      ErrorCode::kUnsupported,
      format("the model uses %zu %s that %s: %s", missing.size(),
             missing.size() == 1 ? "operator" : "operators",
             selection::kIsWhole ? "Torchlet does not have"
                                 : "this libtorchlet was built without (TORCHLET_OPERATORS)",
             names.c_str()));
  for (const UnsupportedOperator& op : missing) {
    for (const std::string& place : op.places) error.add_context(op.name + " at " + place);
  }
  throw error;
}

// Of TorchScript source. Without it, files run from their bytecode, whatever else they hold.
using selection::kHasCompiler;

// What a file holds, whichever its container is.
struct Contents {
  ModelInfo info;
  script::Program program;
  bool has_source = true;
  // Named as in messages about them: "data.pkl".
  std::string constants_record, bytecode_record, module_record;
  std::function<std::vector<Value>(archive::ObjectFactory&)> read_constants;
  std::function<lite::Bytecode(archive::ObjectFactory&)> read_bytecode;  // null: there is none
  std::function<void(lite::Bytecode&)> read_debug_info;                  // null: there is none
  std::function<Value(archive::ObjectFactory&)> read_module;
  std::function<std::map<std::string, std::string>()> read_extra_files;  // from any thread
};

// Debug records are a comfort: one that is malformed leaves places unknown.
void read_debug_info(ArchiveReader& reader, lite::Bytecode& bytecode) {
  archive::ObjectFactory plain;
  try {
    const Value calls = reader.read_pickle("callstack_debug_map.pkl", "", plain);
    lite::read_debug_handles(reader.read_pickle("mobile_debug_handles.pkl", "", plain), bytecode);
    std::unordered_map<int64_t, SourceRange> places;
    size_t text_left = script::DebugRanges::kMostText;
    for (const Record& record : reader.records()) {
      if (!record.name.ends_with(".debug_pkl")) continue;
      const script::DebugRanges ranges([&] { return reader.read_pickle(record.name, "", plain); },
                                       text_left);
      text_left = ranges.add_tagged(places);
    }
    bytecode.debug = std::make_shared<lite::DebugTable>(calls, places);
  } catch (const Error& error) {
    if (is_limit(error.code())) throw;
  }
}

Contents contents_of_zip(ArchiveReader opened) {
  const SharedReaderPtr shared(new SharedReader{{}, std::move(opened)});
  ArchiveReader& reader = shared->reader;
  const bool is_lite = reader.container() == Container::kLite;
  Contents contents;
  contents.info.container = is_lite ? "Lite Interpreter" : "TorchScript";
  contents.info.file_version = reader.version();
  contents.has_source = reader.has_code();
  if constexpr (kHasCompiler) {
    contents.program.find_source = [shared](const std::string& package) {
      return read_source(shared, package);
    };
  }
  contents.program.operator_version = static_cast<int>(reader.version());
  contents.constants_record = "constants.pkl";
  contents.read_constants = [&reader](archive::ObjectFactory& factory) {
    return reader.read_constants(factory);
  };
  contents.bytecode_record = "bytecode.pkl";
  if (is_lite && selection::kHasBytecode) {
    contents.read_bytecode = [&reader](archive::ObjectFactory& factory) {
      return lite::parse_bytecode(reader.read_bytecode(factory), [&](const std::string& text) {
        return factory.parse_type(text);
      });
    };
  }
  if (selection::kHasPlaces && reader.has_record("callstack_debug_map.pkl")) {
    contents.read_debug_info = [&reader](lite::Bytecode& bytecode) {
      read_debug_info(reader, bytecode);
    };
  }
  contents.module_record = "data.pkl";
  contents.read_module = [&reader](archive::ObjectFactory& factory) {
    return reader.read_module(factory);
  };
  contents.read_extra_files = [shared] {
    const std::lock_guard inner(shared->mutex);
    return shared->reader.extra_files();
  };
  return contents;
}

Contents contents_of_flatbuffer(const ArchiveReader& file) {
  if constexpr (!selection::kHasFlatbuffers) {
    fail(ErrorCode::kUnsupported,
         "this libtorchlet was built without flatbuffers; build with TORCHLET_CONTAINERS=ff, or "
         "write the model by `torchlet convert MODEL -o OUT.ptl`");
  }
  const auto reader = std::make_shared<lite::FlatbufferReader>(file.bytes(), file.owner());
  const auto sources =
      std::make_shared<const std::map<std::string, std::string>>(reader->sources());
  Contents contents;
  contents.info.container = "Lite Interpreter flatbuffer";
  contents.info.file_version = reader->operator_version();
  contents.has_source = !sources->empty();
  contents.program.find_source =
      [sources](const std::string& package) -> std::shared_ptr<const Source> {
    const auto found = sources->find(package);
    if (found == sources->end()) return nullptr;
    auto source = std::make_shared<Source>();
    source->name = code_record(package);
    source->text = found->second;
    return source;
  };
  // The version is the bytecode's; who writes source writes today's.
  if (!contents.has_source || !kHasCompiler) {
    contents.program.operator_version = static_cast<int>(reader->operator_version());
  }
  contents.constants_record = contents.bytecode_record = contents.module_record = "the flatbuffer";
  contents.read_constants = [reader](archive::ObjectFactory& factory) {
    return reader->read_constants(factory);
  };
  contents.read_bytecode = [reader](archive::ObjectFactory& factory) {
    return reader->read_bytecode(factory);
  };
  contents.read_module = [reader](archive::ObjectFactory& factory) {
    return reader->read_module(factory);
  };
  contents.read_extra_files = [reader, mutex = std::make_shared<std::mutex>()] {
    const std::lock_guard inner(*mutex);
    return reader->extra_files();
  };
  return contents;
}

// A file without source runs from its bytecode.
void use_bytecode(const Contents& contents, LoadedProgram& model) {
  model.bytecode = std::make_unique<lite::BytecodeProgram>(model.unit);
  model.unit.set_class_finder([bytecode = model.bytecode.get()](const std::string& name) {
    return bytecode->find_class(name);
  });
  api::ModelObjectFactory factory(model.unit, model.interpreter, contents.bytecode_record);
  lite::Bytecode bytecode = contents.read_bytecode(factory);
  if (contents.read_debug_info) contents.read_debug_info(bytecode);
  model.bytecode->add_functions(std::move(bytecode));
}

// A file with source runs from that; its bytecode must make sense nevertheless.
void check_bytecode(const Contents& contents, LoadedProgram& model) {
  lite::Program program;
  program.find_class = [&](const std::string& name) {
    const TypePtr type = model.unit.find_type(name);
    return type ? type->as_class() : nullptr;
  };
  program.is_known_missing = [&](const std::string& name) {
    return std::ranges::any_of(model.survey.unsupported,
                               [&](const UnsupportedOperator& op) { return op.name == name; });
  };
  api::ModelObjectFactory factory(model.unit, model.interpreter, contents.bytecode_record);
  lite::verify(contents.read_bytecode(factory), program);
}

Module load_contents(ArchiveReader file, const Options& options,
                     const std::shared_ptr<const RunLimits>& limits,
                     std::vector<device::PlacementChoice> kept, bool from_source) {
  const std::string name = file.name();
  const std::span<const std::byte> bytes = file.bytes();
  const bool has_cache = selection::kIsWhole && !options.cache_dir.empty();
  const uint64_t content = has_cache ? file.content_id() : 0;
  Contents contents = file.container() == Container::kFlatbuffer ? contents_of_flatbuffer(file)
                                                                 : contents_of_zip(std::move(file));
  if (!from_source && contents.has_source) {
    if (!contents.read_bytecode) {
      fail(ErrorCode::kUnsupported,
           "the file holds TorchScript source alone, and this libtorchlet was built without its "
           "compiler; build with TORCHLET_CONTAINERS=pt, or write the model by `torchlet convert "
           "MODEL "
           "-o OUT.ptl`");
    }
    contents.has_source = false;
    contents.program.find_source = nullptr;
  }
  if (!contents.has_source && !contents.read_bytecode) {
    fail(ErrorCode::kFileFormat,
         "the archive holds neither source (code/) nor bytecode; it is incomplete, so save or "
         "download the model again");
  }
  auto model = std::make_shared<LoadedProgram>(std::move(contents.program), options, limits);
  model->info = std::move(contents.info);
  model->info.file = name;
  model->info.num_bytes = bytes.size();
  model->kept_placements = std::move(kept);
  model->read_extra_files = std::move(contents.read_extra_files);

  if (contents.has_source) {
    api::ModelObjectFactory factory(model->unit, model->interpreter, contents.constants_record);
    model->unit.set_constants(contents.read_constants(factory));
  } else {
    use_bytecode(contents, *model);
  }
  api::ModelObjectFactory objects(model->unit, model->interpreter, contents.module_record,
                                  model->bytecode.get());
  Value root = contents.read_module(objects);
  if (model->bytecode) model->bytecode->finish();
  model->info.root_class = root.object_ref().type->name();
  model->survey = api::survey(root);
  if (contents.has_source && contents.read_bytecode) check_bytecode(contents, *model);
  if (!options.allow_unsupported && !model->survey.unsupported.empty()) {
    refuse_unsupported(model->survey.unsupported);
  }
  if constexpr (selection::kIsWhole) {
    if (has_cache) {
      // Checking the CRC-32 has read all weights, and perhaps nobody needs them again.
      give_back_file_pages(bytes.data(), bytes.size());
      model->weight_cache =
          std::make_shared<device::WeightCache>(options.cache_dir, content, bytes.size());
    }
  }
  const auto loaded = std::make_shared<LoadedModel>(model);
  if constexpr (selection::kIsWhole) loaded->methods.hold(std::move(model->survey.bodies));
  return LoadedModel::root(loaded, std::move(root));
}

bool is_auto(const Options& options) {
  return options.devices.size() == 1 && options.devices[0] == device::kAutoDevice;
}

// `open` gives the reader; `path` is empty for what is no file.
template <typename Open>
Module load_reader(const Options& options, const std::string& path, bool from_source,
                   const Open& open) {
  kernels::check_isa_limit();
  const auto limits = std::make_shared<const RunLimits>(options);
  const LimitScope scope = limits->scope();
  ArchiveReader reader = open();
  const std::string name = reader.name();
  std::vector<device::PlacementChoice> kept;
  if (selection::kHasChoice && is_auto(options) && !path.empty()) {
    kept =
        device::usable_placements(path, reader.bytes(), TORCHLET_VERSION, device_config(options));
  }
  try {
    return load_contents(std::move(reader), options, limits, std::move(kept), from_source);
  } catch (Error& error) {
    const auto& places = error.context();
    if (places.empty() || places.back().find(name) == std::string::npos) {
      error.add_context("in '" + name + "'");
    }
    throw;
  }
}

}  // namespace

Module load(const std::string& path, const Options& options) {
  return load_reader(options, path, kHasCompiler, [&] { return ArchiveReader::open(path); });
}

Module api::load_bytecode(const std::string& path, const Options& options) {
  return load_reader(options, path, false, [&] { return ArchiveReader::open(path); });
}

Module load(int fd, int64_t offset, int64_t length, const Options& options) {
  return load_reader(options, "", kHasCompiler,
                     [&] { return ArchiveReader::open(fd, offset, length); });
}

Module load(std::span<const std::byte> bytes, const Options& options) {
  const auto copy = std::make_shared<Storage>(bytes.size());
  if (!bytes.empty()) std::memcpy(copy->data(), bytes.data(), bytes.size());
  return load_reader(options, "", kHasCompiler, [&] {
    return ArchiveReader::open({copy->data(), bytes.size()}, copy, "the given bytes");
  });
}

LoadedModel::LoadedModel(std::shared_ptr<LoadedProgram> p)
    : program(std::move(p)),
      methods(device::make_devices(program->options.devices, program->device_config())) {
  const device::DeviceConfig config = program->device_config();
  for (const device::PlacementChoice& choice : program->kept_placements) {
    kept_placements.push_back(
        methods.add_placement(device::make_devices(choice, config), choice.left));
  }
}

LoadedModel::LoadedModel(std::shared_ptr<LoadedProgram> p,
                         std::vector<std::shared_ptr<device::Device>> devices,
                         device::SegmentKeys left)
    : program(std::move(p)), methods(std::move(devices), std::move(left)) {}

size_t LoadedModel::placement_for(const Function& method, std::span<const Value> bound) const {
  for (size_t i = 0; i < kept_placements.size(); ++i) {
    const device::PlacementChoice& choice = program->kept_placements[i];
    if (choice.is_for(method.qualified_name(), bound.subspan(1), num_threads())) {
      return kept_placements[i];
    }
  }
  return 0;
}

RunLimits::RunLimits(const Options& options)
    : time_limit_(options.time_limit), cancel_(options.cancel) {
  if (!(time_limit_ >= 0)) {
    fail(ErrorCode::kInvalidArgument, "Options::time_limit is %g seconds", time_limit_);
  }
  if (options.memory_limit) memory_ = std::make_unique<MemoryBudget>(options.memory_limit);
}

const char* precision_name(Precision precision) {
  return precision == Precision::kFloat32   ? "fp32"
         : precision == Precision::kFloat16 ? "fp16"
                                            : "bf16";
}

Precision parse_precision(std::string_view name) {
  if (name == "fp32") return Precision::kFloat32;
  if (name == "fp16") return Precision::kFloat16;
  if (name == "bf16") return Precision::kBFloat16;
  fail(ErrorCode::kInvalidArgument,
       "there is no precision '" + std::string(name) + "'; there are: fp32, fp16, bf16");
}

Preference parse_preference(std::string_view name) {
  if (name == "low-power") return Preference::kLowPower;
  if (name == "fast") return Preference::kFast;
  if (name == "sustained") return Preference::kSustained;
  fail(ErrorCode::kInvalidArgument,
       "there is no preference '" + std::string(name) + "'; there are: low-power, fast, sustained");
}

Footprint parse_footprint(std::string_view name) {
  if (name == "fast") return Footprint::kFast;
  if (name == "lean") return Footprint::kLean;
  fail(ErrorCode::kInvalidArgument,
       "there is no footprint '" + std::string(name) + "'; there are: fast, lean");
}

bool has_float16_arithmetic() { return kernels::has_float16(); }
bool has_bfloat16_products() { return kernels::has_bfloat16(); }

const char* version() { return TORCHLET_VERSION; }

}  // namespace torchlet
