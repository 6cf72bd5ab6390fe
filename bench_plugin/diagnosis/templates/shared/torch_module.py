"""A module of PyTorch on the inputs."""


def outputs_of(module, inputs):
    import torch

    with torch.no_grad():
        found = module.eval()(*[torch.from_numpy(x) for x in inputs.values()])
    return [y.numpy() for y in (found if isinstance(found, (tuple, list)) else [found])]
