// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport

/// The rest of a time limit that several calls share.
struct SharedLimit: Sendable {
  let total: Duration
  let left: Duration
  let time: TimeSource
  /// The name of the option that sets the limit, for the hint.
  let option: StaticString
  /// The activity in progress, as a phrase: "while …".
  let place: String

  init(
    of total: Duration, since start: Duration, _ time: TimeSource, named option: StaticString, _ place: String
  ) {
    self.total = total
    self.time = time
    self.option = option
    self.place = place
    left = total - (time.now() - start)
  }

  func passed(requestSent: Bool) -> TransportError {
    var error = TransportError.deadlinePassed(.totalTimeout, of: total, place, requestSent: requestSent)
    error.hint = "raise \(option), or find the cause of the delay"
    return error
  }
}

extension HTTPNetworkStack {
  /// Fetches a resource within a limit that several calls share, if there is one.
  func fetch<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>, within limit: SharedLimit?
  ) async throws(HTTPFetchError<APIError>) -> Fetched<Model, ResourceResponse> {
    guard let limit else { return try await fetch(resource) }
    guard limit.left > .zero else { throw HTTPFetchError(.transport(limit.passed(requestSent: false))) }
    let outcome = await interruptible(within: limit.left, time: limit.time) {
      await Result { () async throws(HTTPFetchError<APIError>) in try await self.fetch(resource) }
    }
    switch outcome {
    case .success(let result): return try result.get()
    case .failure(.limit): throw HTTPFetchError(.transport(limit.passed(requestSent: true)))
    case .failure(.cancelled): throw HTTPFetchError(.cancelled)
    }
  }
}
