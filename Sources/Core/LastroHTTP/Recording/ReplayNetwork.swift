// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The network of a replay: the guest of its loop, and the connector of its engine. Its links open when the trace says
/// so.
final class ReplayNetwork: LoopGuest, Connector {
  /// The owner of the descriptors of its links.
  static let owner: UInt32 = 7

  let reactor: MemoryReactor
  /// The links by their numbers in the trace.
  private(set) var links: [UInt64: ReplayLink] = [:]
  /// The dials without an outcome, oldest first.
  private var dials: [(id: UInt64, owner: HostPool)] = []

  /// Whether `Expect: 100-continue` may be sent before a large body, as far as other calls had shown.
  var mayExpect = true

  init(_ reactor: MemoryReactor) { self.reactor = reactor }

  /// Opens a link for the oldest dial.
  ///
  /// - Parameter wasUsed: whether the link carried other exchanges before.
  /// - Returns: `nil` if the engine dials none.
  func open(_ number: UInt64, _ note: TraceLink, wasUsed: Bool = false) -> ReplayLink? {
    guard !dials.isEmpty else { return nil }
    let dial = dials.removeFirst()
    let link = ReplayLink(note, wasUsed: wasUsed, on: reactor)
    links[number] = link
    dial.owner.linkOpened(dial.id, link)
    return link
  }

  /// Fails the oldest dial.
  func failDial(_ error: TransportError) {
    guard !dials.isEmpty else { return }
    let dial = dials.removeFirst()
    dial.owner.dialFailed(dial.id, error)
  }

  // MARK: Connector

  func route(for key: HostKey, with options: SharedOptions) throws(TransportError) -> Route {
    Route(key: key.authority, origin: try? Origin("\(key.isTLS ? "https" : "http")://\(key.authority)"))
  }

  func dial(_ dial: LinkDial, for owner: HostPool) {
    // A pool learns from its own requests, too.
    if !mayExpect { owner.mayExpect = false }
    dials.append((dial.id, owner))
  }

  func cancelDial(_ id: UInt64) { dials.removeAll { $0.id == id } }

  // MARK: Guest

  var isEmpty: Bool { true }
  var due: Int64 { .max }
  func beginTurn() {}
  func ready(_ ready: Readiness) { links.values.first { $0.descriptor == ready.descriptor }?.ready(ready) }
  func turn(now: Int64) {}
  func shutDown() {}
  func tearDown() { dials = [] }
}
