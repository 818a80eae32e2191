// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP

/// A machine of a simulation over all its starts.
final class MachineCore {
  let name: String
  /// The address that connections to it have.
  let address: String
  /// Whether the simulation continues until its program has ended.
  let isAwaited: Bool
  /// Called at each start, before the program runs; `nil` for nothing.
  let listen: ((MachineCore) -> Void)?
  let body: @Sendable (SimulatedMachine) async throws -> Void
  /// The owner of what the current start runs.
  var owner: Scheduler.Owner
  /// The number of starts so far.
  var starts = 0
  /// Whether the program of the current start has ended.
  var hasEnded = false
  /// The difference of its date from that of the world, over all starts.
  var dateOffset: Int64 = 0
  /// The event loop of the current start; `nil` before its first request.
  var loop: MachineLoop?
  /// The engines' event loop of the current start, and a reference that keeps it running.
  var eventLoop: EventLoop?
  /// The connections that clients have opened to the current start, in order.
  private var accepted: [Weak<MemoryPeer>] = []

  init(
    name: String, address: String, owner: Scheduler.Owner, isAwaited: Bool, listen: ((MachineCore) -> Void)?,
    body: @escaping @Sendable (SimulatedMachine) async throws -> Void
  ) {
    self.name = name
    self.address = address
    self.owner = owner
    self.isAwaited = isAwaited
    self.listen = listen
    self.body = body
  }

  func add(_ connection: MemoryPeer) {
    accepted.removeAll { $0.target?.isClosed != false }
    accepted.append(Weak(connection))
  }

  /// Resets the connections of clients, or only those of one client.
  func resetAccepted(from client: MachineCore? = nil) {
    for connection in accepted.compactMap(\.target) {
      let tunnel = connection.path as? TunnelPath
      let isProxy = tunnel?.toProxy.server === self
      let path = isProxy ? tunnel?.toProxy : tunnel?.toServer ?? connection.path as? SimulatedPath
      guard client == nil || path?.client === client else { continue }
      if isProxy { tunnel?.reset(connection) } else { connection.reset() }
    }
    if client == nil { accepted = [] }
  }
}

/// A weak reference in a collection.
private struct Weak<Target: AnyObject> {
  weak var target: Target?

  init(_ target: Target) { self.target = target }
}
