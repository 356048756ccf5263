// Writes an explicit instantiation of a function template.
//
// The text of the function's type is taken, and its words that are the template's parameters are replaced. An
// exact way would be to instantiate the declaration, which may fail and would change the translation unit.
#include "jit/worker/exports/template_example.h"

#include <map>

#include "clang/AST/DeclTemplate.h"
#include "jit/worker/exports/exports.h"
#include "llvm/ADT/StringExtras.h"

namespace tarsia::jit {
namespace {

// The text with words replaced.
std::string replaced(llvm::StringRef text, const std::map<std::string, std::string>& words) {
  std::string result;
  while (!text.empty()) {
    const llvm::StringRef word = text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (word.empty()) {
      result += text.front();
      text = text.drop_front();
      continue;
    }
    const auto found = words.find(word.str());
    result += found == words.end() ? word.str() : found->second;
    text = text.drop_front(word.size());
  }
  return result;
}

}  // namespace

std::string instance_to_write(const clang::FunctionDecl& pattern, const clang::PrintingPolicy& policy) {
  std::map<std::string, std::string> given;
  std::string arguments;
  for (const clang::NamedDecl* parameter : *pattern.getDescribedFunctionTemplate()->getTemplateParameters()) {
    const auto* value = llvm::dyn_cast<clang::NonTypeTemplateParmDecl>(parameter);
    if (parameter->isParameterPack() || (!value && !llvm::isa<clang::TemplateTypeParmDecl>(parameter)) ||
        (value && !value->getType()->isIntegralOrEnumerationType()))
      return "a function that calls it with types of your choice is exported";
    const char* const argument = !value ? "float" : value->getType()->isBooleanType() ? "true" : "4";
    arguments += (arguments.empty() ? "" : ", ") + std::string(argument);
    // The type of an `auto` parameter has a name that nobody wrote.
    given[parameter->isImplicit() ? "auto" : parameter->getName().str()] = argument;
  }
  std::string parameters;
  for (const clang::ParmVarDecl* parameter : pattern.parameters())
    parameters +=
        (parameters.empty() ? "" : ", ") + replaced(parameter->getType().getAsString(policy), given);
  given.erase("auto");
  const std::string result = replaced(pattern.getReturnType().getAsString(policy), given);
  const std::string name = exported_name(pattern) + "<" + arguments + ">";
  return "write `template " + result + " " + name + "(" + parameters +
         ");` below it, with types of your choice, and " + name + " is exported";
}

}  // namespace tarsia::jit
