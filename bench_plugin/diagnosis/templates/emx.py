"""emx-onnx-cgen: ONNX to C, compiled by gcc, or by zig's clang where the C has types that gcc 12 lacks."""

PACKAGES = ["emx-onnx-cgen", "onnx", "ziglang"]


def run(path, inputs):
    import ctypes
    import subprocess

    import onnx
    from emx_onnx_cgen.compiler import Compiler, CompilerOptions
    from emx_onnx_cgen.lowering import load_lowering_registry

    load_lowering_registry()
    options = CompilerOptions(model_name="model", large_weight_threshold=0)
    source, _ = Compiler(options).compile_with_weight_data(onnx.load(path))
    with open("model.c", "w") as file:
        file.write(source)
    standard = "-std=c2x" if "_BitInt(" in source else "-std=c99"
    level = "-" + HOW["options"].get("optimisation", "O2")
    late = "_BitInt(" in source or "__bf16" in source
    compiler = [sys.executable, "-m", "ziglang", "cc", "-ffp-contract=off", "-fno-sanitize=all"] if late else ["gcc"]
    done = subprocess.run(
        [*compiler, level, standard, "-w", "-fPIC", "-shared", "model.c", "-o", "model.so", "-lm"],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"The C compiler ended with status {done.returncode}:\n{done.stderr[-2000:]}")
    library = ctypes.CDLL(os.path.abspath("model.so"))
    given = [np.ascontiguousarray(x) for x in inputs.values()]
    found = [np.zeros(output["shape"], output["dtype"]) for output in OUTPUTS.values()]
    library.model(*[x.ctypes.data_as(ctypes.c_void_p) for x in (*given, *found)])
    return found
