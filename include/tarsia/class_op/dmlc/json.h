// The writers and readers of JSON that operators of MXNet 0.7 declare functions with. Tarsia never calls
// these: it has its own format for graphs.
#pragma once

#include <istream>
#include <ostream>
#include <string>

#include <dmlc/logging.h>
#include <dmlc/parameter.h>

namespace dmlc {

class JSONWriter {
 public:
  explicit JSONWriter(std::ostream*) { LOG(FATAL) << "Tarsia does not write operators as JSON"; }
  void BeginObject(bool = true) {}
  void EndObject() {}
  void BeginArray(bool = true) {}
  void EndArray() {}
  template <class T>
  void WriteObjectKeyValue(const std::string&, const T&) {}
  template <class T>
  void WriteArrayItem(const T&) {}
  template <class T>
  void Write(const T&) {}
};

class JSONReader {
 public:
  explicit JSONReader(std::istream*) { LOG(FATAL) << "Tarsia does not read operators from JSON"; }
  void BeginObject() {}
  void BeginArray() {}
  bool NextObjectItem(std::string*) { return false; }
  bool NextArrayItem() { return false; }
  template <class T>
  void Read(T*) {}
};

class JSONObjectReadHelper {
 public:
  template <class T>
  void DeclareField(const std::string&, T*) {}
  template <class T>
  void DeclareOptionalField(const std::string&, T*) {}
  void ReadAllFields(JSONReader*) {}
};

}  // namespace dmlc
