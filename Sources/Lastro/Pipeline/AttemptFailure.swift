// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Why one attempt failed, with what its interceptors are told. An object, so that it takes one word in the frames of
/// all that may throw it.
final class AttemptFailure: Error, Sendable {
  let record: FailureRecord
  let request: ResourceRequest?
  let body: Data?
  let facts: TransferFacts?

  init(record: FailureRecord, request: ResourceRequest?, body: Data?, facts: TransferFacts?) {
    self.record = record
    self.request = request
    self.body = body
    self.facts = facts
  }
}
