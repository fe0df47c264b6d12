#include "archive/pickle.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "archive/file_budget.h"
#include "archive/pickle_args.h"
#include "archive/pickle_globals.h"
#include "tensor/containers.h"

namespace torchlet::archive {
namespace {

// Opcodes of Python's pickletools that stand for plain data in protocol 2.
enum class Op : uint8_t {
  kMark = '(',
  kStop = '.',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersId = 'Q',
  kReduce = 'R',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kEmptyList = ']',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kDict = 'd',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kList = 'l',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kEmptyTuple = ')',
  kSetItems = 'u',
  kEmptyDict = '}',
  kProto = 0x80,
  kNewObj = 0x81,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
};

constexpr size_t kMaxGlobalLength = 4096;

// An object between NEWOBJ, which names its class, and BUILD, which gives its state.
struct PickleInstance : CustomObject {
  explicit PickleInstance(TypePtr t) : type(std::move(t)) {}
  std::string_view class_name() const override { return type->name(); }
  TypePtr type;
  bool built = false;
  Value object;
};

class Unpickler {
 public:
  Unpickler(std::span<const std::byte> bytes, size_t stored_size, ObjectFactory& factory,
            StorageLoader storages)
      : bytes_(bytes),
        factory_(factory),
        storages_(storages),
        budget_(stored_size),
        empty_tuple_(Value::tuple({})) {
    notes_[empty_tuple_.raw_int()] = Note();
  }

  Value run();
  size_t op_position() const { return op_position_; }

 private:
  // What must be known about a container while the pickle is read.
  struct Note {
    int depth = 1;
    bool used = false;      // it is part of something else: it may not change any more
    bool internal = false;  // a tuple of arguments that holds classes or storages
  };

  void step(Op op);
  void step_container(Op op);
  void step_object(Op op);

  uint64_t take_number(size_t width);
  std::string_view take_bytes(size_t count);
  std::string_view take_line();

  void push(Value value);
  Value pop();
  std::vector<Value> pop_marked();
  std::vector<Value> pop_count(size_t count);

  Note use(const Value& item, bool internal_allowed);
  Note use_all(const std::vector<Value>& items, bool internal_allowed);
  void push_container(Value container, const Note& note);
  const Value& open_container(ValueKind kind, const Note& added);
  void make_tuple(std::vector<Value> items);
  void append_all(std::vector<Value> items);
  void set_all(std::vector<Value> items);

  void memoize(uint64_t index);
  void recall(uint64_t index);
  void push_string(uint64_t length);
  void push_long1();
  void global();
  void reduce();
  void new_object();
  void build();
  void persistent_id();

  std::span<const std::byte> bytes_;
  ObjectFactory& factory_;
  StorageLoader storages_;
  FileBudget budget_;
  size_t position_ = 0;
  size_t op_position_ = 0;
  bool stopped_ = false;
  std::vector<Value> stack_;
  std::vector<size_t> marks_;  // sizes of the stack
  std::vector<Value> memo_;
  // By the address of the container. An address that is used again is noted again, because every
  // container is noted when it is made.
  std::unordered_map<int64_t, Note> notes_;
  const Value empty_tuple_;  // shared, so that a long run of ')' needs no memory for each
};

bool is_container(const Value& value) {
  return value.is_list() || value.is_tuple() || value.is_dict() || value.is_object() ||
         value.is_custom();
}

[[noreturn]] void refuse(const std::string& why) { fail(ErrorCode::kFileFormat, why); }

uint64_t Unpickler::take_number(size_t width) {
  const std::string_view raw = take_bytes(width);
  uint64_t number = 0;
  for (size_t i = width; i-- > 0;) number = number << 8 | static_cast<uint8_t>(raw[i]);
  return number;
}

std::string_view Unpickler::take_bytes(size_t count) {
  if (count > bytes_.size() - position_) {
    refuse(format("the pickle is cut short: it ends where %zu more bytes are needed", count));
  }
  const auto* begin = reinterpret_cast<const char*>(bytes_.data()) + position_;
  position_ += count;
  return {begin, count};
}

std::string_view Unpickler::take_line() {
  const size_t left = std::min(bytes_.size() - position_, kMaxGlobalLength);
  const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + position_, left);
  const size_t end = rest.find('\n');
  if (end == std::string_view::npos) refuse("the name of a class does not end");
  position_ += end + 1;
  return rest.substr(0, end);
}

void Unpickler::push(Value value) {
  budget_.charge(sizeof(Value));
  stack_.push_back(std::move(value));
}

Value Unpickler::pop() {
  const size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= floor) refuse("the pickle takes more values from its stack than there are");
  Value value = std::move(stack_.back());
  stack_.pop_back();
  return value;
}

std::vector<Value> Unpickler::pop_marked() {
  if (marks_.empty()) refuse("the pickle uses a mark that it has not set");
  std::vector<Value> items = pop_count(stack_.size() - marks_.back());
  marks_.pop_back();
  return items;
}

std::vector<Value> Unpickler::pop_count(size_t count) {
  const size_t floor = marks_.empty() ? 0 : marks_.back();
  if (count > stack_.size() - floor) {
    refuse("the pickle takes more values from its stack than there are");
  }
  budget_.charge(count * sizeof(Value));
  const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
  std::vector<Value> items(std::make_move_iterator(first), std::make_move_iterator(stack_.end()));
  stack_.erase(first, stack_.end());
  return items;
}

// Takes note that `item` becomes part of something. From then on it may not change, so neither a
// cycle nor a depth beyond the limit can come about later.
Unpickler::Note Unpickler::use(const Value& item, bool internal_allowed) {
  if (item.is_custom()) {
    if (pickle_internal<PickleInstance>(item)) {
      refuse("an object is used before its state is complete: the pickle is cyclic");
    }
    if (pickle_internal<PickleGlobal>(item) || pickle_internal<PickleStorage>(item)) {
      if (!internal_allowed) refuse("a class or a storage stands where a value is expected");
      return {0, true, true};
    }
  }
  const auto note = notes_.find(item.raw_int());
  if (!is_container(item) || note == notes_.end()) return {0, true, false};
  if (note->second.internal && !internal_allowed) {
    refuse("a tuple with a class or a storage stands where a value is expected");
  }
  note->second.used = true;
  return note->second;
}

// Notes what a container of `items` is, before it is made or changed.
Unpickler::Note Unpickler::use_all(const std::vector<Value>& items, bool internal_allowed) {
  Note whole;
  for (const Value& item : items) {
    const Note part = use(item, internal_allowed);
    whole.depth = std::max(whole.depth, part.depth + 1);
    whole.internal |= part.internal;
  }
  if (whole.depth > kMaxPickleDepth) {
    refuse(format("values are nested more than %d deep", kMaxPickleDepth));
  }
  return whole;
}

void Unpickler::push_container(Value container, const Note& note) {
  budget_.charge(kContainerCost);
  notes_[container.raw_int()] = note;
  push(std::move(container));
}

void Unpickler::make_tuple(std::vector<Value> items) {
  const Note note = use_all(items, /*internal_allowed=*/true);
  push_container(Value::tuple(std::move(items)), note);
}

// The list or dict on top of the stack, about to take items described by `added`.
const Value& Unpickler::open_container(ValueKind kind, const Note& added) {
  if (stack_.empty() || stack_.back().kind() != kind) {
    refuse(kind == ValueKind::kList ? "items are appended to what is no list"
                                    : "items are set in what is no dict");
  }
  Note& note = notes_[stack_.back().raw_int()];
  if (note.used) {
    refuse("a list or dict changes after it became part of another value: the pickle is cyclic");
  }
  note.depth = std::max(note.depth, added.depth);
  return stack_.back();
}

void Unpickler::append_all(std::vector<Value> items) {
  const Note added = use_all(items, /*internal_allowed=*/false);
  std::vector<Value>& list = open_container(ValueKind::kList, added).list_ref().items;
  budget_.charge(2 * items.size() * sizeof(Value));
  list.insert(list.end(), std::make_move_iterator(items.begin()),
              std::make_move_iterator(items.end()));
}

void Unpickler::set_all(std::vector<Value> items) {
  if (items.size() % 2 != 0) refuse("a dict has a key without a value");
  const Note added = use_all(items, /*internal_allowed=*/false);
  Dict& dict = open_container(ValueKind::kDict, added).dict_ref();
  for (size_t i = 0; i < items.size(); i += 2) {
    const Value& key = items[i];
    if (!key.is_scalar() && !key.is_string() && !key.is_tensor() && !key.is_device()) {
      refuse(format("%s is the key of a dict", key.kind_name()));
    }
    budget_.charge(kDictEntryCost);
    dict.set(key, std::move(items[i + 1]));
  }
}

void Unpickler::memoize(uint64_t index) {
  if (stack_.empty()) refuse("the pickle memoizes a value, but its stack is empty");
  // Each entry takes two bytes of pickle or more, and picklers count from 0.
  if (index > position_) {
    refuse(format("memo entry %llu in a pickle of %zu bytes",
                  static_cast<unsigned long long>(index), bytes_.size()));
  }
  if (index >= memo_.size()) {
    budget_.charge((index + 1 - memo_.size()) * sizeof(Value));
    memo_.resize(index + 1);
  }
  memo_[index] = stack_.back();
}

void Unpickler::recall(uint64_t index) {
  if (index >= memo_.size() || memo_[index].is_none()) {
    refuse(format("memo entry %llu was never set", static_cast<unsigned long long>(index)));
  }
  const auto* instance = pickle_internal<PickleInstance>(memo_[index]);
  push(instance && instance->built ? instance->object : memo_[index]);
}

void Unpickler::push_string(uint64_t length) {
  const std::string_view text = take_bytes(length);
  budget_.charge(kContainerCost + text.size());
  push(Value(text));
}

// Little-endian two's complement of a length given in one byte.
void Unpickler::push_long1() {
  const size_t width = take_number(1);
  if (width > sizeof(int64_t)) {
    refuse(format("an integer of %zu bytes; TorchScript's have 8", width));
  }
  const unsigned unused = static_cast<unsigned>(8 * (sizeof(int64_t) - width));
  const uint64_t number = take_number(width);
  push(width == 0 ? Value(0) : Value(static_cast<int64_t>(number << unused) >> unused));
}

void Unpickler::global() {
  const std::string module(take_line());
  const std::string name = module + "." + std::string(take_line());
  budget_.charge(kObjectCost);
  Ref<PickleGlobal> global = known_global(name);
  if (!global) {
    global = make_ref<PickleGlobal>(PickleGlobal::Kind::kClass, name);
    global->type = factory_.resolve_class(name);
  }
  if (global->kind == PickleGlobal::Kind::kClass && !global->type) {
    refuse("'" + name.substr(0, 200) +
           "' is neither defined in the code of this archive nor one of the few Python names that "
           "TorchScript needs; Torchlet never runs Python code");
  }
  push(Value(Ref<CustomObject>(global)));
}

void Unpickler::reduce() {
  const Value args = pop();
  const Value callee = pop();
  const auto* global = pickle_internal<PickleGlobal>(callee);
  if (!global) refuse(format("%s is called but is no function", callee.kind_name()));
  budget_.charge(kObjectCost);
  if (global->kind == PickleGlobal::Kind::kClass) {  // EnumClass(value)
    if (!global->type->is(TypeKind::kEnum)) refuse(global->name + " is called but is no enum");
    use(args, /*internal_allowed=*/false);
    const bool wrapped = args.is_tuple() && args.tuple_ref().items.size() == 1;
    push(factory_.build_enum(global->type, wrapped ? args.tuple_ref().items[0] : args));
    return;
  }
  use(args, /*internal_allowed=*/true);
  Value result = call_pickle_function(*global, args, factory_);
  if (global->function == PickleFunction::kOrderedDict) {
    push_container(std::move(result), Note());
  } else {
    push(std::move(result));
  }
}

void Unpickler::new_object() {
  const Value args = pop();
  const Value callee = pop();
  const auto* global = pickle_internal<PickleGlobal>(callee);
  if (!global || global->kind != PickleGlobal::Kind::kClass) {
    refuse(format("an object is made of %s instead of a class", callee.kind_name()));
  }
  if (!args.is_tuple() || !args.tuple_ref().items.empty()) {
    refuse("an object of " + global->name + " is made with arguments");
  }
  budget_.charge(kObjectCost);
  push(Value(Ref<CustomObject>(make_ref<PickleInstance>(global->type))));
}

void Unpickler::build() {
  const Value state = pop();
  const Value target = pop();
  auto* instance = pickle_internal<PickleInstance>(target);
  if (!instance || instance->built) {
    refuse(format("a state is given to %s", target.kind_name()));
  }
  const Note note = use_all({state}, /*internal_allowed=*/false);
  instance->object = factory_.build_object(instance->type, state);
  instance->built = true;
  push_container(instance->object, note);
}

// ('storage', torch.FloatStorage, key, device, numel[, view])
void Unpickler::persistent_id() {
  const Value id = pop();
  const PickleArgs args("persistent id", id, 5, 6);
  const auto* type = pickle_internal<PickleGlobal>(args[1]);
  if (args.string(0, "'storage'") != "storage" || !type ||
      type->kind != PickleGlobal::Kind::kStorageType) {
    args.refuse("('storage', type, key, device, numel)", args[1].kind_name());
  }
  const std::string& key = args.string(2, "the key of a storage");
  args.string(3, "the device of a storage");
  const int64_t numel = args.integer(4, "the number of elements");
  int64_t nbytes;
  if (numel < 0 ||
      __builtin_mul_overflow(numel, static_cast<int64_t>(element_size(type->dtype)), &nbytes)) {
    refuse(format("a storage of %lld elements", static_cast<long long>(numel)));
  }
  budget_.charge(kObjectCost);
  auto storage = storages_(key, static_cast<size_t>(nbytes));
  push(Value(Ref<CustomObject>(make_ref<PickleStorage>(std::move(storage), type->dtype, key))));
}

void Unpickler::step(Op op) {
  switch (op) {
    case Op::kProto:
      if (const uint64_t protocol = take_number(1); protocol > 2) {
        refuse(
            format("pickle protocol %d; TorchScript archives use 2", static_cast<int>(protocol)));
      }
      return;
    case Op::kStop:
      stopped_ = true;
      return;
    case Op::kMark:
      budget_.charge(sizeof(size_t));
      marks_.push_back(stack_.size());
      return;
    case Op::kNone:
      return push(Value());
    case Op::kNewTrue:
      return push(Value(true));
    case Op::kNewFalse:
      return push(Value(false));
    case Op::kBinInt:
      return push(Value(static_cast<int64_t>(static_cast<int32_t>(take_number(4)))));
    case Op::kBinInt1:
      return push(Value(static_cast<int64_t>(take_number(1))));
    case Op::kBinInt2:
      return push(Value(static_cast<int64_t>(take_number(2))));
    case Op::kLong1:
      return push_long1();
    case Op::kBinFloat:
      return push(Value(std::bit_cast<double>(__builtin_bswap64(take_number(8)))));
    case Op::kShortBinString:
      return push_string(take_number(1));
    case Op::kBinString:
    case Op::kBinUnicode:
      return push_string(take_number(4));
    case Op::kBinGet:
      return recall(take_number(1));
    case Op::kLongBinGet:
      return recall(take_number(4));
    case Op::kBinPut:
      return memoize(take_number(1));
    case Op::kLongBinPut:
      return memoize(take_number(4));
    default:
      return step_container(op);
  }
}

void Unpickler::step_container(Op op) {
  const auto new_list = [&] { push_container(make_list(types::any(), {}), Note()); };
  const auto new_dict = [&] {
    push_container(Value(make_ref<Dict>(types::any(), types::any())), Note());
  };
  switch (op) {
    case Op::kEmptyTuple:
      return push(empty_tuple_);
    case Op::kTuple:
      return make_tuple(pop_marked());
    case Op::kTuple1:
      return make_tuple(pop_count(1));
    case Op::kTuple2:
      return make_tuple(pop_count(2));
    case Op::kTuple3:
      return make_tuple(pop_count(3));
    case Op::kEmptyList:
      return new_list();
    case Op::kList: {
      std::vector<Value> items = pop_marked();
      new_list();
      return append_all(std::move(items));
    }
    case Op::kAppend:
      return append_all(pop_count(1));
    case Op::kAppends:
      return append_all(pop_marked());
    case Op::kEmptyDict:
      return new_dict();
    case Op::kDict: {
      std::vector<Value> items = pop_marked();
      new_dict();
      return set_all(std::move(items));
    }
    case Op::kSetItem:
      return set_all(pop_count(2));
    case Op::kSetItems:
      return set_all(pop_marked());
    default:
      return step_object(op);
  }
}

void Unpickler::step_object(Op op) {
  switch (op) {
    case Op::kGlobal:
      return global();
    case Op::kReduce:
      return reduce();
    case Op::kNewObj:
      return new_object();
    case Op::kBuild:
      return build();
    case Op::kBinPersId:
      return persistent_id();
    default:
      refuse(format("opcode 0x%02x, which TorchScript archives do not use", static_cast<int>(op)));
  }
}

Value Unpickler::run() {
  while (!stopped_) {
    op_position_ = position_;
    step(static_cast<Op>(take_number(1)));
  }
  if (stack_.size() != 1 || !marks_.empty()) {
    refuse(format("the pickle ends with %zu values instead of one", stack_.size()));
  }
  use(stack_[0], /*internal_allowed=*/false);
  return pop();
}

}  // namespace

TypePtr ObjectFactory::parse_type(std::string_view text) {
  refuse("the type '" + std::string(text.substr(0, 200)) + "' is not expected in this record");
}
TypePtr ObjectFactory::resolve_class(const std::string&) { return nullptr; }
Value ObjectFactory::build_object(const TypePtr& type, Value) {
  refuse("an object of " + type->name() + " is not expected in this record");
}
Value ObjectFactory::build_enum(const TypePtr& type, const Value&) {
  refuse("an enum " + type->name() + " is not expected in this record");
}

Value read_pickle(std::span<const std::byte> bytes, size_t stored_size, const std::string& record,
                  ObjectFactory& factory, StorageLoader storages) {
  Unpickler unpickler(bytes, stored_size, factory, storages);
  try {
    return unpickler.run();
  } catch (Error& error) {
    error.add_context(
        format("at byte %zu of record '%s'", unpickler.op_position(), record.c_str()));
    throw;
  }
}

}  // namespace torchlet::archive
