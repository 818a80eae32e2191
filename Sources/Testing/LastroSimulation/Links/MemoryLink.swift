// SPDX-License-Identifier: Apache-2.0

package import Lastro
package import LastroHTTP

/// The near end of a connection in memory, which the engine uses. The script of its far end (``MemoryPeer``) decides
/// what happens to the bytes, and when.
package final class MemoryLink: Link {
  /// The owner of the descriptors of links in memory.
  package static let owner: UInt32 = 7

  package let facts: LinkFacts
  package let id: Int32
  private unowned let host: any MemoryLinkHost
  private unowned var user: (any LinkUser)?
  package private(set) var far: MemoryPeer

  /// Whether the current rules are those under which the link was dialed. Tests change it.
  package var isCurrent: Bool {
    get { wasCurrent && rulesApply() }
    set { wasCurrent = newValue }
  }
  private var wasCurrent = true
  /// Returns whether the rules of the dial still apply. Default: they do.
  package var rulesApply: () -> Bool = { true }
  /// The verdict on the server. Default: that of a valid certificate.
  package var verdict = TrustVerdict.validated
  /// The answer to checks whether a request may be sent; `nil` admits every request.
  package var admission: LinkAdmission?
  /// Called instead of a write, whose outcome it returns; `nil` writes to the far end.
  package var writing: (() -> LinkStep)?
  /// Called before the link is checked for input that no request asked for.
  package var checking: () -> Void = {}
  /// The maximum number of bytes that one read returns.
  package var readLimit = Int.max
  package private(set) var isClosed = false
  package private(set) var failure: TransportError?
  /// The bytes that have arrived and were not read.
  private var incoming: ArraySlice<UInt8> = []
  private var end: LinkStep?

  package init(_ host: any MemoryLinkHost, facts: LinkFacts, isTLS: Bool) {
    self.host = host
    self.facts = facts
    id = host.reactor.open(owner: Self.owner)
    far = MemoryPeer(host, isTLS: isTLS)
    far.near = self
    noteReadiness()
  }

  package func attach(_ user: any LinkUser) {
    self.user = user
    host.reactor.watch(id, read: true, write: false)
  }

  package func ready(_ ready: Readiness) { user?.ready(readable: ready.readable, writable: ready.writable) }

  package func admit(_ target: TrustTarget) -> LinkAdmission {
    guard isCurrent else { return .outdated }
    return admission ?? .admitted(facts.hasTLS ? verdict : .plain)
  }

  // MARK: Reading

  package func receive(into space: UnsafeMutableRawBufferPointer) -> LinkStep {
    defer { noteReadiness() }
    let count = min(space.count, incoming.count, readLimit)
    guard count > 0 else { return end ?? .wait }
    space.copyBytes(from: incoming.prefix(count))
    incoming = incoming.dropFirst(count)
    return .moved(count)
  }

  package var hasInput: Bool { !isClosed && (!incoming.isEmpty || end != nil) }
  /// The link reports readiness for every byte that has arrived, as a plain socket does.
  package var hidesInput: Bool { false }
  package var mayHaveMore: Bool { hasInput }

  package func hasUnsolicitedInput(_ scratch: UnsafeMutableRawBufferPointer, isHeard: Bool) -> Bool {
    checking()
    return hasInput
  }

  // MARK: Writing

  package var acceptsWrites: Bool { true }

  package func send(_ bytes: UnsafeRawBufferPointer) -> LinkStep {
    if isClosed { return .wait }
    if let writing { return writing() }
    if failure != nil { return .failed }
    let count = min(bytes.count, far.room)
    guard count > 0 else { return .wait }
    far.wasSent(Array(bytes.prefix(count)))
    noteReadiness()
    return .moved(count)
  }

  package func delivery(now: Int64) -> LinkDelivery? { far.delivery }

  package func watch(read: Bool, write: Bool) { host.reactor.watch(id, read: read, write: write) }

  // MARK: The end

  package func handOver(early: [UInt8]) -> (any ByteStream)? { nil }

  package func close() {
    guard !isClosed else { return }
    isClosed = true
    user = nil
    host.reactor.close(id)
    host.linkClosed(self)
    far.nearHasClosed()
  }

  // MARK: Calls by the far end

  package func arrived(_ bytes: [UInt8]) {
    guard !isClosed, end == nil else { return }
    incoming += bytes
    noteReadiness()
  }

  /// - Parameter reason: the error of a step that has failed. Default: that the connection was reset.
  package func ended(_ step: LinkStep, _ reason: TransportError? = nil) {
    guard !isClosed, end == nil else { return }
    end = step
    if case .failed = step {
      incoming = []
      failure =
        reason
        ?? TransportError(
          stage: .response, code: .receiveFailed, message: "the connection was reset", hint: "fetch again")
    }
    noteReadiness()
  }

  func noteReadiness() {
    let isOver = failure != nil
    host.reactor.set(id, readable: !incoming.isEmpty || end != nil, writable: isOver || far.room > 0)
  }
}
