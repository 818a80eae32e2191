// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Lastro
internal import LastroSupport

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// What came out of a connection.
public struct ReceivedContent: Sendable {
  /// The bytes; empty where there are none.
  public var data: Data
  /// What they belong to, with the metadata of the protocols; `nil` where the connection tells none.
  public var context: ConnectionContentContext?
  /// Whether the message, or in a final context the stream, is complete with them.
  public var isComplete: Bool

  /// Makes a piece, for connections of one's own.
  public init(data: Data, context: ConnectionContentContext? = nil, isComplete: Bool = false) {
    self.data = data
    self.context = context
    self.isComplete = isComplete
  }

  /// Whether nothing will come any more: it is complete, and its context final or unknown.
  public var isEndOfStream: Bool { isComplete && (context?.isFinal ?? true) }

  /// The metadata that a protocol left; `nil` where it left none.
  public func metadata(definition: ProtocolDefinition) -> (any ProtocolMetadata)? {
    context?.protocolMetadata(definition: definition)
  }
}

extension ConnectionFactory {
  /// Makes a connection and starts it; returns when it is ready. The async face of ``connect(using:)``: it throws where
  /// that returns `nil`.
  ///
  /// - Parameters:
  ///   - parameters: for the innermost connection.
  ///   - limit: longest wait; `nil`, the default, for that of the parameters alone.
  /// - Throws: ``ConnectionError``: code `unsupported` where the transport has no connection of that kind; `ETIMEDOUT`;
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
  /// Whether datagrams are asked for.
  package var isDatagrams: Bool { defaultProtocolStack.transportProtocol == .udp }
}

/// The async face. A connection has one state handler: ``states``, ``start(within:)`` and the property take it from
/// each other.
extension Connection {
  /// Starts the connection, on a queue of its own, and waits until it is ready.
  ///
  /// For connections that were not started yet; a ``NetworkConnection`` that was is only waited for. The state handler
  /// is called meanwhile, and is there afterwards as before.
  ///
  /// - Parameter limit: longest wait; `nil`, the default, for none.
  /// - Throws: ``ConnectionError``, after which the connection is cancelled: why it failed; `ETIMEDOUT`; `ECANCELED`
  ///   when it, or the task, was cancelled.
  public func start(within limit: Duration? = nil) async throws(ConnectionError) {
    let ready = OneAnswer<Result<Void, ConnectionError>>()
    // Ends the wait that is left behind when this one is given up.
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
    // What was told before the handler was there is not told again.
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

  /// Sends content, by default as a whole message; returns when the layer below has taken it.
  ///
  /// - Throws: ``ConnectionError``. A cancelled task cancels the connection: the server has an unknown part.
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

  /// Ends our direction: an empty final message.
  ///
  /// - Throws: ``ConnectionError``, as ``send(_:contentContext:isComplete:)``.
  public func finish() async throws(ConnectionError) {
    try await send(nil, contentContext: .finalMessage, isComplete: true)
  }

  /// Receives at least `minimum` bytes (default 1), fewer only where the message or the stream ends, and at most
  /// `maximum` (default 65,536).
  ///
  /// - Throws: ``ConnectionError``; `invalid_option` for a negative minimum, one above the maximum or above
  ///   ``ConnectionParameters/maximumMessageBytes``, and a maximum below 1. A cancelled task cancels the connection:
  ///   what would come would be lost. ``byteStream(facts:)`` has reads that can be given up.
  public func receive(minimum: Int = 1, maximum: Int = 65_536) async throws(ConnectionError) -> ReceivedContent {
    try await received { completion in
      receive(minimumIncompleteLength: minimum, maxLength: maximum, completion: completion)
    }
  }

  /// Receives a whole message; see ``receiveMessage(completion:)``.
  ///
  /// - Throws: ``ConnectionError``, as ``receive(minimum:maximum:)`` does; also when part of the message came before it
  ///   failed.
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

  /// The states from now on, up to the cancelled one. Take it before the start. The state handler set before is called
  /// too.
  ///
  /// It ends when the connection lets go of its handlers, or another handler is set: so it has no states at all when it
  /// is taken after the end.
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

/// Ends the states when nothing is left to tell any: a connection that was cancelled before its start tells none.
private final class StateSource: Sendable {
  private let continuation: AsyncStream<ConnectionState>.Continuation

  init(_ continuation: AsyncStream<ConnectionState>.Continuation) { self.continuation = continuation }

  deinit { continuation.finish() }

  func tell(_ state: ConnectionState) {
    continuation.yield(state)
    if state == .cancelled { continuation.finish() }
  }
}
