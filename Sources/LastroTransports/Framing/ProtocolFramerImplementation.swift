// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// A protocol that turns bytes into messages and back; Network framework's `NWProtocolFramerImplementation`.
///
/// One object is made for each connection. Its methods are called one at a time, never while another of them runs, on a
/// queue of the connection's own; they must not block. It need not be `Sendable`, and must not use the
/// ``ProtocolFramer/Instance`` outside them.
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

  /// The key under which the protocol's metadata is found. Declare it `static let`: it has to be one and the same
  /// object always.
  static var definition: ProtocolDefinition { get }

  /// Makes the framer of one connection. Nothing can be written yet: that begins with ``start(framer:)``.
  init(framer: ProtocolFramer.Instance)

  /// The protocol below is ready. Handshakes begin here: write, and return
  /// ``ProtocolFramer/StartResult/willMarkReady``.
  ///
  /// - Returns: whether messages can flow at once. Default ``ProtocolFramer/StartResult/ready``.
  func start(framer: ProtocolFramer.Instance) -> ProtocolFramer.StartResult

  /// The time given to ``ProtocolFramer/Instance/scheduleWakeup(wakeupTime:)`` has come. Default: nothing.
  func wakeup(framer: ProtocolFramer.Instance)

  /// The connection is to end: the last chance to write.
  ///
  /// - Returns: `true` when it may end now, which is the default; `false` when the framer will call
  ///   ``ProtocolFramer/Instance/markFailed(error:)`` once it is through. It is waited for
  ///   ``ConnectionParameters/stopTimeout`` at most.
  func stop(framer: ProtocolFramer.Instance) -> Bool

  /// The connection has ended: let go of everything. Called once for every framer that was made, last. Default:
  /// nothing.
  func cleanup(framer: ProtocolFramer.Instance)

  /// Bytes came, or the stream has ended. Look at them with
  /// ``ProtocolFramer/Instance/parseInput(minimumIncompleteLength:maximumLength:parse:)``, hand them on with the two
  /// `deliverInput` methods.
  ///
  /// It is called again as soon as so many bytes are there as it returned, at once where they are; and once more at the
  /// end of the stream, however many there are. It is not called while bytes are handed on unseen
  /// (``ProtocolFramer/Instance/deliverInputNoCopy(length:message:isComplete:)``).
  ///
  /// - Returns: how many bytes must be there, those not consumed included, before it is called again; 0 or less for
  ///   any. A framer that consumed nothing has to ask for more than there is, else it fails with
  ///   ``ProtocolFramer/Failure/Reason/noProgress(needed:available:)``.
  func handleInput(framer: ProtocolFramer.Instance) -> Int

  /// A message, or a piece of one, is to be sent. Take its bytes with
  /// ``ProtocolFramer/Instance/writeOutputNoCopy(length:)`` or
  /// ``ProtocolFramer/Instance/parseOutput(minimumIncompleteLength:maximumLength:parse:)``, write what goes around them
  /// with ``ProtocolFramer/Instance/writeOutput(data:)``. Bytes that were not taken fail the send.
  ///
  /// - Parameters:
  ///   - framer: the instance that the framer runs in.
  ///   - message: metadata of this protocol from the content's context; an empty one where there is none.
  ///   - messageLength: bytes of this piece.
  ///   - isComplete: whether the message ends with this piece.
  func handleOutput(
    framer: ProtocolFramer.Instance, message: ProtocolFramer.Message, messageLength: Int, isComplete: Bool)
}

extension ProtocolFramerImplementation {
  /// The default: the framer is ready at once.
  public func start(framer: ProtocolFramer.Instance) -> ProtocolFramer.StartResult { .ready }
  /// The default, for framers that ask for no wake-up.
  public func wakeup(framer: ProtocolFramer.Instance) {}
  /// The default: the connection may end at once.
  public func stop(framer: ProtocolFramer.Instance) -> Bool { true }
  /// The default, for framers that hold nothing to be freed.
  public func cleanup(framer: ProtocolFramer.Instance) {}
}
