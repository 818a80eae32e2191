// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
public import FoundationEssentials
internal import Lastro
internal import LastroSupport

/// Content received from a connection.
public struct ReceivedContent: Sendable {
  /// The bytes; may be empty.
  public var data: Data
  /// The context of the content, with the metadata of the protocols; `nil` if the connection reports none.
  public var context: ConnectionContentContext?
  /// Whether these bytes complete the message, or in a final context the stream.
  public var isComplete: Bool

  /// Creates received content, for custom connections.
  public init(data: Data, context: ConnectionContentContext? = nil, isComplete: Bool = false) {
    self.data = data
    self.context = context
    self.isComplete = isComplete
  }

  /// Whether no more content will arrive: the content is complete, and its context is final or unknown.
  public var isEndOfStream: Bool { isComplete && (context?.isFinal ?? true) }

  /// Returns the metadata of a protocol; `nil` if there is none.
  public func metadata(definition: ProtocolDefinition) -> (any ProtocolMetadata)? {
    context?.protocolMetadata(definition: definition)
  }
}

extension ConnectionFactory {
  /// Creates a connection, starts it, and returns once it is ready. It is the async counterpart of ``connect(using:)``,
  /// and throws when that method returns `nil`.
  ///
  /// - Parameters:
  ///   - parameters: the parameters of the innermost connection.
  ///   - limit: the longest wait; `nil`, the default, applies only the limit of the parameters.
  /// - Throws: ``ConnectionError``: code `unsupported` if the transport has no connection of that kind; `ETIMEDOUT`;
  ///   `ECANCELED` when the task is cancelled, which cancels the connection.
  public func open(
    using parameters: ConnectionParameters = .tcp, within limit: Duration? = nil
  ) async throws(ConnectionError) -> any Connection {
    guard let connection = connect(using: parameters) else {
      throw .transport(
        .refused(
          .unsupported, "the transport cannot make such a connection",
          hint: parameters.isDatagrams ? "use .tcp: it carries no datagrams" : "look at the transport's documentation"))
    }
    try await connection.start(within: limit)
    return connection
  }
}

extension ConnectionParameters {
  /// Whether the parameters ask for datagrams.
  package var isDatagrams: Bool { defaultProtocolStack.transportProtocol == .udp }
}

/// The async interface. A connection has a single state handler: ``states``, ``start(within:)`` and the property
/// replace each other's handler.
extension Connection {
  /// Starts the connection on its own queue, and waits until it is ready.
  ///
  /// It is meant for connections that have not been started; if a ``NetworkConnection`` has been, the call only waits.
  /// The current state handler is still called during the wait, and is restored afterwards.
  ///
  /// - Parameter limit: the longest wait; `nil`, the default: no limit.
  /// - Throws: ``ConnectionError``: the reason for a failure; `ETIMEDOUT`; `ECANCELED` when the connection or the task
  ///   was cancelled. The connection is cancelled before the error is thrown.
  public func start(within limit: Duration? = nil) async throws(ConnectionError) {
    let ready = OneAnswer<Result<Void, ConnectionError>>()
    // Ends the inner wait if this call gives up.
    defer { ready.give(.success(())) }
    let previous = stateUpdateHandler
    stateUpdateHandler = { state in
      previous?(state)
      switch state {
      case .ready: ready.give(.success(()))
      case .failed(let error): ready.give(.failure(error))
      case .cancelled: ready.give(.failure(.posix(.ECANCELED)))
      case .setup, .waiting, .preparing: break
      }
    }
    start(queue: DispatchQueue(label: "lastro.connection"))
    // States entered before the handler was set are not reported, so read the outcome.
    if let outcome = (self as? NetworkConnection)?.outcome { ready.give(outcome) }
    switch await interruptible(within: limit, time: .continuous, { await ready.value() }) {
    case .success(.success): stateUpdateHandler = previous
    case .success(.failure(let error)): try giveUp(error)
    case .failure(.limit): try giveUp(.posix(.ETIMEDOUT))
    case .failure(.cancelled): try giveUp(.posix(.ECANCELED))
    }
  }

  private func giveUp(_ error: ConnectionError) throws(ConnectionError) {
    cancel()
    throw error
  }

  /// Sends content, by default as a whole message; returns when the layer below has accepted it.
  ///
  /// - Throws: ``ConnectionError``. Cancelling the task cancels the connection, because an unknown part may have been
  ///   sent.
  public func send(
    _ content: Data?, contentContext: ConnectionContentContext = .defaultMessage, isComplete: Bool = true
  ) async throws(ConnectionError) {
    let sent = OneAnswer<ConnectionError?>()
    send(
      content: content, contentContext: contentContext, isComplete: isComplete,
      completion: .contentProcessed { sent.give($0) })
    let error = await withTaskCancellationHandler {
      await sent.value()
    } onCancel: {
      cancel()
    }
    if let error { throw error }
  }

  /// Ends the outgoing direction with an empty final message.
  ///
  /// - Throws: ``ConnectionError``, like ``send(_:contentContext:isComplete:)``.
  public func finish() async throws(ConnectionError) {
    try await send(nil, contentContext: .finalMessage, isComplete: true)
  }

  /// Receives at least `minimum` bytes (default 1), or fewer if the message or the stream ends, and at most `maximum`
  /// (default 65,536).
  ///
  /// - Throws: ``ConnectionError``; `invalid_option` for a negative minimum, a minimum above the maximum or above
  ///   ``ConnectionParameters/maximumMessageBytes``, and a maximum below 1. Cancelling the task cancels the connection,
  ///   because bytes that arrive later would be lost. Use ``byteStream(facts:)`` for reads that may be abandoned.
  public func receive(minimum: Int = 1, maximum: Int = 65_536) async throws(ConnectionError) -> ReceivedContent {
    try await received { completion in
      receive(minimumIncompleteLength: minimum, maxLength: maximum, completion: completion)
    }
  }

  /// Receives a whole message; see ``receiveMessage(completion:)``.
  ///
  /// - Throws: ``ConnectionError``, like ``receive(minimum:maximum:)``; also if part of the message arrived before the
  ///   failure.
  public func receiveMessage() async throws(ConnectionError) -> ReceivedContent {
    try await received(takesPart: false) { receiveMessage(completion: $0) }
  }

  private func received(
    takesPart: Bool = true,
    _ receive: (@escaping ReceiveRequest.Completion) -> Void
  ) async throws(ConnectionError) -> ReceivedContent {
    let answer = OneAnswer<Result<ReceivedContent, ConnectionError>>()
    receive { data, context, isComplete, error in
      if let error, !takesPart || data?.isEmpty ?? true { return answer.give(.failure(error)) }
      answer.give(
        .success(ReceivedContent(data: data ?? Data(), context: context, isComplete: isComplete && error == nil)))
    }
    let result = await withTaskCancellationHandler {
      await answer.value()
    } onCancel: {
      cancel()
    }
    return try result.get()
  }

  /// The states from now on, up to the cancelled one. Access this property before the start. The previous state handler
  /// is called too.
  ///
  /// The sequence ends when the connection releases its handlers, or when another handler is set. It is therefore empty
  /// if it is created after the end of the connection.
  public var states: AsyncStream<ConnectionState> {
    let (stream, continuation) = AsyncStream.makeStream(of: ConnectionState.self)
    let previous = stateUpdateHandler
    let source = StateSource(continuation)
    stateUpdateHandler = { state in
      previous?(state)
      source.tell(state)
    }
    return stream
  }
}

/// Finishes the sequence when the handler is released: a connection that is cancelled before its start may report no
/// state.
private final class StateSource: Sendable {
  private let continuation: AsyncStream<ConnectionState>.Continuation

  init(_ continuation: AsyncStream<ConnectionState>.Continuation) { self.continuation = continuation }

  deinit { continuation.finish() }

  func tell(_ state: ConnectionState) {
    continuation.yield(state)
    if state == .cancelled { continuation.finish() }
  }
}
