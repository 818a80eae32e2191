// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
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
    package let attachment: (any ProtocolMetadata)?
    private let values = Lock<[String: any Sendable]>([:])

    /// Creates a message without values.
    public init(definition: ProtocolDefinition) {
      self.definition = definition
      attachment = nil
    }

    /// Creates a message for the protocol of a framer.
    public convenience init(instance: Instance) { self.init(definition: instance.definition) }

    /// Creates a message that wraps metadata of a protocol's own type.
    package init(attachment: any ProtocolMetadata) {
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

  /// An error of a framer or of its input. It ends the connection; but if a framer did not write all of a message, only
  /// the send fails.
  public struct Failure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of error.
    package enum Reason: Sendable, Hashable {
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
    package var label: String
    /// The kind of error.
    package var reason: Reason

    /// Creates a failure.
    package init(label: String, reason: Reason) {
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
          "it consumed nothing, and asks for \(needed.counted("byte")) although \(available) are available"
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

extension ProtocolFramer {
  /// A framer's view of its connection; it corresponds to `NWProtocolFramer.Instance` of Network framework.
  ///
  /// It may be used only within the methods of its ``ProtocolFramerImplementation``.
  public final class Instance {
    /// The protocol that this framer implements.
    package var definition: ProtocolDefinition { options.definition }
    /// The options of this framer in the parameters.
    public let options: any ProtocolOptions
    /// The destination of the connection; `nil` if it is unknown.
    public let remote: ConnectionEndpoint?
    /// The connection's parameters.
    public let parameters: ConnectionParameters

    let implementation: any ProtocolFramerImplementation.Type
    /// The framer, which the pipeline creates right after the instance.
    var framer: (any ProtocolFramerImplementation)?
    var phase = Phase.made
    var input: FramerInput
    var output = FramerOutput()
    var wakeup: WakeupTime?
    /// The options of framers to insert between this one and the application.
    var prepended: [any ProtocolOptions] = []
    var passesInput = false
    var passesOutput = false
    /// The first error that occurred in one of the methods.
    var failure: ConnectionError?
    /// Whether the framer requested a clean end.
    var isFinished = false
    /// Whether a parse closure is running.
    var isParsing = false

    enum Phase {
      case made
      case starting
      case ready
      case stopped
    }

    init(
      options: any ProtocolOptions, implementation: any ProtocolFramerImplementation.Type,
      remote: ConnectionEndpoint?, parameters: ConnectionParameters
    ) {
      self.options = options
      self.implementation = implementation
      self.remote = remote
      self.parameters = parameters
      input = FramerInput(limit: parameters.maximumFramerBytes)
    }

    var label: String { implementation.label }

    func fail(_ reason: Failure.Reason) {
      if failure == nil { failure = .framer(Failure(label: label, reason: reason)) }
    }
  }
}

extension ProtocolFramer.Instance {
  // MARK: input

  /// Parses the input: all buffered bytes, contiguously, up to `maximumLength`.
  ///
  /// - Parameters:
  ///   - minimumIncompleteLength: the minimum number of bytes, unless the stream has ended.
  ///   - maximumLength: the maximum number of bytes.
  ///   - parse: called with the bytes, `nil` if there are none, and whether the stream ends with them. It returns the
  ///     number of bytes that it consumed, from 0 to all; those are removed from the input. It runs before this method
  ///     returns, and may write and deliver, but not parse.
  /// - Returns: `true` if `parse` was called; `false` if there are too few bytes.
  public func parseInput(
    minimumIncompleteLength: Int, maximumLength: Int,
    parse: (_ buffer: UnsafeMutableRawBufferPointer?, _ isComplete: Bool) -> Int
  ) -> Bool {
    guard !input.isDelivering, !isParsing else { return false }
    return parsePiece(\.input.bytes, isComplete: input.hasEnded, minimumIncompleteLength, maximumLength, parse)
  }

  /// Delivers bytes that the framer created to the protocol above, or to the application.
  ///
  /// - Parameters:
  ///   - data: the bytes; may be empty.
  ///   - message: the metadata, which the application finds in the context by its definition.
  ///   - isComplete: whether the message ends with these bytes.
  public func deliverInput(data: Data, message: ProtocolFramer.Message, isComplete: Bool) {
    input.deliveries.append(
      FramerDelivery(data: data, metadata: [message.metadata] + input.metadata, isComplete: isComplete))
  }

  /// Delivers the next `length` bytes of the input unchanged, including bytes that have not arrived yet.
  ///
  /// Until they have arrived, ``ProtocolFramerImplementation/handleInput(framer:)`` is not called. A stream that ends
  /// earlier fails with code `truncated_stream`. A length of `Int.max` delivers everything up to the end of the stream
  /// without such a failure; the framer is not called again in that case.
  ///
  /// - Parameters:
  ///   - length: the number of bytes; 0 delivers only the metadata.
  ///   - message: the metadata, as for ``deliverInput(data:message:isComplete:)``.
  ///   - isComplete: whether the message ends with the last of the bytes.
  /// - Returns: `true` if all bytes were available and are delivered; `false` if the rest will be delivered as it
  ///   arrives.
  public func deliverInputNoCopy(length: Int, message: ProtocolFramer.Message, isComplete: Bool) -> Bool {
    guard length >= 0 else {
      fail(.invalidLength(length))
      return false
    }
    guard !input.isDelivering, !isParsing else {
      fail(.invalidLength(length))
      return false
    }
    return input.deliver(length, message.metadata, isComplete)
  }

  /// Passes all further input on unchanged; ``ProtocolFramerImplementation/handleInput(framer:)`` is not called again.
  public func passThroughInput() { passesInput = true }

  // MARK: output

  /// Writes bytes to the protocol below.
  public func writeOutput(data: Data) { output.written.append(data) }

  /// Writes the next `length` bytes of the message being sent, unchanged.
  ///
  /// - Throws: `ProtocolFramer.Failure` if the message has fewer bytes left, or if it is called outside
  ///   ``ProtocolFramerImplementation/handleOutput(framer:message:messageLength:isComplete:)``.
  public func writeOutputNoCopy(length: Int) throws(ProtocolFramer.Failure) {
    guard let bytes = output.message.take(length) else {
      throw ProtocolFramer.Failure(label: label, reason: .invalidLength(length))
    }
    output.written.append(bytes)
  }

  /// Parses the message being sent, as ``parseInput(minimumIncompleteLength:maximumLength:parse:)`` parses the input.
  /// Consumed bytes count as written.
  ///
  /// - Parameters:
  ///   - minimumIncompleteLength: the minimum number of bytes, unless the message ends with the available ones.
  ///   - maximumLength: the maximum number of bytes.
  ///   - parse: called with the bytes, `nil` if there are none, and whether the message ends with this piece.
  /// - Returns: `true` if `parse` was called; `false` if there are too few bytes.
  public func parseOutput(
    minimumIncompleteLength: Int, maximumLength: Int,
    parse: (_ buffer: UnsafeMutableRawBufferPointer?, _ isComplete: Bool) -> Int
  ) -> Bool {
    guard !isParsing else { return false }
    return parsePiece(\.output.message, isComplete: output.isComplete, minimumIncompleteLength, maximumLength, parse)
  }

  private func parsePiece(
    _ place: ReferenceWritableKeyPath<ProtocolFramer.Instance, FramerBuffer>, isComplete: Bool,
    _ minimum: Int, _ maximum: Int,
    _ parse: (_ buffer: UnsafeMutableRawBufferPointer?, _ isComplete: Bool) -> Int
  ) -> Bool {
    // Move the bytes out while user code runs, because it may call back.
    var bytes = self[keyPath: place]
    self[keyPath: place] = FramerBuffer()
    isParsing = true
    let parsed = bytes.parse(minimum, maximum, isComplete: isComplete, parse)
    isParsing = false
    self[keyPath: place] = bytes
    switch parsed {
    case .tooFew: return false
    case .consumed: return true
    case .invalid(let length):
      fail(.invalidLength(length))
      return true
    }
  }

  /// Passes all further messages down unchanged;
  /// ``ProtocolFramerImplementation/handleOutput(framer:message:messageLength:isComplete:)`` is not called again.
  public func passThroughOutput() { passesOutput = true }

  // MARK: life

  /// Schedules one call of ``ProtocolFramerImplementation/wakeup(framer:)``. A later request replaces it.
  public func scheduleWakeup(wakeupTime: ProtocolFramer.WakeupTime) { wakeup = wakeupTime }

  /// Marks the handshake as done. It has no effect on a framer that is ready.
  public func markReady() { if phase == .starting { phase = .ready } }

  /// Ends the connection.
  ///
  /// - Parameter error: the reason for the failure; `nil` for a clean end. A framer that asked for time in
  ///   ``ProtocolFramerImplementation/stop(framer:)`` also passes `nil` when it has finished.
  public func markFailed(error: ConnectionError?) {
    guard let error else {
      isFinished = true
      return
    }
    if failure == nil { failure = error }
  }

  /// Inserts another framer between this one and the application, such as one negotiated in a handshake.
  ///
  /// - Throws: ``ConnectionError``: code `unsupported` for options without a framer; `invalid_option` if this framer is
  ///   already ready.
  public func prependApplicationProtocol(options: any ProtocolOptions) throws(ConnectionError) {
    guard options.definition.implementation != nil else {
      throw .framer(ProtocolFramer.Failure(label: options.definition.name, reason: .notAFramer))
    }
    guard phase == .starting || phase == .made else {
      throw .transport(.refused(.invalidOption, "the framer is ready", hint: "prepend before markReady()"))
    }
    prepended.append(options)
  }
}
