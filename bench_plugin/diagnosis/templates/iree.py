"""IREE, through its compiler's API."""

PACKAGES = ["iree-base-compiler", "iree-base-runtime", "onnx"]


def run(path, inputs):
    import io

    import onnx
    from iree import runtime
    from iree.compiler import ir
    from iree.compiler.api import Output, Session, Source
    from iree.compiler.extras import onnx_importer

    written = io.BytesIO()
    with ir.Context() as context:
        info = onnx_importer.ModelInfo(onnx.shape_inference.infer_shapes(onnx.load(path), data_prop=True))
        module = info.create_module(context=context).operation
        onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
        module.write_bytecode(written)
    session = Session()
    session.set_flags(
        "--iree-hal-target-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=host",
        "--iree-input-type=onnx",
        "--iree-input-demote-f64-to-f32=false",
        "--iree-opt-level=" + HOW["options"].get("optimisation", "O0"),
    )
    said = []
    session.context.attach_diagnostic_handler(lambda one: not said.append(str(one.message)))
    invocation = session.invocation()
    if not invocation.parse_source(Source.wrap_buffer(session, written.getvalue())) or not invocation.execute():
        raise RuntimeError(said[0] if said else "the compiler gave up without a message")
    output = Output.open_membuffer()
    invocation.output_vm_bytecode(output)
    loaded = runtime.load_vm_flatbuffer(bytes(output.map_memory()), driver="local-sync")
    # Functions that begin so are IREE's own, or the asynchronous form of the same one.
    names = [one for one in loaded.vm_module.function_names if not one.startswith("__") and not one.endswith("$async")]
    found = loaded[names[0]](*inputs.values())
    return [y.to_host().copy() for y in (found if isinstance(found, (tuple, list)) else [found])]
