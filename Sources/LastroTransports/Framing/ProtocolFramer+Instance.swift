// SPDX-License-Identifier: Apache-2.0

internal import Lastro

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension ProtocolFramer {
  /// What a framer sees of its connection; Network framework's `NWProtocolFramer.Instance`.
  ///
  /// It may be used only within the methods of its ``ProtocolFramerImplementation``.
  public final class Instance {
    /// The protocol that this framer implements.
    public var definition: ProtocolDefinition { options.definition }
    /// The options that stand for this framer in the parameters.
    public let options: any ProtocolOptions
    /// Where the connection leads; `nil` where it is unknown.
    public let remote: ConnectionEndpoint?
    /// The connection's parameters.
    public let parameters: ConnectionParameters

    let implementation: any ProtocolFramerImplementation.Type
    /// Made by the pipeline, right after the instance, which it is given.
    var framer: (any ProtocolFramerImplementation)?
    var phase = Phase.made
    var input: FramerInput
    var output = FramerOutput()
    var wakeup: WakeupTime?
    /// Options of framers to be put between this one and the application.
    var prepended: [any ProtocolOptions] = []
    var passesInput = false
    var passesOutput = false
    /// What went wrong in one of the methods; the first counts.
    var failure: ConnectionError?
    /// Whether the framer has asked for a clean end.
    var isFinished = false
    /// Whether a parse closure runs.
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

  /// Looks at what has come: all that is buffered, in one piece, up to `maximumLength` bytes.
  ///
  /// - Parameters:
  ///   - minimumIncompleteLength: fewest bytes to look at, unless the stream has ended.
  ///   - maximumLength: most bytes to look at.
  ///   - parse: gets the bytes, `nil` where there are none; and whether the stream ends with them. It returns how many
  ///     it consumed, 0 to all: those are not seen again. It runs before this method returns, and may write and
  ///     deliver, but not parse.
  /// - Returns: `true` when `parse` was called; `false` when there are too few bytes.
  public func parseInput(
    minimumIncompleteLength: Int, maximumLength: Int,
    parse: (_ buffer: UnsafeMutableRawBufferPointer?, _ isComplete: Bool) -> Int
  ) -> Bool {
    guard !input.isDelivering, !isParsing else { return false }
    return parsePiece(\.input.bytes, isComplete: input.hasEnded, minimumIncompleteLength, maximumLength, parse)
  }

  /// Hands bytes of the framer's own making to the protocol above, or to the application.
  ///
  /// - Parameters:
  ///   - data: bytes; may be empty.
  ///   - message: found by its definition in the context that the application gets.
  ///   - isComplete: whether the message ends with these bytes.
  public func deliverInput(data: Data, message: ProtocolFramer.Message, isComplete: Bool) {
    input.deliveries.append(
      FramerDelivery(data: data, metadata: [message.metadata] + input.metadata, isComplete: isComplete))
  }

  /// Hands the next `length` bytes of the input on as they are, those that have not come yet too.
  ///
  /// Until they have come, ``ProtocolFramerImplementation/handleInput(framer:)`` is not called. A stream that ends
  /// before fails with ``ProtocolFramer/Failure/Reason/incompleteMessage(missing:)``, but for a length of `Int.max`:
  /// that is all up to the end of the stream, whatever there is; the framer is not asked again then.
  ///
  /// - Parameters:
  ///   - length: bytes; 0 delivers the metadata alone.
  ///   - message: as for ``deliverInput(data:message:isComplete:)``.
  ///   - isComplete: whether the message ends with the last of the bytes.
  /// - Returns: `true` when all of it was there and is delivered; `false` when the rest will be delivered as it comes.
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

  /// From now on, whatever comes is handed on unchanged, and ``ProtocolFramerImplementation/handleInput(framer:)`` is
  /// not called again.
  public func passThroughInput() { passesInput = true }

  // MARK: output

  /// Writes bytes to the protocol below.
  public func writeOutput(data: Data) { output.written.append(data) }

  /// Writes the next `length` bytes of the message that is being sent, as they are.
  ///
  /// - Throws: `ProtocolFramer.Failure`, when the message has fewer bytes left, and outside
  ///   ``ProtocolFramerImplementation/handleOutput(framer:message:messageLength:isComplete:)``.
  public func writeOutputNoCopy(length: Int) throws(ProtocolFramer.Failure) {
    guard let bytes = output.message.take(length) else {
      throw ProtocolFramer.Failure(label: label, reason: .invalidLength(length))
    }
    output.written.append(bytes)
  }

  /// Looks at the message that is being sent, as ``parseInput(minimumIncompleteLength:maximumLength:parse:)`` does at
  /// what has come. Consumed bytes count as taken.
  ///
  /// - Parameters:
  ///   - minimumIncompleteLength: fewest bytes to look at, unless the message ends with what there is.
  ///   - maximumLength: most bytes to look at.
  ///   - parse: gets the bytes, `nil` where there are none; and whether the message ends with this piece.
  /// - Returns: `true` when `parse` was called; `false` when there are too few bytes.
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
    // Out of the way while user code runs, which may call back.
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

  /// From now on, messages go down unchanged, and
  /// ``ProtocolFramerImplementation/handleOutput(framer:message:messageLength:isComplete:)`` is not called again.
  public func passThroughOutput() { passesOutput = true }

  // MARK: life

  /// Asks for a call of ``ProtocolFramerImplementation/wakeup(framer:)``, once. Another request replaces it.
  public func scheduleWakeup(wakeupTime: ProtocolFramer.WakeupTime) { wakeup = wakeupTime }

  /// The handshake is done. Does nothing in a framer that is ready.
  public func markReady() { if phase == .starting { phase = .ready } }

  /// Ends the connection.
  ///
  /// - Parameter error: why it failed; `nil` for a clean end, and for a framer that said in
  ///   ``ProtocolFramerImplementation/stop(framer:)`` that it would take a while.
  public func markFailed(error: ConnectionError?) {
    guard let error else {
      isFinished = true
      return
    }
    if failure == nil { failure = error }
  }

  /// Puts another framer between this one and the application, such as one that was agreed on in a handshake.
  ///
  /// - Throws: ``ConnectionError``: code `unsupported` for options of no framer; `invalid_option` in a framer that is
  ///   ready.
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
