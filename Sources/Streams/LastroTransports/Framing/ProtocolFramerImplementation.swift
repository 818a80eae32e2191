// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// A protocol that turns bytes into messages and back; it corresponds to `NWProtocolFramerImplementation` of Network
/// framework.
///
/// Each connection creates its own object. The methods are called one at a time on a queue of the connection, and must
/// not block. The object need not be `Sendable`, and must not use the ``ProtocolFramer/Instance`` outside these
/// methods.
///
/// ```swift
/// final class Lines: ProtocolFramerImplementation {
///   static let label = "Lines"
///   static let definition = ProtocolFramer.Definition(implementation: Lines.self)
///   init(framer: ProtocolFramer.Instance) {}
///
///   func handleInput(framer: ProtocolFramer.Instance) -> Int {
///     while true {
///       var line: Data?
///       var seen = 0
///       _ = framer.parseInput(minimumIncompleteLength: 1, maximumLength: 1024) { bytes, isComplete in
///         guard let bytes else { return 0 }
///         seen = bytes.count
///         guard let end = bytes.firstIndex(of: 10) else { return 0 }
///         line = Data(bytes[..<end])
///         return end + 1
///       }
///       guard let line else { return seen + 1 }
///       framer.deliverInput(data: line, message: ProtocolFramer.Message(instance: framer), isComplete: true)
///     }
///   }
///
///   func handleOutput(
///     framer: ProtocolFramer.Instance, message: ProtocolFramer.Message, messageLength: Int, isComplete: Bool
///   ) {
///     try? framer.writeOutputNoCopy(length: messageLength)
///     if isComplete { framer.writeOutput(data: Data([10])) }
///   }
/// }
/// ```
public protocol ProtocolFramerImplementation: AnyObject, SendableMetatype {
  /// The protocol's name, for logs and errors.
  static var label: String { get }

  /// The key of the protocol's metadata. Declare it as `static let`: it must always be the same object.
  static var definition: ProtocolDefinition { get }

  /// Creates the framer of one connection. It cannot write before ``start(framer:)``.
  init(framer: ProtocolFramer.Instance)

  /// Starts the framer when the protocol below is ready. To perform a handshake, write here and return
  /// ``ProtocolFramer/StartResult/willMarkReady``.
  ///
  /// - Returns: whether messages can be sent and received at once. Default ``ProtocolFramer/StartResult/ready``.
  func start(framer: ProtocolFramer.Instance) -> ProtocolFramer.StartResult

  /// Called at the time passed to ``ProtocolFramer/Instance/scheduleWakeup(wakeupTime:)``. Default: does nothing.
  func wakeup(framer: ProtocolFramer.Instance)

  /// Called when the connection is about to end; this is the last chance to write.
  ///
  /// - Returns: `true`, the default, if the connection may end now; `false` if the framer will call
  ///   ``ProtocolFramer/Instance/markFailed(error:)`` when it has finished. The connection waits for at most
  ///   ``ConnectionParameters/stopTimeout``.
  func stop(framer: ProtocolFramer.Instance) -> Bool

  /// Releases all resources after the connection has ended. It is called once for every framer that was created, and
  /// last. Default: does nothing.
  func cleanup(framer: ProtocolFramer.Instance)

  /// Called when bytes have arrived or the stream has ended. Read them with
  /// ``ProtocolFramer/Instance/parseInput(minimumIncompleteLength:maximumLength:parse:)``, and pass them on with the
  /// two `deliverInput` methods.
  ///
  /// It is called again when as many bytes are available as it returned, possibly at once. It is called once more at
  /// the end of the stream, regardless of their number. It is not called while bytes are delivered without parsing
  /// (``ProtocolFramer/Instance/deliverInputNoCopy(length:message:isComplete:)``).
  ///
  /// - Returns: the number of bytes that must be available before the next call, including those not consumed; 0 or
  ///   less for any number. A framer that consumed nothing must ask for more than is available, or it fails with
  ///   code `protocol_violation`.
  func handleInput(framer: ProtocolFramer.Instance) -> Int

  /// Called when a message, or a piece of one, is to be sent. Consume its bytes with
  /// ``ProtocolFramer/Instance/writeOutputNoCopy(length:)`` or
  /// ``ProtocolFramer/Instance/parseOutput(minimumIncompleteLength:maximumLength:parse:)``, and write the surrounding
  /// bytes with ``ProtocolFramer/Instance/writeOutput(data:)``. If bytes are left unconsumed, the send fails.
  ///
  /// - Parameters:
  ///   - framer: the instance in which the framer runs.
  ///   - message: the metadata of this protocol in the content's context; empty if there is none.
  ///   - messageLength: the number of bytes in this piece.
  ///   - isComplete: whether the message ends with this piece.
  func handleOutput(
    framer: ProtocolFramer.Instance, message: ProtocolFramer.Message, messageLength: Int, isComplete: Bool)
}

extension ProtocolFramerImplementation {
  /// Reports that the framer is ready at once.
  public func start(framer: ProtocolFramer.Instance) -> ProtocolFramer.StartResult { .ready }
  /// Does nothing, for framers that request no wakeup.
  public func wakeup(framer: ProtocolFramer.Instance) {}
  /// Reports that the connection may end at once.
  public func stop(framer: ProtocolFramer.Instance) -> Bool { true }
  /// Does nothing, for framers without resources to release.
  public func cleanup(framer: ProtocolFramer.Instance) {}
}
