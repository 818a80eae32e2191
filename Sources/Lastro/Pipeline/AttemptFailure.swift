// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Why one attempt failed, with what its interceptors are told.
struct AttemptFailure: Error {
  var record: FailureRecord
  var request: ResourceRequest?
  var body: Data?
  var facts: TransferFacts?
}
