// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// What a piece of content belongs to: a message or the stream, with metadata of the protocols that frame it; Network
/// framework's `NWConnection.ContentContext`.
public final class ConnectionContentContext: Sendable {
  /// A name for logs. Pieces of one message have one context.
  public let identifier: String
  /// Whether the direction ends when content in this context is complete.
  public let isFinal: Bool
  /// What protocols have to say about the content, the one nearest to the application first.
  public let protocolMetadata: [any ProtocolMetadata]

  /// Makes a context.
  ///
  /// - Parameters:
  ///   - identifier: a name for logs.
  ///   - isFinal: whether the direction ends with the content. Default `false`.
  ///   - metadata: for the protocols of the connection; each looks for its own definition. Default none.
  public init(identifier: String, isFinal: Bool = false, metadata: [any ProtocolMetadata] = []) {
    self.identifier = identifier
    self.isFinal = isFinal
    protocolMetadata = metadata
  }

  /// The metadata that a protocol left; `nil` where it left none.
  public func protocolMetadata(definition: ProtocolDefinition) -> (any ProtocolMetadata)? {
    protocolMetadata.first { $0.definition == definition }
  }

  /// A message of its own, after which others may follow.
  public static let defaultMessage = ConnectionContentContext(identifier: "default message")
  /// The last message: complete content in it ends our direction (FIN for TCP, close_notify for TLS).
  public static let finalMessage = ConnectionContentContext(identifier: "final message", isFinal: true)
  /// The whole of a stream: complete content in it ends our direction. What comes from a stream without messages is in
  /// it.
  public static let defaultStream = ConnectionContentContext(identifier: "default stream", isFinal: true)
}

/// How a connection tells that content was taken; Network framework's `NWConnection.SendCompletion`.
public enum ConnectionSendCompletion: Sendable {
  /// Called once: with `nil` when the layer below has taken the content, else with the reason. Send the next content
  /// from here, so that no more is queued than the network carries.
  case contentProcessed(@Sendable (ConnectionError?) -> Void)
  /// No handler: the content may be lost, or sent again.
  case idempotent

  /// Calls the handler, where there is one.
  func callAsFunction(_ error: ConnectionError?) {
    if case .contentProcessed(let handler) = self { handler(error) }
  }
}
