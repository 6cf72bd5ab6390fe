"""tract."""

PACKAGES = ["tract"]


def run(path, inputs):
    import tract

    model = tract.onnx().load(path)
    names = [model.input_name(index) for index in range(model.input_count())]
    for index, name in enumerate(names):
        kind = inputs[name].dtype
        spec = {"f": "f", "i": "i", "u": "u"}.get(kind.kind)
        if spec:
            model.set_input_fact(index, ",".join([*map(str, inputs[name].shape), f"{spec}{8 * kind.itemsize}"]))
    runnable = model.into_model().into_runnable()
    return [y.to_numpy() for y in runnable.run([np.asarray(inputs[name]) for name in names])]
