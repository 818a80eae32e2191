// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
internal import HTTPTypes
public import Lastro
internal import LastroSupport

extension HTTPNetworkStack {
  /// Sends a request that the server may process for a long time, and returns the response, with a handle if the result
  /// is still to come. A 202, or a 201 that names a status URL, yields a handle; the body of any other 2xx response is
  /// the result.
  ///
  /// ```swift
  /// guard let handle = try await stack.startOperation(.post(url, json: order)).handle else { return }
  /// let report: Report = try await stack.wait(for: handle) { body, _, _ in
  ///   try JSONDecoder().decode(Status.self, from: body).report  // nil while the server works on it
  /// }
  /// ```
  ///
  /// `Operation-Location` takes precedence over `Azure-AsyncOperation`, and that over `Location`.
  ///
  /// - Parameters:
  ///   - resource: the resource to request. Its model decoding is not used.
  ///   - prefersAsync: whether to request a 202 by `Prefer: respond-async` (RFC 7240 §4.1). Default false.
  ///   - origins: origins besides the request's at which operations may be; they then get the request's credentials.
  ///     Default: none.
  /// - Returns: the handle for ``wait(for:headers:total:read:)``, which is `nil` if the request is complete, and the
  ///   response with its body.
  /// - Throws: `HTTPFetchError` of the call; stage `response` with code `no_operation` for a 202 that names no status
  ///   URL, and `foreign_operation` or `invalid_url` for a status URL that must not be requested. In these cases the
  ///   server has accepted the request, and the error contains the response with its body.
  public func startOperation<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>, prefersAsync: Bool = false, origins: Set<Origin> = []
  ) async throws(HTTPFetchError<APIError>) -> (handle: OperationHandle?, answer: Fetched<Data, ResourceResponse>) {
    let asked = Lock<HTTPRequest?>(nil)
    let make = based(resource).baseRequestMaking.make
    let raw = HTTPResource<Data, APIError>(
      baseRequestMaking: BaseRequestMaking { () async throws -> ResourceRequest in
        var request = try await make()
        if prefersAsync { try request.addHeader("Prefer", "respond-async") }
        let head = request.head
        asked.withLock { $0 = head }
        return request
      }, decoding: .raw, errorDecoding: resource.errorDecoding, interceptors: resource.interceptors,
      retryActionPriority: resource.retryActionPriority, options: resource.options)
    let answer = try await fetch(raw)
    let response = answer.response
    // A 201 with only a `Location` names the finished result.
    let isRunning =
      response.status == .accepted
      || response.status == .created && RawHeaders(response.headerFields).namesMonitor
    guard isRunning, let request = asked.withLock({ $0 }) else { return (nil, answer) }
    do throws(TransportError) {
      let handle = try OperationHandle(
        response, to: request, origins, sinceEpoch: ownConfiguration.timeSource.sinceEpoch)
      return (handle, answer)
    } catch {
      // The server is working on the request, and only this response tells where.
      throw HTTPFetchError(
        .transport(error), request: response.ledger.request, response: response, body: answer.value,
        attempts: response.attempts)
    }
  }

  /// Polls the state of an operation until it is done or has failed.
  ///
  /// Each poll is a separate call. A redirect of the status URL (303) is followed: the response is then the result's,
  /// and contains the redirect. 429 and 5xx are retried according to the stack's interceptors, and otherwise end the
  /// wait. If the result has a URL of its own, it is ``OperationHandle/resultURL``: fetch it after this method returns.
  ///
  /// - Parameters:
  ///   - handle: the operation.
  ///   - headers: the fields of each poll. Default none; interceptors add their fields to each request.
  ///   - total: the time limit of the whole wait, including the poll in progress, by the stack's clock. Default `nil`:
  ///     none.
  ///   - read: gets the body and the response of a 2xx, and returns the operation's value, or `nil` while the operation
  ///     is not done. If it sets `wait`, which is `nil`, the next poll is sent after that time; otherwise after the
  ///     response's `Retry-After`, or else after a growing interval. It throws the error of an operation that has
  ///     failed.
  /// - Returns: the value that `read` returned.
  /// - Throws: `HTTPFetchError<any Error>` of a poll, also if the task is cancelled, and with stage `timeout` if the
  ///   total limit has passed; the errors of `read`.
  public func wait<Value>(
    for handle: OperationHandle, headers: RawHeaders = [:], total: Duration? = nil,
    read: @escaping @Sendable (_ body: Data, _ response: ResourceResponse, _ wait: inout Duration?) throws -> Value?
  ) async throws -> Value {
    let question = RawHTTPResource(
      baseRequestMaking: BaseRequestMaking { try ResourceRequest(url: handle.statusURL, headers: headers) })
    var polling = OperationPolling(handle, total: total, ownConfiguration)
    while true {
      try await polling.pause()
      let answer: Fetched<Data, ResourceResponse>
      do throws(HTTPFetchError<any Error>) {
        answer = try await fetch(question, within: polling.limit)
      } catch {
        guard polling.forgives(error) else { throw error }
        continue
      }
      var asked: Duration?
      if let value = try read(answer.value, answer.response, &asked) { return value }
      polling.note(asked, answer.response)
    }
  }
}

extension RawHeaders {
  fileprivate var namesMonitor: Bool { self["Operation-Location"] ?? self["Azure-AsyncOperation"] != nil }
}

extension TransportError {
  /// Returns an error about the response to a request that the server has accepted.
  static func accepted(_ code: FailureCode, _ message: String, hint: String) -> Self {
    Self(stage: .response, code: code, message: message, hint: hint, requestSent: true)
  }
}
