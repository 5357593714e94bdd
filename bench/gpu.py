"""What the GPU benchmarks share: launching the kernels that `mlaindex compile --emit cubin` gives, and timing."""
import ctypes
import json
import pathlib
import statistics
import subprocess
import tempfile

import torch

cuda = ctypes.CDLL("libcuda.so.1")
U8, F32 = 0, 7  # CUtensorMapDataType
ROW_SWIZZLE = 3  # 128 bytes


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute. 6: programmatic stream serialization, the launch may start while the one before it ends."""
    _fields_ = [("id", ctypes.c_int), ("padding", ctypes.c_int), ("value", ctypes.c_int), ("unused", ctypes.c_byte * 60)]


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""
    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared_bytes", ctypes.c_uint),
                ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(LaunchAttribute)), ("num_attributes", ctypes.c_uint)]


def check(result, call):
    if result != 0:
        name = ctypes.c_char_p()
        cuda.cuGetErrorName(result, ctypes.byref(name))
        raise SystemExit(f"{call}: {name.value.decode()}")


def aligned(data):
    """A 64-byte-aligned host copy, as tensor maps and kernel parameters need: what keeps it alive, its address."""
    raw = (ctypes.c_uint8 * (len(data) + 64))()
    address = (ctypes.addressof(raw) + 63) // 64 * 64
    ctypes.memmove(address, bytes(data), len(data))
    return raw, address


def tensor_map(pointer, dims, strides, box, element=U8, swizzle=ROW_SWIZZLE):
    """256-byte L2 promotion, zero fill."""
    raw, address = aligned(bytes(128))
    rank = len(dims)
    u64, u32 = ctypes.c_uint64, ctypes.c_uint32
    check(
        cuda.cuTensorMapEncodeTiled(
            ctypes.c_void_p(address), element, rank, ctypes.c_void_p(pointer), (u64 * rank)(*dims),
            (u64 * (rank - 1))(*strides), (u32 * rank)(*box), (u32 * rank)(*[1] * rank), 0, swizzle, 3, 0),
        "cuTensorMapEncodeTiled")
    return raw, address


class Kernel:
    """One compiled kernel. options: of `mlaindex compile`; sizes: of `mlaindex explain`, for the grid."""

    def __init__(self, mlaindex, options, sizes):
        explained = json.loads(subprocess.check_output([mlaindex, "explain", *options, *sizes, "--json"]))
        self.plan = explained["plan"]
        self.launch = explained["launch"]
        if "--plan" not in options:
            options = [*options, "--plan", self.plan]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "kernel.cubin"
            subprocess.check_call([mlaindex, "compile", *options, "--emit", "cubin", "-o", str(path)], stdout=subprocess.DEVNULL)
            cubin = path.read_bytes()
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        check(cuda.cuModuleLoadData(ctypes.byref(module), cubin), "cuModuleLoadData")
        check(cuda.cuModuleGetFunction(ctypes.byref(self.function), module, explained["kernel"].encode()),
              "cuModuleGetFunction")
        check(cuda.cuFuncSetAttribute(self.function, 8, self.launch["dynamic_shared_bytes"]), "cuFuncSetAttribute")

    def bind(self, *parameters, overlap=False):
        """parameters: of aligned() and tensor_map(). A call launches on torch's current stream. overlap: the launch may
        start while the one before it ends."""
        addresses = (ctypes.c_void_p * len(parameters))(*[address for _, address in parameters])
        attribute = LaunchAttribute(6, 0, 1)
        config = LaunchConfig((*self.launch["grid"], 1), (self.launch["num_threads"], 1, 1),
                              self.launch["dynamic_shared_bytes"], None, ctypes.pointer(attribute), int(overlap))

        def call():
            config.stream = torch.cuda.current_stream().cuda_stream
            check(cuda.cuLaunchKernelEx(ctypes.byref(config), self.function, addresses, None), "cuLaunchKernelEx")

        call.keeps = parameters, attribute
        return call


def microseconds(call, launches=10):
    """Of one launch: several in a row between two events, so that the host's cost hides behind the kernels."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(launches):
        call()
    end.record()
    end.synchronize()
    return 1000 * start.elapsed_time(end) / launches


def as_graph(call, launches):
    """A call that replays `launches` of `call`, one after the other, as a CUDA graph."""
    graph = torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        call()
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        for _ in range(launches):
            call()
    return graph.replay


def alternating_medians(timers, rounds, samples):
    """timers: name -> function that gives microseconds. Of each: the medians of its rounds, which alternate."""
    rounds_of = {name: [] for name in timers}
    for _ in range(rounds):
        for name, timer in timers.items():
            rounds_of[name].append(statistics.median(timer() for _ in range(samples)))
    return rounds_of


def peer(overlap=False):
    """The deep_gemm package, or None. overlap: its launches may start while the ones before them end."""
    try:
        import deep_gemm
    except (ImportError, OSError) as error:
        print("deep_gemm is not usable:", error)
        deep_gemm = None
    if deep_gemm and overlap:
        deep_gemm.set_pdl(True)
    print(torch.cuda.get_device_name(), "torch", torch.__version__, "deep_gemm", getattr(deep_gemm, "__version__", None))
    return deep_gemm
