// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

/// Tests the trust code's assumptions about libcurl and OpenSSL with real handshakes with a server in this process. The
/// check runs once, before the first connection whose peer a judge has to accept. It needs five handshakes, which take
/// some milliseconds.
///
/// Assumptions that cannot be tested here are checked on each connection, which is refused if they fail
/// (`Docs/Lastro.docc/TrustModel.md`).
struct TrustSelfCheck {
  /// The assumption that tests make fail; `nil` for none.
  var broken: TrustAssumption?

  /// The first broken assumption, determined once per process.
  private static let outcome = Self().firstBroken()

  /// Throws if the libraries do not behave as pins require.
  static func require() throws(TransportError) {
    if let broken = outcome { throw .brokenAssumption(broken) }
  }

  /// Returns the first assumption that does not hold; `nil` if all hold.
  func firstBroken() -> TrustAssumption? {
    guard isSameOpenSSL else { return .sameOpenSSL }
    guard broken != .server, let lab = CheckLab(broken: broken) else { return .server }
    return acceptedPeer(lab) ?? proxyMark(lab) ?? refusedPeer(lab) ?? otherHost(lab)
  }

  /// Whether the mark of proxies can be recognized. If OpenSSL's configuration sets the option everywhere, it cannot,
  /// and https proxies are refused anyway (``StreamProfile``).
  static let isMarkTelling = clastro_proxy_mark_is_telling()

  /// Whether libcurl uses the OpenSSL that is linked here. The text of a libcurl that can use several libraries has the
  /// versions of all of them: `OpenSSL/3.0.17`, `(GnuTLS/3.7.9) OpenSSL/3.0.17`.
  private var isSameOpenSSL: Bool {
    let backend = broken == .sameOpenSSL ? "GnuTLS/3.7.9" : CurlCapabilities.current.tlsBackend
    let words = CurlCapabilities.current.openSSLVersion.split(separator: " ")
    return words.count > 1 && words[0] == "OpenSSL" && backend == "OpenSSL/\(words[1])"
  }

  /// Tests the mark of proxies. The hook is called before anything is sent to the proxy, so this call suffices.
  private func proxyMark(_ lab: CheckLab) -> TrustAssumption? {
    guard Self.isMarkTelling else { return nil }
    guard let exchange = CheckExchange(lab, throughProxy: true) else { return .proxyMark }
    exchange.stopsInHook = true
    _ = exchange.run()
    return exchange.marks == [true] ? nil : .proxyMark
  }

  private func acceptedPeer(_ lab: CheckLab) -> TrustAssumption? {
    guard let first = CheckExchange(lab) else { return .hook }
    let result = first.run()
    guard first.marks.count == 1 else { return .hook }
    guard first.marks == [false] || !Self.isMarkTelling else { return .proxyMark }
    guard lab.judge.asked == 1 else { return .verification }
    guard first.sentBeforePrereq == [0] else { return .prereq }
    guard first.verdicts == [true] else { return .connection }
    guard result == CURLE_OK, lab.counts.request_bytes > 0 else { return .prereq }
    return pooledConnection(lab, sent: lab.counts.request_bytes) ?? anotherConnection(lab)
  }

  private func pooledConnection(_ lab: CheckLab, sent: Int) -> TrustAssumption? {
    guard let second = CheckExchange(lab) else { return .prereq }
    second.stopsInPrereq = broken != .prereqStops
    let result = second.run()
    guard second.marks.isEmpty else { return .hook }
    guard second.sentBeforePrereq == [sent] else { return .prereq }
    guard second.verdicts == [true] else { return .connection }
    return result == CURLE_ABORTED_BY_CALLBACK && lab.counts.request_bytes == sent ? nil : .prereqStops
  }

  private func anotherConnection(_ lab: CheckLab) -> TrustAssumption? {
    guard let exchange = CheckExchange(lab, isFresh: true) else { return .hook }
    let result = exchange.run()
    guard exchange.marks.count == 1 else { return .hook }
    return result == CURLE_OK && lab.counts.resumptions == 0 && lab.judge.asked == 2 ? nil : .noResumption
  }

  private func refusedPeer(_ lab: CheckLab) -> TrustAssumption? {
    lab.judge.accepts = false
    defer { lab.judge.accepts = true }
    return isRefused(lab, host: CheckLab.host) ? nil : .verification
  }

  private func otherHost(_ lab: CheckLab) -> TrustAssumption? {
    let asked = lab.judge.asked
    let host = broken == .hostName ? CheckLab.host : "other.\(CheckLab.host)"
    return isRefused(lab, host: host) && lab.judge.asked == asked ? nil : .hostName
  }

  private func isRefused(_ lab: CheckLab, host: String) -> Bool {
    let sent = lab.counts.request_bytes
    guard let exchange = CheckExchange(lab, certificateFor: host, isFresh: true) else { return false }
    // The refusal must come from the handshake, so prereq lets every request pass.
    exchange.trustsPrereq = true
    return exchange.run() != CURLE_OK && lab.counts.request_bytes == sent && exchange.sentBeforePrereq.isEmpty
  }
}

extension TransportError {
  static func brokenAssumption(_ assumption: TrustAssumption) -> Self {
    let libraries = CurlCapabilities.current
    return TransportError(
      stage: .trust, code: .trustRefused,
      message: "libcurl \(libraries.curlVersion) with \(libraries.tlsBackend) failed the check that pins and judges "
        + "rest on: \(assumption.rawValue)",
      hint: assumption == .server
        ? "let this process listen on 127.0.0.1; until then no connection is made that a judge has to accept"
        : "install the system's libcurl and OpenSSL of Debian 12 or 13, which Lastro is tested with; until then no "
          + "connection is made that a judge has to accept")
  }
}
