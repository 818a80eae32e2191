// SPDX-License-Identifier: Apache-2.0

import CLoopback
import Lastro
internal import LastroSupport

/// A scripted UDP server on 127.0.0.1 that answers, or loses, what it is sent.
///
/// ```swift
/// let server = try LoopbackDatagramServer { datagram in
///   datagram.number == 2 ? .drop : .answer(datagram.bytes)
/// }
/// ```
///
/// It runs on a thread of its own. Dropping the server stops it.
public final class LoopbackDatagramServer: Sendable {
  /// What came.
  public struct Datagram: Sendable, Hashable {
    /// Number of the datagram, from 1, in the order of arrival.
    public let number: Int
    /// All its bytes.
    public let bytes: [UInt8]
    /// The sender's port on 127.0.0.1.
    public let port: Int
  }

  /// What becomes of a datagram.
  public enum Reaction: Sendable {
    /// It is answered.
    case answer([UInt8])
    /// It is lost: no answer.
    case drop
    /// It is answered twice, as a network may do.
    case duplicate([UInt8])
    /// It is answered when the gate is opened. Datagrams that come meanwhile wait behind it.
    case delay([UInt8], until: LoopbackGate)
  }

  /// Decides about each datagram, on the server's thread.
  public typealias Handler = @Sendable (Datagram) -> Reaction

  /// The port, of the kernel's choice.
  public let port: Int
  private let core: DatagramCore

  /// Starts a server.
  ///
  /// - Parameter handler: what becomes of each datagram.
  /// - Throws: ``LoopbackError``: no socket or no thread could be had.
  public init(handler: @escaping Handler) throws(LoopbackError) {
    var port: UInt16 = 0
    let descriptor = cloopback_open_datagrams(&port)
    guard descriptor >= 0 else { throw .cannotListen("a UDP port of 127.0.0.1 cannot be bound") }
    self.port = Int(port)
    core = try DatagramCore(descriptor: descriptor, handler: handler)
    try core.start()
  }

  deinit { stop() }

  /// Every datagram received, in order.
  public var datagrams: [Datagram] { core.datagrams }

  /// Has the system answer that the port is closed (ICMP "port unreachable": the sender's socket fails with
  /// `ECONNREFUSED`), or take datagrams again. The port stays taken meanwhile, so that no other socket can have it. Any
  /// thread may call it.
  ///
  /// - Throws: ``LoopbackError/outOfResources(_:)`` where the system does not do it.
  public func setRefusing(_ refuses: Bool) throws(LoopbackError) { try core.setRefusing(refuses) }

  /// Stops, and waits for the thread's end. May be called more than once; not from the handler.
  public func stop() { core.stop() }
}

/// What the thread of a server keeps alive.
private final class DatagramCore: Sendable {
  /// Unchecked because a thread handle is only handed from one to another under the lock below.
  private struct Thread: @unchecked Sendable {
    let handle: OpaquePointer
  }

  private struct State {
    var stopSource: Int32
    var thread: Thread?
    var datagrams: [LoopbackDatagramServer.Datagram] = []
  }

  private static let stackSize = 512 * 1024

  private let descriptor: Int32
  private let stopSignal: Int32
  private let handler: LoopbackDatagramServer.Handler
  private let state: Lock<State>

  init(descriptor: Int32, handler: @escaping LoopbackDatagramServer.Handler) throws(LoopbackError) {
    var stopSignal: Int32 = -1
    var stopSource: Int32 = -1
    guard cloopback_pipe(&stopSignal, &stopSource) else {
      cloopback_close(descriptor)
      throw .outOfResources("a pipe could not be made")
    }
    self.descriptor = descriptor
    self.stopSignal = stopSignal
    self.handler = handler
    state = Lock(State(stopSource: stopSource))
  }

  deinit {
    stop()
    cloopback_close(stopSignal)
    cloopback_close(descriptor)
  }

  var datagrams: [LoopbackDatagramServer.Datagram] { state.withLock { $0.datagrams } }

  func start() throws(LoopbackError) {
    final class Box {
      let core: DatagramCore
      init(_ core: DatagramCore) { self.core = core }
    }
    let box = Unmanaged.passRetained(Box(self))
    let tag = UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
    let handle = cloopback_thread_start(
      Self.stackSize, tag, { Unmanaged<Box>.fromOpaque($0).takeRetainedValue().core.serve() }, box.toOpaque())
    guard let handle else {
      box.release()
      throw .outOfResources("a thread could not be started")
    }
    state.withLock { $0.thread = Thread(handle: handle) }
  }

  func setRefusing(_ refuses: Bool) throws(LoopbackError) {
    guard cloopback_refuse_datagrams(descriptor, refuses) else {
      throw .outOfResources("the socket cannot be made to refuse, or not to")
    }
  }

  func stop() {
    let thread = state.withLock { state in
      if state.stopSource >= 0 { cloopback_close(state.stopSource) }
      state.stopSource = -1
      return state.thread.take()
    }
    if let thread { cloopback_thread_join(thread.handle) }
  }

  private func serve() {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while cloopback_wait(stopSignal, descriptor, -1, -1) & Int32(CLOOPBACK_WAIT_FIRST) == 0 {
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
    switch reaction {
    case .drop: break
    case .answer(let bytes): send(bytes, to: port)
    case .duplicate(let bytes):
      send(bytes, to: port)
      send(bytes, to: port)
    case .delay(let bytes, let gate):
      guard cloopback_wait(stopSignal, gate.readEnd, -1, -1) & Int32(CLOOPBACK_WAIT_FIRST) == 0 else { return }
      send(bytes, to: port)
    }
  }

  private func send(_ bytes: [UInt8], to port: UInt16) {
    _ = cloopback_send_datagram(descriptor, bytes, bytes.count, port)
  }
}
