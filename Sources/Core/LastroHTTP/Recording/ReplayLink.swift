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
  /// Whether the link responds to a request in place of the recorded server, so that it counts as used before.
  var answersAlone = false
  /// The sending side of HTTP/2; `nil` over HTTP/1.1.
  private(set) var gate: ReplayGate?
  /// The number of the client's SETTINGS that the server has not acknowledged before the call.
  private let unacknowledged: Int

  /// - Parameter wasUsed: whether the link carried other exchanges before it is opened here.
  init(_ link: TraceLink, wasUsed: Bool, on reactor: MemoryReactor) {
    var facts = LinkFacts()
    facts.earlierExchanges = wasUsed ? 1 : 0
    (facts.remoteAddress, facts.remotePort, facts.localPort) = (link.remoteAddress, link.remotePort, link.localPort)
    (facts.applicationProtocol, facts.timings) = (link.applicationProtocol, link.timings.timings)
    (facts.hasTLS, facts.readsWhole, facts.isProxied) = (link.hasTLS, link.readsWhole, link.isProxied)
    if let session = link.session {
      facts.early = session.frames(isReused: link.isReused)
      gate = ReplayGate()
    }
    self.facts = facts
    unacknowledged = link.session?.unacknowledged ?? 0
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

  /// Fails writes from here on, while bytes or the end can still be read.
  func failWrites(with error: TransportError) {
    failure = error
    noteReadiness()
  }

  /// Accepts only what was sent when the call was recorded: from here on, the bytes for which ``makeRoom(for:)`` is
  /// called, and over HTTP/2 the heads and bodies for which ``allow(_:)`` is called. Otherwise a response that arrives
  /// during an upload would find more of it sent.
  func limitRoom() {
    if gate == nil { room = 0 } else { gate?.limit(unacknowledged: unacknowledged) }
  }

  func makeRoom(for count: Int) {
    guard let room else { return }
    self.room = room + count
    noteReadiness()
  }

  /// Returns received bytes with the numbers that streams have here.
  func mapped(_ frames: ReplayFrames, of event: Int) -> [UInt8] {
    guard var gate else { return [] }
    defer { self.gate = gate }
    return frames.bytes(of: event, through: &gate)
  }

  func allow(_ frames: [TraceFrame]) {
    gate?.allow(frames)
    noteReadiness()
  }

  func deliver(_ delivery: LinkDelivery) { latestDelivery = delivery }

  private func noteReadiness() {
    guard !isClosed else { return }
    reactor.set(
      descriptor, readable: !incoming.isEmpty || end != nil,
      writable: room != 0 && gate?.isStuck != true || failure != nil)
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
    let count = gate?.pass(bytes) ?? min(bytes.count, room ?? bytes.count)
    defer { noteReadiness() }
    guard count > 0 else { return .wait }
    if let room { self.room = room - count }
    if answersAlone, let answer {
      answersAlone = false
      arrive(answer)
    }
    return .moved(count)
  }

  /// The link's own response, in place of the recorded server's; `nil` before the request was sent.
  private var answer: [UInt8]? {
    guard let gate else { return Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8) }
    // HEADERS that end the stream, with the field 8 of the static table, ":status: 200".
    guard let stream = gate.opened.last else { return nil }
    return [0, 0, 1, 1, 5, 0, 0, 0, UInt8(truncatingIfNeeded: stream), 0x88]
  }

  var acceptsWrites: Bool { true }
  var hasInput: Bool { !isClosed && (!incoming.isEmpty || end != nil) }
  /// The end is read in the same turn as the bytes before it.
  var hidesInput: Bool { gate != nil && end != nil && !isClosed }
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

extension SessionNote {
  /// Returns the frames by which a server brings a new connection into this state.
  ///
  /// - Parameter isReused: whether the server responds to a request before the call. SETTINGS must come before that.
  fileprivate func frames(isReused: Bool) -> [UInt8] {
    guard settings != nil || isReused else { return [] }
    var bytes: [UInt8] = []
    let entries = (settings ?? []).filter { $0.count == 2 }
    bytes += Self.bytes(6 * entries.count, 3) + [HTTP2FrameType.settings.rawValue, 0, 0, 0, 0, 0]
    for entry in entries { bytes += Self.bytes(entry[0], 2) + Self.bytes(entry[1], 4) }
    if unacknowledged == 0 { bytes += [0, 0, 0, HTTP2FrameType.settings.rawValue, 1, 0, 0, 0, 0] }
    let more = window - 65_535
    if more > 0 { bytes += [0, 0, 4, HTTP2FrameType.windowUpdate.rawValue, 0, 0, 0, 0, 0] + Self.bytes(more, 4) }
    return bytes
  }

  /// Returns the last bytes of a number, the highest first.
  private static func bytes(_ number: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * (count - 1 - $0))) }
  }
}
