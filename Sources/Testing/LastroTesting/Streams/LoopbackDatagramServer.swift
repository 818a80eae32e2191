// SPDX-License-Identifier: Apache-2.0

import CLoopback
import Lastro
internal import LastroSupport

/// A scripted UDP server on 127.0.0.1 that answers or drops the datagrams it receives.
///
/// ```swift
/// let server = try LoopbackDatagramServer { bytes in
///   bytes.isEmpty ? [] : [bytes, bytes]  // drops empty datagrams, and answers others twice
/// }
/// ```
///
/// It runs on its own thread. Dropping the server stops it.
public final class LoopbackDatagramServer: Sendable {
  /// A received datagram.
  package struct Datagram: Sendable, Hashable {
    /// The number of the datagram, from 1, in order of arrival.
    package let number: Int
    /// The bytes of the datagram.
    package let bytes: [UInt8]
    /// The sender's port on 127.0.0.1.
    package let port: Int
  }

  /// The reaction to a datagram.
  package struct Reaction: Sendable {
    enum Kind: Sendable {
      case answers([[UInt8]])
      case delay([UInt8], until: LoopbackGate)
    }

    let kind: Kind

    /// Returns a reaction that sends a response.
    package static func answer(_ bytes: [UInt8]) -> Self { Self(kind: .answers([bytes])) }

    /// The reaction that drops the datagram without a response.
    package static let drop = Self(kind: .answers([]))

    /// Returns a reaction that sends a response twice, as a network may do.
    package static func duplicate(_ bytes: [UInt8]) -> Self { Self(kind: .answers([bytes, bytes])) }

    /// Returns a reaction that sends a response when the gate is opened. Later datagrams wait behind this one.
    package static func delay(_ bytes: [UInt8], until gate: LoopbackGate) -> Self {
      Self(kind: .delay(bytes, until: gate))
    }
  }

  /// A closure that decides about each datagram, on the server's thread.
  package typealias Handler = @Sendable (Datagram) -> Reaction

  /// The port, which the kernel chose.
  public let port: Int
  private let core: DatagramCore

  /// Starts a server.
  ///
  /// - Parameter answer: returns the datagrams to send back for the bytes of one: none to drop it, or two equal ones,
  ///   as a network may duplicate it. It runs on the server's thread.
  /// - Throws: ``LoopbackError`` if no socket or no thread could be created.
  public convenience init(answering answer: @escaping @Sendable ([UInt8]) -> [[UInt8]]) throws(LoopbackError) {
    try self.init(handler: { (datagram: Datagram) in Reaction(kind: .answers(answer(datagram.bytes))) })
  }

  /// Starts a server.
  ///
  /// - Parameter handler: returns the reaction to each datagram.
  /// - Throws: ``LoopbackError`` if no socket or no thread could be created.
  package init(handler: @escaping Handler) throws(LoopbackError) {
    var port: UInt16 = 0
    let descriptor = cloopback_open_datagrams(&port)
    guard descriptor >= 0 else { throw .cannotListen("a UDP port of 127.0.0.1 cannot be bound") }
    self.port = Int(port)
    core = try DatagramCore(descriptor: descriptor, handler: handler)
    try core.start()
  }

  deinit { stop() }

  /// The bytes of the datagrams received so far, in order.
  public var received: [[UInt8]] { datagrams.map(\.bytes) }

  /// The datagrams received so far, in order.
  package var datagrams: [Datagram] { core.datagrams }

  /// Makes the system report the port as closed (ICMP "port unreachable": the sender's socket fails with
  /// `ECONNREFUSED`), or accept datagrams again. The port stays bound meanwhile, so that no other socket can use it.
  /// This method is thread-safe.
  ///
  /// - Throws: ``LoopbackError/outOfResources(_:)`` if the system does not support it.
  package func setRefusing(_ refuses: Bool) throws(LoopbackError) { try core.setRefusing(refuses) }

  /// Stops the server and waits until its thread has ended. It may be called more than once, but not from the handler.
  public func stop() { core.stop() }
}

/// The state that the thread of a server retains.
private final class DatagramCore: Sendable {
  private struct State {
    var thread: LoopbackThread?
    var datagrams: [LoopbackDatagramServer.Datagram] = []
  }

  private let descriptor: Int32
  /// Open when the server is stopped.
  private let stopGate: LoopbackGate
  private let handler: LoopbackDatagramServer.Handler
  private let state = Lock(State())

  init(descriptor: Int32, handler: @escaping LoopbackDatagramServer.Handler) throws(LoopbackError) {
    do throws(LoopbackError) {
      stopGate = try LoopbackGate()
    } catch {
      cloopback_close(descriptor)
      throw error
    }
    self.descriptor = descriptor
    self.handler = handler
  }

  deinit {
    stop()
    cloopback_close(descriptor)
  }

  var datagrams: [LoopbackDatagramServer.Datagram] { state.withLock { $0.datagrams } }

  func start() throws(LoopbackError) {
    guard let thread = LoopbackThread(of: self, { [self] in serve() }) else {
      throw .outOfResources("a thread could not be started")
    }
    state.withLock { $0.thread = thread }
  }

  func setRefusing(_ refuses: Bool) throws(LoopbackError) {
    guard cloopback_refuse_datagrams(descriptor, refuses) else {
      throw .outOfResources("the socket cannot be made to refuse, or not to")
    }
  }

  func stop() {
    stopGate.open()
    state.withLock { $0.thread.take() }?.join()
  }

  private func serve() {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while cloopback_wait(stopGate.readEnd, descriptor, -1, -1) & Int32(CLOOPBACK_WAIT_FIRST) == 0 {
      var port: UInt16 = 0
      let count = cloopback_receive_datagram(descriptor, &buffer, buffer.count, &port)
      if count < 0 { continue }
      let datagram = state.withLock { state in
        let datagram = LoopbackDatagramServer.Datagram(
          number: state.datagrams.count + 1, bytes: Array(buffer[..<count]), port: Int(port))
        state.datagrams.append(datagram)
        return datagram
      }
      react(handler(datagram), to: port)
    }
  }

  private func react(_ reaction: LoopbackDatagramServer.Reaction, to port: UInt16) {
    switch reaction.kind {
    case .answers(let answers):
      for bytes in answers { send(bytes, to: port) }
    case .delay(let bytes, let gate):
      guard cloopback_wait(stopGate.readEnd, gate.readEnd, -1, -1) & Int32(CLOOPBACK_WAIT_FIRST) == 0 else { return }
      send(bytes, to: port)
    }
  }

  private func send(_ bytes: [UInt8], to port: UInt16) {
    _ = cloopback_send_datagram(descriptor, bytes, bytes.count, port)
  }
}
