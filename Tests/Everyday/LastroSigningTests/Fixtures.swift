// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting

@testable import Lastro
@testable import LastroSigning

extension TimeSource {
  /// The system's clock with another date, in seconds since 1970.
  static func at(_ seconds: Int64) -> TimeSource {
    TimeSource(
      now: TimeSource.continuous.now, sleep: TimeSource.continuous.sleep, sinceEpoch: { .seconds(seconds) })
  }
}

extension RequestSigner {
  /// Returns a request as the pipeline signs it.
  func signing(_ request: ResourceRequest) async throws -> ResourceRequest {
    try await Lastro.signed(request, by: [self], context: AttemptContext())
  }
}

extension ResourceRequest {
  /// The header fields by their names in lower case.
  var fields: [String: String] {
    Dictionary(head.headerFields.map { ($0.name.canonicalName, $0.value) }) { $0 + "," + $1 }
  }
}

/// A sequence that starts from the beginning with every iteration.
struct Repeating: AsyncSequence, Sendable {
  var chunks: [Data]

  func makeAsyncIterator() -> AsyncStream<Data>.Iterator {
    AsyncStream { continuation in
      for chunk in chunks { continuation.yield(chunk) }
      continuation.finish()
    }.makeAsyncIterator()
  }
}
