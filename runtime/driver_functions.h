// Every driver function that this library calls, once:
//   X(name, exported symbol, oldest CUDA version of the driver that exports it, parameters)
// All return cuda::ReturnCode. Symbols carry the interface's version where the driver has several.
#pragma once

#define MLAINDEX_JIT_DRIVER_FUNCTIONS(X) \
  X(init, cuInit, 2000, (unsigned flags)) \
  X(driver_get_version, cuDriverGetVersion, 2020, (int* version)) \
  X(get_error_name, cuGetErrorName, 6000, (ReturnCode code, const char** name)) \
  X(get_error_string, cuGetErrorString, 6000, (ReturnCode code, const char** text)) \
  X(device_get_count, cuDeviceGetCount, 2000, (int* count)) \
  X(device_get, cuDeviceGet, 2000, (DeviceOrdinal* device, int ordinal)) \
  X(device_get_name, cuDeviceGetName, 2000, (char* name, int capacity, DeviceOrdinal device)) \
  X(device_get_attribute, cuDeviceGetAttribute, 2000, \
    (int* value, DeviceAttribute attribute, DeviceOrdinal device)) \
  X(device_total_memory, cuDeviceTotalMem_v2, 3020, (std::size_t* bytes, DeviceOrdinal device)) \
  X(primary_context_retain, cuDevicePrimaryCtxRetain, 7000, (ContextHandle* context, DeviceOrdinal device)) \
  X(primary_context_release, cuDevicePrimaryCtxRelease_v2, 11000, (DeviceOrdinal device)) \
  X(context_push, cuCtxPushCurrent_v2, 4000, (ContextHandle context)) \
  X(context_pop, cuCtxPopCurrent_v2, 4000, (ContextHandle* context)) \
  X(library_load_data, cuLibraryLoadData, 12000, \
    (Library* library, const void* code, void* jit_options, void** jit_values, unsigned num_jit_options, \
     void* library_options, void** library_values, unsigned num_library_options)) \
  X(library_unload, cuLibraryUnload, 12000, (Library library)) \
  X(library_get_kernel, cuLibraryGetKernel, 12000, (Kernel* kernel, Library library, const char* name)) \
  X(kernel_get_function, cuKernelGetFunction, 12000, (Function* function, Kernel kernel)) \
  X(function_set_attribute, cuFuncSetAttribute, 9000, \
    (Function function, FunctionAttribute attribute, int value)) \
  X(tensor_map_encode_tiled, cuTensorMapEncodeTiled, 12000, \
    (TensorMap* map, int type, std::uint32_t rank, void* address, const std::uint64_t* dims, \
     const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t* element_strides, \
     int interleave, int swizzle, int l2_promotion, int fill)) \
  X(launch_kernel, cuLaunchKernelEx, 11060, \
    (const LaunchConfig* config, Function function, void** arguments, void** extra)) \
  X(memory_allocate, cuMemAlloc_v2, 3020, (DevicePointer* pointer, std::size_t bytes)) \
  X(memory_free, cuMemFree_v2, 3020, (DevicePointer pointer)) \
  X(copy_to_device, cuMemcpyHtoD_v2, 3020, (DevicePointer to, const void* from, std::size_t bytes)) \
  X(copy_to_host, cuMemcpyDtoH_v2, 3020, (void* to, DevicePointer from, std::size_t bytes)) \
  X(fill_bytes, cuMemsetD8_v2, 3020, (DevicePointer pointer, unsigned char value, std::size_t bytes)) \
  X(fill_rows_16, cuMemsetD2D16Async, 3020, \
    (DevicePointer pointer, std::size_t pitch, unsigned short value, std::size_t width, std::size_t height, \
     Stream stream)) \
  X(fill_rows_32, cuMemsetD2D32Async, 3020, \
    (DevicePointer pointer, std::size_t pitch, unsigned value, std::size_t width, std::size_t height, \
     Stream stream)) \
  X(fill_words, cuMemsetD32Async, 3020, \
    (DevicePointer pointer, unsigned value, std::size_t count, Stream stream)) \
  X(copy_on_device, cuMemcpyDtoDAsync_v2, 3020, \
    (DevicePointer to, DevicePointer from, std::size_t bytes, Stream stream)) \
  X(stream_create, cuStreamCreate, 2000, (Stream* stream, unsigned flags)) \
  X(stream_destroy, cuStreamDestroy_v2, 4000, (Stream stream)) \
  X(stream_begin_capture, cuStreamBeginCapture_v2, 10010, (Stream stream, CaptureMode mode)) \
  X(stream_end_capture, cuStreamEndCapture, 10000, (Stream stream, Graph* graph)) \
  X(graph_instantiate, cuGraphInstantiateWithFlags, 11040, \
    (GraphExec* executable, Graph graph, unsigned long long flags)) \
  X(graph_launch, cuGraphLaunch, 10000, (GraphExec executable, Stream stream)) \
  X(graph_destroy, cuGraphDestroy, 10000, (Graph graph)) \
  X(graph_exec_destroy, cuGraphExecDestroy, 10000, (GraphExec executable)) \
  X(event_create, cuEventCreate, 2000, (Event* event, unsigned flags)) \
  X(event_destroy, cuEventDestroy_v2, 4000, (Event event)) \
  X(event_record, cuEventRecord, 2000, (Event event, Stream stream)) \
  X(event_synchronize, cuEventSynchronize, 2000, (Event event)) \
  X(event_elapsed_time, cuEventElapsedTime, 2000, (float* milliseconds, Event start, Event end))
