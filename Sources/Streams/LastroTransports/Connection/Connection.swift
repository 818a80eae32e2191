// SPDX-License-Identifier: Apache-2.0

public import Dispatch
public import FoundationEssentials
internal import Lastro
internal import LastroSupport

/// A connection as defined by the Swift Transport API (Pluggable Transports, version 2.0, §1.3). Transports return
/// connections and wrap them. Its interface matches `NWConnection` of Network framework, so code can be ported by
/// renaming the types.
///
/// ``NetworkConnection`` is the implementation for the network. An author of transports rarely needs to implement a
/// connection: ``NetworkConnectionFactory`` creates them.
///
/// Every connection guarantees the following (`ConnectionConformance` in LastroStreamsTesting checks it):
///
/// - Handlers and completions run on the queue passed to ``start(queue:)``, one at a time, in order.
/// - States follow the order of ``ConnectionState``. ``ConnectionState/cancelled`` comes last, once, and only after
///   ``cancel()``. The handlers are released after it, so a handler may retain its connection.
/// - Every completion is called exactly once in every case. After ``cancel()``, pending completions get code
///   `ECANCELED`.
/// - Sends and receives are each served in the order in which they were made. Both may be made before
///   ``start(queue:)``; they then wait until the connection is ready.
///
/// Every member may be called from any thread.
public protocol Connection: AnyObject, Sendable {
  /// A closure that is called with each new state. Set it before ``start(queue:)``: earlier states are not reported
  /// again.
  var stateUpdateHandler: (@Sendable (ConnectionState) -> Void)? { get set }

  /// A closure that is called with `true` when the connection can carry data (first when it becomes ready), and with
  /// `false` when the network below it is lost. A connection that is not viable is not lost: it may become viable
  /// again.
  var viabilityUpdateHandler: (@Sendable (Bool) -> Void)? { get set }

  /// Starts connecting; handlers and completions run on `queue`. A second call has no effect, nor does a call after
  /// ``cancel()``.
  func start(queue: DispatchQueue)

  /// Closes the connection immediately and permanently. Idempotent.
  func cancel()

  /// Sends content.
  ///
  /// - Parameters:
  ///   - content: the bytes; `nil` for none.
  ///   - contentContext: the message or stream of the content, with metadata for the protocols that frame it. Complete
  ///     content in a final context (``ConnectionContentContext/finalMessage``) ends the outgoing direction.
  ///   - isComplete: whether the message, or in a final context the stream, ends with this content.
  ///   - completion: called when the layer below has accepted the content.
  func send(
    content: Data?, contentContext: ConnectionContentContext, isComplete: Bool, completion: ConnectionSendCompletion)

  /// Receives the next content, at least one byte.
  ///
  /// - Parameter completion: called with the content, its context, whether the message is complete (or the stream, if
  ///   there are no messages), and the error if receiving failed. At the end of the stream, and for every later call,
  ///   the content is `nil`, the context is final and the flag is true. Content that arrived before a failure may be
  ///   passed together with the error.
  func receive(
    completion: @escaping @Sendable (Data?, ConnectionContentContext?, Bool, ConnectionError?) -> Void)

  /// Receives at least `minimumIncompleteLength` bytes, or fewer if the message or the stream ends first, and at most
  /// `maxLength`.
  ///
  /// A negative minimum, a minimum above the maximum, or a maximum below 1 fails with code `invalid_option`. With a
  /// minimum of 0 the receive completes as soon as a message has begun, possibly with only its metadata.
  ///
  /// - Parameters:
  ///   - minimumIncompleteLength: the minimum number of bytes; 0 or more.
  ///   - maxLength: the maximum number of bytes; 1 or more, and not below the minimum.
  ///   - completion: called as for ``receive(completion:)``.
  func receive(
    minimumIncompleteLength: Int, maxLength: Int,
    completion: @escaping @Sendable (Data?, ConnectionContentContext?, Bool, ConnectionError?) -> Void)

  /// Receives one whole message, or the rest of one. On a stream without messages, it receives everything up to the
  /// end.
  ///
  /// - Parameter completion: called as for ``receive(completion:)``; a message above the connection's limit fails with
  ///   `EMSGSIZE`.
  func receiveMessage(
    completion: @escaping @Sendable (Data?, ConnectionContentContext?, Bool, ConnectionError?) -> Void)
}

extension Connection {
  /// The maximum number of bytes that ``receive(completion:)`` requests by default.
  package static var defaultReceiveLength: Int { 65_536 }

  /// Receives 1 to 65,536 bytes.
  public func receive(
    completion: @escaping @Sendable (Data?, ConnectionContentContext?, Bool, ConnectionError?) -> Void
  ) {
    receive(minimumIncompleteLength: 1, maxLength: Self.defaultReceiveLength, completion: completion)
  }

  /// Collects content from ``receive(completion:)`` until a message or the stream is complete, up to 16 MiB. Concurrent
  /// receives would get parts of that content; connections with messages have their own implementation.
  public func receiveMessage(
    completion: @escaping @Sendable (Data?, ConnectionContentContext?, Bool, ConnectionError?) -> Void
  ) {
    MessageCollector(of: self, limit: 1 << 24, completion: completion).next()
  }

  /// Sends content as a complete message; the defaults are those of Network framework.
  ///
  /// - Parameters:
  ///   - content: the bytes; `nil` to send the context alone.
  ///   - contentContext: the context. Default: a separate message.
  ///   - completion: called when the content was accepted, or with the error.
  public func send(
    content: Data?, contentContext: ConnectionContentContext = .defaultMessage,
    completion: ConnectionSendCompletion
  ) {
    send(content: content, contentContext: contentContext, isComplete: true, completion: completion)
  }

  /// Sends content in the default message.
  public func send(content: Data?, isComplete: Bool, completion: ConnectionSendCompletion) {
    send(content: content, contentContext: .defaultMessage, isComplete: isComplete, completion: completion)
  }

  /// Receives like ``receive(minimumIncompleteLength:maxLength:completion:)``, under the name that Network framework
  /// uses.
  public func receive(
    minimumIncompleteLength: Int, maximumLength: Int,
    completion: @escaping @Sendable (Data?, ConnectionContentContext?, Bool, ConnectionError?) -> Void
  ) {
    receive(minimumIncompleteLength: minimumIncompleteLength, maxLength: maximumLength, completion: completion)
  }
}

/// A collector for one message from a connection that has no message support.
private final class MessageCollector: Sendable {
  typealias Completion = @Sendable (Data?, ConnectionContentContext?, Bool, ConnectionError?) -> Void

  private let connection: any Connection
  private let limit: Int
  private let collected = Lock(Data())
  private let completion: Completion

  init(of connection: any Connection, limit: Int, completion: @escaping Completion) {
    self.connection = connection
    self.limit = limit
    self.completion = completion
  }

  func next() {
    connection.receive { [self] data, context, isComplete, error in
      let (sum, isTooLong) = collected.withLock { bytes in
        let fits = (data?.count ?? 0) <= limit - bytes.count
        if let data, fits { bytes.append(data) }
        return (bytes, !fits)
      }
      if isTooLong { return completion(sum, context, false, .posix(.EMSGSIZE)) }
      if let error { return completion(sum.isEmpty ? nil : sum, context, false, error) }
      if isComplete { return completion(sum.isEmpty ? nil : sum, context, true, nil) }
      next()
    }
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

private typealias Content = (data: Data, context: ConnectionContentContext?, isComplete: Bool)

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

  /// Sends content, by default as a whole message; returns when the layer below has accepted it. No content in
  /// ``ConnectionContentContext/finalMessage`` ends the outgoing direction.
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

  /// Receives at least `minimum` bytes (default 1), or fewer if the message or the stream ends, and at most `maximum`
  /// (default 65,536).
  ///
  /// - Returns: the bytes, which may be none; the context with the metadata of the protocols, `nil` if the connection
  ///   reports none; and whether the bytes complete the message. Complete content in a final context
  ///   (``ConnectionContentContext/isFinal``) ends the stream: no more will arrive.
  /// - Throws: ``ConnectionError``; `invalid_option` for a negative minimum, a minimum above the maximum or above
  ///   ``ConnectionParameters/maximumMessageBytes``, and a maximum below 1. Cancelling the task cancels the connection,
  ///   because bytes that arrive later would be lost. Use ``byteStream(facts:)`` for reads that may be abandoned.
  public func receive(
    minimum: Int = 1, maximum: Int = 65_536
  ) async throws(ConnectionError) -> (data: Data, context: ConnectionContentContext?, isComplete: Bool) {
    try await received { completion in
      receive(minimumIncompleteLength: minimum, maxLength: maximum, completion: completion)
    }
  }

  /// Receives a whole message; see ``receiveMessage(completion:)``.
  ///
  /// - Returns: the bytes, the context, and whether the message is complete, like ``receive(minimum:maximum:)``.
  /// - Throws: ``ConnectionError``, like ``receive(minimum:maximum:)``; also if part of the message arrived before the
  ///   failure.
  public func receiveMessage() async throws(ConnectionError) -> (
    data: Data, context: ConnectionContentContext?, isComplete: Bool
  ) {
    try await received(takesPart: false) { receiveMessage(completion: $0) }
  }

  private func received(
    takesPart: Bool = true,
    _ receive: (@escaping ReceiveRequest.Completion) -> Void
  ) async throws(ConnectionError) -> Content {
    let answer = OneAnswer<Result<Content, ConnectionError>>()
    receive { data, context, isComplete, error in
      if let error, !takesPart || data?.isEmpty ?? true { return answer.give(.failure(error)) }
      answer.give(.success((data: data ?? Data(), context: context, isComplete: isComplete && error == nil)))
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
