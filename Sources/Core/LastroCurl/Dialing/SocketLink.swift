// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import FoundationEssentials
internal import Glibc
internal import Lastro
internal import LastroHTTP

/// A link over a socket that libcurl connected: plain, TLS, or TLS within TLS.
///
/// It stays registered with the poller for reading until it is closed, so that a request needs no system call for that.
final class SocketLink: Link {
  /// The maximum plaintext size of a TLS record.
  private static let recordBytes = 16 * 1024
  /// The size below which a read has probably returned all available bytes. Servers fill records to any size above it.
  private static let partBytes = 4 * 1024
  /// The maximum number of TLS records per read. Many records of a single byte must not block the turn.
  private static let mostRecords = 64
  /// The maximum number of reads of post-handshake messages before a request.
  private static let mostMessages = 64

  let facts: LinkFacts
  /// The session in libcurl, if it handles TLS for this link. `nil` for plaintext: libcurl has released the connection,
  /// and the link owns the descriptor.
  private let session: StreamSession?
  let descriptor: Int32
  private let hub: StreamHub
  private let profile: StreamProfile
  private let egress: EgressGate?
  /// The host that was dialed.
  private let dialed: TrustTarget
  /// Whether the link leads to a proxy that receives requests for many hosts.
  private let isForwarding: Bool
  /// The target of the latest request, for errors.
  private var target: TrustTarget
  /// Whether one TLS connection runs within another, to an https proxy. The outer one may hold bytes that the
  /// descriptor does not show as readable.
  private let isNested: Bool
  /// Whether the last read ended because of the record limit, and not because there were no more records.
  private var isCapped = false
  /// The end of TLS that was found after the latest bytes.
  private var foundEnd: LinkStep?
  /// The length of the piece that TLS needs to get again.
  private var pendingBytes: Int?
  private(set) var failure: TransportError?
  // Not weak, because that would slow down reference counting of the user. A user closes its link before it is
  // released.
  private unowned var user: (any LinkUser)?
  private var isClosed = false

  init(_ session: StreamSession, _ stream: DialedStream, isForwarding: Bool) {
    let ssl = clastro_tls_of(session.easy.raw), hasTLS = ssl != nil
    let isNested = session.isTLS && session.gate.proxyTarget != nil
    self.isNested = isNested
    self.isForwarding = isForwarding
    hub = session.hub
    profile = session.profile
    egress = session.egress
    dialed = session.dial.server
    target = dialed
    facts = LinkFacts(of: session, stream, hasTLS: hasTLS)
    let own = hasTLS ? nil : stream.leaveLibcurl()
    self.session = own == nil ? session : nil
    descriptor = own ?? stream.descriptor
    // TLS reads as much as the socket has, instead of a record's header first and then the rest, which halves the
    // number of calls. From then on TLS may hold received bytes while the socket is not readable.
    if own == nil, !isNested, let ssl { SSL_set_read_ahead(ssl, 1) }
    hub.register(self)
    hub.poller.watch(descriptor, owner: StreamHub.linkOwner, read: true, write: false)
  }

  deinit { if !isClosed { closeDescriptor() } }

  func attach(_ user: any LinkUser) { self.user = user }

  /// Reports that the descriptor is ready.
  func ready(_ ready: Readiness) {
    user?.ready(readable: ready.readable || ready.failed, writable: ready.writable || ready.failed)
  }

  // MARK: Trust

  var isCurrent: Bool { profile.trust.isCurrent }

  func admit(_ target: TrustTarget) -> LinkAdmission {
    self.target = target
    guard profile.trust.isCurrent else { return .outdated }
    if let refusal = egressRefusal(of: target) { return .refused(refusal) }
    guard let session, session.isTLS else { return admitPlaintext(to: target) }
    do throws(TrustFailure) {
      return .admitted(try session.gate.admit(session.connectedPeer))
    } catch {
      return .refused(.refusedTrust(error))
    }
  }

  /// Returns the reason why nothing may be sent to the target: the address that was connected to, or the one that a
  /// proxy is asked for.
  private func egressRefusal(of target: TrustTarget) -> TransportError? {
    if let egress {
      return egress.refusal(connectedTo: facts.remoteAddress, port: facts.remotePort ?? 0, of: dialed)
    }
    return isForwarding ? profile.egressRules?.refusal(ofLiteral: target) : nil
  }

  private func admitPlaintext(to target: TrustTarget) -> LinkAdmission {
    do throws(TransportError) {
      try profile.trust.rules.checkPlaintext(target)
      return .admitted(.plain)
    } catch {
      return .refused(error)
    }
  }

  // MARK: Reading

  func receive(into space: UnsafeMutableRawBufferPointer) -> LinkStep {
    if facts.hasTLS, let session, let stream = session.stream {
      receiveTLS(from: session, stream, into: space)
    } else {
      receivePlain(into: space)
    }
  }

  private func receivePlain(into space: UnsafeMutableRawBufferPointer) -> LinkStep {
    // A call that does not wait is not interrupted by signals (signal(7)).
    let count = recv(descriptor, space.baseAddress, space.count, Int32(MSG_DONTWAIT))
    if count > 0 { return .moved(count) }
    if count == 0 { return .end(isClean: true) }
    return errno == EAGAIN ? .wait : failed(.receivingFailed(target.name, errno))
  }

  private func failed(_ error: TransportError) -> LinkStep {
    failure = error
    return .failed
  }

  private func receiveTLS(
    from session: StreamSession, _ stream: DialedStream, into space: UnsafeMutableRawBufferPointer
  ) -> LinkStep {
    if let end = foundEnd.take() { return end }
    var total = 0, records = 0
    isCapped = false
    while total + Self.recordBytes <= space.count {
      isCapped = records == Self.mostRecords
      if isCapped { break }
      records += 1
      var count = 0
      let code = session.easy.receive(into: space.baseAddress.map { $0 + total }, space.count - total, &count)
      if code == CURLE_AGAIN { break }
      guard code == CURLE_OK, count > 0 else {
        // Return the bytes before the end first.
        let end = step(for: stream.readingEnd(code))
        if total == 0 { return end }
        foundEnd = end
        break
      }
      total += count
      if count < Self.partBytes, !isNested, !session.easy.holdsInput { break }
    }
    return total > 0 ? .moved(total) : .wait
  }

  private func step(for ending: Result<Data?, TransportError>) -> LinkStep {
    switch ending {
    case .success: .end(isClean: true)
    case .failure(let error) where error.code == .truncatedStream: .end(isClean: false)
    case .failure(let error): failed(error)
    }
  }

  var mayHaveMore: Bool { isNested ? foundEnd != nil || isCapped : hidesInput }

  var hidesInput: Bool {
    guard facts.hasTLS, let session, !isClosed else { return false }
    return isNested || foundEnd != nil || session.easy.holdsInput
  }

  var hasInput: Bool { hidesInput || isReadable }

  private var isReadable: Bool {
    var byte: UInt8 = 0
    return recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) >= 0 || errno != EAGAIN
  }

  /// Reads TLS post-handshake messages, which do not count as input. Returns whether there is any other input.
  func hasUnsolicitedInput(_ scratch: UnsafeMutableRawBufferPointer, isHeard: Bool) -> Bool {
    guard hidesInput || !isHeard && hasInput else { return false }
    // Servers write each session ticket by itself, so that the next one may arrive while one is read. A link that has
    // used up its share of the turn reads nothing, however often it is asked.
    for _ in 0..<Self.mostMessages {
      guard facts.hasTLS, case .wait = receive(into: scratch) else { return true }
      if !isReadable { return false }
    }
    return true
  }

  // MARK: Writing

  var acceptsWrites: Bool { true }

  func send(_ bytes: UnsafeRawBufferPointer) -> LinkStep {
    // The descriptor number may have been reused.
    if isClosed { return .wait }
    return if facts.hasTLS, let session { sendTLS(bytes, over: session) } else { sendPlain(bytes) }
  }

  private func sendPlain(_ bytes: UnsafeRawBufferPointer) -> LinkStep {
    let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    if count >= 0 { return .moved(count) }
    return errno == EAGAIN ? .wait : failed(.sendingFailed(target.name, errno))
  }

  private func sendTLS(_ bytes: UnsafeRawBufferPointer, over session: StreamSession) -> LinkStep {
    var count = 0
    // Write one record at a time: a part of a longer write might be sent although it is reported as unwritten.
    let length = min(pendingBytes ?? Self.recordBytes, bytes.count)
    let code = session.easy.send(bytes.baseAddress, length, &count)
    if code == CURLE_AGAIN {
      pendingBytes = length
      return .wait
    }
    pendingBytes = nil
    guard code == CURLE_OK else {
      return failed(.sendingFailed(session.dial.name, 0, code))
    }
    return .moved(count)
  }

  func delivery(now: Int64) -> LinkDelivery? { LinkDelivery(of: descriptor, now: now) }

  // MARK: Waiting

  func watch(read: Bool, write: Bool) {
    if isClosed { return }
    if read || write {
      hub.poller.watch(descriptor, owner: StreamHub.linkOwner, read: read, write: write)
    } else {
      hub.poller.unwatch(descriptor)
    }
  }

  // MARK: The end

  /// Returns `nil`: requests of a `CurlTransport` never end HTTP.
  func handOver(early: [UInt8]) -> (any ByteStream)? { nil }

  func close() {
    guard !isClosed else { return }
    isClosed = true
    user = nil
    closeDescriptor()
  }

  private func closeDescriptor() {
    hub.unregister(self)
    if let session { return hub.drop(session.id) }
    hub.poller.forget(descriptor)
    Glibc.close(descriptor)
    profile.uses -= 1
  }
}

extension LinkFacts {
  /// Creates the facts of an open session.
  fileprivate init(of session: StreamSession, _ stream: DialedStream, hasTLS: Bool) {
    // A race looks the name up, and libcurl's times begin with the attempt.
    let dial = session.easy.facts, attempt = (session.lead?.attempt ?? 0) / 1_000
    func phase(_ microseconds: Int64, after earlier: Int64 = 0) -> Duration? {
      microseconds > 0 ? .microseconds(earlier + microseconds) : nil
    }
    self.init(session.facts)
    timings = TransferFacts.Timings(
      nameLookup: phase(session.lead.map { $0.lookUp / 1_000 } ?? dial.name_lookup),
      connect: phase(dial.connect, after: attempt), tls: phase(dial.app_connect, after: attempt))
    self.hasTLS = hasTLS
    readsWhole = !hasTLS
    isProxied = session.isProxied
    if session.isTLS, let source = session.profile.identity(for: session.dial.target.host, session.dial.request.role) {
      clientCertificateEnd = session.profile.trust.files.identity(source)?.expiry?.end
    }
    early = Array(stream.held)
    if stream.readEnd != nil { earlyEnd = stream.earlyEnd }
  }
}
