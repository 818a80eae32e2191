// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
public import Lastro
internal import LastroSupport

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension HTTPNetworkStack {
  /// Sends a request on which the server may work for long, and says where its state is: a 202, or a 201 that names a
  /// status, leads to a handle; any other 2xx answer is the result.
  ///
  /// ```swift
  /// guard case .running(let handle) = try await stack.begin(.post(url, json: order)) else { return }
  /// let report: Report = try await stack.wait(for: handle) { body, _ in
  ///   let status = try JSONDecoder().decode(Status.self, from: body)
  ///   return if let report = status.report { .done(report) } else { .running() }
  /// }
  /// ```
  ///
  /// `Operation-Location` counts before `Azure-AsyncOperation`, and that before `Location`.
  ///
  /// - Parameters:
  ///   - resource: what is asked for. Its model decoding is not used.
  ///   - prefersAsync: whether to ask for a 202 by `Prefer: respond-async` (RFC 7240 §4.1). Default false.
  ///   - options: its origins and its clock are used. Default ``OperationOptions/init()``.
  /// - Throws: `HTTPFetchError` of the call; stage `response` with code `no_operation` for a 202 that names no status,
  ///   `foreign_operation` or `invalid_url` for one that is not to be asked. The request was accepted then, and the
  ///   error has the answer with its body.
  public func begin<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>, prefersAsync: Bool = false,
    options: OperationOptions = OperationOptions()
  ) async throws(HTTPFetchError<APIError>) -> OperationStart {
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
    // A 201 with a mere Location is the result's address, and the result is made.
    let isRunning =
      response.status == .accepted
      || response.status == .created && RawHeaders(response.headerFields).namesMonitor
    guard isRunning, let request = asked.withLock({ $0 }) else { return .done(answer.value, response) }
    do throws(TransportError) {
      return .running(
        try OperationHandle(response, to: request, options.origins, sinceEpoch: options.timeSource.sinceEpoch))
    } catch {
      // The server works on it: the answer is all that tells where.
      throw HTTPFetchError(
        .transport(error), request: response.ledger.request, response: response, body: answer.value,
        attempts: response.attempts)
    }
  }

  /// Asks for the state of an operation until it is done or has failed.
  ///
  /// Each question is a call of its own. A status URL that redirects (303) is followed: the answer is the result's
  /// then, and the response has the redirect. 429 and 5xx are retried as the stack's interceptors have it, and end the
  /// wait where those do not. Where the result is elsewhere, ``OperationHandle/resultURL`` says so: fetch it once this
  /// returns.
  ///
  /// - Parameters:
  ///   - handle: the operation.
  ///   - headers: fields of each question. Default none; interceptors add what they add to each request.
  ///   - options: default ``OperationOptions/init()``.
  ///   - read: tells the state by body and response of a 2xx answer.
  /// - Returns: what `read` gave with ``OperationState/done(_:)``.
  /// - Throws: `HTTPFetchError<any Error>` of a question, the cancelled one when the task is cancelled, and with stage
  ///   `timeout` where the total limit has passed; the error of ``OperationState/failed(_:)``; what `read` throws.
  public func wait<Value>(
    for handle: OperationHandle, headers: RawHeaders = [:], options: OperationOptions = OperationOptions(),
    read: @escaping @Sendable (_ body: Data, _ response: ResourceResponse) throws -> OperationState<Value>
  ) async throws -> Value {
    let question = RawHTTPResource(
      baseRequestMaking: BaseRequestMaking { try ResourceRequest(url: handle.statusURL, headers: headers) })
    var polling = OperationPolling(handle, options)
    while true {
      try await polling.pause()
      let answer: Network.Value<Data, ResourceResponse>
      do throws(HTTPFetchError<any Error>) {
        answer = try await fetch(question, within: polling.limit)
      } catch {
        guard polling.forgives(error) else { throw error }
        continue
      }
      switch try read(answer.value, answer.response) {
      case .done(let value): return value
      case .failed(let error): throw error
      case .running(let asked): polling.note(asked, answer.response)
      }
    }
  }
}

extension RawHeaders {
  fileprivate var namesMonitor: Bool { self["Operation-Location"] ?? self["Azure-AsyncOperation"] != nil }
}

extension TransportError {
  /// Of a request that the server accepted.
  static func accepted(_ code: FailureCode, _ message: String, hint: String) -> Self {
    Self(stage: .response, code: code, message: message, hint: hint, requestSent: true)
  }
}
