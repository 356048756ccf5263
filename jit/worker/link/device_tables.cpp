// The object that carries device code into a module.
#include "jit/worker/link/device_tables.h"

#include "jit/worker/exports/export_text.h"
#include "jit/worker/host/host_tables.h"
#include "jit/worker/link/emit_object.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"

namespace tarsia::jit {
namespace {

constexpr uint32_t k_wrapper_magic = 0x466243b1;  // fatbinary_section.h of CUDA: __fatBinC_Wrapper_t

// Builds constants of C structs in a module that holds only data.
class Data {
 public:
  explicit Data(llvm::LLVMContext& context) : m_module("tarsia_device", context), m_context(context) {}
  llvm::Module& module() { return m_module; }

  llvm::PointerType* pointer_type() { return llvm::PointerType::getUnqual(m_context); }
  llvm::Constant* null() { return llvm::ConstantPointerNull::get(pointer_type()); }
  llvm::Constant* number(uint64_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt64Ty(m_context), value);
  }
  llvm::Constant* number32(uint32_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(m_context), value);
  }
  llvm::Constant* string(llvm::StringRef text) { return bytes(text, /*terminated=*/true, 1); }
  llvm::GlobalVariable* bytes(llvm::StringRef content, bool terminated, unsigned align) {
    auto* variable = place(llvm::ConstantDataArray::getString(m_context, content, terminated), true);
    variable->setAlignment(llvm::Align(align));
    return variable;
  }
  llvm::Constant* number16(unsigned value) {
    return llvm::ConstantInt::get(llvm::Type::getInt16Ty(m_context), value);
  }
  llvm::Constant* number8(unsigned value) {
    return llvm::ConstantInt::get(llvm::Type::getInt8Ty(m_context), value);
  }
  /// &array[i] of a hidden array of pointers in another object.
  llvm::Constant* slot(const std::string& array, uint64_t i) {
    llvm::GlobalValue* base = m_module.getNamedValue(array);
    return llvm::ConstantExpr::getGetElementPtr(
        pointer_type(), base ? static_cast<llvm::Constant*>(base) : external(array), number(i));
  }
  /// The list's items in memory; null for an empty list.
  llvm::Constant* list(const std::vector<llvm::Constant*>& items) {
    return items.empty() ? null() : place(array(items[0]->getType(), items), true);
  }
  /// Puts the record's address into a section of such addresses.
  void enter(llvm::Constant* record, const char* section) {
    place(place(record, true), true, std::string(section) + "_entry_" + std::to_string(m_entries++))
        ->setSection(section);
  }
  llvm::Constant* record(std::initializer_list<llvm::Constant*> fields) {
    return llvm::ConstantStruct::getAnon(m_context, fields);
  }
  llvm::Constant* array(llvm::Type* type, const std::vector<llvm::Constant*>& items) {
    return llvm::ConstantArray::get(llvm::ArrayType::get(type, items.size()), items);
  }
  llvm::Constant* external(const std::string& name) {
    auto* variable = new llvm::GlobalVariable(m_module, llvm::Type::getInt8Ty(m_context), false,
                                              llvm::GlobalValue::ExternalLinkage, nullptr, name);
    variable->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return variable;
  }
  llvm::GlobalVariable* place(llvm::Constant* value, bool constant, const std::string& name = "") {
    auto linkage = name.empty() ? llvm::GlobalValue::PrivateLinkage : llvm::GlobalValue::ExternalLinkage;
    auto* variable = new llvm::GlobalVariable(m_module, value->getType(), constant, linkage, value, name);
    if (!name.empty()) variable->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return variable;
  }

 private:
  llvm::Module m_module;
  llvm::LLVMContext& m_context;
  int m_entries = 0;
};

llvm::Constant* dtype_of(Data& data, tarsia_dtype dtype) {
  return data.record({data.number8(dtype.code), data.number8(dtype.bits), data.number16(dtype.lanes)});
}

// tarsia_kernel of abi.h.
void describe_kernel(Data& data, const DeviceUnit& unit, size_t i) {
  const KernelUse& kernel = unit.slice->kernels[i];
  std::vector<llvm::Constant*> params, sizes, aligns;
  for (const KernelParam& param : kernel.params) {
    const tarsia_type& type = param.type;
    params.push_back(data.record(
        {data.string(param.name), data.record({data.number8(type.kind), data.number8(type.flags),
                                               data.number16(0), dtype_of(data, type.dtype), data.null()})}));
    sizes.push_back(data.number32(param.bytes));
    aligns.push_back(data.number32(param.align));
  }
  data.enter(data.record({data.number32(sizeof(tarsia_kernel)), data.string(kernel.listed_name),
                          data.string(kernel.signature), data.string(kernel.location), data.null(),
                          data.number32(params.size()), data.list(params), data.list(sizes),
                          data.list(aligns), data.slot(stubs_symbol(unit.number), i),
                          data.string(unit.kernel_symbols[i]), data.string(unit.file)}),
             "tarsia_kernels");
}

// tarsia_global of abi.h.
void describe_variable(Data& data, const DeviceUnit& unit, size_t i) {
  const DeviceVariable& variable = unit.slice->variables[i];
  std::vector<llvm::Constant*> shape;
  for (int64_t extent : variable.shape) shape.push_back(data.number(uint64_t(extent)));
  const unsigned flags = (variable.constant ? TARSIA_GLOBAL_CONSTANT : 0) |
                         (variable.managed ? TARSIA_GLOBAL_MANAGED : 0) |
                         (variable.read_only ? TARSIA_GLOBAL_READ_ONLY : 0);
  data.enter(
      data.record({data.number32(sizeof(tarsia_global)), data.number32(flags),
                   data.string(variable.listed_name), data.string(variable.type),
                   data.string(variable.location),
                   unit.variable_symbols[i].empty() ? data.null() : data.slot(shadows_symbol(unit.number), i),
                   data.number(variable.bytes), dtype_of(data, variable.dtype),
                   data.number32(unsigned(shape.size())), data.list(shape)}),
      "tarsia_globals");
}

// tarsia_kernel_template of abi.h.
void describe_template(Data& data, const std::string& file, const KernelTemplate& pattern) {
  std::vector<llvm::Constant*> params, function_params;
  for (const KernelTemplate::Param& param : pattern.params)
    params.push_back(data.record({data.string(param.name), data.number32(param.kind),
                                  data.number32(param.has_default), data.string(param.default_text)}));
  for (const KernelTemplate::Deducible& param : pattern.function_params)
    function_params.push_back(data.record(
        {data.string(param.name), data.number32(uint32_t(param.deduces)), data.number32(param.is_pointer)}));
  data.enter(
      data.record({data.number32(sizeof(tarsia_kernel_template)), data.number32(uint32_t(params.size())),
                   data.string(pattern.name), data.string(pattern.signature), data.string(pattern.location),
                   data.string(file), data.list(params), data.list(function_params),
                   data.number32(uint32_t(function_params.size()))}),
      "tarsia_templates");
}

// Makes the tables that the host's object has otherwise. The address of a byte stands for each kernel.
void define_stubs(Data& data, const DeviceUnit& unit) {
  std::vector<llvm::Constant*> stubs;
  for (size_t i = 0; i < unit.kernel_symbols.size(); ++i) stubs.push_back(data.place(data.number8(0), false));
  data.place(data.array(data.pointer_type(), stubs), true, stubs_symbol(unit.number));
  data.place(data.array(data.pointer_type(), {}), true, shadows_symbol(unit.number));
}

}  // namespace

std::string make_device_tables(const std::vector<DeviceUnit>& units,
                               const std::vector<FileTemplates>& templates) {
  llvm::LLVMContext context;
  Data data(context);
  set_target(data.module());

  std::vector<llvm::Constant*> images;
  std::size_t n_records = 0;
  for (const DeviceUnit& unit : units) {
    llvm::Constant* fatbin = nullptr;
    for (const DeviceImage& image : unit.images) {
      auto* bytes = data.bytes(image.bytes, false, 16);
      if (image.bytes == unit.fatbin) fatbin = bytes;
      images.push_back(data.record({data.string(unit.file), data.string(image.arch), bytes,
                                    data.number(image.bytes.size()), data.string(unit.compiler)}));
    }
    if (!fatbin) fatbin = data.bytes(unit.fatbin, false, 16);
    auto* wrapper = data.place(
        data.record({data.number32(k_wrapper_magic), data.number32(1), fatbin, data.null()}), true);
    wrapper->setSection(".nvFatBinSegment");
    std::vector<llvm::Constant*> names, variables;
    for (const std::string& symbol : unit.kernel_symbols)
      names.push_back(symbol.empty() ? data.null() : data.string(symbol));
    llvm::StructType* variable_type = nullptr;
    for (size_t i = 0; i < unit.variable_symbols.size(); ++i) {
      const DeviceVariable& variable = unit.slice->variables[i];
      const std::string& symbol = unit.variable_symbols[i];
      auto* record =
          data.record({symbol.empty() ? data.null() : data.string(symbol), data.number(variable.bytes),
                       data.number32(variable.constant), data.number32(variable.managed)});
      variable_type = llvm::cast<llvm::StructType>(record->getType());
      variables.push_back(record);
    }
    if (unit.without_host) define_stubs(data, unit);
    llvm::Constant* name_table =
        names.empty() ? data.null() : data.place(data.array(data.pointer_type(), names), true);
    llvm::Constant* variable_table =
        variables.empty() ? data.null() : data.place(data.array(variable_type, variables), true);
    llvm::Constant* header_kernels = unit.has_header_kernels && !unit.without_host
                                         ? data.external(header_kernels_symbol(unit.number))
                                         : data.null();
    auto* handle = data.place(data.null(), false);
    auto* record =
        data.place(data.record({wrapper, data.slot(stubs_symbol(unit.number), 0), name_table,
                                data.number(names.size()), data.slot(shadows_symbol(unit.number), 0),
                                variable_table, data.number(variables.size()), handle, header_kernels}),
                   true);
    for (size_t i = 0; i < unit.kernel_symbols.size(); ++i) describe_kernel(data, unit, i);
    for (size_t i = 0; i < unit.variable_symbols.size(); ++i) describe_variable(data, unit, i);
    auto* entry = data.place(record, true, "tarsia_cuda_unit_" + std::to_string(n_records++));
    entry->setSection("tarsia_cuda_units");
    for (size_t i = 0; i < unit.places.size(); ++i)
      data.place(llvm::ConstantDataArray::getString(context, unit.places[i]), true,
                 place_symbol(unit.number, i));
  }
  for (const FileTemplates& file : templates)
    for (const KernelTemplate& pattern : file.templates) describe_template(data, file.file, pattern);
  if (!images.empty()) {
    data.place(data.array(images[0]->getType(), images), true, "tarsia_images");
    data.place(data.number(images.size()), true, "tarsia_n_images");
  }

  return emit_object(data.module());
}

}  // namespace tarsia::jit
