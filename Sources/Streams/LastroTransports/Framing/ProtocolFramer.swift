// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport
internal import LastroWire

/// A namespace for framers, which turn a stream of bytes into messages and back. It corresponds to `NWProtocolFramer`
/// of Network framework.
///
/// Write a ``ProtocolFramerImplementation`` and add its ``Options`` to the parameters of a connection. Messages are
/// then sent with ``Connection/send(content:contentContext:isComplete:completion:)`` and received with
/// ``Connection/receiveMessage(completion:)``, each with a ``Message`` in its context.
public enum ProtocolFramer {
  /// The identity of a protocol, created from its framer: `Definition(implementation: MyFramer.self)`. Keep one per
  /// protocol in a `static let`.
  public typealias Definition = ProtocolDefinition

  /// The result of ``ProtocolFramerImplementation/start(framer:)``.
  public enum StartResult: Sendable, Hashable {
    /// Messages can be sent and received at once.
    case ready
    /// A handshake comes first: the framer calls ``Instance/markReady()`` when it is done. Until then the connection
    /// stays in state preparing, and fails with `ETIMEDOUT` after ``ConnectionParameters/connectTimeout``.
    case willMarkReady
  }

  /// The time at which ``ProtocolFramerImplementation/wakeup(framer:)`` is called.
  public enum WakeupTime: Sendable, Hashable {
    /// The given number of milliseconds from now.
    case milliseconds(UInt64)
    /// Never; cancels an earlier request.
    case forever
  }

  /// The options of a framer in a stack of application protocols; they correspond to `NWProtocolFramer.Options` of
  /// Network framework.
  public struct Options: ProtocolOptions {
    /// The protocol that the options are for.
    public let definition: ProtocolDefinition
    private var values: [String: any Sendable] = [:]

    /// Creates options without values.
    public init(definition: ProtocolDefinition) { self.definition = definition }

    /// A value for the framer, which reads it from ``ProtocolFramer/Instance/options``; `nil` if there is none.
    public subscript(key: String) -> (any Sendable)? {
      get { values[key] }
      set { values[key] = newValue }
    }
  }

  /// The metadata of a framer for one message, as keys and values; it corresponds to `NWProtocolFramer.Message` of
  /// Network framework.
  public final class Message: ProtocolMetadata, CustomStringConvertible {
    /// The protocol that the message belongs to.
    public let definition: ProtocolDefinition
    /// Metadata of a protocol's own type: the object that the sender put into the context instead of a `Message`, or
    /// that the receiver will find there instead of this one. `nil` if there is none.
    public let attachment: (any ProtocolMetadata)?
    private let values = Lock<[String: any Sendable]>([:])

    /// Creates a message without values.
    public init(definition: ProtocolDefinition) {
      self.definition = definition
      attachment = nil
    }

    /// Creates a message for the protocol of a framer.
    public convenience init(instance: Instance) { self.init(definition: instance.definition) }

    /// Creates a message that wraps metadata of a protocol's own type.
    public init(attachment: any ProtocolMetadata) {
      definition = attachment.definition
      self.attachment = attachment
    }

    /// The value for a key; `nil` if there is none. It may be read and set from any thread.
    public subscript(key: String) -> (any Sendable)? {
      get { values.withLock { $0[key] } }
      set { values.withLock { $0[key] = newValue } }
    }

    /// The protocol's name and the keys.
    public var description: String {
      "\(definition.name) message [\(values.withLock { $0.keys.sorted() }.joined(separator: ", "))]"
    }

    /// The metadata that is put into a context.
    var metadata: any ProtocolMetadata { attachment ?? self }
  }

  /// An error of a framer or of its input. It ends the connection, except for ``Reason/unconsumedOutput(bytes:)``,
  /// which fails only the send.
  public struct Failure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of error.
    public enum Reason: Sendable, Hashable {
      /// The framer consumed nothing, and asked for no more bytes than are available: it would be called forever.
      case noProgress(needed: Int, available: Int)
      /// The framer requests more bytes at a time than are buffered (``ConnectionParameters/maximumFramerBytes``).
      case needTooLarge(needed: Int, limit: Int)
      /// The stream ended within a unit of the protocol: the framer was called once more, and left bytes.
      case incompleteInput(needed: Int, available: Int)
      /// The stream ended before the message did.
      ///
      /// `missing` is `nil` if the number is unknown.
      case incompleteMessage(missing: Int?)
      /// A length is negative, or exceeds the bytes offered.
      case invalidLength(Int)
      /// Part of a message to send was neither parsed nor written.
      case unconsumedOutput(bytes: Int)
      /// More bytes were delivered to a framer than it may buffer.
      case bufferFull(limit: Int)
      /// The options in the stack do not belong to a framer.
      case notAFramer
    }

    /// The label of the framer.
    public var label: String
    /// The kind of error.
    public var reason: Reason

    /// Creates a failure.
    public init(label: String, reason: Reason) {
      self.label = label
      self.reason = reason
    }

    /// The stable code of the failure.
    public var code: FailureCode {
      switch reason {
      case .incompleteInput, .incompleteMessage: .truncatedStream
      case .notAFramer: .unsupported
      case .noProgress, .needTooLarge, .invalidLength, .unconsumedOutput, .bufferFull: .protocolViolation
      }
    }

    /// The label and the reason on one line.
    public var description: String {
      let problem =
        switch reason {
        case .noProgress(let needed, let available):
          "it consumed nothing, and asks for \(needed.counted("byte")) where \(available) are there"
        case .needTooLarge(let needed, let limit):
          "it needs \(needed.counted("byte")) at a time, above the maximum of \(limit)"
        case .incompleteInput(let needed, let available):
          "the stream ended with \(available) of the \(needed.counted("byte")) needed"
        case .incompleteMessage(let missing):
          "the stream ended before the end of the message"
            + (missing.map { ", with \($0.counted("byte")) missing" } ?? "")
        case .invalidLength(let length): "the length of \(length) bytes is out of range"
        case .unconsumedOutput(let bytes): "it did not write \(bytes.counted("byte")) of the message"
        case .bufferFull(let limit): "it left more than \(limit.counted("byte")) unread"
        case .notAFramer: "these options belong to no framer"
        }
      return "framer \(label): \(problem)"
    }
  }
}
