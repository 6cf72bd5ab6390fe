"""MXNet's onnx2mx."""

PACKAGES = ["mxnet", "onnx"]


def run(path, inputs):
    import mxnet as mx
    from mxnet.contrib import onnx as onnx_mxnet

    graph, weights, statistics = onnx_mxnet.import_model(path)
    shapes = {name: x.shape for name, x in inputs.items()}
    executor = graph.simple_bind(mx.cpu(), grad_req="null", **shapes)
    executor.copy_params_from(weights, statistics, allow_extra_params=True)
    return [y.asnumpy() for y in executor.forward(is_train=False, **{k: mx.nd.array(x) for k, x in inputs.items()})]
