// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import Lastro

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A transport without a network: it answers by script and records what it was asked.
///
/// ```swift
/// let transport = ScriptedTransport([.respond(status: 503), .respond(status: 200, body: "{}")])
/// ```
///
/// The steps are taken in order, one a request. A request beyond the last goes to the handler where there is one, and
/// else fails with stage `request`, code `script_exhausted` and a message that names it.
public final class ScriptedTransport: Transport {
  /// Answers a request.
  public typealias Handler = @Sendable (TransferRequest) async throws(TransportError) -> TransferResponse

  /// What is done with one request.
  public enum Step: Sendable {
    /// Answers it.
    case respond(status: HTTPResponse.Status, headers: HTTPFields = [:], body: Data = Data())
    /// Answers it, with facts or a streamed body.
    case reply(TransferResponse)
    /// Fails it.
    case fail(TransportError)
    /// Never answers; fails with the cancelled error when the task is cancelled.
    case hang
    /// Calls a closure.
    case perform(Handler)

    /// Answers with a text, as UTF-8.
    public static func respond(
      status: HTTPResponse.Status, headers: HTTPFields = [:], body: String
    ) -> Step { .respond(status: status, headers: headers, body: Data(body.utf8)) }
  }

  private struct State {
    var steps: ArraySlice<Step>
    var requests: [TransferRequest] = []
    var running = 0
  }

  private let state: Lock<State>
  private let handler: Handler?

  /// Makes a transport.
  ///
  /// - Parameters:
  ///   - steps: one a request, in order.
  ///   - handler: for requests beyond them. Default: they fail.
  public init(_ steps: [Step] = [], handler: Handler? = nil) {
    state = Lock(State(steps: steps[...]))
    self.handler = handler
  }

  /// Every request, in the order of their arrival.
  public var requests: [TransferRequest] { state.withLock { $0.requests } }
  /// Number of steps not yet taken. A test that expects the whole script to be used expects 0.
  public var remainingSteps: Int { state.withLock { $0.steps.count } }
  /// Number of requests not yet answered.
  public var runningRequests: Int { state.withLock { $0.running } }

  /// Adds steps at the end of the script.
  public func append(_ steps: Step...) { state.withLock { $0.steps += steps } }

  /// Takes the next step. A collected body larger than the request's limit fails, as with any transport.
  ///
  /// - Throws: what the step says; the cancelled error when the task is cancelled.
  public func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    let step = state.withLock { state in
      state.requests.append(request)
      state.running += 1
      return state.steps.popFirst()
    }
    defer { state.withLock { $0.running -= 1 } }
    if Task.isCancelled { throw .cancelled() }
    switch step {
    case .respond(let status, let headers, let body)?:
      let head = HTTPResponse(status: status, headerFields: headers)
      return try limited(TransferResponse(head: head, body: ResponseBody(body)), to: request)
    case .reply(let response)?: return try limited(response, to: request)
    case .fail(let error)?: throw error
    case .hang?: throw await Self.hang()
    case .perform(let handler)?: return try await handler(request)
    case nil:
      if let handler { return try await handler(request) }
      throw Self.exhausted(request)
    }
  }

  private func limited(
    _ response: TransferResponse, to request: TransferRequest
  ) throws(TransportError) -> TransferResponse {
    let limit: Int? =
      switch request.delivery {
      case .collected(let maximum): maximum
      case .streamed(let maximum): maximum
      case .streamedOnSuccess(let maximum, let errors): response.head.status.kind == .successful ? maximum : errors
      }
    if let limit, let bytes = response.body.bytes, bytes.count > limit {
      throw TransportError(
        stage: .limit, code: .bodyTooLarge, message: "the body exceeds \(limit) bytes", requestSent: true,
        facts: response.facts)
    }
    return response
  }

  private static func exhausted(_ request: TransferRequest) -> TransportError {
    let head = request.head
    let url = "\(head.scheme ?? "")://\(head.authority ?? "")\(head.path ?? "")"
    return TransportError(
      stage: .request, code: .scriptExhausted, message: "the script has no step left for \(head.method) \(url)",
      hint: "add a step, or a handler, to the ScriptedTransport")
  }

  /// Returns when the task is cancelled.
  private static func hang() async -> TransportError {
    let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
    // A stream ends when the task that iterates it is cancelled.
    for await _ in stream {}
    continuation.finish()
    return .cancelled(requestSent: true)
  }
}

extension FailureCode {
  /// A ``ScriptedTransport`` got a request that its script does not have.
  public static let scriptExhausted = Self("script_exhausted")
}
