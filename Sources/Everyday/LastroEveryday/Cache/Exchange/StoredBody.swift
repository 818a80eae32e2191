// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro

/// A body that a store delivers in pieces. It enforces the request's deadline, as any transport's body does, and limits
/// the wait for each piece.
final class StoredBody: ResponseBodySource {
  private let body: ResponseBody
  private let request: TransferRequest
  private let visit: StoreVisit

  init(_ body: ResponseBody, of request: TransferRequest, _ visit: StoreVisit) {
    self.body = body
    self.request = request
    self.visit = visit
  }

  var finalFacts: TransferFacts? { body.finalFacts }

  func next() async throws(TransportError) -> Data? {
    let (body, time) = (body, visit.time)
    let left = request.deadline.map { $0 - (time.now() - visit.start) }
    if let left, left <= .zero { throw request.deadlinePassed() }
    // Limit the wait for the store like a wait for the network.
    let limit = [left, request.idleTimeout ?? Timeouts.standard.idle].compactMap(\.self).min()
    let outcome = await interruptible(within: limit, time: time) { () -> Result<Data?, TransportError> in
      var iterator = body.makeAsyncIterator()
      do throws(TransportError) { return .success(try await iterator.next()) } catch { return .failure(error) }
    }
    switch outcome {
    case .success(let piece): return try piece.get()
    case .failure(.cancelled): throw .cancelled()
    case .failure(.limit):
      cancel()
      if limit == left { throw request.deadlinePassed() }
      throw TransportError(
        stage: .response, code: .truncatedBody, message: "the cache's store did not return the rest of the body",
        hint: "find what makes the store hang, or fetch without it: RequestOptions.cache = .noStore")
    }
  }

  func cancel() { body.cancel() }
}
