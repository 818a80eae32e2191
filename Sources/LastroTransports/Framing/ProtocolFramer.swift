// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport
internal import LastroWire

/// Turns a stream of bytes into messages, and messages into bytes; the counterpart of Network framework's
/// `NWProtocolFramer`.
///
/// Write a ``ProtocolFramerImplementation``, put its ``Options`` into the parameters of a connection, and messages go
/// in and out by ``Connection/send(content:contentContext:isComplete:completion:)`` and
/// ``Connection/receiveMessage(completion:)``, with a ``Message`` in their context.
public enum ProtocolFramer {
  /// Names a protocol by its framer: `Definition(implementation: MyFramer.self)`. One for each protocol, in a
  /// `static let`.
  public typealias Definition = ProtocolDefinition

  /// What ``ProtocolFramerImplementation/start(framer:)`` says.
  public enum StartResult: Sendable, Hashable {
    /// Messages can flow at once.
    case ready
    /// A handshake comes first: the framer calls ``Instance/markReady()`` when it is done. The connection stays in
    /// state preparing until then, and fails with `ETIMEDOUT` after ``ConnectionParameters/connectTimeout``.
    case willMarkReady
  }

  /// When ``ProtocolFramerImplementation/wakeup(framer:)`` is to be called.
  public enum WakeupTime: Sendable, Hashable {
    /// So many milliseconds from now.
    case milliseconds(UInt64)
    /// Never: takes back what was asked for before.
    case forever
  }

  /// A framer in a stack of application protocols, with what it is to know; Network framework's
  /// `NWProtocolFramer.Options`.
  public struct Options: ProtocolOptions {
    /// The protocol that the options are for.
    public let definition: ProtocolDefinition
    private var values: [String: any Sendable] = [:]

    /// Makes options without values.
    public init(definition: ProtocolDefinition) { self.definition = definition }

    /// A value for the framer, which finds it in ``ProtocolFramer/Instance/options``. `nil` where there is none.
    public subscript(key: String) -> (any Sendable)? {
      get { values[key] }
      set { values[key] = newValue }
    }
  }

  /// What a framer has to say about one message, under keys of its own; Network framework's `NWProtocolFramer.Message`.
  public final class Message: ProtocolMetadata, CustomStringConvertible {
    /// The protocol that the message belongs to.
    public let definition: ProtocolDefinition
    /// A protocol's own type of metadata: what the sender put into the context instead of a `Message`; what the
    /// receiver will find there instead of this one. `nil` for none.
    public let attachment: (any ProtocolMetadata)?
    private let values = Lock<[String: any Sendable]>([:])

    /// Makes a message without values.
    public init(definition: ProtocolDefinition) {
      self.definition = definition
      attachment = nil
    }

    /// Makes a message of a framer's protocol.
    public convenience init(instance: Instance) { self.init(definition: instance.definition) }

    /// Makes a message that stands for a protocol's own type of metadata.
    public init(attachment: any ProtocolMetadata) {
      definition = attachment.definition
      self.attachment = attachment
    }

    /// The value under a key; `nil` where there is none. Any thread may read and set it.
    public subscript(key: String) -> (any Sendable)? {
      get { values.withLock { $0[key] } }
      set { values.withLock { $0[key] = newValue } }
    }

    /// The protocol's name and the keys.
    public var description: String {
      "\(definition.name) message [\(values.withLock { $0.keys.sorted() }.joined(separator: ", "))]"
    }

    /// What goes into a context.
    var metadata: any ProtocolMetadata { attachment ?? self }
  }

  /// What a framer, or what it was fed, did wrong. It ends the connection, but for ``Reason/unconsumedOutput(bytes:)``,
  /// which ends the send.
  public struct Failure: Error, Sendable, Hashable, CustomStringConvertible {
    /// What the framer did wrong.
    public enum Reason: Sendable, Hashable {
      /// The framer consumed nothing, and asked for no more than there is: it would be asked the same for ever.
      case noProgress(needed: Int, available: Int)
      /// The framer needs more bytes at a time than are kept (``ConnectionParameters/maximumFramerBytes``).
      case needTooLarge(needed: Int, limit: Int)
      /// The stream ended within something: the framer was asked once more, and left bytes.
      case incompleteInput(needed: Int, available: Int)
      /// The stream ended before the message did.
      ///
      /// `missing` is `nil` where the number is unknown.
      case incompleteMessage(missing: Int?)
      /// A length that is negative, or greater than what was offered.
      case invalidLength(Int)
      /// Part of a message to send was neither parsed nor written.
      case unconsumedOutput(bytes: Int)
      /// More was delivered to a framer than it may keep.
      case bufferFull(limit: Int)
      /// The options in the stack belong to no framer.
      case notAFramer
    }

    /// Label of the framer.
    public var label: String
    /// What the framer did wrong.
    public var reason: Reason

    /// Makes a failure.
    public init(label: String, reason: Reason) {
      self.label = label
      self.reason = reason
    }

    /// The stable word for it.
    public var code: FailureCode {
      switch reason {
      case .incompleteInput, .incompleteMessage: .truncatedStream
      case .notAFramer: .unsupported
      case .noProgress, .needTooLarge, .invalidLength, .unconsumedOutput, .bufferFull: .protocolViolation
      }
    }

    /// Label and reason on one line.
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
