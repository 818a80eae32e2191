// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// A link that delivers the bytes of a trace.
final class ReplayLink: Link {
  let facts: LinkFacts
  let descriptor: Int32
  private let verdict: TrustVerdict
  private let reactor: MemoryReactor
  private unowned var user: (any LinkUser)?
  private var incoming: ArraySlice<UInt8> = []
  private var end: LinkStep?
  private(set) var failure: TransportError?
  private(set) var isClosed = false
  /// The number of bytes that are accepted; `nil` for any number.
  private var room: Int?
  private var latestDelivery: LinkDelivery?
  /// Whether the link answers a request by itself, so that it counts as used before.
  var answersAlone = false

  init(_ link: TraceLink, on reactor: MemoryReactor) {
    var facts = LinkFacts()
    (facts.remoteAddress, facts.remotePort, facts.localPort) = (link.remoteAddress, link.remotePort, link.localPort)
    (facts.applicationProtocol, facts.timings) = (link.applicationProtocol, link.timings.timings)
    (facts.hasTLS, facts.readsWhole, facts.isProxied) = (link.hasTLS, link.readsWhole, link.isProxied)
    self.facts = facts
    verdict = link.verdict
    self.reactor = reactor
    descriptor = reactor.open(owner: ReplayNetwork.owner)
    noteReadiness()
  }

  func attach(_ user: any LinkUser) {
    self.user = user
    reactor.watch(descriptor, read: true, write: false)
  }

  func ready(_ ready: Readiness) { user?.ready(readable: ready.readable, writable: ready.writable) }

  // MARK: The trace

  func arrive(_ bytes: [UInt8]) {
    guard !isClosed, end == nil else { return }
    incoming += bytes
    noteReadiness()
  }

  /// Ends the peer's direction, or fails with an error.
  func finish(with step: LinkStep, _ error: TransportError? = nil) {
    guard !isClosed, end == nil else { return }
    end = step
    failure = error
    noteReadiness()
  }

  /// Accepts only the bytes for which ``makeRoom(for:)`` is called from here on.
  func limitRoom() { room = 0 }

  func makeRoom(for count: Int) {
    guard let room else { return }
    self.room = room + count
    noteReadiness()
  }

  func deliver(_ delivery: LinkDelivery) { latestDelivery = delivery }

  private func noteReadiness() {
    guard !isClosed else { return }
    reactor.set(descriptor, readable: !incoming.isEmpty || end != nil, writable: room != 0 || failure != nil)
  }

  // MARK: The engine

  var isCurrent: Bool { true }
  func admit(_ target: TrustTarget) -> LinkAdmission { .admitted(verdict) }

  func receive(into space: UnsafeMutableRawBufferPointer) -> LinkStep {
    defer { noteReadiness() }
    let count = min(space.count, incoming.count)
    guard count > 0 else { return end ?? .wait }
    space.copyBytes(from: incoming.prefix(count))
    incoming = incoming.dropFirst(count)
    return .moved(count)
  }

  func send(_ bytes: UnsafeRawBufferPointer) -> LinkStep {
    if isClosed { return .wait }
    if failure != nil, incoming.isEmpty { return .failed }
    let count = min(bytes.count, room ?? bytes.count)
    guard count > 0 else { return .wait }
    if let room { self.room = room - count }
    if answersAlone {
      answersAlone = false
      arrive(Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8))
    }
    noteReadiness()
    return .moved(count)
  }

  var acceptsWrites: Bool { true }
  var hasInput: Bool { !isClosed && (!incoming.isEmpty || end != nil) }
  var hidesInput: Bool { false }
  var mayHaveMore: Bool { hasInput }
  func hasUnsolicitedInput(_ scratch: UnsafeMutableRawBufferPointer, isHeard: Bool) -> Bool { hasInput }
  func delivery(now: Int64) -> LinkDelivery? { latestDelivery }
  func watch(read: Bool, write: Bool) { reactor.watch(descriptor, read: read, write: write) }
  func handOver(early: [UInt8]) -> (any ByteStream)? { nil }

  func close() {
    guard !isClosed else { return }
    isClosed = true
    user = nil
    reactor.close(descriptor)
  }
}
