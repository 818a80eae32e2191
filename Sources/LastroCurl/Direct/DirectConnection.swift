// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroHTTP

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

#if canImport(Glibc)
  internal import Glibc
#endif

/// A connection that libcurl made and that exchanges of our own use: one after the other, or where it speaks HTTP/2
/// many at a time.
///
/// Owner: ``DirectHost``. Thread: the loop's. It stays registered with the poller for reading as long as it stands, so
/// that a request costs no call for it; what comes on an idle one ends it.
final class DirectConnection {
  /// The outcome of a read or a write.
  enum Step {
    case moved(Int)
    /// Nothing at the moment; the poller tells when.
    case wait
    /// The peer's direction has ended: by close_notify, where there is TLS, or not.
    case end(isClean: Bool)
    case failed(TransportError)
  }

  /// Maximum plaintext of one TLS record.
  static let recordBytes = 16 * 1024
  /// A read that brings fewer is likely to have brought all there is. Servers fill records to anything above it.
  static let partBytes = 4 * 1024
  /// Records of TLS that are read at once: those of a byte each must not hold the turn.
  private static let mostRecords = 64

  /// What libcurl has of it: TLS, which its bytes pass through. `nil` where they are in the clear: libcurl has let go
  /// of it, and the descriptor is its own.
  private let session: StreamSession?
  let descriptor: Int32
  unowned let host: DirectHost
  let profile: StreamProfile
  /// The peer's address, as in ``StreamFacts``.
  let remoteAddress: String?
  let remotePort: Int32?
  let localPort: Int32?
  private let egress: EgressGate?
  private let poller: Poller
  /// Microseconds that its dialing took, for the first exchange.
  private let dialed: (nameLookup: Int64, connect: Int64, tls: Int64)
  /// Whether a proxy is what the socket is connected to.
  private let isProxied: Bool
  /// Whether bytes pass through TLS, be it to a proxy only.
  let hasTLS: Bool
  /// Whether one TLS lies within another, to an https proxy: the outer one may hold bytes of which the descriptor tells
  /// nothing.
  let isNested: Bool
  /// The exchange of HTTP/1.1 that has it.
  var exchange: DirectExchange?
  /// Set where it speaks HTTP/2.
  var http2: HTTP2Connection?
  private(set) var exchanges = 0
  /// Whether its host counts it among those that an exchange of HTTP/1.1 has.
  var isRunning = false
  let bornAt: Int64
  private(set) var idleSince: Int64
  /// Its place among those that are idle; `nil` while it is not.
  private(set) var idleTurn: UInt64?
  /// The time that the server keeps it open without a request, if it says so (`Keep-Alive: timeout=`).
  var keepAlive: Duration?
  /// From then on it may be closed when a request arrives.
  private(set) var fitUntil = Int64.max
  /// Whether an exchange is being told all that had come, so that nothing lies behind it.
  var isReadEmpty = false
  /// Bytes that came and that no exchange has taken: the reader is slow.
  var held: [UInt8] = []
  /// Whether the last read brought as much as there was room for.
  var isBulk = false
  /// Whether the last read ended for having brought many records, and not for there being no more.
  private(set) var isCapped = false
  /// The time of the last read, and whether reading continues.
  var readAt: Int64 = 0
  var readsOn = false
  private var watches = (read: true, write: false)
  private(set) var isClosed = false
  private let teller: ConnectionTeller?
  /// The end of TLS that was found behind the bytes read last.
  private(set) var foundEnd: Step?
  /// The piece that TLS wants to be given again.
  private var pendingBytes: Int?

  init(_ session: StreamSession, host: DirectHost, now: Int64) {
    self.host = host
    profile = session.profile
    remoteAddress = session.facts.remoteAddress
    remotePort = session.facts.remotePort.map(Int32.init(clamping:))
    localPort = session.facts.localPort.map(Int32.init(clamping:))
    egress = session.egress
    poller = session.hub.poller
    held = Array(session.held)
    let dialed = session.dialFacts
    self.dialed = (dialed.name_lookup, dialed.connect, dialed.app_connect)
    isProxied = session.isProxied || host.forward != nil
    hasTLS = clastro_has_tls(session.easy.raw)
    isNested = session.isTLS && session.gate.proxyTarget != nil
    bornAt = now
    idleSince = now
    let own = hasTLS ? nil : session.leaveLibcurl()
    self.session = own == nil ? session : nil
    descriptor = own ?? session.descriptor
    if own == nil, !isNested { clastro_read_ahead(session.easy.raw) }
    teller = ConnectionTeller(host.carrier.settings.connectionObserver, of: host, now: now)
    poller.watch(descriptor, owner: DirectCarrier.descriptorOwner, read: true, write: false)
  }

  deinit { if !isClosed, session == nil { closeDescriptor() } }

  var isReused: Bool { exchanges > 1 }

  /// Takes the connection for an exchange.
  func begin(_ exchange: DirectExchange) {
    self.exchange = exchange
    exchanges += 1
    noteActive()
  }

  /// It has served an exchange. A request takes a while to arrive, so that the server's last second does not count; of
  /// a short time, half.
  func noteFree(now: Int64) {
    guard let keepAlive else { return fitUntil = .max }
    fitUntil = now.adding(max(keepAlive - .seconds(1), keepAlive / 2))
  }

  /// A request uses it.
  func noteActive() { teller?.tell(.active, now: host.carrier.now) }

  /// No request uses it from here on.
  func noteIdle(turn: UInt64, now: Int64) {
    teller?.tell(.idle, now: now)
    idleTurn = turn
    idleSince = now
  }

  /// Whether it was idle until now.
  func noteBusy() -> Bool { idleTurn.take() != nil }

  /// Closes it, or has it end in order where that takes words: its time is over.
  func retireIdle() {
    if let http2 { host.pool.retire(http2) } else { host.removeIdle(self) }
  }

  // MARK: Trust

  enum Admission {
    case admitted(TrustVerdict)
    /// Rules have changed since it was dialed: nothing more goes out on it.
    case outdated
    case refused(TransportError)
  }

  /// Whether the request may go out on it. The one place through which every request of this carrier passes before its
  /// first byte is sent.
  ///
  /// - Parameter job: whose request it is, where it alone knows its host: to a proxy requests for many go.
  func admit(_ job: TransferJob? = nil, now: Int64) -> Admission {
    let trust = profile.trust
    guard trust.isCurrent else { return .outdated }
    let forwarded = host.forward == nil ? nil : job.flatMap(host.target)
    let refusal = profile.egressRefusal(
      connectedTo: remoteAddress, port: remotePort.map(Int.init), behind: egress, to: host.target, forwarded: forwarded)
    if let refusal { return .refused(refusal) }
    guard let session, session.isTLS else {
      return admitPlaintext(to: job.map(host.target) ?? host.target, trust.rules)
    }
    let peer = session.connection.map {
      Unmanaged<TLSPeer>.fromOpaque(clastro_connection_owner($0)).takeUnretainedValue()
    }
    switch session.gate.admit(peer) {
    case .admitted(let verdict): return .admitted(verdict)
    case .unready: return .outdated
    case .refused(let failure): return .refused(.refusedTrust(failure))
    }
  }

  private func admitPlaintext(to target: TrustTarget?, _ rules: JudgePanel) -> Admission {
    guard let target else { return .refused(.unreadableHost) }
    if case .refused(let failure) = rules.judgePlaintext(target) { return .refused(.refusedTrust(failure)) }
    return .admitted(.plain)
  }

  // MARK: Bytes

  /// Reads what there is, once.
  func receive(into space: UnsafeMutableRawBufferPointer) -> Step {
    if hasTLS, let session { receiveTLS(from: session, into: space) } else { receivePlain(into: space) }
  }

  private func receivePlain(into space: UnsafeMutableRawBufferPointer) -> Step {
    while true {
      let count = recv(descriptor, space.baseAddress, space.count, Int32(MSG_DONTWAIT))
      if count > 0 { return .moved(count) }
      if count == 0 { return .end(isClean: true) }
      if errno == EINTR { continue }
      if errno == EAGAIN { return .wait }
      return .failed(.receivingFailed(name, errno))
    }
  }

  /// The target's name, for errors.
  private var name: String {
    let target = exchange.flatMap { host.target(of: $0.job) } ?? host.target
    return "\(target.host.text.bracketedHost):\(target.port)"
  }

  private func receiveTLS(from session: StreamSession, into space: UnsafeMutableRawBufferPointer) -> Step {
    if let end = foundEnd.take() { return end }
    var total = 0, records = 0
    isCapped = false
    while total + Self.recordBytes <= space.count {
      isCapped = records == Self.mostRecords
      if isCapped { break }
      records += 1
      var count = 0
      let code = curl_easy_recv(session.easy.raw, space.baseAddress.map { $0 + total }, space.count - total, &count)
      if code == CURLE_AGAIN { break }
      guard code == CURLE_OK, count > 0 else {
        // What came before the end is taken first.
        let end = end(session.readingEnd(code))
        if total == 0 { return end }
        foundEnd = end
        break
      }
      total += count
      if count < Self.partBytes, !isNested, !clastro_holds_input(session.easy.raw) { break }
    }
    return total > 0 ? .moved(total) : .wait
  }

  private func end(_ ending: Result<Data?, TransportError>) -> Step {
    switch ending {
    case .success: .end(isClean: true)
    case .failure(let error) where error.code == .truncatedStream: .end(isClean: false)
    case .failure(let error): .failed(error)
    }
  }

  /// Writes as much as the peer takes now.
  func send(_ bytes: UnsafeRawBufferPointer) -> Step {
    // Its descriptor may be another's by now.
    if isClosed { return .wait }
    return if hasTLS, let session { sendTLS(bytes, over: session) } else { sendPlain(bytes) }
  }

  private func sendPlain(_ bytes: UnsafeRawBufferPointer) -> Step {
    while true {
      let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
      if count >= 0 { return .moved(count) }
      if errno == EINTR { continue }
      if errno == EAGAIN { return .wait }
      return .failed(.sendingFailed(name, errno))
    }
  }

  private func sendTLS(_ bytes: UnsafeRawBufferPointer, over session: StreamSession) -> Step {
    var count = 0
    // A record at a time: of more, some might have left although none is told to have been written.
    let length = min(pendingBytes ?? Self.recordBytes, bytes.count)
    let code = curl_easy_send(session.easy.raw, bytes.baseAddress, length, &count)
    if code == CURLE_AGAIN {
      pendingBytes = length
      return .wait
    }
    pendingBytes = nil
    guard code == CURLE_OK else {
      return .failed(.sendingFailed(session.dial.name, 0, code))
    }
    return .moved(count)
  }

  /// Whether something lies on it that no exchange asked for, be it its end. Post-handshake messages of TLS are read,
  /// and are nothing.
  ///
  /// - Parameter isHeard: whether the poller would have told of it.
  func hasUnsolicitedInput(_ scratch: UnsafeMutableRawBufferPointer, isHeard: Bool = false) -> Bool {
    guard held.isEmpty else { return true }
    guard hidesInput || !isHeard && hasInput else { return false }
    guard hasTLS, case .wait = receive(into: scratch) else { return true }
    // One that has used up its share of the turn has read nothing.
    return isReadable
  }

  /// Whether the poller would have told if something had come since it fell idle (``DirectCarrier/hasLooked``). What
  /// was read empty in this very turn may have its end behind the bytes.
  var isHeard: Bool { idleSince < host.carrier.now && host.carrier.hasLooked }

  /// Whether there may be something to read of which the descriptor tells nothing.
  var hidesInput: Bool {
    guard hasTLS, let session, !isClosed else { return false }
    return isNested || foundEnd != nil || clastro_holds_input(session.easy.raw)
  }

  /// Whether there may be something to read, be it the end.
  var hasInput: Bool {
    hidesInput || isReadable
  }

  private var isReadable: Bool {
    var byte: UInt8 = 0
    return recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) >= 0 || errno != EAGAIN
  }

  // MARK: Delivery

  /// Asks the kernel which bytes were acknowledged; `nil` where it does not know.
  func delivery(now: Int64) -> SocketDelivery? { isClosed ? nil : SocketDelivery(of: descriptor, now: now) }

  /// The same where that is a sign of life of the peer: a proxy acknowledges bytes whatever has become of the server.
  func peerDelivery(now: Int64) -> SocketDelivery? { isProxied ? nil : delivery(now: now) }

  /// The number of sent bytes that the peer has not acknowledged; 0 where the kernel does not know.
  var unacknowledgedBytes: Int { Int(clamping: delivery(now: 0)?.queued ?? 0) }

  // MARK: Waiting

  /// Hears of the descriptor for reading, or for writing, or both.
  func watch(read: Bool, write: Bool) {
    guard !isClosed, watches != (read, write) else { return }
    watches = (read, write)
    if read || write {
      poller.watch(descriptor, owner: DirectCarrier.descriptorOwner, read: read, write: write)
    } else {
      poller.unwatch(descriptor)
    }
  }

  /// The durations of the dial.
  var dialTimings: TransferFacts.Timings {
    func phase(_ microseconds: Int64) -> Duration? { microseconds > 0 ? .microseconds(microseconds) : nil }
    return TransferFacts.Timings(
      nameLookup: phase(dialed.nameLookup), connect: phase(dialed.connect), tls: phase(dialed.tls))
  }

  func close() {
    guard !isClosed else { return }
    isClosed = true
    teller?.tell(nil, now: host.carrier.now)
    http2 = nil
    host.carrier.unregister(self)
    closeDescriptor()
  }

  private func closeDescriptor() {
    if let session { return session.hub.drop(session.id) }
    poller.noteClosing(descriptor)
    Glibc.close(descriptor)
    profile.uses -= 1
  }
}
