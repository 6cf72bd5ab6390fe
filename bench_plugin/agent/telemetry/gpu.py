"""NVIDIA GPUs by NVML, the library of their driver, through ctypes: use, memory, temperature, clock and power.

Machines without the library, and values that a GPU does not support, have no series.
"""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple

from bench_plugin.agent.telemetry.reader import Channel

LIBRARY = "libnvidia-ml.so.1"
PERIOD = 0.1  # seconds
NAME_BYTES = 96  # NVML_DEVICE_NAME_V2_BUFFER_SIZE
CORE_TEMPERATURE = 0  # NVML_TEMPERATURE_GPU
SM_CLOCK = 1  # NVML_CLOCK_SM


class _Memory(ctypes.Structure):
    """``nvmlMemory_t``, in bytes."""

    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class _Utilization(ctypes.Structure):
    """``nvmlUtilization_t``, in percent of the driver's last sample period."""

    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class NvmlError(Exception):
    """A function of NVML failed; the text is the library's own."""


class Nvml:
    """The functions of NVML that are read here. Raises OSError where the library is missing, NvmlError if it fails."""

    def __init__(self, library: str) -> None:
        self._library = ctypes.CDLL(library)
        try:
            self._library.nvmlErrorString.restype = ctypes.c_char_p
        except AttributeError:
            raise NvmlError("%s is not NVML" % library) from None
        self._ask("nvmlInit_v2")

    def devices(self) -> List[ctypes.c_void_p]:
        """The handles of all GPUs that this process may see."""
        count = ctypes.c_uint()
        self._ask("nvmlDeviceGetCount_v2", ctypes.byref(count))
        found = []
        for index in range(count.value):
            handle = ctypes.c_void_p()
            self._ask("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(handle))
            found.append(handle)
        return found

    def name(self, device: ctypes.c_void_p) -> str:
        """The product's name."""
        text = ctypes.create_string_buffer(NAME_BYTES)
        self._ask("nvmlDeviceGetName", device, text, ctypes.c_uint(NAME_BYTES))
        return text.value.decode("utf-8", "replace")

    def use(self, device: ctypes.c_void_p) -> float:
        """Percent of the last sample period in which a kernel was at work."""
        found = _Utilization()
        self._ask("nvmlDeviceGetUtilizationRates", device, ctypes.byref(found))
        return float(found.gpu)

    def memory(self, device: ctypes.c_void_p) -> float:
        """Bytes in use on the device, of all processes."""
        found = _Memory()
        self._ask("nvmlDeviceGetMemoryInfo", device, ctypes.byref(found))
        return float(found.used)

    def temperature(self, device: ctypes.c_void_p) -> float:
        """Degrees Celsius of the chip."""
        return self._number("nvmlDeviceGetTemperature", device, ctypes.c_int(CORE_TEMPERATURE))

    def clock(self, device: ctypes.c_void_p) -> float:
        """The clock of the multiprocessors in hertz."""
        return 1e6 * self._number("nvmlDeviceGetClockInfo", device, ctypes.c_int(SM_CLOCK))

    def power(self, device: ctypes.c_void_p) -> float:
        """Watts of the whole board of the GPU."""
        return 1e-3 * self._number("nvmlDeviceGetPowerUsage", device)

    def close(self) -> None:
        """Give the library free."""
        self._ask("nvmlShutdown")

    def _number(self, function: str, *arguments: Any) -> float:
        found = ctypes.c_uint()
        self._ask(function, *arguments, ctypes.byref(found))
        return float(found.value)

    def _ask(self, function: str, *arguments: Any) -> None:
        try:
            status = getattr(self._library, function)(*arguments)
        except AttributeError:
            raise NvmlError("%s: this driver does not have it" % function) from None
        if status:
            said = self._library.nvmlErrorString(status)
            raise NvmlError("%s: %s" % (function, said.decode("utf-8", "replace") if said else status))


class _Source(NamedTuple):
    """One series: how it is read, of which device."""

    read: Callable[[ctypes.c_void_p], float]
    device: ctypes.c_void_p


class Gpus:
    """All GPUs that NVML shows."""

    period = PERIOD

    def __init__(self, library: str = LIBRARY) -> None:
        self.ended: Dict[str, str] = {}
        self.channels: Mapping[str, Channel] = {}
        self._sources: Dict[str, _Source] = {}
        try:
            self._nvml: Optional[Nvml] = Nvml(library)
            self.channels = self._found(self._nvml)
        except (OSError, NvmlError):  # no driver, or no GPU that this process may use: there are no series
            self._nvml = None

    def read(self, now: float) -> Dict[str, float]:
        """``gpu0.use`` (%), ``gpu0.memory`` (B), ``gpu0.temperature``, ``gpu0.clock`` (Hz), ``gpu0.power`` (W) ..."""
        found = {}
        for name, source in self._sources.items():
            if name not in self.ended:
                try:
                    found[name] = source.read(source.device)
                except NvmlError as error:
                    self.ended[name] = str(error)
        return found

    def _found(self, nvml: Nvml) -> Dict[str, Channel]:
        kinds: Tuple[Tuple[str, str, Callable[[ctypes.c_void_p], float], str, str], ...] = (
            ("use", "%", nvml.use, "nvmlDeviceGetUtilizationRates", "share of the driver's last period, 1/6 s to 1 s"),
            ("memory", "B", nvml.memory, "nvmlDeviceGetMemoryInfo", "of all processes on the device"),
            ("temperature", "degC", nvml.temperature, "nvmlDeviceGetTemperature", "whole degrees"),
            ("clock", "Hz", nvml.clock, "nvmlDeviceGetClockInfo", "whole megahertz"),
            (
                "power",
                "W",
                nvml.power,
                "nvmlDeviceGetPowerUsage",
                "5 % on older GPUs; from Ampere on (not GA100) a mean of 1 s",
            ),
        )
        channels = {}
        for index, device in enumerate(nvml.devices()):
            place = nvml.name(device)
            for kind, unit, read, function, accuracy in kinds:
                try:
                    read(device)
                except NvmlError:  # this GPU does not support it
                    continue
                name = "gpu%d.%s" % (index, kind)
                self._sources[name] = _Source(read, device)
                channels[name] = Channel(unit, function, place, None, accuracy)
        return channels
