// Class probabilities from the probabilities of each class against each other one.
#pragma once

#include <cstdint>

#include "absl/types/span.h"

namespace inferd::engine {

// The probability that the first class of a pair holds, given its machine's decision: J. Platt's
// sigmoid with the constants a and b.
double PairProbability(double decision, double a, double b);

// Doubles of scratch memory CouplePairs needs for that many classes.
int64_t PairwiseCouplingScratch(int64_t classes);

// `pairs` holds the probability of the first class for (0,1), (0,2), ..., (1,2), ...; `classes`
// gets one probability for each class: the second method of T.-F. Wu, C.-J. Lin and R. C. Weng,
// "Probability Estimates for Multi-class Classification by Pairwise Coupling" (2004).
void CouplePairs(absl::Span<const double> pairs, absl::Span<double> classes,
                 absl::Span<double> scratch);

}  // namespace inferd::engine
