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
  package init(data: Data, context: ConnectionContentContext? = nil, isComplete: Bool = false) {
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
