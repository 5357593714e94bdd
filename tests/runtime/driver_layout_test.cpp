// This library's declarations of the driver's interface against the toolkit's own header: compiling
// this file is the test. Our names come first, since cuda.h redefines its functions' as macros.
#include "runtime/driver.h"
#include "generator/base/tensor_map_params.h"

#include <cstddef>
#include <type_traits>

#include <cuda.h>

namespace mlaindex::cuda {
namespace {

template <class Ours, class Theirs>
constexpr bool same_kind = sizeof(Ours) == sizeof(Theirs) &&
                           std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>;

template <class Ours, class Theirs>
struct SameShape : std::false_type {};

template <class OurResult, class... Ours, class TheirResult, class... Theirs>
  requires(sizeof...(Ours) == sizeof...(Theirs))
struct SameShape<OurResult (*)(Ours...), TheirResult(Theirs...)>
    : std::bool_constant<same_kind<OurResult, TheirResult> && (same_kind<Ours, Theirs> && ...)> {};

#define CHECK_FUNCTION(name, symbol, version, parameters) \
  static_assert(SameShape<decltype(DriverFunctions::name), decltype(::symbol)>::value, #symbol);
MLAINDEX_JIT_DRIVER_FUNCTIONS(CHECK_FUNCTION)
#undef CHECK_FUNCTION

template <class Ours, class Theirs>
constexpr bool same(Ours ours, Theirs theirs) {
  return static_cast<long>(ours) == static_cast<long>(theirs);
}

static_assert(sizeof(TensorMap) == sizeof(CUtensorMap) && alignof(TensorMap) == 64);
static_assert(sizeof(DevicePointer) == sizeof(CUdeviceptr));
static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig) && sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(LaunchConfig, dynamic_shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(LaunchConfig, num_attributes) == offsetof(CUlaunchConfig, numAttrs));
static_assert(offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));

static_assert(same(ReturnCode::success, CUDA_SUCCESS));
static_assert(same(ReturnCode::invalid_value, CUDA_ERROR_INVALID_VALUE));
static_assert(same(ReturnCode::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY));
static_assert(same(ReturnCode::not_initialized, CUDA_ERROR_NOT_INITIALIZED));
static_assert(same(ReturnCode::deinitialized, CUDA_ERROR_DEINITIALIZED));
static_assert(same(ReturnCode::stub_library, CUDA_ERROR_STUB_LIBRARY));
static_assert(same(ReturnCode::no_device, CUDA_ERROR_NO_DEVICE));
static_assert(same(ReturnCode::invalid_device, CUDA_ERROR_INVALID_DEVICE));
static_assert(same(ReturnCode::invalid_image, CUDA_ERROR_INVALID_IMAGE));
static_assert(same(ReturnCode::no_binary_for_gpu, CUDA_ERROR_NO_BINARY_FOR_GPU));
static_assert(same(ReturnCode::invalid_ptx, CUDA_ERROR_INVALID_PTX));
static_assert(same(ReturnCode::unsupported_ptx_version, CUDA_ERROR_UNSUPPORTED_PTX_VERSION));
static_assert(same(ReturnCode::not_found, CUDA_ERROR_NOT_FOUND));
static_assert(same(ReturnCode::illegal_address, CUDA_ERROR_ILLEGAL_ADDRESS));
static_assert(same(ReturnCode::launch_out_of_resources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES));
static_assert(same(ReturnCode::illegal_instruction, CUDA_ERROR_ILLEGAL_INSTRUCTION));
static_assert(same(ReturnCode::misaligned_address, CUDA_ERROR_MISALIGNED_ADDRESS));
static_assert(same(ReturnCode::launch_failed, CUDA_ERROR_LAUNCH_FAILED));
static_assert(same(ReturnCode::system_driver_mismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH));
static_assert(same(ReturnCode::stream_capture_unsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
static_assert(same(ReturnCode::unknown, CUDA_ERROR_UNKNOWN));

static_assert(same(DeviceAttribute::multiprocessor_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
static_assert(same(DeviceAttribute::compute_capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
static_assert(same(DeviceAttribute::compute_capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
static_assert(same(DeviceAttribute::max_shared_memory_per_block_optin,
                   CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
static_assert(same(DeviceAttribute::l2_cache_bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
static_assert(same(FunctionAttribute::max_dynamic_shared_size_bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
static_assert(same(FunctionAttribute::non_portable_cluster_size_allowed,
                   CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED));
static_assert(same(event_default, CU_EVENT_DEFAULT));
static_assert(same(stream_default, CU_STREAM_DEFAULT));
static_assert(same(LaunchAttributeId::programmatic_stream_serialization, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION));
static_assert(same(CaptureMode::thread_local_mode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));

static_assert(same(TensorMapType::u8, CU_TENSOR_MAP_DATA_TYPE_UINT8));
static_assert(same(TensorMapType::f32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32));
static_assert(same(TensorMapInterleave::none, CU_TENSOR_MAP_INTERLEAVE_NONE));
static_assert(same(TensorMapSwizzle::none, CU_TENSOR_MAP_SWIZZLE_NONE));
static_assert(same(TensorMapSwizzle::b32, CU_TENSOR_MAP_SWIZZLE_32B));
static_assert(same(TensorMapSwizzle::b64, CU_TENSOR_MAP_SWIZZLE_64B));
static_assert(same(TensorMapSwizzle::b128, CU_TENSOR_MAP_SWIZZLE_128B));
static_assert(same(3, CU_TENSOR_MAP_L2_PROMOTION_L2_256B));
static_assert(same(TensorMapFill::zeros, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));

}  // namespace
}  // namespace mlaindex::cuda
