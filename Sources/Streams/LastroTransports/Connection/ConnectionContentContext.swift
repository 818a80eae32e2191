// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The context of content: a message or the stream, with metadata of the protocols that frame it. It corresponds to
/// `NWConnection.ContentContext` of Network framework.
public final class ConnectionContentContext: Sendable {
  /// A name for logs. All pieces of a message share one context.
  public let identifier: String
  /// Whether complete content in this context ends the direction.
  public let isFinal: Bool
  /// The metadata that protocols attach to the content, starting with the protocol nearest to the application.
  public let protocolMetadata: [any ProtocolMetadata]

  /// Creates a context.
  ///
  /// - Parameters:
  ///   - identifier: a name for logs.
  ///   - isFinal: whether the direction ends with the content. Default `false`.
  ///   - metadata: metadata for the protocols of the connection; each looks up its own definition. Default: none.
  public init(identifier: String, isFinal: Bool = false, metadata: [any ProtocolMetadata] = []) {
    self.identifier = identifier
    self.isFinal = isFinal
    protocolMetadata = metadata
  }

  /// Returns the metadata of a protocol; `nil` if there is none.
  public func protocolMetadata(definition: ProtocolDefinition) -> (any ProtocolMetadata)? {
    protocolMetadata.first { $0.definition == definition }
  }

  /// The context of a separate message that others may follow.
  public static let defaultMessage = ConnectionContentContext(identifier: "default message")
  /// The context of the last message: complete content in it ends the outgoing direction (FIN for TCP, close_notify for
  /// TLS).
  public static let finalMessage = ConnectionContentContext(identifier: "final message", isFinal: true)
  /// The context of a whole stream: complete content in it ends the outgoing direction. Content from a stream without
  /// messages has this context.
  public static let defaultStream = ConnectionContentContext(identifier: "default stream", isFinal: true)
}

/// The way a connection reports that content was accepted; it corresponds to `NWConnection.SendCompletion` of Network
/// framework.
public enum ConnectionSendCompletion: Sendable {
  /// A handler that is called once: with `nil` when the layer below has accepted the content, else with the error. Send
  /// the next content from this handler, so that no more is queued than the network carries.
  case contentProcessed(@Sendable (ConnectionError?) -> Void)
  /// No handler: the content may be lost, or sent again.
  case idempotent
}
