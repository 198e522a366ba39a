// Functions that tests/xfront/test_ffi.py registers with XLA.
#include <atomic>
#include <cstdint>
#include <memory>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;
using F32 = ffi::Buffer<ffi::F32>;
using F32Out = ffi::ResultBuffer<ffi::F32>;

// y = factor * x + shift
static ffi::Error Scale(float factor, int64_t shift, F32 x, F32Out y) {
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = factor * x.typed_data()[i] + shift;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(scale, Scale, ffi::Ffi::Bind()
    .Attr<float>("factor").Attr<int64_t>("shift").Arg<F32>().Ret<F32>());

// One attribute of every kind, as one sum.
static ffi::Error Attributes(bool flag, int8_t small, uint64_t wide, double number,
                             std::string_view text, ffi::Span<const int32_t> ints,
                             ffi::Span<const float> floats, ffi::Dictionary more, F32Out y) {
  float sum = (flag ? 1000 : 0) + small + (wide >> 60) + number;
  for (char c : text) sum += static_cast<unsigned char>(c);
  for (int32_t i : ints) sum += i;
  for (float f : floats) sum += f;
  auto depth = more.get<int64_t>("depth");
  auto name = more.get<std::string_view>("a name");
  if (depth.has_error() || name.has_error())
    return ffi::Error::InvalidArgument("more lacks depth or a name");
  y->typed_data()[0] = sum + *depth + name->size();
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(attributes, Attributes, ffi::Ffi::Bind()
    .Attr<bool>("flag").Attr<int8_t>("small").Attr<uint64_t>("wide").Attr<double>("number")
    .Attr<std::string_view>("text").Attr<ffi::Span<const int32_t>>("ints")
    .Attr<ffi::Span<const float>>("floats").Attr<ffi::Dictionary>("more").Ret<F32>());

// How often it was called.
static std::atomic<int32_t> calls{0};
static ffi::Error Count(ffi::AnyBuffer, ffi::ResultBuffer<ffi::S32> y) {
  y->typed_data()[0] = ++calls;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(count, Count, ffi::Ffi::Bind()
    .Arg<ffi::AnyBuffer>().Ret<ffi::Buffer<ffi::S32>>());
extern "C" int32_t counted() { return calls; }

static ffi::Error Fail(ffi::AnyBuffer, F32Out) {
  return ffi::Error::InvalidArgument("no such luck");
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(fail, Fail, ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<F32>());

// Sums of the last axis of x + y, where y may have axes of size 1 in front, or fewer axes.
static ffi::Error Rows(F32 x, F32 y, F32Out out) {
  size_t n = x.dimensions().back(), size = y.element_count();
  for (size_t i = 0; i < out->element_count(); ++i) {
    float sum = 0;
    for (size_t k = 0; k < n; ++k)
      sum += x.typed_data()[(i * n + k) % x.element_count()] + y.typed_data()[(i * n + k) % size];
    out->typed_data()[i] = sum;
  }
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(rows, Rows, ffi::Ffi::Bind().Arg<F32>().Arg<F32>().Ret<F32>());

// The elements as they lie in memory.
static ffi::Error Memory(F32 x, F32Out y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i];
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(memory, Memory, ffi::Ffi::Bind().Arg<F32>().Ret<F32>());

// The same elements, and the same with the other sign.
static ffi::Error Echo(F32 x, F32Out y) { return Memory(x, y); }
static ffi::Error Negated(F32 x, F32Out y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = -x.typed_data()[i];
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(echo, Echo, ffi::Ffi::Bind().Arg<F32>().Ret<F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(negated, Negated, ffi::Ffi::Bind().Arg<F32>().Ret<F32>());

// A number that a program keeps between its runs.
struct State {
  static ffi::TypeId id;
  static ffi::TypeInfo info;
  explicit State(int64_t n) : n(n) {}
  int64_t n;
};
ffi::TypeId State::id = {};
ffi::TypeInfo State::info = ffi::MakeTypeInfo<State>();
static ffi::ErrorOr<std::unique_ptr<State>> Begin(int64_t start) {
  return std::make_unique<State>(start);
}
static ffi::Error Next(State* state, ffi::ResultBuffer<ffi::S32> y) {
  y->typed_data()[0] = static_cast<int32_t>(state->n++);
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(begin, Begin, ffi::Ffi::BindInstantiate().Attr<int64_t>("start"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(next, Next, ffi::Ffi::Bind()
    .Ctx<ffi::State<State>>().Ret<ffi::Buffer<ffi::S32>>());
extern "C" void* state_type_id() { return &State::id; }
extern "C" void* state_type_info() { return &State::info; }

// The interface without types.
extern "C" void twice(void* out, const void** in) {
  for (int i = 0; i < 3; ++i)
    static_cast<float*>(out)[i] = 2 * static_cast<const float*>(in[0])[i];
}
