// SPDX-License-Identifier: Apache-2.0

import Lastro

@testable import LastroHTTP

/// The near end of a connection in memory, which the engine uses. The script of its far end (``MemoryPeer``) decides
/// what happens to the bytes, and when.
final class MemoryLink: Link {
  let facts: LinkFacts
  let id: Int32
  private unowned let network: MemoryNetwork
  private unowned var user: (any LinkUser)?
  private(set) var far: MemoryPeer

  /// Whether the current rules are those under which the link was dialed. Tests change it.
  var isCurrent = true
  /// The answer to checks whether a request may be sent; `nil` admits every request.
  var admission: LinkAdmission?
  /// Called instead of a write, whose outcome it returns; `nil` writes to the far end.
  var writing: (() -> LinkStep)?
  /// The maximum number of bytes that one read returns.
  var readLimit = Int.max
  private(set) var isClosed = false
  private(set) var failure: TransportError?
  /// The bytes that have arrived and were not read.
  private var incoming: ArraySlice<UInt8> = []
  private var end: LinkStep?

  init(_ network: MemoryNetwork, facts: LinkFacts, isTLS: Bool) {
    self.network = network
    self.facts = facts
    id = network.reactor.open(owner: MemoryNetwork.owner)
    far = MemoryPeer(network, isTLS: isTLS)
    far.near = self
    noteReadiness()
  }

  func attach(_ user: any LinkUser) {
    self.user = user
    network.reactor.watch(id, read: true, write: false)
  }

  func ready(_ ready: Readiness) { user?.ready(readable: ready.readable, writable: ready.writable) }

  func admit(_ target: TrustTarget) -> LinkAdmission {
    guard isCurrent else { return .outdated }
    return admission ?? .admitted(facts.hasTLS ? .validated : .plain)
  }

  // MARK: Reading

  func receive(into space: UnsafeMutableRawBufferPointer) -> LinkStep {
    defer { noteReadiness() }
    let count = min(space.count, incoming.count, readLimit)
    guard count > 0 else { return end ?? .wait }
    space.copyBytes(from: incoming.prefix(count))
    incoming = incoming.dropFirst(count)
    return .moved(count)
  }

  var hasInput: Bool { !isClosed && (!incoming.isEmpty || end != nil) }
  /// The link reports readiness for every byte that has arrived, as a plain socket does.
  var hidesInput: Bool { false }
  var mayHaveMore: Bool { hasInput }

  func hasUnsolicitedInput(_ scratch: UnsafeMutableRawBufferPointer, isHeard: Bool) -> Bool { hasInput }

  // MARK: Writing

  var acceptsWrites: Bool { true }

  func send(_ bytes: UnsafeRawBufferPointer) -> LinkStep {
    if isClosed { return .wait }
    if let writing { return writing() }
    if failure != nil { return .failed }
    let count = min(bytes.count, far.room)
    guard count > 0 else { return .wait }
    far.wasSent(Array(bytes.prefix(count)))
    noteReadiness()
    return .moved(count)
  }

  func delivery(now: Int64) -> LinkDelivery? { far.delivery }

  func watch(read: Bool, write: Bool) { network.reactor.watch(id, read: read, write: write) }

  // MARK: The end

  func handOver(early: [UInt8]) -> (any ByteStream)? { nil }

  func close() {
    guard !isClosed else { return }
    isClosed = true
    user = nil
    network.reactor.close(id)
    network.noteClosed(self)
    far.nearHasClosed()
  }

  // MARK: What the far end does

  func arrived(_ bytes: [UInt8]) {
    guard !isClosed, end == nil else { return }
    incoming += bytes
    noteReadiness()
  }

  func ended(_ step: LinkStep) {
    guard !isClosed, end == nil else { return }
    end = step
    if case .failed = step {
      incoming = []
      failure = TransportError(
        stage: .response, code: .receiveFailed, message: "the connection was reset", hint: "fetch again")
    }
    noteReadiness()
  }

  func noteReadiness() {
    let isOver = failure != nil
    network.reactor.set(id, readable: !incoming.isEmpty || end != nil, writable: isOver || far.room > 0)
  }
}

/// The far end of a connection in memory: the peer, controlled by a script.
///
/// Its functions act after a delay of the network's clock. Actions with equal delays run in the order of their calls.
final class MemoryPeer {
  private unowned let network: MemoryNetwork
  weak var near: MemoryLink?
  let isTLS: Bool
  /// The bytes that have arrived and that the script has not removed.
  var received: [UInt8] = []
  /// The total number of bytes that have arrived.
  private(set) var total = 0
  /// Called when bytes have arrived.
  var onBytes: (MemoryPeer) -> Void = { _ in }
  /// Called when bytes were accepted, before they arrive.
  var onAccepted: ([UInt8]) -> Void = { _ in }
  /// Called when the near end has closed.
  var onClose: (MemoryPeer) -> Void = { _ in }
  /// The time that bytes take to arrive in this direction.
  var latency = Duration.zero
  /// The maximum number of bytes that are accepted and have not arrived. The near end's writes wait for room.
  var capacity = Int.max { didSet { near?.noteReadiness() } }
  /// Whether accepted bytes arrive and are acknowledged. If not, they fill the capacity.
  var accepts = true {
    didSet {
      guard accepts, !held.isEmpty else { return }
      let bytes = held
      held = []
      arrived(bytes)
    }
  }
  /// Whether the delivery of bytes is reported.
  var reportsDelivery = true
  private(set) var isClosed = false
  /// The accepted bytes that wait for ``accepts``.
  private var held: [UInt8] = []
  private var queued = 0
  private var acknowledgedAt: Int64?

  init(_ network: MemoryNetwork, isTLS: Bool) {
    self.network = network
    self.isTLS = isTLS
  }

  /// The number of accepted bytes that have not arrived.
  var heldCount: Int { held.count }

  /// Lets a number of the held bytes arrive.
  func accept(_ count: Int) {
    let bytes = Array(held.prefix(count))
    held.removeFirst(bytes.count)
    take(bytes)
  }

  var room: Int { isClosed ? 0 : max(0, capacity - queued) }

  var delivery: LinkDelivery? {
    guard reportsDelivery else { return nil }
    return LinkDelivery(acknowledged: UInt64(total), queued: UInt64(queued), acknowledgedAt: acknowledgedAt)
  }

  func wasSent(_ bytes: [UInt8]) {
    onAccepted(bytes)
    queued += bytes.count
    network.after(latency) { [weak self] in self?.arrived(bytes) }
  }

  private func arrived(_ bytes: [UInt8]) {
    guard accepts else { return held += bytes }
    take(bytes)
  }

  private func take(_ bytes: [UInt8]) {
    queued -= bytes.count
    total += bytes.count
    acknowledgedAt = network.now
    near?.noteReadiness()
    received += bytes
    onBytes(self)
  }

  func forgetScript() {
    onBytes = { _ in }
    onAccepted = { _ in }
    onClose = { _ in }
  }

  func nearHasClosed() {
    isClosed = true
    network.after(latency) { [weak self] in
      guard let self else { return }
      onClose(self)
    }
  }

  // MARK: What a script does

  var now: Duration { .nanoseconds(network.now) }

  /// Performs an action later.
  func later(_ delay: Duration, _ body: @escaping () -> Void) { network.after(delay, body) }

  /// Sends bytes.
  func send(_ bytes: some Sequence<UInt8>, after delay: Duration = .zero) {
    let bytes = Array(bytes)
    network.after(delay) { [weak near = near] in near?.arrived(bytes) }
  }

  func send(_ text: String, after delay: Duration = .zero) { send(text.utf8, after: delay) }

  /// Ends the peer's direction of the connection.
  func end(isClean: Bool = true, after delay: Duration = .zero) {
    network.after(delay) { [weak near = near] in near?.ended(.end(isClean: isClean)) }
  }

  /// Resets the connection: unread bytes are lost.
  func reset(after delay: Duration = .zero) {
    network.after(delay) { [weak near = near] in near?.ended(.failed) }
  }
}
