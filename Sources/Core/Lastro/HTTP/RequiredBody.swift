// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
internal import LastroSupport

/// A streamed body that fails with `no_data` if it ends without a byte.
private final class RequiredBody: ResponseBodySource {
  private let body: ResponseBody
  private let status: HTTPResponse.Status
  private let isEmpty = Lock(true)

  init(_ body: ResponseBody, of status: HTTPResponse.Status) {
    self.body = body
    self.status = status
  }

  var finalFacts: TransferFacts? { body.finalFacts }

  func setPriority(_ priority: RequestPriority) { try? body.setPriority(priority) }

  func next() async throws(TransportError) -> Data? {
    var iterator = body.makeAsyncIterator()
    if let chunk = try await iterator.next() {
      isEmpty.withLock { $0 = false }
      return chunk
    }
    // An error ends the body, so it is thrown only once.
    guard
      isEmpty.withLock({ isEmpty in
        defer { isEmpty = false }
        return isEmpty
      })
    else { return nil }
    var error = TransportError.noData(status)
    error.facts = body.finalFacts
    throw error
  }

  func cancel() { body.cancel() }
}

extension ResponseBody {
  /// Returns a body that must have at least one byte: for a 2xx response to a request that requires a body.
  func required(of status: HTTPResponse.Status) -> ResponseBody {
    bytes == nil && upgraded == nil ? ResponseBody(source: RequiredBody(self, of: status)) : self
  }
}
