// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import HTTPTypes
public import Lastro
internal import LastroSupport

/// A transport without a network: it responds according to a script, and records the requests.
///
/// ```swift
/// let transport = ScriptedTransport([.respond(status: 503), .respond(status: 200, body: "{}")])
/// ```
///
/// The steps are used in order, one per request. A request beyond the last step goes to the handler if there is one;
/// otherwise it fails with stage `request`, code `script_exhausted` and a message that names it. A step may expect a
/// certain request (``Step/expect(method:path:then:)``); a request that does not match fails with code
/// `script_mismatch`.
///
/// Steps that wait, and the handler, are abandoned when the request's deadline passes: stage `timeout`, with the
/// deadline's code, as for any transport. ``Step/hang`` also applies the idle timeout. The connect timeout never
/// applies, because nothing is connected. The clock is that of the first stack that is created with the transport,
/// unless ``init(_:time:handler:)`` gets another.
///
/// The code under test may hide such a failure, for example by a retry. ``verify()`` reports it:
///
/// ```swift
/// let transport = ScriptedTransport([.expect(method: .post, path: "/payments", then: .respond(status: 201))])
/// // … what is tested
/// try transport.verify()
/// ```
public final class ScriptedTransport: Transport {
  /// A closure that responds to a request.
  public typealias Handler = @Sendable (TransferRequest) async throws(TransportError) -> TransferResponse

  /// The handling of one request.
  public indirect enum Step: Sendable {
    /// Returns a response.
    case respond(status: HTTPResponse.Status, headers: HTTPFields = [:], body: Data = Data())
    /// Returns a response with facts or a streamed body.
    case reply(TransferResponse)
    /// Throws an error.
    case fail(TransportError)
    /// Never responds. It fails when the request's deadline or its idle timeout passes, whichever is shorter, and with
    /// the cancelled error when the task is cancelled.
    case hang
    /// Calls a closure.
    case perform(Handler)
    /// Performs the step if `check` returns true for the request, and otherwise fails with stage `request`, code
    /// `script_mismatch`. The text describes the expected request in the message; `check` is called on the task that
    /// makes the request.
    case expecting(String, check: @Sendable (TransferRequest) -> Bool, then: Step)

    /// Returns a response with a text in UTF-8.
    public static func respond(
      status: HTTPResponse.Status, headers: HTTPFields = [:], body: String
    ) -> Step { .respond(status: status, headers: headers, body: Data(body.utf8)) }

    /// Returns a step that expects a method and a path of the request.
    ///
    /// - Parameters:
    ///   - method: the method; `nil`: any.
    ///   - path: the path as sent, percent-encoded. If it contains no `?`, the request's query is ignored. `nil`: any.
    ///   - step: the step to perform then.
    public static func expect(method: HTTPRequest.Method? = nil, path: String? = nil, then step: Step) -> Step {
      let check: @Sendable (TransferRequest) -> Bool = { request in
        if let method, request.head.method != method { return false }
        guard let path else { return true }
        let actual = request.head.path ?? ""
        return (path.contains("?") ? actual : String(actual.prefix { $0 != "?" })) == path
      }
      return .expecting("\(method?.rawValue ?? "any method") \(path ?? "any path")", check: check, then: step)
    }
  }

  private struct State {
    var steps: ArraySlice<Step>
    /// The step that is used when no other is left.
    var repeated: Step?
    var taken = 0
    var requests: [TransferRequest] = []
    var unexpected: [TransferRequest] = []
    var mismatches: [String] = []
    var running = 0
    /// The clock of the stack.
    var time: TimeSource?

    mutating func takeStep() -> Step? { steps.popFirst() ?? repeated }

    mutating func append(_ more: [Step]) {
      steps += more
      if repeated != nil { repeated = more.last ?? repeated }
    }
  }

  private let state: Lock<State>
  private let arrived = Watched(0)
  private let handler: Handler?
  private let ownTime: TimeSource?

  /// Creates a transport.
  ///
  /// - Parameters:
  ///   - steps: the steps in order, one per request.
  ///   - time: the time source for the deadlines of requests. Default: the clock of the first stack that is created
  ///     with it.
  ///   - handler: handles requests beyond the steps. Default: they fail.
  public init(_ steps: [Step] = [], time: TimeSource? = nil, handler: Handler? = nil) {
    state = Lock(State(steps: steps[...]))
    ownTime = time
    self.handler = handler
  }

  /// Creates a transport that responds through a closure, which also gets the number of the request: 0 for the first.
  ///
  /// ```swift
  /// let transport = ScriptedTransport { (_, number) throws(TransportError) in
  ///   TransferResponse(head: HTTPResponse(status: number < 2 ? .serviceUnavailable : .ok))
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - time: the time source for the deadlines of requests. Default: the clock of the first stack that is created
  ///     with it.
  ///   - answer: called once per request, possibly concurrently.
  public convenience init(
    time: TimeSource? = nil,
    answering answer: @escaping @Sendable (TransferRequest, Int) async throws(TransportError) -> TransferResponse
  ) {
    let numbers = Lock(0)
    self.init(time: time) { (request) throws(TransportError) in
      let number = numbers.withLock { next in
        defer { next += 1 }
        return next
      }
      return try await answer(request, number)
    }
  }

  /// Creates a transport that uses steps in order, and repeats the last one.
  ///
  /// ```swift
  /// let down = ScriptedTransport(repeatingLast: .respond(status: 503))
  /// ```
  ///
  /// - Parameters:
  ///   - first: the step of the first request.
  ///   - others: the steps of the requests after it, in order.
  ///   - time: the time source for the deadlines of requests. Default: the clock of the first stack that is created
  ///     with it.
  public convenience init(repeatingLast first: Step, _ others: Step..., time: TimeSource? = nil) {
    self.init([first] + others, time: time)
    state.withLock { $0.repeated = others.last ?? first }
  }

  /// The received requests, in order of arrival.
  public var requests: [TransferRequest] { state.withLock { $0.requests } }
  /// Waits until a number of requests have arrived, answered or not, and returns all that have.
  ///
  /// - Throws: `CancellationError` if the task is cancelled first.
  @discardableResult
  public func waitForRequests(count: Int) async throws -> [TransferRequest] {
    guard await arrived.wait(until: { $0 >= count }) else { throw CancellationError() }
    return requests
  }

  /// The number of unused steps. A test that expects the whole script to be used expects 0.
  package var remainingSteps: Int { state.withLock { $0.steps.count } }
  /// The requests that arrived when no step and no handler was left. A test that expects none expects `[]`.
  package var unexpectedRequests: [TransferRequest] { state.withLock { $0.unexpected } }
  /// The number of requests not yet answered.
  package var runningRequests: Int { state.withLock { $0.running } }

  /// Appends steps to the script. If the last step is repeated, the last of these steps is repeated from then on.
  package func append(_ steps: Step...) { state.withLock { $0.append(steps) } }

  /// Checks that every step was used by the request that it expected, and that there were no further requests.
  ///
  /// - Throws: an error whose description lists the unused steps, the unexpected requests and the mismatches.
  public func verify() throws {
    let violation = state.withLock { state in
      ScriptViolation(
        unusedSteps: state.steps.enumerated().map { "step \(state.taken + $0 + 1): \($1.summary)" },
        unexpectedRequests: state.unexpected.map(Self.line), mismatches: state.mismatches)
    }
    if violation.unusedSteps.isEmpty, violation.unexpectedRequests.isEmpty, violation.mismatches.isEmpty { return }
    throw violation
  }

  /// Performs the next step. A collected body larger than the request's limit fails, as with any transport.
  ///
  /// - Throws: the error of the step; stage `timeout` when the request's deadline passes; the cancelled error when the
  ///   task is cancelled.
  public func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    let (step, number) = state.withLock { state in
      state.requests.append(request)
      state.running += 1
      let step = state.takeStep()
      if step != nil { state.taken += 1 } else if handler == nil { state.unexpected.append(request) }
      return (step, state.taken)
    }
    defer { state.withLock { $0.running -= 1 } }
    arrived.change { $0 += 1 }
    if Task.isCancelled { throw .cancelled() }
    if let step { return try await perform(step, number: number, request) }
    if let handler { return try await answer(of: handler, request) }
    throw Self.exhausted(request)
  }

  private func perform(
    _ step: Step, number: Int, _ request: TransferRequest
  ) async throws(TransportError) -> TransferResponse {
    switch step {
    case .respond(let status, let headers, let body):
      let head = HTTPResponse(status: status, headerFields: headers)
      return try limited(TransferResponse(head: head, body: ResponseBody(body)), to: request)
    case .reply(let response): return try limited(response, to: request)
    case .fail(let error): throw error
    case .hang: throw try await hang(request)
    case .perform(let handler): return try await answer(of: handler, request)
    case .expecting(let description, let check, let step):
      guard check(request) else { throw mismatch(description, number: number, request) }
      return try await perform(step, number: number, request)
    }
  }

  private func answer(of handler: @escaping Handler, _ request: TransferRequest) async throws(TransportError)
    -> TransferResponse
  {
    try await withinDeadline(of: request, clock) { () throws(TransportError) in try await handler(request) }
  }

  private func limited(
    _ response: TransferResponse, to request: TransferRequest
  ) throws(TransportError) -> TransferResponse {
    if let limit = request.delivery.limit(for: response.head.status), let bytes = response.body.bytes,
      bytes.count > limit
    {
      throw TransportError(
        stage: .limit, code: .bodyTooLarge, message: "the body exceeds \(limit) bytes",
        hint: "raise maximumBodyBytes, or stream the body", requestSent: true,
        facts: response.facts)
    }
    request.progress?.report(sent: request.body.length ?? 0)
    if let count = (response.body.bytes?.count).map(Int64.init) {
      request.progress?.report(received: count, of: count)
    }
    return response
  }

  private func mismatch(_ expected: String, number: Int, _ request: TransferRequest) -> TransportError {
    let message = "step \(number) expected \(expected), but \(Self.line(request)) came"
    state.withLock { $0.mismatches.append(message) }
    return TransportError(
      stage: .request, code: .scriptMismatch, message: message,
      hint: "put the steps into the order in which the code sends the requests")
  }

  private static func exhausted(_ request: TransferRequest) -> TransportError {
    TransportError(
      stage: .request, code: .scriptExhausted, message: "the script has no step left for \(line(request))",
      hint: "add a step, or a handler, to the ScriptedTransport")
  }

  private static func line(_ request: TransferRequest) -> String {
    let head = request.head
    let url = "\(head.scheme ?? "")://\(head.authority ?? "")\(head.path ?? "")"
    return "\(head.method) \(Redaction.standard.adding(request.secrets).url(url))"
  }

  /// Waits, and returns the error of a request that is never answered.
  private func hang(_ request: TransferRequest) async throws(TransportError) -> TransportError {
    guard let idle = request.idleTimeout, request.deadline.map({ idle < $0 }) ?? true else {
      return try await withinDeadline(of: request, clock) { () throws(TransportError) in throw await Self.hang() }
    }
    switch await interruptible(within: idle, time: clock, { await Self.hang() }) {
    case .success(let error): return error
    case .failure(.cancelled): return .cancelled(requestSent: true)
    case .failure(.limit):
      let place = "while waiting for the response"
      return request.firstElement?.failure(": no byte moved \(place)")
        ?? TransportError(
          stage: .timeout, code: .idleTimeout, message: "no byte moved for \(idle.brief) \(place)",
          hint: "raise Timeouts.idle if such a pause is expected", requestSent: true)
    }
  }

  /// Waits until the task is cancelled, and returns its error.
  private static func hang() async -> TransportError {
    let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
    // The stream ends when the task that iterates it is cancelled.
    for await _ in stream {}
    continuation.finish()
    return .cancelled(requestSent: true)
  }
}

extension FailureCode {
  /// A ``ScriptedTransport`` received a request beyond its script.
  public static let scriptExhausted = Self("script_exhausted")
  /// A ``ScriptedTransport`` received a request that does not match its step.
  public static let scriptMismatch = Self("script_mismatch")
}

extension ScriptedTransport.Step {
  fileprivate var summary: String {
    switch self {
    case .respond(let status, _, _): "respond \(status.code)"
    case .reply(let response): "reply \(response.head.status.code)"
    case .fail(let error): "fail \(error.stage.rawValue)/\(error.code)"
    case .hang: "hang"
    case .perform: "perform a closure"
    case .expecting(let description, _, let step): "expect \(description), then \(step.summary)"
    }
  }
}

extension ScriptedTransport: ClockUser {
  private var clock: TimeSource { ownTime ?? state.withLock { $0.time } ?? .continuous }

  package func adopt(clock time: TimeSource) {
    state.withLock { if $0.time == nil { $0.time = time } }
  }
}
