#include <algorithm>

#include "archive/zip_writer.h"
#include "lite/write/code_form.h"
#include "lite/write/pickled_bytecode.h"
#include "prepare/saved_model.h"
#include "script/debug_ranges.h"
#include "tensor/containers.h"

namespace torchlet::prepare {
namespace {

using archive::bytes_of;
using archive::StorageTable;
using archive::ZipWriter;

// "code/__torch__/torch/nn.py" of "__torch__.torch.nn"
std::string code_record(std::string package) {
  std::ranges::replace(package, '.', '/');
  return "code/" + package + ".py";
}

class ArchiveWriter {
 public:
  // The root folder is the same for every file, so that the name of the file is not part of it.
  ArchiveWriter(const SavedModel& model, ByteSink& sink) : model_(model), zip_(sink, "archive") {}

  void run() {
    for (const auto& [name, content] : model_.extra_files) {
      zip_.add("extra/" + name, bytes_of(content));
    }
    StorageTable data;
    add_values("data", model_.root, "data", data);
    for (const script::PrintedProgram::File& file : model_.program.files) {
      add_source(file);
    }
    StorageTable constants;
    add_values("constants", Value::tuple(model_.program.constants), "constants", constants);
    if (model_.bytecode) add_bytecode(*model_.bytecode, constants);
    const bool is_new = model_.operator_version >= 6;
    zip_.add(is_new ? ".data/version" : "version",
             bytes_of(std::to_string(model_.operator_version) + "\n"));
    zip_.finish();
  }

 private:
  // The pickle `name`.pkl; the storages that `storages` did not have yet become records of
  // `folder`.
  void add_values(const std::string& name, const Value& value, const std::string& folder,
                  StorageTable& storages) {
    const size_t known = storages.storages().size();
    const std::string bytes = archive::PickleWriter(model_.state_of, storages).write(value);
    for (size_t i = known; i < storages.storages().size(); ++i) {
      Storage& storage = *storages.storages()[i];
      zip_.add(folder + "/" + std::to_string(i), {storage.data(), storage.nbytes()});
    }
    zip_.add(name + ".pkl", bytes_of(bytes));
  }

  void add_source(const script::PrintedProgram::File& file) {
    const std::string record = code_record(file.package);
    zip_.add(record, bytes_of(file.source.text), ZipWriter::Form::kDeflatedIfLarge);
    const Value places = script::debug_record(file.source.marks);
    if (!places.is_none()) add_debug_record(record + ".debug_pkl", places);
  }

  void add_debug_record(const std::string& name, const Value& value) {
    StorageTable none;
    const std::string pickle = archive::PickleWriter(model_.state_of, none).write(value);
    zip_.add(name, bytes_of(pickle), ZipWriter::Form::kDeflatedIfLarge);
  }

  void add_bytecode(const lite::Bytecode& bytecode, StorageTable& constants) {
    const Value pickled = lite::pickled_bytecode(bytecode);
    StorageTable own;
    if (lite::CodeForm(static_cast<int>(bytecode.version)).shares_tensors) {
      add_values("bytecode", pickled, "constants", constants);
    } else {
      add_values("bytecode", pickled, "bytecode", own);
    }
    // Beside source without places, calls alone tell nothing new.
    const bool is_alone = model_.program.files.empty();
    if (!model_.debug.knows_places() && !(is_alone && model_.debug.knows_calls())) return;
    add_debug_record("mobile_debug_handles.pkl", lite::pickled_debug_handles(bytecode));
    // PyTorch asks all records of this ending. So what the handles need is in none of code/, which
    // may be dropped.
    add_debug_record("bytecode.debug_pkl", script::tagged_debug_record(model_.debug.places()));
    add_debug_record("callstack_debug_map.pkl", model_.debug.calls());
  }

  const SavedModel& model_;
  ZipWriter zip_;
};

}  // namespace

void write_archive(const SavedModel& model, ByteSink& sink) { ArchiveWriter(model, sink).run(); }

}  // namespace torchlet::prepare
