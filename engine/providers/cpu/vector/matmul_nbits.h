#pragma once

namespace inferd::engine::cpu {

class CandidateTable;

// MatMulNBits over weights as they are packed.
void RegisterMatMulNBits(CandidateTable& table);

}  // namespace inferd::engine::cpu
