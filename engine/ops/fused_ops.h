// The fused forms passes make: one operator of the standard followed by a bias, a residual and a
// chain of activations (engine/ops/fused_activation.h). Their reference kernels compose the
// reference kernels of the parts, so that every fast kernel is tested against the meaning.
//
//   FusedConv(X, W, B?, Z?)   activations(Conv(X, W, B) + Z), Z of the output's shape
//   FusedGemm(A, B, C?)       activations(Gemm(A, B, C))
//   FusedMatMul(A, B, bias?)  activations(MatMul(A, B) + bias), bias of shape [last dim of B]
//   FusedAdd(A, B)            activations(Add(A, B))
//   ChannelShuffle(X)         see channel_shuffle.cc
//   ScaleShift(X, scale, shift)  activations(X * scale + shift) by channel (axis 1)
#pragma once

namespace inferd::engine {

class OpRegistry;

// Called by RegisterInternalOps.
void RegisterFusedOps(OpRegistry& registry);
void RegisterChannelShuffle(OpRegistry& registry);

}  // namespace inferd::engine
