// SPDX-License-Identifier: Apache-2.0

public import Dispatch
internal import Lastro
internal import LastroSupport

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A connection as the Swift Transport API (Pluggable Transports, version 2.0, §1.3) has it: what transports return,
/// and what they are put around. Its shape is that of Network framework's `NWConnection`; code moves over by renaming
/// the types.
///
/// ``NetworkConnection`` is the one that talks to the network. An author of transports seldom has to write a
/// connection: ``TransformingConnectionFactory`` and ``DialerConnectionFactory`` make them.
///
/// The promises that every connection makes (`ConnectionConformance` in LastroStreamsTesting checks them):
///
/// - Handlers and completions run on the queue given to ``start(queue:)``, one at a time, in order.
/// - States come in the order of ``ConnectionState``; ``ConnectionState/cancelled`` comes last, once, and only after
///   ``cancel()``. After it the handlers are released, so a handler may hold its connection.
/// - Every completion is called exactly once, whatever happens. After ``cancel()`` those still open get code
///   `ECANCELED`.
/// - Sends go out in the order they were made, receives are served in the order they were made. Both may be made before
///   ``start(queue:)``: they wait until the connection is ready.
///
/// Any thread may call any member.
public protocol Connection: AnyObject, Sendable {
  /// Called with every new state. Set it before ``start(queue:)``: states that were before are not told again.
  var stateUpdateHandler: (@Sendable (ConnectionState) -> Void)? { get set }

  /// Called when the connection becomes able to carry data (`true`, first when it is ready), and when the network under
  /// it has gone (`false`). A connection that is not viable is not lost: it may become viable again.
  var viabilityUpdateHandler: (@Sendable (Bool) -> Void)? { get set }

  /// Begins to connect; handlers and completions will run on `queue`. A second call does nothing, nor one after
  /// ``cancel()``.
  func start(queue: DispatchQueue)

  /// Ends the connection, at once and for good. Idempotent.
  func cancel()

  /// Sends content.
  ///
  /// - Parameters:
  ///   - content: the bytes; `nil` for none.
  ///   - contentContext: what the content belongs to, with metadata for the protocols that frame it. Content that is
  ///     complete in a context that is final (``ConnectionContentContext/finalMessage``) ends our direction.
  ///   - isComplete: whether the message, or in a final context the stream, ends with this content.
  ///   - completion: called when the layer below has taken the content.
  func send(
    content: Data?, contentContext: ConnectionContentContext, isComplete: Bool, completion: ConnectionSendCompletion)

  /// Receives what comes next, at least one byte.
  ///
  /// - Parameter completion: content, its context, whether the message (or the stream, where there are no messages) is
  ///   complete with it, and why receiving failed. At the end of the stream content is `nil`, the context final, and it
  ///   is complete; so is every later call. Content that came before a failure may come together with it.
  func receive(
    completion: @escaping @Sendable (Data?, ConnectionContentContext?, Bool, ConnectionError?) -> Void)

  /// Receives at least `minimumIncompleteLength` bytes, fewer only where the message or the stream ends before, and at
  /// most `maxLength`.
  ///
  /// A minimum that is negative, or greater than the maximum, and a maximum below one fail with code `invalid_option`.
  /// With a minimum of 0 it completes as soon as a message has begun, perhaps with its metadata alone.
  ///
  /// - Parameters:
  ///   - minimumIncompleteLength: fewest bytes; 0 or more.
  ///   - maxLength: most bytes; 1 or more, and no fewer than the minimum.
  ///   - completion: as for ``receive(completion:)``.
  func receive(
    minimumIncompleteLength: Int, maxLength: Int,
    completion: @escaping @Sendable (Data?, ConnectionContentContext?, Bool, ConnectionError?) -> Void)

  /// Receives one whole message, or what is left of it. On a stream without messages: everything up to its end.
  ///
  /// - Parameter completion: as for ``receive(completion:)``; a message longer than the connection keeps fails with
  ///   `EMSGSIZE`.
  func receiveMessage(
    completion: @escaping @Sendable (Data?, ConnectionContentContext?, Bool, ConnectionError?) -> Void)
}

extension Connection {
  /// The most bytes that ``receive(completion:)`` asks for where a connection does not say otherwise.
  public static var defaultReceiveLength: Int { 65_536 }

  /// Receives 1 to ``defaultReceiveLength`` bytes.
  public func receive(
    completion: @escaping @Sendable (Data?, ConnectionContentContext?, Bool, ConnectionError?) -> Void
  ) {
    receive(minimumIncompleteLength: 1, maxLength: Self.defaultReceiveLength, completion: completion)
  }

  /// Collects what ``receive(completion:)`` brings until a message, or the stream, is complete; 16 MiB at most.
  /// Receives made meanwhile mix with it: connections with messages have their own.
  public func receiveMessage(
    completion: @escaping @Sendable (Data?, ConnectionContentContext?, Bool, ConnectionError?) -> Void
  ) {
    MessageCollector(of: self, limit: 1 << 24, completion: completion).next()
  }

  /// Sends content; the defaults are those of Network framework.
  ///
  /// With this content the message is complete.
  ///
  /// - Parameters:
  ///   - content: the bytes; `nil` to send the context alone.
  ///   - contentContext: default: a message of its own.
  ///   - completion: told once the content was taken, or why it was not.
  public func send(
    content: Data?, contentContext: ConnectionContentContext = .defaultMessage,
    completion: ConnectionSendCompletion
  ) {
    send(content: content, contentContext: contentContext, isComplete: true, completion: completion)
  }

  /// Sends a piece of the default message.
  public func send(content: Data?, isComplete: Bool, completion: ConnectionSendCompletion) {
    send(content: content, contentContext: .defaultMessage, isComplete: isComplete, completion: completion)
  }

  /// As ``receive(minimumIncompleteLength:maxLength:completion:)``, in Network framework's spelling.
  public func receive(
    minimumIncompleteLength: Int, maximumLength: Int,
    completion: @escaping @Sendable (Data?, ConnectionContentContext?, Bool, ConnectionError?) -> Void
  ) {
    receive(minimumIncompleteLength: minimumIncompleteLength, maxLength: maximumLength, completion: completion)
  }
}

/// Collects one message from a connection that has no messages of its own.
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
