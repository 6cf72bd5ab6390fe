"""onnx 1.23.2, its own reference evaluator: operators that do not compute what the specification says.

Stage run; symptoms below. The evaluator is what other tools are compared with, so each of these is a trap.
- LRN: the loop over channels runs over x.shape[0], the batch: with one image only channel 0 is normalised by its
  squares, and more images than channels raise IndexError (specification: LRN 13, square_sum[n, c, ...]).
- GlobalMaxPool: takes the maximum over axes (rank - 2, rank - 1) counted from the spatial rank: right for images
  [N, C, H, W] only; [N, C, L] gives [N, 1] (GlobalMaxPool 1: N x C x 1 ..., "(N x C x D1 x D2 ... Dn)").
- LpNormalization p = 1: sums x, not |x|: [-2] becomes 1 (L1 norm).
- Mean: adds into a copy of the first operand: [1, 2] and [2, 1] cannot be broadcast (Mean 13: "multidirectional
  (i.e., Numpy-style) broadcasting").
- Softsign, ReduceLogSumExp of a scalar: TypeError, numpy scalars are returned as they are.
- Flatten with no elements, axis in front of a 0: ValueError, reshape (0, -1).
- GatherElements with indices smaller than data apart from the axis: ValueError (GatherElements 13: indices has the
  same rank; sizes may be smaller, as in torch.gather).
